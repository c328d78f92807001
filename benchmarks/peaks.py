"""Watch the memory of a process and its descendants: how much one process of each kind had at its peak."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import psutil


@dataclass(slots=True)
class Step:
    """What one step took: `peaks` are the most bytes that one process of each kind had in memory (VmHWM). `cpu` counts what
    was seen of all its processes, their start included: on a busy machine it says more than `seconds`."""

    name: str
    seconds: float = 0.0
    rows: int = 0
    cpu: float = 0.0
    peaks: dict[str, int] = field(default_factory=dict)
    java: str = ""


def kind_of(process: psutil.Process, root: int) -> str | None:
    """Return Python, Java or workers; None for what only starts others."""
    if process.pid == root:
        return "Python"
    command, name = " ".join(process.cmdline()), process.name()
    if name == "java":
        return None if "launcher.Main" in command else "Java"
    return "workers" if name.startswith("python") and "pyspark" in command else None


def high_water(process: psutil.Process) -> int:
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0  # it has ended


def watch(root: int, step: Step, ended: Event) -> None:
    """Note the peaks and the CPU time of a process and its descendants until `ended`."""
    cpu: dict[int, float] = {}
    while not ended.wait(0.1):
        try:
            tree = [psutil.Process(root), *psutil.Process(root).children(recursive=True)]
        except psutil.NoSuchProcess:
            continue
        for process in tree:
            try:
                note(process, root, step)
                cpu[process.pid] = sum(process.cpu_times()[:2])
            except (psutil.Error, OSError):
                continue
        step.cpu = sum(cpu.values())


def note(process: psutil.Process, root: int, step: Step) -> None:
    kind = kind_of(process, root)
    if kind is None:
        return
    if kind == "Java" and not step.java:
        step.java = next((word for word in process.cmdline() if word.startswith("-Xmx")), "")
    step.peaks[kind] = max(step.peaks.get(kind, 0), high_water(process))
