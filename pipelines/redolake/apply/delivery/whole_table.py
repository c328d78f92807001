"""DDL that changed rows without redo: the rows of dropped partitions, and the values of columns with a computed default.

Capture has read the key of every row AS OF the window's end, and the columns that Oracle filled. The commit range from the DDL
to that end contains all changes of that time, so that its one commit ends with exactly these keys and values.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.apply.commit_ranges import CommitRange
from redolake.apply.context import ApplyContext
from redolake.apply.delivery import keyed
from redolake.apply.delivery.prepared import PreparedRange, TableRange
from redolake.apply.landed.source_rows import check_values, read_source
from redolake.apply.own_columns import live
from redolake.apply.spark.probes import Plan
from redolake.apply.spark.quoting import quote
from redolake.apply.spark.shallow import any_of
from redolake.apply.spark.text import as_text
from redolake.apply.target import OBJECTS, REMOVE, UPSERT, Target, TargetColumn
from redolake.errors import OF_BATCH, InvariantBroken, report_with
from redolake.records.batches.spec import TableTask, WholeFile
from redolake.values import frames
from redolake.values.delivery import WholeTable
from redolake.values.redo import Operation
from redolake.values.table import TableVersion, of_columns


def prepare(context: ApplyContext, part: TableRange, delivery: WholeTable) -> Plan[PreparedRange]:
    net = yield from keyed.net_changes(context, part, delivery.changes)
    net, frame, seen = yield from keyed.check_net_changes(context, part, net)
    frame = context.kept.keep(part.task.table, with_whole_table(context, part, frame))
    return keyed.to_merge(part, net, frame, nulled=seen["nulled"] if part.counts_nulls else 0)


def with_whole_table(context: ApplyContext, part: TableRange, net: DataFrame) -> DataFrame:
    """Return the net changes that lead to the rows of the range's file. Raises InvariantBroken if it has a row that neither the
    target nor the redo has, or lacks one that no DDL can have removed."""
    table, task, commit_range = part.table, part.task, part.commit_range
    whole, version = commit_range.whole, commit_range.version
    assert whole is not None
    filled = [column for column in table.columns.values() if column.id in commit_range.filled]
    keys = [frames.key(i) for i in version.key]
    read = read_whole(context, task, version, whole, filled)
    compared = both_sides(table, task, version, filled, read).join(net.withColumn("changed", F.lit(True)), keys, "full_outer")
    compared = context.kept.keep(task.table, compared)
    check_rows(compared, task, commit_range, keys)
    return changes_of(compared, commit_range, net, filled)


def read_whole(
    context: ApplyContext, task: TableTask, version: TableVersion, whole: WholeFile, filled: Sequence[TargetColumn]
) -> DataFrame:
    """Return k<id>, f<id> of the filled columns, and `is_left`."""
    ids = {*version.key, *(column.id for column in filled)}
    narrow = of_columns(version, ids)
    source = read_source(context.spark, [whole.path], narrow, task.course.rules, context.translation)
    check_values(source, narrow)
    names = {i: quote(name) for i, name in source.names.items()}
    return source.frame.select(
        *(F.col(names[i]).alias(frames.key(i)) for i in version.key),
        *(F.col(names[column.id]).alias(frames.read_again(column.id)) for column in filled),
        F.lit(True).alias("is_left"),
    )


def both_sides(
    table: Target, task: TableTask, version: TableVersion, filled: Sequence[TargetColumn], read: DataFrame
) -> DataFrame:
    """Return the keys of the target and of the file, with the filled columns of both: t<id> and f<id>."""
    target = live(table.rows(), task.destination.options).select(
        *(F.col(quote(table.columns[i].name)).alias(frames.key(i)) for i in version.key),
        *(F.col(quote(column.name)).alias(frames.in_target(column.id)) for column in filled),
        F.lit(True).alias("is_there"),
    )
    return target.join(read, [frames.key(i) for i in version.key], "full_outer")


def check_rows(compared: DataFrame, task: TableTask, commit_range: CommitRange, keys: Sequence[str]) -> None:
    is_left, is_there = F.coalesce("is_left", F.lit(False)), F.coalesce("is_there", F.lit(False))
    unknown = is_left & ~has_row(is_there)
    lost = ~is_left & has_row(is_there)
    shown = F.concat_ws(", ", *(as_text(F.col(key)) for key in keys))
    found = compared.agg(
        F.count_if(unknown).alias("unknown"),
        F.min(F.when(unknown, shown)).alias("unknown_key"),
        F.count_if(lost).alias("lost"),
        F.min(F.when(lost, shown)).alias("lost_key"),
    ).collect()[0]
    if found["unknown"] and task.destination.shadow_from is None:  # a shadow has only rows that changed
        what = "that were read AS OF the end of the DDL's window are neither in the target nor in the redo"
        raise contradiction(task, commit_range, f"{found['unknown']} row(s) {what}", found["unknown_key"])
    if found["lost"] and not commit_range.removes:
        what = "of the target are gone AS OF the end of the DDL's window, and no redo removes them"
        raise contradiction(task, commit_range, f"{found['lost']} row(s) {what}", found["lost_key"])


def contradiction(task: TableTask, commit_range: CommitRange, what: str, key: str) -> InvariantBroken:
    return InvariantBroken(
        f"{what}, such as the one with key {key}",
        cure=f"run `redolake snapshot {task.table} --replace` to go on; nothing was merged. {report_with(OF_BATCH)}",
        table=task.table,
        scn=commit_range.start,
    )


def has_row(is_there: Expression) -> Expression:
    """Return whether the target has a row of the key after the changes."""
    op = F.col("op")
    return F.when(op == UPSERT, F.lit(True)).when(op == REMOVE, F.lit(False)).otherwise(is_there)


def changes_of(compared: DataFrame, commit_range: CommitRange, net: DataFrame, filled: Sequence[TargetColumn]) -> DataFrame:
    """Return the rows of `net` and those that it lacks, with its columns."""
    is_left, is_changed = F.coalesce("is_left", F.lit(False)), F.coalesce("changed", F.lit(False))
    differs = (
        any_of(~F.col(frames.in_target(c.id)).eqNullSafe(F.col(frames.read_again(c.id))) for c in filled)
        if filled
        else F.lit(False)
    )
    needed = F.when(is_left, is_changed | differs & F.col("is_there")).otherwise(is_changed | F.col("is_there"))
    assembled = commit_range.changes.pieces  # large objects stay where the row did not change
    stays = {frames.unknown(i) for i in assembled}
    op = F.when(~is_left, F.lit(REMOVE)).when(is_changed, F.col("op")).otherwise(F.lit(OBJECTS))
    code = F.when(is_left, F.lit(int(Operation.UPDATE))).otherwise(F.lit(int(Operation.DELETE)))
    values = {
        "op": op,
        "operation_code": F.coalesce("operation_code", code),
        "commit_scn": F.coalesce("commit_scn", F.lit(commit_range.start)),
        **{frames.after(c.id): F.col(frames.read_again(c.id)) for c in filled},
        **{name: F.coalesce(name, F.lit(name in stays)) for name in net.columns if is_flag(name, [c.id for c in filled])},
        **{frames.unknown(c.id): F.lit(False) for c in filled if frames.unknown(c.id) in net.columns},
    }
    return compared.filter(F.coalesce(needed, F.lit(False))).withColumns(values).select(*net.columns)


def is_flag(name: str, filled: Sequence[int]) -> bool:
    """Return whether a column of the net changes says how another one is merged."""
    return name in ("is_read", "touched") or frames.id_of(name, frames.unknown) not in (None, *filled)
