"""Rows are kept where the session says, and freed with their table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redolake.apply.spark.kept import KeptRows
from redolake.host.spark_settings import KEPT
from redolake.values.table import TableId

pytestmark = pytest.mark.spark
T = TableId("SHOP", "T")


def persisted(spark: Any) -> int:
    return int(spark.sparkContext._jsc.getPersistentRDDs().size())


def copies_of(rows: Any) -> int:
    """Return on how many executors Spark keeps each block."""
    return int(rows._jdf.logicalPlan().rdd().getStorageLevel().replication())


@pytest.mark.parametrize(("where", "copies"), [(None, 1), ("local", 1), ("replicated", 2), ("checkpoint", 1)])
def test_rows_are_kept_where_the_session_says(spark: Any, tmp_path: Path, where: str | None, copies: int) -> None:
    spark.sparkContext.setCheckpointDir(tmp_path.as_uri())
    before, session = persisted(spark), spark.newSession()
    if where is not None:
        session.conf.set(KEPT, where)
    kept = KeptRows.of_session(session)

    rows = kept.keep(T, session.range(0, 100, 1, 4).selectExpr("id", "rand() AS r"))
    first = sorted(map(tuple, rows.collect()))

    assert sorted(map(tuple, rows.collect())) == first
    assert [len(first), persisted(spark) - before] == [100, 1]
    files = [path for path in tmp_path.rglob("part-*")]
    assert len(files) == (4 if where == "checkpoint" else 0)
    if where != "checkpoint":
        assert copies_of(rows) == copies
    kept.let_go(T)
    assert persisted(spark) == before
    kept.let_go(T)
