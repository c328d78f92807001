"""Delivery under a key that may be NULL: as the plain one, but a row with a NULL in its key, of which a unique index allows any
number, is known by all its columns.

Nothing distinguishes equal rows, so only their number counts. Each change removes the row as it was and adds
the row as it is, in any order. The sum over a batch says how many equal rows come or go. Where rows go, MERGE removes all
equal ones, and inserts those that stay.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.apply.context import ApplyContext
from redolake.apply.delivery import plain
from redolake.apply.delivery.changes import decode_range, filled_events
from redolake.apply.delivery.prepared import NetChanges, TableRange
from redolake.apply.landed.keys import has_null, is_moved, lacks_key
from redolake.apply.net.net_change import ENTERED, ORDER, net_change
from redolake.apply.objects.large_objects import with_row_ids
from redolake.apply.own_columns import live, needed_columns
from redolake.apply.spark.probes import Plan
from redolake.apply.spark.quoting import quote
from redolake.apply.target import REMOVE, UPSERT, TargetColumn
from redolake.values import frames
from redolake.values.redo import CHANGE_ORDER
from redolake.values.target_options import TargetOptions

NOTHING = "N"  # the op of changes that leave as many rows as there were

log = logging.getLogger(__name__)


def net_changes(context: ApplyContext, part: TableRange) -> Plan[NetChanges]:
    decoded = decode_range(context, part, keeps_before=True)
    if not has_null_keys(part, decoded):
        return (yield from plain.of_decoded(context, part, decoded))
    if part.version.hides_rowids:
        decoded = with_row_ids(decoded, part.key)
    happened, missing = yield from filled_events(context, part, decoded, nulls=True)
    is_null, options = has_null(part.key), part.there.options
    keyed = happened.filter(~is_null)
    net = net_change(keyed, part.key, counts_nulls=part.counts_nulls, asks_target=part.asks_target)
    net = net.withColumn("is_whole", F.lit(False))
    has, needs, target = part.table.columns, needed_columns(options), live(part.table.rows(), options)
    rows = of_whole_rows(happened.filter(is_null), target, has, part.key, options, needs, counts_nulls=part.counts_nulls)
    net = net.unionByName(rows, allowMissingColumns=True)
    return NetChanges(net, part.committed.count, missing, has_whole=True)


def has_null_keys(part: TableRange, decoded: DataFrame) -> bool:
    """Return whether a change has a NULL in its key, and log how many do."""
    count = int(decoded.filter("null_key").count())
    if count:
        what = "%s: %s change(s) of rows with a NULL in their key; these rows are known by all their columns"
        log.info(what, part.task.table, count)
    return count > 0


def of_whole_rows(
    happened: DataFrame,
    target: DataFrame,
    columns: Mapping[int, TargetColumn],
    key: Sequence[int],
    options: TargetOptions,
    needs: Sequence[str],
    *,
    counts_nulls: bool = False,
) -> DataFrame:
    """Return net changes of the events with a NULL in their key. `target` are the rows that the table has; `needs` are the
    columns of changes that its own columns are made of."""
    entered = F.col("event") == ENTERED
    before = {i: F.col(frames.key(i) if i in key else frames.value_before(i)) for i in columns}
    values = {frames.after(i): F.when(entered, F.col(frames.after(i))).otherwise(before[i]) for i in columns}
    change = [*CHANGE_ORDER, "scn", "operation_code", *needs]
    nulled = ["nulled"] if counts_nulls else []
    equal = (
        happened.select(
            *(value.alias(name) for name, value in values.items()),
            F.when(entered, 1).otherwise(-1).alias("sign"),
            "weight",
            "finding",
            *nulled,
            F.struct(*ORDER).alias("order"),
            F.struct(*change).alias("last"),
        )
        .groupBy(*values)
        .agg(
            F.sum("sign").alias("more"),
            F.sum("weight").alias("changes"),
            F.min("finding").alias("finding"),
            *(F.sum(F.col(name) * F.col("weight")).alias(name) for name in nulled),
            F.max_by("last", "order").alias("last"),
        )
    )
    found = equal.join(count_equal_rows(target, columns, key), all_equal(columns), "left")
    stay = F.coalesce("there", F.lit(0)) + F.col("more")
    rows = found.withColumns(
        {
            "finding": F.coalesce("finding", _finding(stay, options)),
            "copies": F.when(F.col("more") > 0, F.col("more")).when(F.col("more") < 0, stay),
            "op": F.when(F.col("more") < 0, REMOVE).otherwise(NOTHING),
        }
    )
    new = rows.filter("copies > 0").withColumns(
        {
            "op": F.lit(UPSERT),
            **{name: F.lit(0).cast("bigint") for name in ("changes", *nulled)},
            "copy": F.explode(F.sequence(F.lit(1), "copies")),
        }
    )
    both = rows.unionByName(new.drop("copy"))
    keys = {frames.key(i): F.col(frames.after(i)) for i in key}
    return both.withColumns({**keys, "is_whole": F.lit(True)}).select(
        *keys, *values, "op", "changes", "finding", *nulled, "is_whole", "last.*"
    )


def count_equal_rows(target: DataFrame, columns: Mapping[int, TargetColumn], key: Sequence[int]) -> DataFrame:
    """Return each different row of the target that has a NULL in its key, as t<id>, and how often it is `there`."""
    lacking = target.filter(lacks_key(columns[i].name for i in key))
    named = lacking.select(*(F.col(quote(column.name)).alias(frames.in_target(i)) for i, column in columns.items()))
    return named.groupBy(*named.columns).agg(F.count("*").alias("there"))


def all_equal(columns: Mapping[int, TargetColumn]) -> Expression:
    return ~is_moved(columns, frames.in_target)


def _finding(stay: Expression, options: TargetOptions) -> Expression:
    """Return the finding of rows that go and that the target lacks, or whose equals cannot be marked one by one."""
    lacks = "a row with a NULL in its key was changed or deleted, and the target has no row that equals it in all columns"
    marked = (
        "a row with a NULL in its key was deleted, and the target has several equal ones, of which `deletes: mark` marks all"
    )
    goes = F.col("more") < 0
    what = F.when(goes & (stay < 0), F.lit(lacks)).when(goes & (stay > 0) & F.lit(options.deletes == "mark"), F.lit(marked))
    found = F.struct(
        F.col("last.commit_scn").alias("commit_scn"),
        F.col("last.scn").alias("scn"),
        F.lit("RedoNotUnderstood").alias("code"),
        what.alias("what"),
    )
    return F.when(what.isNotNull(), found)
