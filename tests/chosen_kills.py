"""Choose which of the real kills a run makes: a third of their points, by the commit, for each costs a process and its repeat.

All of them in `make soak`, with REDOLAKE_KILLS=all (before a release), and where git names no commit. REDOLAKE_KILLS=2 makes
the second third at any commit: the run says which one it made.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from zlib import crc32

ROOT = Path(__file__).parents[1]
PARTS = 3
VARIABLE, EVERYTHING = "REDOLAKE_KILLS", "REDOLAKE_ALL_KILLS"


@dataclass(frozen=True, slots=True)
class ChosenKills:
    """The points to kill at: those of one part, from 1 to PARTS; None stands for all."""

    part: int | None

    def __contains__(self, point: str) -> bool:
        """Return whether to kill there. All points of one writer are in one part."""
        return self.part is None or crc32(point.partition(" ")[0].encode()) % PARTS == self.part - 1

    def of(self, points: Iterable[str]) -> frozenset[str]:
        return frozenset(point for point in points if point in self)

    def __str__(self) -> str:
        if self.part is None:
            return "kills: after each write"
        return (
            f"kills: part {self.part} of {PARTS}, by the commit ({VARIABLE}={self.part} repeats it, {VARIABLE}=all makes all)"
        )


ALL = ChosenKills(None)


@cache
def chosen_kills() -> ChosenKills:
    """Return the kills of this run. Raise ValueError for a part that does not exist."""
    wanted = "all" if EVERYTHING in os.environ else os.environ.get(VARIABLE) or commit_of(ROOT)
    if wanted in ("all", ""):
        return ALL
    if len(wanted) >= 40:
        return ChosenKills(int(wanted, 16) % PARTS + 1)
    if wanted not in map(str, range(1, PARTS + 1)):
        raise ValueError(f"{VARIABLE}={wanted}: it is all, or a number from 1 to {PARTS}")
    return ChosenKills(int(wanted))


def commit_of(root: Path) -> str:
    """Return the hash of the commit that is checked out; nothing where git names none."""
    try:
        asked = subprocess.run(["git", "rev-parse", "--verify", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    except OSError:  # there is no git
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""


def pytest_report_header() -> str:
    return str(chosen_kills())
