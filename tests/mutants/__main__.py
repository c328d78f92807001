"""Change one operator, constant or argument of the deciders at a time, and see that a test turns red.

`make mutants` and `make soak` run all groups of tests/mutants/deciders.py: `python -m tests.mutants`. Some mutants of one:
`python -m tests.mutants window "end_of_thread: "`. Exit code 1 if one survives that kept.txt does not explain, if an
explanation is not needed any more, or if the tests kill less than FLOOR of all mutants of a group.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable

from tests.mutants.by_unit_tests import try_mutants
from tests.mutants.deciders import GROUPS, Deciders
from tests.mutants.mutated import ROOT, Mutant, Mutated, mutated

FLOOR = 0.9  # of the mutants that tests kill, those that are explained counted among the others


class Report:
    """Counts the mutants of each file, and prints those that survive as they are found."""

    def __init__(self, modules: list[Mutated], is_tried: Callable[[str], bool]) -> None:
        self._is_tried, self._explained = is_tried, explained()
        self._files = {module.module: str(module.path.relative_to(ROOT)) for module in modules}
        self._counts: dict[str, Counter[str]] = {file: Counter() for file in self._files.values()}
        self._kept: set[tuple[str, str]] = set()

    def __call__(self, mutant: Mutant, is_killed: bool) -> None:
        file = self._files[mutant.name.rpartition(".x")[0]]
        is_kept = str(mutant) in self._explained[file]
        end = "killed" if is_killed else "kept" if is_kept else "survived"
        self._counts[file][end] += 1
        if is_kept and not is_killed:
            self._kept.add((file, str(mutant)))
        if end == "survived":
            self.print(f"survives  {file}  {mutant}")

    def print(self, text: str) -> None:
        print(text, file=sys.__stdout__, flush=True)

    def end(self, is_whole: bool) -> int:
        """Print the score of each file; return the exit code. The floor and the explanations are for whole groups."""
        total = Counter[str]()
        for file, counts in self._counts.items():
            total += counts
            self.print(line(file, counts))
        self.print(line("together", total) + f"   floor {FLOOR:.0%}")
        needless = [
            (file, name)
            for file in self._counts
            for name in self._explained[file]
            if is_whole and self._is_tried(name.partition(": ")[0]) and (file, name) not in self._kept
        ]
        for file, name in needless:
            self.print(f"is killed, or is no mutant any more: take it out of kept.txt  {file}  {name}")
        is_low = is_whole and total["killed"] < FLOOR * total.total()
        return int(bool(total["survived"] or needless) or is_low)


def explained() -> defaultdict[str, list[str]]:
    """Return the mutants of kept.txt by file. Its other lines are reasons."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for text in (ROOT / "tests/mutants/kept.txt").read_text().splitlines():
        file, separator, mutant = text.partition("  ")
        if separator:
            found[file].append(mutant)
    return found


def line(name: str, counts: Counter[str]) -> str:
    killed = f"{counts['killed'] / max(1, counts.total()):7.1%} killed"
    return f"{name:45} {counts.total():5} mutants {killed} {counts['kept']:4} explained {counts['survived']:4} survive"


def try_group(group: Deciders, only: str) -> int:
    modules = [mutated(file, group.tries, in_spark=group.in_spark) for file in group.files]
    report = Report(modules, group.tries)
    try_mutants(modules, group.tests, report, only, in_spark=group.in_spark)
    return report.end(is_whole=not only)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(try_group(GROUPS[sys.argv[1]], " ".join(sys.argv[2:])))
    # Each in a process of its own, because a module is imported once.
    sys.exit(max([subprocess.run([sys.executable, "-m", "tests.mutants", name], check=False).returncode for name in GROUPS]))
