"""A demo leaves no process running, kills only its own, and reports which one died and why."""

import json
import os
import signal
import sys
import threading

import psutil
import pytest

from demo.processes import ChildDied, DemoProcesses, kill_recorded, stop_leftovers
from tests.support.waiting import wait_until

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
FAMILY = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); time.sleep(60)"


@pytest.fixture
def processes(tmp_path, monkeypatch):
    monkeypatch.setattr("demo.processes.STOP_SECONDS", 0.5)
    made = DemoProcesses(tmp_path / "processes.json", tmp_path / "logs")
    yield made
    made.stop()


def start(processes, tmp_path, code, **options):
    return processes.start("worker", [sys.executable, "-c", code], os.environ, tmp_path, **options)


def alive(process):
    """Return whether the process runs; an orphan that nobody has waited for is still listed, as a zombie."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def test_stopping_ends_a_process_with_its_children(processes, tmp_path):
    child = start(processes, tmp_path, FAMILY)
    leader = psutil.Process(child.process.pid)
    wait_until(leader.children)
    family = [leader, *leader.children()]

    processes.stop()

    assert not any(alive(member) for member in family)
    assert json.loads(processes.record.read_text()) == []


def test_a_process_that_ignores_sigterm_is_killed_after_the_deadline(processes, tmp_path):
    child = start(processes, tmp_path, STUBBORN)
    wait_until(lambda: "ready" in child.log.read_text())

    processes.stop()

    assert child.process.returncode == -signal.SIGKILL


def test_a_process_that_dies_is_named_with_its_last_lines(processes, tmp_path):
    child = start(processes, tmp_path, "import sys; print('no memory left'); sys.exit(4)")
    child.process.wait()

    with pytest.raises(ChildDied, match=r"(?s)worker ended with code 4.*no memory left"):
        processes.check()


def test_a_process_that_finished_its_work_has_not_died(processes, tmp_path):
    start(processes, tmp_path, "pass", ends=True).process.wait()

    processes.check()


def test_processes_of_a_killed_demo_are_stopped_by_their_record(processes, tmp_path):
    leader = psutil.Process(start(processes, tmp_path, "import time; time.sleep(60)").process.pid)

    assert stop_leftovers(processes.record) == ["worker"]
    assert not leader.is_running()


def test_a_process_that_reuses_a_recorded_id_is_not_killed(processes, tmp_path):
    child = start(processes, tmp_path, "import time; time.sleep(60)")
    (row,) = json.loads(processes.record.read_text())
    other = tmp_path / "old.json"
    other.write_text(json.dumps([{**row, "started": row["started"] - 3600}]))

    assert stop_leftovers(other) == []
    assert child.process.poll() is None


def test_stopping_a_kept_demo_from_another_terminal_is_no_error(processes, tmp_path):
    from demo.__main__ import wait_until_interrupted

    start(processes, tmp_path, "import time; time.sleep(60)")
    other_terminal = threading.Thread(target=stop_leftovers, args=(processes.record,))
    other_terminal.start()

    wait_until_interrupted(processes, lambda: None)

    other_terminal.join()
    assert not processes.record.exists()


def test_what_another_terminal_killed_may_be_started_again_under_its_name(processes, tmp_path):
    start(processes, tmp_path, "import time; time.sleep(60)")

    assert kill_recorded(processes.record, ["another"]) == []
    assert kill_recorded(processes.record, ["worker"]) == ["worker"]
    assert processes.killed(["another"]) == []
    assert processes.killed(["worker"]) == ["worker"]

    processes.check()
    start(processes, tmp_path, "import time; time.sleep(60)")
    assert kill_recorded(processes.record, ["worker"]) == ["worker"]
