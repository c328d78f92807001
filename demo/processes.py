"""The child processes of a demo. Each has its own process group and log file; all are stopped together.

A record file lists them, so that a later run can stop the processes of a demo that was killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from redolake.errors import Terminal

STOP_SECONDS = 10.0
LAST_LINES = 20


class ChildDied(Terminal):
    """A process of the demo ended unexpectedly."""


@dataclass(frozen=True, slots=True)
class Child:
    """One process; `ends` is true if it ends by itself when its work is done."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    ends: bool = False

    def last_lines(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").strip().splitlines()[-LAST_LINES:])


@dataclass(slots=True)
class DemoProcesses:
    """Starts and stops the processes.

    `record` is a file with the id and start time of each, so that an id that another process has since received is not killed.
    """

    record: Path
    logs: Path
    children: list[Child] = field(default_factory=list)

    def start(self, name: str, command: Sequence[str], env: Mapping[str, str], folder: Path, *, ends: bool = False) -> Child:
        self.logs.mkdir(parents=True, exist_ok=True)
        log = self.logs / f"{name}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                list(command),
                env=dict(env),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        child = Child(name, process, log, ends)
        self.children.append(child)
        self._write_record()
        return child

    def killed(self, names: Sequence[str]) -> list[str]:
        """Return which of these have ended, and forget them: they may be started again under their names."""
        ended = [child for child in self.children if child.name in names and child.process.poll() is not None]
        for child in ended:
            self.children.remove(child)
        return [child.name for child in ended]

    def check(self) -> None:
        """Raise ChildDied if a process has ended unexpectedly."""
        for child in self.children:
            code = child.process.poll()
            if code is not None and not (child.ends and code == 0):
                message = f"{child.name} ended with code {code}. Its last lines:\n{child.last_lines()}"
                raise ChildDied(message, cure=f"read {child.log}")

    def finish(self, child: Child, signal_number: int = signal.SIGTERM) -> str:
        """Stop one process and return its output."""
        self.children.remove(child)
        stop_trees([child.process.pid], signal_number)
        child.process.wait()
        self._write_record()
        return child.log.read_text(errors="replace")

    def stop(self) -> None:
        stop_trees([child.process.pid for child in reversed(self.children)])
        for child in self.children:
            child.process.wait()
        self.children.clear()
        self._write_record()

    def _write_record(self) -> None:
        rows = []
        for child in self.children:
            with suppress(psutil.NoSuchProcess):
                rows.append({"name": child.name, "pid": child.process.pid, "started": start_time(child.process.pid)})
        part = self.record.with_name(self.record.name + ".part")
        part.write_text(json.dumps(rows))
        part.replace(self.record)


def start_time(pid: int) -> float:
    return float(psutil.Process(pid).create_time())


def recorded(record: Path) -> dict[str, int]:
    """Return the ids of a demo's processes that run, by name. A recorded id that now belongs to another process is skipped."""
    found = {}
    for row in json.loads(record.read_text() or "[]") if record.is_file() else ():
        with suppress(psutil.NoSuchProcess):
            if abs(start_time(row["pid"]) - row["started"]) < 1:
                found[str(row["name"])] = int(row["pid"])
    return found


def stop_leftovers(record: Path) -> list[str]:
    """Stop the processes in an earlier demo's record, remove the record, and return their names."""
    ours = recorded(record)
    stop_trees([*ours.values()])
    record.unlink(missing_ok=True)
    return [*ours]


def kill_recorded(record: Path, names: Sequence[str]) -> list[str]:
    """End processes of a running demo as a dead machine would, with all that they have started; return their names."""
    ours = {name: pid for name, pid in recorded(record).items() if name in names}
    stop_trees([*ours.values()], signal.SIGKILL)
    return [*ours]


def stop_trees(pids: Sequence[int], signal_number: int = signal.SIGTERM) -> None:
    """Signal the process groups, wait, then kill the processes that are left, descendants included."""
    members: list[psutil.Process] = []
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            leader = psutil.Process(pid)
            members += [leader, *leader.children(recursive=True)]
    for pid in pids:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal_number)
    deadline = time.monotonic() + STOP_SECONDS
    _, alive = psutil.wait_procs(members, timeout=max(0.0, deadline - time.monotonic()))
    for process in alive:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
