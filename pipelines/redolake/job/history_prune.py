"""Remove what a history says of older times, or only count it."""

from __future__ import annotations

from datetime import datetime

from pyspark.sql import SparkSession

from redolake.apply.context import MayCommit, allow
from redolake.apply.history_cut import HistoryCut, cut_history, find_cut
from redolake.apply.lake_tables import open_history, open_table
from redolake.values.table import TableId


def older_history(spark: SparkSession, path: str, limit: datetime) -> HistoryCut | None:
    return find_cut(open_history(spark, path, ""), limit)


def shorten_history(
    spark: SparkSession,
    path: str,
    target: str,
    limit: datetime,
    pipeline: str,
    table: TableId,
    may_commit: MayCommit = allow,
    least_share: float = 0.0,
) -> HistoryCut | None:
    """Remove what is older, where that is at least such a share of all rows. Return what was removed."""
    history = open_history(spark, path, "")
    cut = find_cut(history, limit)
    if cut is None or cut.older < least_share * cut.rows:
        return None
    says = {"pipeline": pipeline, "history_begins": cut.scn}
    cut_history(history, open_table(spark, target, ""), cut, says, table, may_commit)
    return cut
