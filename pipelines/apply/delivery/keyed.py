"""The deliveries by key: the net change of each, checked, is what MERGE gets."""

from __future__ import annotations

from typing import assert_never

from pyspark.sql import DataFrame

from pipelines.apply.context import ApplyContext
from pipelines.apply.delivery import assembled, nullable_key, plain, reread_values
from pipelines.apply.delivery.prepared import NetChanges, PreparedRange, TableRange, ToMerge
from pipelines.apply.landed.check_changes import check_all, probe_net_changes
from pipelines.apply.spark.probes import Plan
from pipelines.apply.target import KeyRange, NetColumns, TargetColumn, key_range
from pipelines.values.delivery import Assembled, Keyed, NullableKey, Plain, RereadValues


def net_changes(context: ApplyContext, part: TableRange, delivery: Keyed) -> Plan[NetChanges]:
    """Return the net change of the range's changes, by the module of the delivery."""
    match delivery:
        case Plain():
            return plain.net_changes(context, part)
        case NullableKey():
            return nullable_key.net_changes(context, part)
        case RereadValues():
            return reread_values.net_changes(context, part, delivery)
        case Assembled():
            return assembled.net_changes(context, part, delivery)
        case _:
            assert_never(delivery)


def prepare(context: ApplyContext, part: TableRange, delivery: Keyed) -> Plan[PreparedRange]:
    net = yield from net_changes(context, part, delivery)
    ranged = None if net.has_whole else part.table.ranged_column(part.version)
    frame, keys = yield from check_net_changes(context, part, net, ranged)
    return to_merge(part, net, frame, keys)


def check_net_changes(
    context: ApplyContext, part: TableRange, net: NetChanges, ranged: TargetColumn | None = None
) -> Plan[tuple[DataFrame, KeyRange | None]]:
    """Return the net changes, none of which has a finding or is missing, and the range of their keys by the column `ranged`."""
    frame = part.table.with_findings(net.frame, part.key, part.task.options)
    frame = context.kept.keep(part.task.table, frame)
    seen = yield probe_net_changes(frame, ranged)
    check_all(part.task, seen, net.expected)
    return frame, key_range(ranged, seen)


def to_merge(part: TableRange, net: NetChanges, frame: DataFrame, keys: KeyRange | None = None) -> ToMerge:
    filled, kept = part.commit_range.filled, part.keeps_removed
    has = NetColumns(part.key, net.objects, net.missing.ids, filled, net.has_whole, keys, kept)
    is_empty = bool(net.taken.count) and not net.expected
    return ToMerge(frame, has, net.missing, net.filtered, net.events, net.taken, net.filtered_in, is_empty)
