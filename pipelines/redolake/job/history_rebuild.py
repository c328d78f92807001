"""Rebuild a table's history from older redo: batches over a copy of the table make it, then it joins the live history."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from redolake.apply.context import ApplyContext, MayCommit
from redolake.apply.epochs import newest_epoch
from redolake.apply.lake_tables import open_history, open_table
from redolake.apply.own_columns import live
from redolake.apply.set_back import check_not_passed
from redolake.apply.table_log import COLUMN_ID, KEY_PLACE
from redolake.apply.target import Target
from redolake.apply.verify.history import folded_differences
from redolake.errors import Terminal
from redolake.host.progress import Report
from redolake.job.lake import check_lake
from redolake.job.translation import TRANSLATION
from redolake.records.batches.spec import BatchSpec, TableTask
from redolake.values.target_options import TargetOptions


def goes_back_to(spark: SparkSession, path: str, base_id: str) -> int | None:
    """Return the SCN at which the history's newest epoch begins; None where there is no history."""
    history = open_history(spark, path, base_id)
    epoch = newest_epoch(history.log)
    if epoch is None:
        return None
    begins = history.rows().filter((F.col("_op") == "begin") & (F.col("_epoch") == epoch.number))
    found = begins.agg(F.min("_commit_scn")).collect()[0][0]
    return None if found is None else int(found)


def says_the_same(spark: SparkSession, path: str, target: str, base_id: str, options: TargetOptions, scn: int) -> bool:
    """Return whether the history is right at an SCN at which the table is complete."""
    table, history = open_table(spark, target, base_id), open_history(spark, path, base_id)
    places = [field.metadata for field in table.schema.fields if KEY_PLACE in field.metadata]
    key = [found[COLUMN_ID] for found in sorted(places, key=lambda found: int(found[KEY_PLACE]))]
    return folded_differences(spark, history, live(table.rows(), options), key, scn).is_equal


def join_history(
    spark: SparkSession, spec: BatchSpec, target: str, path: str, load: str, report: Report, may_commit: MayCommit
) -> tuple[int, int]:
    """Add what was made to the history at `path`; return how many epochs and changes it has more. `spec` is the last batch over
    the copy, `target` the live table, whose load was `load` when the copy was made. Raise Terminal, with nothing written, where
    it does not end with the table's rows."""
    check_lake(spec.lake)
    (task,) = spec.tables
    there = task.destination
    table, made = open_table(spark, target, there.app_id), open_history(spark, str(there.history), there.app_id)
    check_same(table, task, load, spec.end - 1)
    found = folded_differences(spark, made, live(table.rows(), there.options), task.course.latest.key, spec.end - 1)
    if not found.is_equal:
        raise Terminal(
            f"by the redo, the table would have other rows: {found.missing_rows} rows missing, {found.extra_rows} extra. "
            "Some were changed beside the stream since, such as by a repair or a closed gap",
            cure="rebuild the history from a later SCN; nothing was written",
            table=task.table,
        )
    context = ApplyContext(spark, spec.pipeline, spec.scns, spec.token, TRANSLATION, may_commit, report, origin=spec.origin)
    own = open_history(spark, path, there.app_id)
    changes = made.rows().filter(F.col("_image").isNotNull() & (F.col("_op") != "load")).count()
    return own.add(context, table, task, made), changes


def check_same(table: Target, task: TableTask, load: str, scn: int) -> None:
    """Raise Transient where the live table has gone on, and Terminal where it was loaded again."""
    if table.load != load:
        raise Terminal(
            "the table was loaded again meanwhile", cure="run it again, from an SCN after that load", table=task.table
        )
    check_not_passed(table, task.table, scn)
