"""A demo leaves nothing running, kills no stranger, and says which process died and why."""

import json
import os
import signal
import sys
import threading

import psutil
import pytest

from demo import processes
from demo.processes import ChildDied, Crew, stop_leftovers
from tests.waiting import wait_until

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
FAMILY = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); time.sleep(60)"


@pytest.fixture
def crew(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "STOP_SECONDS", 0.5)
    made = Crew(tmp_path / "processes.json", tmp_path / "logs")
    yield made
    made.stop()


def start(crew, tmp_path, code, **options):
    return crew.start("worker", [sys.executable, "-c", code], os.environ, tmp_path, **options)


def alive(process):
    """An orphan that nobody has waited for is still listed, as a zombie."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_stopping_ends_a_process_with_its_children(crew, tmp_path):
    child = start(crew, tmp_path, FAMILY)
    leader = psutil.Process(child.process.pid)
    wait_until(leader.children)
    family = [leader, *leader.children()]

    crew.stop()

    assert not any(alive(member) for member in family)
    assert json.loads(crew.record.read_text()) == []


def test_a_process_that_ignores_sigterm_is_killed_after_the_deadline(crew, tmp_path):
    child = start(crew, tmp_path, STUBBORN)
    wait_until(lambda: "ready" in child.log.read_text())

    crew.stop()

    assert child.process.returncode == -signal.SIGKILL


def test_a_process_that_dies_is_named_with_its_last_lines(crew, tmp_path):
    child = start(crew, tmp_path, "import sys; print('no memory left'); sys.exit(4)")
    child.process.wait()

    with pytest.raises(ChildDied, match=r"(?s)worker ended with code 4.*no memory left"):
        crew.check()


def test_a_process_whose_work_is_done_has_not_died(crew, tmp_path):
    start(crew, tmp_path, "pass", ends=True).process.wait()

    crew.check()


def test_leftovers_of_a_killed_demo_are_stopped_by_their_record(crew, tmp_path):
    leader = psutil.Process(start(crew, tmp_path, "import time; time.sleep(60)").process.pid)

    assert stop_leftovers(crew.record) == ["worker"]
    assert not leader.is_running()


def test_a_process_that_got_the_id_of_a_dead_one_is_left_alone(crew, tmp_path):
    child = start(crew, tmp_path, "import time; time.sleep(60)")
    (row,) = json.loads(crew.record.read_text())
    other = tmp_path / "old.json"
    other.write_text(json.dumps([{**row, "began": row["began"] - 3600}]))

    assert stop_leftovers(other) == []
    assert child.process.poll() is None


def test_a_kept_demo_that_is_stopped_from_elsewhere_ends_without_an_error(crew, tmp_path):
    from demo.__main__ import wait_until_interrupted

    start(crew, tmp_path, "import time; time.sleep(60)")
    elsewhere = threading.Thread(target=stop_leftovers, args=(crew.record,))
    elsewhere.start()

    wait_until_interrupted(crew)

    elsewhere.join()
    assert not crew.record.exists()
