"""Plain delivery: each change is one row of the redo, and has its values."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame

from redolake.apply.context import ApplyContext
from redolake.apply.delivery.changes import decode_range, filled_events
from redolake.apply.delivery.prepared import NetChanges, TableRange
from redolake.apply.landed.findings import TROUBLE
from redolake.apply.landed.mapped_changes import filtered_by_window, probe_filtered
from redolake.apply.net.net_change import net_change
from redolake.apply.objects.large_objects import with_row_ids
from redolake.apply.partitions import with_findings
from redolake.apply.quarantine.divide import NOTHING_TAKEN, Taken, divide, has_events
from redolake.apply.spark.probes import Plan


def net_changes(context: ApplyContext, part: TableRange) -> Plan[NetChanges]:
    if part.there.quarantine is None:
        return (yield from of_decoded(context, part, decode_range(context, part)))
    decoded = with_findings(decode_range(context, part, shows_trouble=True), part.table.columns, part.key, part.there.options)
    if part.is_mixed or part.commit_range.whole is not None or has_events(context, part.table, part.task):
        return (yield from net_changes_without_bad(context, part, decoded))
    # Most batches have nothing that goes to quarantine: the look at the net changes, which all have, says so.
    net = yield from of_decoded(context, part, decoded.drop(TROUBLE))
    return replace(net, undivided=decoded)


def net_changes_without_bad(context: ApplyContext, part: TableRange, decoded: DataFrame) -> Plan[NetChanges]:
    """Return the net changes without the changes that go to quarantine."""
    left, taken = yield from divide(
        context, part.table, part.task, part.commit_range, part.committed.frame, decoded, part.committed.count
    )
    return (yield from of_decoded(context, part, left, taken))


def of_decoded(context: ApplyContext, part: TableRange, decoded: DataFrame, taken: Taken = NOTHING_TAKEN) -> Plan[NetChanges]:
    if part.version.hides_rowids:
        decoded = with_row_ids(decoded, part.key)
    filtered = 0 if part.filter is None else (yield probe_filtered(decoded))["filtered"]
    filtered_in = filtered_by_window(decoded) if filtered else {}
    happened, missing = yield from filled_events(context, part, decoded, healed=taken.healed)
    vanish, nulls = part.commit_range.rows_vanish, part.counts_nulls
    net = net_change(happened, part.key, rows_vanish=vanish, counts_nulls=nulls, asks_target=part.asks_target)
    expected = part.committed.count - taken.count
    return NetChanges(net, expected, missing, filtered=filtered, events=happened, taken=taken, filtered_in=filtered_in)
