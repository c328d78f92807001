"""python-oracledb's own tests run on the stand-in: no test fails that is not listed with its reason (expected.toml).

`make driver-tests` runs all of them and prints the report; `make test` some modules.
"""

from __future__ import annotations

import sys

import pytest

from standin.serve import standin
from tests.driver import expectations, suite
from tests.driver.schema import prepare
from tests.driver.suite import Outcome

FOLDERS = ("connection", "cursor", "data_types", "dataframe", "hooks", "misc", "pool")
# Fetching of repeated values into data frames, scrolling, changes of column types, errors.
SHORT = (
    "cursor/test_1600_scroll.py",
    "cursor/test_2500_type_changes.py",
    "data_types/test_1300_interval_ds.py",
    "data_types/test_2300_timestamp_tz.py",
    "dataframe/test_1600_requested_schema.py",
)


def outcomes_of(tests: tuple[str, ...]) -> list[Outcome]:
    with standin() as oracle:
        prepare(oracle)
        return suite.run_suite(oracle, suite.suite_folder(), tests)


@pytest.mark.driver
def test_the_drivers_own_tests_pass_but_for_those_with_a_reason() -> None:
    known = expectations.load()
    outcomes = [outcome for folder in FOLDERS for outcome in outcomes_of((folder,))]
    sys.stdout.write(expectations.table(outcomes, known))

    assert known.differences(outcomes, [f"{folder}/" for folder in FOLDERS]) == []


def test_some_of_the_drivers_own_tests_pass() -> None:
    outcomes = outcomes_of(SHORT)

    assert len(outcomes) > 150
    assert expectations.load().differences(outcomes, SHORT) == []


@pytest.mark.parametrize(
    ("outcome", "reason", "reported"),
    [
        ("passed", "", []),
        ("failed", "AssertionError", ["cursor/a.py 1001 fails: AssertionError"]),
        ("skipped", "Skipped: no vector support", []),
        ("skipped", "Skipped: no idea", ["cursor/a.py 1001 skips itself: no idea"]),
    ],
)
def test_what_is_not_expected_is_reported(outcome: str, reason: str, reported: list[str]) -> None:
    assert expectations.load().differences([Outcome("cursor/a.py::test_cursor_1001[1]", outcome, reason)]) == reported


def test_a_listed_test_that_passes_or_is_missing_is_reported() -> None:
    listed = "connection/test_1800_subscription.py"
    first, *others = (test for test in sorted(expectations.load().failing) if test.startswith(listed))
    outcomes = [Outcome(f"{listed}::test_connection_{first.split()[1]}", "passed", "")]
    reported = expectations.load().differences(outcomes, [listed])

    assert reported[0] == f"{first} passes: take it out of expected.toml"
    assert set(reported[1:]) == {f"{test} does not exist: take it out of expected.toml" for test in others}
