"""Try mutants with unit tests: pytest collects the tests once, and each mutant is tried in a copy of the process (fork).

Only the tests that call the mutant's function are run, the quick ones first, until one fails. A copy cannot share a Spark
session, so mutants of Spark's expressions are tried in this process, and what is open stays open from one to the next.
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import pytest
from _pytest.runner import runtestprotocol

from tests.mutants.mutated import Mutant, Mutated, calls, choose, put_in_place, record_calls

ARGUMENTS = ("-n", "0", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=1", "--no-header", "--tb=short")


class Trials:
    """A plugin of pytest that runs the collected tests once as they are, and then for each mutant."""

    def __init__(self, mutants: Sequence[Mutant], report: Callable[[Mutant, bool], None], *, in_spark: bool) -> None:
        self._mutants, self._report, self._in_spark = mutants, report, in_spark

    def pytest_collection(self) -> None:
        """Make failed examples no smaller: that a test fails is all that counts."""
        from hypothesis import Phase, settings

        settings.register_profile("mutants", deadline=None, database=None, phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        callers: defaultdict[str, dict[int, float]] = defaultdict(dict)
        record_calls()
        for number, item in enumerate(session.items):
            begun = time.process_time()
            if is_red(item, self._stays_open(item)):
                pytest.exit(f"{item.nodeid} is red without any mutant", returncode=3)
            for function in calls():
                callers[function][number] = time.process_time() - begun
        if self._red_test(None, session.items, [60.0] * len(session.items)) is not None:
            pytest.exit("a test is red the second time without any mutant", returncode=3)
        killed: Counter[int] = Counter()
        for mutant in self._mutants:
            seconds = callers[mutant.of_function]
            order = sorted(seconds, key=lambda number: (-killed[number], seconds[number]))
            red = self._red_test(mutant, [session.items[number] for number in order], [seconds[number] for number in order])
            if red is not None and red < len(order):
                killed[order[red]] += 1
            self._report(mutant, red is not None)
        return True

    def _red_test(self, mutant: Mutant | None, tests: Sequence[pytest.Item], seconds: Sequence[float]) -> int | None:
        """Return the place of the test that is red with this mutant, or None. Each took so many seconds without a mutant."""
        if not self._in_spark:
            return red_in_copy(mutant, tests, seconds)
        choose(mutant)
        try:
            return next((number for number, test in enumerate(tests) if is_red(test, self._stays_open(test))), None)
        finally:
            choose(None)

    def _stays_open(self, item: pytest.Item) -> pytest.Item | None:
        """Return another test, for which pytest leaves open what both use, or None."""
        return next(other for other in item.session.items if other is not item) if self._in_spark else None


def is_red(item: pytest.Item, nextitem: pytest.Item | None = None) -> bool:
    return any(report.failed for report in runtestprotocol(item, log=False, nextitem=nextitem))


def red_in_copy(mutant: Mutant | None, tests: Sequence[pytest.Item], seconds: Sequence[float]) -> int | None:
    """Return the place of the test that is red with this mutant, or None. A process that dies or loops is red."""
    child = os.fork()
    if child == 0:
        red: int | None = len(tests)
        with contextlib.suppress(BaseException):
            red = run_until_red(mutant, tests, seconds)
        os._exit(0 if red is None else min(red + 1, 255))
    status = os.waitpid(child, 0)[1]
    return None if status == 0 else os.WEXITSTATUS(status) - 1 if os.WIFEXITED(status) else len(tests)


def run_until_red(mutant: Mutant | None, tests: Sequence[pytest.Item], seconds: Sequence[float]) -> int | None:
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    choose(mutant)
    for number, (test, usual) in enumerate(zip(tests, seconds, strict=True)):
        end_a_loop_after(10 * usual + 3)
        if is_red(test):
            return number
    return None


def end_a_loop_after(seconds: float) -> None:
    """Let the system kill this process once it has used so many more seconds of CPU: a mutant may loop without end."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds), most))


def try_mutants(
    modules: Sequence[Mutated],
    tests: Sequence[str],
    report: Callable[[Mutant, bool], None],
    only: str = "",
    *,
    in_spark: bool = False,
) -> None:
    """Try all mutants, or those whose name contains `only`. The product must not be imported yet."""
    put_in_place(modules)
    mutants = [mutant for module in modules for mutant in module.mutants if only in str(mutant)]
    code = pytest.main([*ARGUMENTS, *tests], plugins=[Trials(mutants, report, in_spark=in_spark)])
    assert code == 0, f"pytest ended with {code}"
