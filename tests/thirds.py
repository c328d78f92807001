"""Choose the third of the real kills, and of the tests of tests/tables/dear_tests.py, that a run makes: by the commit.

A run makes all of them in `make soak`, with REDOLAKE_THIRD=all (before a release), and where git names no commit.
REDOLAKE_THIRD=2 makes the second third at any commit: the run's first lines say which one it made. Where folders,
modules or tests are named, or picked by -k, all of theirs run.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from zlib import crc32

import pytest

from tests.tables.dear_tests import ALWAYS, CASES, DEAR, TOGETHER

ROOT = Path(__file__).parents[1]
PARTS = 3
PLACES = {entry: place for place, entry in enumerate((*DEAR, *CASES))}
VARIABLE, EVERYTHING = "REDOLAKE_THIRD", "REDOLAKE_ALL_KILLS"


@dataclass(frozen=True, slots=True)
class Third:
    """The part of a run, from 1 to PARTS; None stands for everything."""

    part: int | None

    def __contains__(self, point: str) -> bool:
        """Return whether to kill there. All points of one writer are in one part."""
        return self._has(crc32(point.partition(" ")[0].encode()))

    def of(self, points: Iterable[str]) -> frozenset[str]:
        return frozenset(point for point in points if point in self)

    def runs(self, names: Iterable[str]) -> list[bool]:
        """Return for each test, by its name and in the order of its module, whether it is run.

        The tests of an entry are dealt out one by one, so that each part has some of each, and the cases of each function;
        entries of one test are dealt out by their places in the table.
        """
        dealt: Counter[str] = Counter()
        chosen = []
        for name in names:
            entry = entry_of(name)
            if entry is None:
                chosen.append(True)
                continue
            chosen.append(self._has(PLACES[entry] + dealt[entry]))
            dealt[entry] += entry not in TOGETHER
        return chosen

    def _has(self, number: int) -> bool:
        return self.part is None or number % PARTS == self.part - 1

    def text(self, *, is_of_all_tests: bool) -> str:
        """Return what a run of all tests makes, or one of tests that are named, of which none is left out."""
        if self.part is None:
            return "kills after each write, and all tests"
        what = "a third of the real kills" + (" and of the dear tests" if is_of_all_tests else ", and all tests that are named")
        return (
            f"{what}: part {self.part} of {PARTS}, by the commit ({VARIABLE}={self.part} repeats it, {VARIABLE}=all makes all)"
        )


EVERY = Third(None)


def entry_of(name: str) -> str | None:
    """Return the entry that a test belongs to: its function's or its module's."""
    function, module = name.partition("[")[0], name.partition("::")[0]
    return None if function in ALWAYS else next((one for one in (function, module) if one in PLACES), None)


@cache
def third_of_this_run() -> Third:
    """Return the part of this run. Raise ValueError for a part that does not exist."""
    wanted = "all" if EVERYTHING in os.environ else os.environ.get(VARIABLE) or commit_of(ROOT)
    if wanted in ("all", ""):
        return EVERY
    if len(wanted) >= 40:
        return Third(int(wanted, 16) % PARTS + 1)
    if wanted not in map(str, range(1, PARTS + 1)):
        raise ValueError(f"{VARIABLE}={wanted}: it is all, or a number from 1 to {PARTS}")
    return Third(int(wanted))


def commit_of(root: Path) -> str:
    """Return the hash of the commit that is checked out; nothing where git names none."""
    try:
        asked = subprocess.run(["git", "rev-parse", "--verify", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    except OSError:  # there is no git
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""


def is_of_all_tests(config: pytest.Config) -> bool:
    """Return whether the run is one of all tests. Where folders, modules or tests are named, all of theirs are run."""
    all_of_them = {config.rootpath / folder for folder in config.getini("testpaths")}
    return not config.option.keyword and {Path(word).resolve() for word in config.args} == all_of_them


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the other thirds. First of all, so that -m does not change which tests those are."""
    if not is_of_all_tests(config):
        return
    run = third_of_this_run().runs(item.nodeid for item in items)
    config.hook.pytest_deselected(items=[item for item, is_run in zip(items, run, strict=True) if not is_run])
    items[:] = [item for item, is_run in zip(items, run, strict=True) if is_run]


def pytest_report_header(config: pytest.Config) -> str:
    return third_of_this_run().text(is_of_all_tests=is_of_all_tests(config))
