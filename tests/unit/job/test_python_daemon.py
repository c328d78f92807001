"""The process that forks Spark's Python workers ends by itself, or with Spark."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from redolake.job import python_daemon

START = """
from redolake.job import python_daemon
python_daemon.UNUSED_SECONDS = python_daemon.CHECK_SECONDS = 0.05
python_daemon.main()
"""


def test_the_daemon_of_a_session_without_workers_ends():
    env = {**os.environ, "SPARK_JOB_ARTIFACT_UUID": "0b2a7ad0-5a5c-4f0e-9f4e-1f5c1d4d6b11"}
    with subprocess.Popen([sys.executable, "-c", START], env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.wait(60) == 0


@pytest.mark.parametrize(("session", "ends"), [("default", []), ("0b2a7ad0", [(60.0, 15.0)])])
def test_the_only_daemon_of_spark_ends_with_spark_and_no_worker_collects_what_was_imported(session, ends, monkeypatch):
    called = []
    monkeypatch.setattr(python_daemon.gc, "freeze", lambda: called.append("freeze"))
    monkeypatch.setenv("SPARK_JOB_ARTIFACT_UUID", session)
    monkeypatch.setattr(python_daemon, "end_when_unused", lambda *seconds: called.append(seconds))
    monkeypatch.setattr(python_daemon, "manager", lambda: called.append("manager"))

    python_daemon.main()

    assert called == ["freeze", *ends, "manager"]


def test_a_process_with_a_child_has_workers():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert python_daemon.has_workers()
        child.communicate(b"\n")
