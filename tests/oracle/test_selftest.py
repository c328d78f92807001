"""Each question of the self-test, answered by the database at hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines import steps
from pipelines.errors import Terminal
from pipelines.source.selftest_cases import CASES
from pipelines.steps.selftest import SelftestReport
from tests.oracle.conftest import Database

pytestmark = [pytest.mark.oracle, pytest.mark.spark]


@pytest.fixture(scope="module")
def answered(database: Database, spark: Any, tmp_path_factory: pytest.TempPathFactory) -> SelftestReport:
    pipeline = database.pipeline(tmp_path_factory.mktemp("unused"), ["NO.SUCH"])
    return steps.run_selftest(pipeline, database.scratch, database.reader, dba=database.dba, wait_minutes=5, spark=spark)


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
        steps.run_selftest(database.pipeline(tmp_path, ["NO.SUCH"]), database.scratch, database.reader, spark="none")

    database.run(database.scratch, ["UPDATE rlt_numbers SET id = 2 WHERE id = 1"])
