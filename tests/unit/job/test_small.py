"""The tables of a batch of few rows that are planned for few rows too."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from redolake.job.tables import FEW_ROWS, SMALL_BYTES, is_small
from redolake.records.batches.manifest import RowAccount
from redolake.records.batches.spec import TableTask, WholeFile
from redolake.values.table import Column, ColumnChoice, OracleType
from tests.integration.spark.specs import with_course
from tests.unit.records.samples import TASK

NOTHING = RowAccount(landed=0, carried_in=0, rolled_back=0)
PLAIN = with_course(TASK, ddl=())
DDL = with_course(PLAIN, ddl=TASK.course.ddl)
WHOLE = with_course(PLAIN, whole=(WholeFile(50, "f", (40,)),))
VERSION = replace(TASK.course.latest, choice=ColumnChoice(large_objects="reread"))
OF_OBJECTS = replace(VERSION, columns=(*VERSION.columns, Column(3, "DOC", OracleType("CLOB"), 3)))
OBJECTS = with_course(PLAIN, versions=(OF_OBJECTS,), deliveries=())


@pytest.mark.parametrize(
    ("task", "changes", "size", "small"),
    [
        (PLAIN, FEW_ROWS, SMALL_BYTES, True),
        (PLAIN, FEW_ROWS + 1, SMALL_BYTES, False),
        (PLAIN, 1, SMALL_BYTES + 1, False),
        (PLAIN, 1, None, False),
        (PLAIN, 0, None, True),
        (DDL, 0, SMALL_BYTES + 1, False),
        (WHOLE, 1, 0, False),
        (OBJECTS, 1, 0, False),
    ],
    ids=[
        "small",
        "many changes",
        "large",
        "size unknown",
        "no changes",
        "DDL of a large table",
        "a file of all rows",
        "objects read again",
    ],
)
def test_what_reads_few_rows_is_small(task: TableTask, changes: int, size: int | None, small: bool) -> None:
    assert is_small(SimpleNamespace(bytes=size), task, replace(NOTHING, applied=changes)) is small
