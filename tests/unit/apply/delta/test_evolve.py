"""Which schema changes the Delta table follows."""

from __future__ import annotations

from typing import Any

import pytest

from redolake.apply.commit_ranges import CommitRange
from redolake.apply.context import ApplyContext
from redolake.apply.delta.evolve import evolve
from redolake.apply.delta.table import DeltaTable
from redolake.apply.target import TargetColumn
from redolake.errors import SchemaConflict
from redolake.job.translation import TRANSLATION
from redolake.records.batches.spec import ColumnChange, Course, Destination, TableTask
from redolake.values.scn import Scn, ScnRange
from redolake.values.table import Column, OracleType, TableId, TableVersion

T = TableId("S", "T")
ID, A = (Column(n, name, OracleType("VARCHAR2"), n) for n, name in ((1, "ID"), (2, "A")))
VERSION = TableVersion(T, Scn(50), 7, 7, (ID, A), (1,), 9)


class RecordingSpark:
    """Records the statements, and runs none."""

    def __init__(self) -> None:
        self.statements: list[str] = []

    def sql(self, text: str) -> RecordingSpark:
        self.statements.append(text)
        return self

    def collect(self) -> list[Any]:
        return []


def test_an_unknown_kind_of_schema_change_stops_the_table_and_drops_no_column() -> None:
    spark: Any = RecordingSpark()
    unknown = ColumnChange(50, "split_column", A)  # type: ignore[arg-type]
    table = DeltaTable(spark, "/lake/t", "p/S.T/1")
    table.columns = {c.id: TargetColumn(c.id, c.name, "string") for c in (ID, A)}
    context = ApplyContext(spark, "p", ScnRange(Scn(10), Scn(100)), "token", TRANSLATION)

    with pytest.raises(SchemaConflict, match="split_column") as stopped:
        evolve(
            context,
            table,
            TableTask(T, Destination("/lake/t", "p/S.T/1"), Course((VERSION,))),
            CommitRange(1, 50, 100, VERSION, (unknown,)),
        )

    assert stopped.value.where["table"] == T
    assert spark.statements == []
