"""What the scheduler imports for its tasks."""

from __future__ import annotations

import subprocess
import sys

import pytest

CHECK = """
import sys, threading
from redolake.airflow.preload import MODULES, Preload
sys.argv = ["airflow", *sys.argv[1:]]
Preload().on_starting(component=object())
print(all(name in sys.modules for name in MODULES), threading.active_count())
"""


@pytest.fixture
def preload():
    """Import it not before it is needed: with Airflow, which sets up logging and takes seconds."""
    from redolake.airflow import preload

    return preload


def started(component: str) -> str:
    done = subprocess.run([sys.executable, "-c", CHECK, component], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def test_the_scheduler_imports_what_tasks_need_and_starts_no_thread():
    """A process with threads cannot be forked safely."""
    assert started("scheduler") == "True 1"


def test_other_processes_of_airflow_do_not():
    assert started("triggerer") == "False 1"


def test_a_module_that_cannot_be_imported_does_not_stop_the_scheduler(preload, monkeypatch, caplog):
    monkeypatch.setattr(preload, "MODULES", ("redolake.no_such_module", "json"))

    preload.preload()

    assert [record.getMessage() for record in caplog.records] == ["redolake.no_such_module is not imported ahead"]
