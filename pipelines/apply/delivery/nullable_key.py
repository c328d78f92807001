"""Delivery under a key that may be NULL: as the plain one, but a row with a NULL in its key is known by all its columns."""

from __future__ import annotations

import logging

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.apply.context import ApplyContext
from pipelines.apply.delivery import plain
from pipelines.apply.delivery.changes import decode_range, filled_events
from pipelines.apply.delivery.prepared import NetChanges, TableRange
from pipelines.apply.delta.own_columns import live
from pipelines.apply.keys import has_null
from pipelines.apply.large_objects import with_row_ids
from pipelines.apply.looks import Plan
from pipelines.apply.net import net_change
from pipelines.apply.null_keys import of_whole_rows

log = logging.getLogger(__name__)


def net_changes(context: ApplyContext, part: TableRange) -> Plan[NetChanges]:
    decoded = decode_range(context, part, keeps_before=True)
    if not has_null_keys(part, decoded):
        return (yield from plain.of_decoded(context, part, decoded))
    if part.version.hides_rowids:
        decoded = with_row_ids(decoded, part.key)
    happened, missing = yield from filled_events(context, part, decoded, nulls=True)
    is_null, options = has_null(part.key), part.task.options
    net = net_change(happened.filter(~is_null), part.key).withColumn("is_whole", F.lit(False))
    rows = of_whole_rows(happened.filter(is_null), live(part.table.rows, options), part.table.columns, part.key, options)
    net = net.unionByName(rows, allowMissingColumns=True)
    return NetChanges(net, part.committed.count, missing, has_whole=True)


def has_null_keys(part: TableRange, decoded: DataFrame) -> bool:
    """Return whether a change has a NULL in its key, and log how many do."""
    count = int(decoded.filter("null_key").count())
    if count:
        what = "%s: %s change(s) of rows with a NULL in their key; these rows are known by all their columns"
        log.info(what, part.task.table, count)
    return count > 0
