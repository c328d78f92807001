"""Which rows of live tables an old range has touched: the keys in its redo, those of transactions that began before it too."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from redolake.context import PipelineContext, Report
from redolake.host.progress import Progress
from redolake.land.dictionary import Readings
from redolake.reconcile.mined_names import mined_names
from redolake.reconcile.settling import settles_at
from redolake.reconcile.table_versions import history, known_versions, object_ids, table_task
from redolake.records.windows import WindowManifest
from redolake.schema import version_as_of
from redolake.steps.ranges.logs import find_committed
from redolake.steps.ranges.replay import OldRange, TableHistory, missing_files, objections, old_range, refuse
from redolake.steps.ranges.touched_keys import TouchedRows, TouchedTable, Xid, bounds_of, read_window, why_not_by_key
from redolake.values.redo import Operation
from redolake.values.scn import Scn, ScnRange
from redolake.values.table import TableId


@dataclass(slots=True)
class FoundRows:
    """The rows that the range touches; `why_not` of the tables that stay as they are, and the transactions that are `cut`."""

    touched: TouchedRows
    why_not: dict[TableId, str] = field(default_factory=dict)
    cut: Collection[Xid] = ()


def live_range(context: PipelineContext, scns: ScnRange, chosen: Sequence[TableId]) -> OldRange:
    """Return the range with its windows. Raises ConfigurationError unless all of them are there, with the tables' redo."""
    one = old_range(context, scns, chosen)
    refuse([objection for past in one.histories.values() for objection in objections(past, scns, one.manifests)])
    refuse(list(missing_files(context, one.windows)))
    return one


def read_rows(context: PipelineContext, one: OldRange, report: Report) -> FoundRows:
    """Read which keys the range's changes name, and those of transactions that commit in it and began before it. `context`
    has the chain of the pipeline, also where the range was mined beside it."""
    why_not, tables = dict[TableId, str](), dict[TableId, TouchedTable]()
    for past in one.histories.values():
        found = touched_table(one, past)
        if isinstance(found, str):
            why_not[past.table] = found
        else:
            tables[past.table] = found
    touched = TouchedRows(tables, object_ids(context, {}))
    for number, window in enumerate(one.windows):
        report(Progress("", "reading the keys of windows", number, len(one.windows)))
        read_window(one.context, one.context.landing, window, touched, scns=one.scns)
    return FoundRows(touched, why_not, read_beginnings(context, one, touched))


def touched_table(one: OldRange, past: TableHistory) -> TouchedTable | str:
    """Return the table with the versions that its changes have in the range; or why its rows cannot be read again."""
    context, entry = one.context, past.entry
    known = known_versions(context, past.table)
    if entry is None or entry.state == "snapshotting" or entry.complete_to_scn is None or not known:
        return "its snapshot is being read: let it end"
    if settles_at(context, entry) is not None:
        return "its chunks were read AS OF several SCNs: let apply run first"
    now = version_as_of(known, entry.complete_to_scn)
    if why := why_not_by_key(context, now):
        return f"{why}: run `redolake snapshot {past.table} --replace`"
    readings = Readings(context.landing.dictionary)
    then = history(
        context, past.versions, one.windows[0].start, one.windows, one.windows[-1].end, readings, as_configured=False
    )
    stop = then.hold.at_scn if then.hold is not None else None
    if stop is not None and stop < one.scns.end:
        return f"its columns after the DDL at SCN {stop} are not known, which is not followed: end the range there"
    if then.conflict is not None:
        return f"its columns in the range are not known: {then.conflict.what}"
    named = partial(mined_names, context, windows=one.windows, carried=(), readings=readings)
    task = table_task(context, then, "", "", names=named)
    return TouchedTable(now, task.versions, task.mined_names)


def read_beginnings(context: PipelineContext, one: OldRange, touched: TouchedRows) -> frozenset[Xid]:
    """Read the changes from before the range of transactions that commit in it, in older windows of the chain. Return the
    transactions whose beginning is not there."""
    committed = find_committed(one.context, one.windows, one.scns)
    sought = {found.name for found in committed if found.begun is None or found.begun < one.scns.start}
    older = reversed([w for w in context.landing.windows.after() if w.start < one.scns.start])
    reached = int(one.scns.start)
    for window in older:
        is_next = window.end >= reached and window.resetlogs_id == one.windows[0].resetlogs_id
        if not sought or not is_next or any(missing_files(context, [window])):
            break
        before = ScnRange(Scn(0), one.scns.start)
        read_window(context, context.landing, window, touched, sought, before)
        sought -= starts_in(context, window, before)
        reached = int(window.start)
    return frozenset(sought)


def starts_in(context: PipelineContext, window: WindowManifest, scns: ScnRange) -> set[Xid]:
    return {name for scn, code, name in bounds_of(context.landing, window) if code == Operation.START and scn in scns}
