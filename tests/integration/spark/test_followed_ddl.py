"""Each kind of schema change on a Delta table, under both profiles of readers, killed after each commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from redolake.apply.commit_ranges import CommitRange
from redolake.apply.context import ApplyContext
from redolake.apply.create import create_table
from redolake.apply.delta.evolve import evolve
from redolake.apply.delta.log import read_log
from redolake.apply.delta.table import DeltaTable
from redolake.apply.delta.target import DeltaTarget
from redolake.errors import SchemaConflict, ValueDoesNotFit
from redolake.host import crash
from redolake.job.translation import TRANSLATION
from redolake.records.batches.spec import ChangeKind, ColumnChange, Course, Destination, TableTask
from redolake.values.scn import Scn, ScnRange
from redolake.values.table import Column, OracleType, TableId, TableVersion
from redolake.values.target_options import Readers, TargetOptions
from tests.support.killed import Killed

pytestmark = pytest.mark.spark

T = TableId("SHOP", "T")
TEXT, DAY = OracleType("VARCHAR2", length=9), OracleType("DATE")
BOTH = pytest.mark.parametrize("readers", ["spark", "any"])


def number(precision: int, scale: int) -> OracleType:
    return OracleType("NUMBER", precision=precision, scale=scale)


def column(id_: int, name: str, type_: OracleType = TEXT) -> Column:
    return Column(id_, name, type_, id_)


ID, A, B, N = column(1, "ID", number(12, 2)), column(2, "A"), column(3, "B"), column(4, "N", number(5, 1))


class Table:
    """A Delta table with rows of (ID, A, B, N), on which DDL is followed step by step."""

    def __init__(self, spark: Any, folder: Path, readers: Readers, rows: str) -> None:
        self.spark, self.path, self.readers = spark, str(folder / "t"), readers
        self.said: list[str] = []
        create_table(DeltaTarget(spark, self.path, ""), self.version(ID, A, B, N), {}, TRANSLATION)
        spark.sql(f"INSERT INTO delta.`{self.path}` VALUES {rows}").collect()

    def version(self, *columns: Column) -> TableVersion:
        return TableVersion(T, Scn(0), 7, 7, columns, (1,), 99)

    def follow(self, steps: Sequence[ColumnChange], *columns: Column) -> None:
        """Follow the steps to a version of these columns."""
        version = self.version(*columns)
        context = ApplyContext(self.spark, "p", ScnRange(Scn(10), Scn(100)), "token", TRANSLATION, report=self.said.append)
        task = TableTask(T, Destination(self.path, "p/SHOP.T/1", options=TargetOptions(self.readers)), Course((version,)))
        table = DeltaTable(self.spark, self.path, task.destination.app_id)
        evolve(context, table, task, CommitRange(1, 20, 100, version, tuple(steps)))

    def rows(self, at: int | None = None) -> list[dict[str, Any]]:
        reader = self.spark.read.format("delta")
        frame = (reader if at is None else reader.option("versionAsOf", at)).load(self.path)
        return [row.asDict() for row in frame.orderBy("ID").collect()]

    @property
    def log(self) -> Any:
        return read_log(self.path)


def step(scn: int, kind: ChangeKind, changed: Column, **more: Any) -> ColumnChange:
    return ColumnChange(scn, kind, changed, **more)


def killed_after_each_commit(monkeypatch: pytest.MonkeyPatch, work: Any) -> int:
    """Repeat the work, killed after the first commit of each attempt, until it ends; return the number of kills."""

    def killed(name: str) -> None:
        raise Killed(name)

    for kills in range(30):
        monkeypatch.setattr(crash, "point", killed)
        try:
            work()
        except Killed:
            continue
        finally:
            monkeypatch.setattr(crash, "point", lambda name: None)
        return kills
    raise AssertionError("the steps do not come to an end")


@BOTH
def test_every_kind_of_change_is_followed_through_kills_and_older_versions_stay(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readers: Readers
) -> None:
    table = Table(spark, tmp_path, readers, "(1, 'a', 'b', 1.5, 5), (2, 'aa', NULL, NULL, 6)")
    before = table.log.version
    again = column(5, "N", DAY)
    steps = [
        # two names swapped at one SCN, and one of them again with other letters
        step(20, "rename_column", replace(A, name="B")),
        step(20, "rename_column", replace(B, name="A")),
        step(21, "rename_column", replace(B, name="a")),
        # dropped, and added again under its name
        step(21, "drop_column", N),
        step(24, "add_column", again),
        step(25, "change_type", replace(ID, type=number(14, 3))),
        step(26, "comment", A, comment="it's ${HOME} \\ ü"),
        step(26, "comment_table", A, comment="all of it"),
    ]
    after = (replace(ID, type=number(14, 3)), replace(B, name="a"), replace(A, name="B"), again)

    kills = killed_after_each_commit(monkeypatch, lambda: table.follow(steps, *after))

    last = table.log.version
    # With `any` the table is written again twice, each time after a commit that measures no column that goes.
    assert kills == last - before == (10 if readers == "any" else 13)
    table.follow(steps, *after)
    assert table.log.version == last
    assert table.rows() == [
        {"ID": Decimal("1.000"), "B": "a", "a": "b", "N": None, "_commit_scn": 5},
        {"ID": Decimal("2.000"), "B": "aa", "a": None, "N": None, "_commit_scn": 6},
    ]
    assert [(row["A"], row["B"], row["N"]) for row in table.rows(before)] == [("a", "b", Decimal("1.5")), ("aa", None, None)]
    read = spark.read.format("delta").load(table.path)
    assert read.columns == ["ID", "B", "a", "N", "_commit_scn"]
    assert read.schema["B"].metadata["comment"] == "it's ${HOME} \\ ü"
    history = spark.sql(f"DESCRIBE HISTORY delta.`{table.path}`").select("userMetadata").collect()
    scns = {20, 21, 24, 25, 26}
    assert {scn for scn in range(20, 27) if any(f'"ddl_scn": {scn},' in str(row[0]) for row in history)} == scns
    written_again = [line for line in table.said if line.startswith("SHOP.T: the table is written again")]
    assert bool(written_again) == (readers == "any")
    features = table.log.features()
    assert ("columnMapping" in features, "typeWidening" in features) == ((readers == "spark"),) * 2
    assert "deletionVectors" not in features


def test_a_type_that_delta_cannot_widen_to_is_written_again_where_every_value_fits(spark: Any, tmp_path: Path) -> None:
    table = Table(spark, tmp_path, "spark", "(1, 'a', NULL, 1.5, 5), (2, 'b', NULL, 20, 6)")
    narrow, day = replace(N, type=number(3, 1)), replace(B, type=DAY)

    table.follow([step(20, "change_type", narrow), step(20, "change_type", day)], ID, A, day, narrow)

    assert [(row["N"], row["B"]) for row in table.rows()] == [(Decimal("1.5"), None), (Decimal("20.0"), None)]
    before = table.log.version
    with pytest.raises(ValueDoesNotFit, match="1 values of N do not fit"):
        table.follow([step(30, "change_type", replace(N, type=number(2, 1)))], ID, A, day, replace(N, type=number(2, 1)))
    with pytest.raises(ValueDoesNotFit, match="2 values of A do not fit"):
        table.follow([step(30, "change_type", replace(A, type=DAY))], ID, replace(A, type=DAY), day, narrow)
    assert table.log.version == before
    spark.sql(f"INSERT INTO delta.`{table.path}` VALUES (3, 'c', timestamp_ntz'2026-01-02 03:04:05', 1, 7)").collect()
    assert table.rows()[2]["B"] == datetime(2026, 1, 2, 3, 4, 5)


def test_columns_that_the_steps_do_not_explain_stop_the_table(spark: Any, tmp_path: Path) -> None:
    table = Table(spark, tmp_path, "spark", "(1, 'a', 'b', 1.5, 5)")
    with pytest.raises(SchemaConflict, match="columns differ"):
        table.follow([step(20, "rename_column", replace(A, name="B"))], ID, replace(A, name="B"), B, N)
    with pytest.raises(SchemaConflict, match="_COMMIT_SCN"):
        table.follow([step(30, "rename_column", replace(N, name="_COMMIT_SCN"))], ID, A, B, N)
