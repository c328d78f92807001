"""Plain delivery: each change is one row of the redo, and has its values."""

from __future__ import annotations

from pyspark.sql import DataFrame

from pipelines.apply.context import ApplyContext
from pipelines.apply.delivery.changes import decode_range, filled_events
from pipelines.apply.delivery.prepared import NetChanges, TableRange
from pipelines.apply.landed.mapped_changes import probe_filtered
from pipelines.apply.net.net_change import net_change
from pipelines.apply.objects.large_objects import with_row_ids
from pipelines.apply.spark.probes import Plan


def net_changes(context: ApplyContext, part: TableRange) -> Plan[NetChanges]:
    return (yield from of_decoded(context, part, decode_range(context, part)))


def of_decoded(context: ApplyContext, part: TableRange, decoded: DataFrame) -> Plan[NetChanges]:
    if part.version.hides_rowids:
        decoded = with_row_ids(decoded, part.key)
    filtered = 0 if part.filter is None else (yield probe_filtered(decoded))["filtered"]
    happened, missing = yield from filled_events(context, part, decoded)
    net = net_change(happened, part.key, rows_vanish=part.commit_range.rows_vanish)
    return NetChanges(net, part.committed.count, missing, filtered=filtered, events=happened)
