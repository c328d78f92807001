"""The deliveries by key: the net change of each, checked, is what MERGE gets."""

from __future__ import annotations

from typing import assert_never

from pyspark.sql import DataFrame, Row

from redolake.apply.context import ApplyContext
from redolake.apply.delivery import assembled, nullable_key, plain, reread_values
from redolake.apply.delivery.prepared import NetChanges, PreparedRange, TableRange, ToMerge
from redolake.apply.key_range import ranged_column
from redolake.apply.landed.check_changes import check_all, probe_net_changes
from redolake.apply.partitions import with_findings
from redolake.apply.spark.probes import Plan
from redolake.apply.target import NetColumns, TargetColumn, key_range
from redolake.values.delivery import Assembled, Keyed, NullableKey, Plain, RereadValues


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
    ranged = None if net.has_whole else ranged_column(part.table, part.version)
    net, frame, seen = yield from check_net_changes(context, part, net, ranged)
    return to_merge(part, net, frame, seen, ranged)


def check_net_changes(
    context: ApplyContext, part: TableRange, net: NetChanges, ranged: TargetColumn | None = None
) -> Plan[tuple[NetChanges, DataFrame, Row]]:
    """Return the net changes, those that were kept and none of which has a finding or is missing, and what their probe saw.
    Where a change has a finding and may go to quarantine, they are computed once more without it."""
    frame = with_findings(net.frame, part.table.columns, part.key, part.there.options)
    frame = context.kept.keep(part.task.table, frame)
    seen = yield probe_net_changes(frame, ranged, counts_nulls=part.counts_nulls)
    if net.undivided is not None and seen["finding"] is not None:
        left = yield from plain.net_changes_without_bad(context, part, net.undivided)
        return (yield from check_net_changes(context, part, left, ranged))
    check_all(part.task, seen, net.expected)
    return net, frame, seen


def to_merge(
    part: TableRange,
    net: NetChanges,
    frame: DataFrame,
    seen: Row | None = None,
    ranged: TargetColumn | None = None,
    nulled: int = 0,
) -> ToMerge:
    """`seen` is what the probe of these rows saw; None where others are merged, with `nulled` of the probed ones."""
    filled, kept = part.commit_range.filled, part.keeps_removed
    keys, upserts = (None, None) if seen is None else (key_range(ranged, seen), seen["upserts"])
    has = NetColumns(part.key, net.objects, net.missing.ids, filled, net.has_whole, keys, kept)
    is_empty = bool(net.taken.count) and not net.expected
    nulled = seen["nulled"] if seen is not None and part.counts_nulls else nulled
    counts = (net.taken, net.filtered_in, is_empty, upserts, nulled)
    return ToMerge(lambda: frame, has, net.missing, net.filtered, net.events, *counts, asks_target=part.asks_target)
