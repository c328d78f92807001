"""Each question of the self-test, answered by the database at hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.errors import Terminal
from redolake.source.selftest_cases import CASES, Case
from redolake.steps.selftest import SelftestReport
from tests.oracle.conftest import Database
from tests.references.plain_lake import PlainLake

pytestmark = [pytest.mark.oracle, pytest.mark.spark]


# On the stand-in the other cases end in the plain fold, to which Delta adds nothing; on a real database all end in Delta.
IN_DELTA = {
    "RLT_FLOATS", "RLT_ZONES", "RLT_INTERVALS", "RLT_ANCIENT", "RLT_KEY_LOGGING", "RLT_KEYLESS", "RLT_GUARD",
}  # fmt: skip


@pytest.fixture(scope="module")
def answered(database: Database, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> SelftestReport:
    def asked(cases: Sequence[Case], session: Any) -> SelftestReport:
        pipeline = database.pipeline(tmp_path_factory.mktemp("unused"), ["NO.SUCH"])
        return steps.run_selftest(
            steps.Run(pipeline, database.reader, session), database.scratch, cases=cases, dba=database.dba, wait_minutes=5
        )

    in_delta = [case for case in CASES if database.is_real or case.table in IN_DELTA]
    found = asked(in_delta, spark)
    if database.is_real:
        return found
    with PlainLake(replays=True).in_place_of_spark():
        others = asked([case for case in CASES if case not in in_delta], "no Spark")
    return replace(found, answers=(*found.answers, *others.answers))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.table)
def test_the_database_answers_the_question_with_yes(answered: SelftestReport, case: Any) -> None:
    (answer,) = (answer for answer in answered.answers if answer.table == case.table)

    assert answer.outcome == "proved", answer


def test_the_report_names_the_versions_and_no_address_or_password(answered: SelftestReport, database: Database) -> None:
    text = str(answered)

    assert answered.oracle in text
    assert not any(secret in text for secret in (database.scratch.password, database.pdb_dsn, database.reader.dsn))


def test_the_scratch_schema_is_empty_afterwards(answered: SelftestReport, database: Database) -> None:
    for case in CASES:
        with pytest.raises(Exception, match="ORA-00942"):
            database.run(database.scratch, [f'SELECT * FROM "{case.table}"'])


@pytest.fixture
def somebodys_table(database: Database) -> Iterator[None]:
    database.run(database.scratch, ["CREATE TABLE rlt_numbers (id NUMBER(9))", "INSERT INTO rlt_numbers VALUES (1)"])
    yield
    database.run(database.scratch, ["DROP TABLE rlt_numbers"])


def test_a_table_that_is_already_there_is_not_touched(database: Database, somebodys_table: None, tmp_path: Path) -> None:
    with pytest.raises(Terminal, match="already has RLT_NUMBERS"):
        steps.run_selftest(steps.Run(database.pipeline(tmp_path, ["NO.SUCH"]), database.reader, "none"), database.scratch)

    database.run(database.scratch, ["UPDATE rlt_numbers SET id = 2 WHERE id = 1"])
