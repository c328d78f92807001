"""A table whose redo adds two columns and drops one, and its rows after that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from redolake.records.batches.spec import ColumnChange
from redolake.values.table import Column, OracleType
from tests.integration.spark.redo_rows import change, committed, control, insert, update
from tests.integration.spark.specs import ID, V, task, version

N = Column(3, "N", OracleType("NUMBER", precision=5, scale=1), 3)
D = Column(4, "D", OracleType("DATE"), 4)


def with_ddl(folder: Path) -> Any:
    """N (default 7.5) and D (no default) are added at SCN 40, V is dropped at 60."""
    versions = (version(), version(scn=40, columns=(ID, V, N, D)), version(scn=60, columns=(ID, N, D)))
    steps = (ColumnChange(40, "add_column", N, "7.5"), ColumnChange(40, "add_column", D), ColumnChange(60, "drop_column", V))
    return task(folder, versions=versions, ddl=steps)


def ddl_rows() -> list[dict[str, Any]]:
    return [
        *committed(0, 20, (1, insert(1, "a"), "R1"), (1, insert(2, "b"), "R2"), (1, insert(4, "untouched"), "R4")),
        change(10, 30, 3, update(2, "b", "c"), "R2", xid="1.9.9"),  # open across the first DDL
        change(11, 45, 1, """insert into "SHOP"."T"("ID","V","N","D") values ('3','d','1.5',NULL);""", "R3", xid="1.9.9"),
        control(12, 46, 7, "1.9.9"),
        *committed(20, 70, (3, """update "SHOP"."T" set "N" = '2' where "ID" = '1' and "N" = '7.5' and "D" IS NULL;""", "R1")),
    ]


def rows_of(spark: Any, mine: Any) -> set[tuple[Any, ...]]:
    read = spark.read.format("delta").load(mine.destination.target)
    assert read.columns == ["ID", "N", "D", "_commit_scn"]
    return {(int(row["ID"]), str(row["N"]), row["D"], row["_commit_scn"]) for row in read.collect()}


AFTER_DDL = {(1, "2.0", None, 71), (2, "7.5", None, 46), (3, "1.5", None, 46), (4, "7.5", None, 21)}
