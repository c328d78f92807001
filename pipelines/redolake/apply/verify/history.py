"""Compare a table's history, folded at an SCN, with the version of the table that is complete to that SCN."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from redolake.apply.epochs import newest_epoch, of_table
from redolake.apply.lake_tables import open_history, open_table
from redolake.apply.landed.key_texts import key_text, without_keys
from redolake.apply.own_columns import live
from redolake.apply.schema import columns_of
from redolake.apply.spark.quoting import quote
from redolake.apply.spark.session import run_sql
from redolake.apply.target import Target
from redolake.apply.verify.compare import keys_apart
from redolake.apply.verify.comparison import CompareTask
from redolake.records.proofs import ProvedHistory
from redolake.values.history import COLUMNS, why_begins
from redolake.values.history_sql import as_of_sql

VIEW = "redolake_history"


def as_is(images: DataFrame) -> DataFrame:
    return images


def compare_history(spark: SparkSession, task: CompareTask, path: str) -> ProvedHistory:
    history, table = open_history(spark, path, task.app_id), open_table(spark, task.target, task.app_id)
    epoch = newest_epoch(history.log)
    waits = why_begins(None if epoch is None else epoch.reached, of_table(table.log, table.base_id))
    if waits is not None:
        return ProvedHistory(waits=waits)
    rows = live(table.rows(task.delta_version), task.options)
    key, apart = task.version.key, keys_apart(spark, task)

    def keep(images: DataFrame) -> DataFrame:
        return without_keys(images, key_text(task.version, lambda i: F.col(f"c{i}")), apart)

    return folded_differences(spark, history, rows, key, task.complete_to, keep if apart else as_is)


def folded_differences(
    spark: SparkSession,
    history: Target,
    rows: DataFrame,
    key: Sequence[int],
    scn: int,
    keep: Callable[[DataFrame], DataFrame] = as_is,
) -> ProvedHistory:
    """Compare what a history says of an SCN with a table's live rows. `keep` leaves out the rows, by c<id>, of which nobody
    knows what is right."""
    named, columns = columns_of(rows.schema), history.columns
    ours = rows.select(*(F.col(quote(column.name)).alias(f"c{i}") for i, column in named.items()))
    values = (F.col(quote(columns[i].name)).cast(column.type).alias(f"c{i}") for i, column in named.items())
    keep(ours).createOrReplaceTempView(f"{VIEW}_table")
    keep(history.rows().select(*COLUMNS, *values)).createOrReplaceTempView(VIEW)
    names = [f"c{i}" for i in named]
    theirs = as_of_sql(VIEW, names, [f"c{i}" for i in key], quote, scn)
    found = f"SELECT {', '.join(names)} FROM {VIEW}_table"
    both = f"SELECT *, 1 AS side FROM ({found}) a UNION ALL SELECT *, -1 AS side FROM ({theirs}) b"
    apart = f"SELECT SUM(side) AS n FROM ({both}) c GROUP BY {', '.join(names)}"
    counts = "SUM(n) FILTER (WHERE n > 0) AS missing, -SUM(n) FILTER (WHERE n < 0) AS extra"
    (counted,) = run_sql(spark, f"SELECT {counts} FROM ({apart}) d")  # both counts at once: the fold is the dear part
    return ProvedHistory(counted["missing"] or 0, counted["extra"] or 0)
