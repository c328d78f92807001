"""Which of the driver's own tests fail on the stand-in, and why (expected.toml), compared with what a run has shown."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.driver.suite import Outcome

FILE = Path(__file__).parent / "expected.toml"


@dataclass(frozen=True, slots=True)
class Family:
    """Tests that fail for one reason."""

    name: str
    reason: str
    tests: frozenset[str]


@dataclass(frozen=True, slots=True)
class Expectations:
    families: tuple[Family, ...]
    sometimes: frozenset[str]  # tests that may fail
    skips: frozenset[str]  # reasons with which tests skip themselves

    @property
    def failing(self) -> frozenset[str]:
        return frozenset().union(*(family.tests for family in self.families))

    def differences(self, outcomes: Sequence[Outcome], modules: Iterable[str] = ()) -> list[str]:
        """Return a sentence for each test that differs from what is expected of these folders or modules."""
        found = by_test(outcomes)
        differing = [
            f"{test} fails: {reasons[0].splitlines()[0] if reasons[0] else 'no reason'}"
            for test, (outcome, *reasons) in found.items()
            if outcome == "failed" and test not in self.failing | self.sometimes
        ]
        differing += [
            f"{test} skips itself: {reason}"
            for test, (outcome, reason) in found.items()
            if outcome == "skipped" and reason not in self.skips
        ]
        differing += [
            f"{test} passes: take it out of {FILE.name}" for test in self.failing if found.get(test, ("", ""))[0] == "passed"
        ]
        wanted = [test for test in self.failing if test.startswith(tuple(modules))]
        return differing + [f"{test} does not exist: take it out of {FILE.name}" for test in wanted if test not in found]


def load() -> Expectations:
    content = tomllib.loads(FILE.read_text(encoding="utf-8"))
    families = tuple(Family(f["name"], f["reason"], _expanded(f["tests"])) for f in content["families"])
    return Expectations(families, _expanded(content["sometimes"]), frozenset(content["skips"]))


def by_test(outcomes: Sequence[Outcome]) -> dict[str, tuple[str, str]]:
    """Return outcome and reason of each test, with all of its parameters: one that fails makes it a failed one."""
    rank = {"passed": 0, "skipped": 1, "failed": 2}
    found: dict[str, tuple[str, str]] = {}
    for outcome in outcomes:
        test, reason = named(outcome.test), outcome.reason.removeprefix("Skipped: ")
        if test not in found or rank[outcome.outcome] > rank[found[test][0]]:
            found[test] = outcome.outcome, reason
    return found


def named(test: str) -> str:
    """Return a test as `module number`; one of another name stays as it is."""
    module, _, name = test.partition("[")[0].partition("::")
    number = re.search(r"(\d+)$", name)
    return f"{module} {number[1]}" if number else test


def _expanded(lines: Sequence[str]) -> frozenset[str]:
    """Return `module number` for each of `module 1001 1003-1005`."""
    found = []
    for line in lines:
        module, *parts = line.split()
        for part in parts:
            first, _, last = part.partition("-")
            found += [f"{module} {number}" for number in range(int(first), int(last or first) + 1)]
    return frozenset(found)


def table(outcomes: Sequence[Outcome], expectations: Expectations) -> str:
    """Return the report: passed, failed and skipped of each folder, and the families of those that fail."""
    counts = Counter((outcome.test.partition("/")[0], outcome.outcome) for outcome in outcomes)
    lines = ["| Folder | Passed | Failed | Skipped |", "|---|---|---|---|"]
    for folder in sorted({folder for folder, _ in counts}):
        lines.append("| {} | {} | {} | {} |".format(folder, *(counts[folder, o] for o in ("passed", "failed", "skipped"))))
    failed = Counter(named(outcome.test) for outcome in outcomes if outcome.outcome == "failed")
    lines += ["", "| Not applicable | Failed | Because |", "|---|---|---|"]
    for family in expectations.families:
        if number := sum(failed[test] for test in family.tests):
            lines.append(f"| {family.name} | {number} | {family.reason} |")
    return "\n".join(lines)
