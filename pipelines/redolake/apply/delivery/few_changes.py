"""Prepare a commit range of few plain changes in this process: the worker's decoder, and the net change of plain rows.

Spark plans the frames of one table for longer than half a second, however few its changes are. What needs a rule of Spark's (a
computed value, a key that changes, a finding) is left to it.
"""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from redolake.apply.context import ApplyContext
from redolake.apply.delivery.prepared import TableRange, ToMerge
from redolake.apply.key_range import ranged_column
from redolake.apply.landed.decoded import REDO, layout
from redolake.apply.landed.findings import has_none
from redolake.apply.net.missing_columns import Missing
from redolake.apply.net.plain_rows import net_rows
from redolake.apply.own_columns import columns_of_change, needed_columns, with_own_columns
from redolake.apply.quarantine.divide import has_events
from redolake.apply.target import UPSERT, KeyRange, NetColumns, TargetColumn, key_range
from redolake.errors import SchemaConflict
from redolake.values import frames
from redolake.values.delivery import PLAIN
from redolake.values.redo import CHANGE_ORDER, Operation
from redolake.values.table import ROWID_COLUMN
from redolake.values.target_options import TargetOptions

INEXACT = frozenset({"double", "float"})  # of a key: NaN is another one each time, and zero is there twice


def columns_to_fetch(options: TargetOptions) -> tuple[str, ...]:
    """Return the columns of assembled changes that `prepare_here` needs of a table's."""
    return tuple(dict.fromkeys((*CHANGE_ORDER, *REDO, *needed_columns(options))))


def is_plain(context: ApplyContext, part: TableRange) -> bool:
    """Return whether this process knows all rules of the range and its table."""
    version, there = part.version, part.there
    is_one = [*map(layout, part.known_versions)] == [layout((version, PLAIN))]
    is_known = version.organization == "heap" and not version.hides_rowids and bool(version.key)
    begins_whole = part.commit_range.delivery == PLAIN and there.shadow_from is None
    more = (
        version.mapping and version.mapping.changes_rows,
        there.history,
        there.options.partition_by,
        part.task.course.mined_names,
    )
    if not (is_one and is_known and begins_whole) or any(more):
        return False
    if there.quarantine is not None and (part.is_mixed or has_events(context, part.table, part.task)):
        return False
    try:
        part.check_columns(context.translation)
    except SchemaConflict:
        return False  # it is raised again where Spark prepares the range
    return not any(part.table.columns[i].type in INEXACT for i in version.key)


def prepare_here(context: ApplyContext, part: TableRange, rows: pa.Table) -> ToMerge | None:
    """Return what is to be merged of the range's assembled changes `rows`; None where Spark has to prepare them."""
    version, course, options = part.version, part.task.course, part.there.options
    if len(rows) != part.committed.count:
        return None
    (batch,) = rows.combine_chunks().to_batches()
    defaulted = part.columns_with_default(part.table.columns.values())
    decoded = context.translation.decode_rows(batch, version, PLAIN, course.rules, {*version.key, *defaulted})
    if not has_none(decoded, part.known_versions[0][0], course.known_from):
        return None
    if ROWID_COLUMN in version.key:
        decoded = with_rowid(decoded)
    net = net_rows(decoded, tuple(part.table.columns), version.key, defaulted, (*columns_of_change(options), "scn"))
    if net is None:
        return None
    missing = Missing(tuple(part.table.columns[i] for i in net.missing))
    return ToMerge(
        partial(frame_of, context.spark, net.rows),
        NetColumns(version.key, missing=net.missing, within=range_of(net.rows, ranged_column(part.table, version))),
        missing,
        upserts=net.rows["op"].to_pylist().count(UPSERT),
        nulled=sum(decoded["nulled"].to_pylist()) if "nulled" in decoded.schema.names else 0,
        asks_target=part.asks_target,
        rows=with_own_columns(net.rows, options) if part.table.takes_rows(net.rows.num_rows) else None,
    )


def with_rowid(decoded: pa.RecordBatch) -> pa.RecordBatch:
    """Return the changes with ROWID as a column, as decoded.with_rowid adds it."""
    code, rowid = decoded["operation_code"], decoded["row_id"]
    for name, absent in ((frames.redo_before, Operation.INSERT), (frames.redo_after, Operation.DELETE)):
        value = pc.if_else(pc.equal(code, int(absent)), None, rowid)
        decoded = decoded.append_column(name(ROWID_COLUMN), value)
    return decoded


def frame_of(spark: SparkSession, rows: pa.Table) -> DataFrame:
    return spark.createDataFrame(rows, from_arrow_schema(rows.schema, prefer_timestamp_ntz=True))


def range_of(rows: pa.Table, column: TargetColumn | None) -> KeyRange | None:
    bounds = {} if column is None else pc.min_max(rows[frames.key(column.id)]).as_py()
    return key_range(column, {"low": bounds.get("min"), "high": bounds.get("max")})
