"""Remove what a history says of older times, or only count it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import SparkSession

from redolake.apply.context import MayCommit, allow
from redolake.apply.history_cut import HistoryCut, cut_history, find_cut
from redolake.apply.lake_tables import open_history, open_table
from redolake.apply.owner import Owner
from redolake.apply.table_log import HISTORY_BEGINS, app_id_of
from redolake.apply.target import Terms
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
    says: Mapping[str, object] | None = None,
) -> HistoryCut | None:
    """Remove what is older, where that is at least such a share of all rows, and return it. `says` is noted with the commit."""
    app_id = app_id_of(pipeline, table, 0)
    history = open_history(spark, path, app_id)
    cut = find_cut(history, limit)
    if cut is None or cut.older < least_share * cut.rows:
        return None
    noted = {"pipeline": pipeline, HISTORY_BEGINS: cut.scn, **(says or {})}
    terms = Terms(table, Owner.of(f"{app_id}/history/0"), may_commit)
    cut_history(history, open_table(spark, target, ""), cut, noted, terms)
    return cut
