"""Replays: old redo is applied once more, by the job that applies batches, to other tables than the live ones.

What a replay begins with and where it goes is one value, a row of AIMS. Its redo is asked for here, once: does it cover
the range, are its files there, what was carried over at its start, does a DDL stop a table in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from redolake.apply.table_log import VersionToRead
from redolake.config import Pipeline
from redolake.context import Run
from redolake.errors import ConfigurationError, Finding
from redolake.land import layout
from redolake.land.cures import mine_again, restore
from redolake.ledger import TableEntry
from redolake.reconcile.batches import loaded_tasks
from redolake.reconcile.contents import Contents
from redolake.reconcile.damage import with_whole_rows
from redolake.reconcile.ledger import last_batch
from redolake.reconcile.next_batch import VersionsOfTime, build_batch, unbroken
from redolake.reconcile.table_versions import app_id, next_baseline, versions_of_time
from redolake.records.batches.spec import BatchSpec, ChangesForm, TableTask
from redolake.records.pruned import Pruned
from redolake.records.windows import WindowManifest
from redolake.values.quarantine import QuarantineRule
from redolake.values.scn import ChainPosition, Scn, ScnRange
from redolake.values.table import TableId, TableVersion

BackfillTarget = Literal["shadow", "live", "changes", "files", "copy"]
LIVE_TAKES = ("reason", "from_logs")  # live tables are no destination: their rows are read again


@dataclass(frozen=True, slots=True)
class Aim:
    """What a replay makes, and where: its tables are in `folder` under their own paths, its batch is in the folder `batch` of
    the landing, with a manifest for each `part` of several.

    Tables that begin with `nothing` are complete below the range, mark deleted rows, and have application ids of their own;
    others begin with a copy of a `version` of the live table, which goes on under its id. `quarantine` is the one that is read:
    that of the `live` table, or that beside the copy, which is written too. With `form` the changes themselves are written.
    `takes` are the options of a backfill that mean something to it: others are refused.
    """

    base: Literal["nothing", "version"]
    quarantine: Literal["none", "live", "own"] = "none"
    has_history: bool = False
    form: ChangesForm | None = None
    takes: tuple[str, ...] = ()
    folder: str = ""
    batch: str = ""
    part: str = ""

    def aim(self, context: Run, spec: BatchSpec, scns: ScnRange) -> BatchSpec:
        """Return the batch with these tables. It leaves out what commits at or above the range's end."""
        location = context.landing.files.location
        return replace(
            spec,
            tables=tuple(self.aim_table(context, task, scns) for task in spec.tables),
            end=scns.end,
            manifest=location(layout.replay_manifest(self.batch, self.part)),
            carry_out=location(layout.replay_carry(self.batch)),
            changes=self.form,
        )

    def aim_table(self, context: Run, task: TableTask, scns: ScnRange) -> TableTask:
        path = context.pipeline.table(task.table).path
        there = replace(
            task.destination,
            target=f"{self.folder}/{path}",
            history=f"{self.folder}/_history/{path}" if self.has_history else None,
            at_least=None,
            history_at_least=None,
            quarantine=self.rule(context, task.table, task.destination.quarantine),
        )
        if self.base == "nothing":
            there = replace(
                there,
                app_id=f"{there.app_id}/shadow/{self.folder.rpartition('/')[2]}",
                shadow_from=scns.start,
                options=there.options if lacks_marks(task) else replace(there.options, deletes="mark"),
            )
        return replace(task, destination=there)

    def rule(self, context: Run, table: TableId, rule: QuarantineRule | None) -> QuarantineRule | None:
        """Return the quarantine of a table. The share of a batch's changes is no limit for its own: this batch has others."""
        if self.quarantine == "own" and rule is not None:
            return replace(rule, path=context.pipeline.quarantine_path(table, self.folder), percent=None, may_write=True)
        return rule if self.quarantine == "live" else None

    def version(self, context: Run, table: TableId, base: Contents) -> VersionToRead:
        """Return the version of the live table with which its table here begins."""
        own = context.pipeline.quarantine_path(table, self.folder) if self.quarantine == "own" else None
        copy = f"{self.folder}/{context.pipeline.table(table).path}"
        return replace(live_version(context, table, base), copy=copy, copied_quarantine=own)


AIMS: Mapping[str, Aim] = {
    "shadow": Aim("nothing", takes=("schema", "from_logs")),
    "changes": Aim("nothing", "live", form="delta", takes=("from_logs",)),
    "files": Aim("nothing", "live", form="parquet", takes=("folder", "from_logs")),
    "read": Aim("version", "own"),
    "copy": Aim("version", "own"),
    "history": Aim("version", "live", has_history=True),
}


def live_version(context: Run, table: TableId, base: Contents) -> VersionToRead:
    """Return a version of the live table, to read it as it is."""
    app, quarantine = app_id(context, table, base.resetlogs_id), context.pipeline.quarantine_path(table)
    return VersionToRead(
        table, context.pipeline.target(table), base.version, app, base.complete_to, base.position, quarantine=quarantine
    )


def lacks_marks(task: TableTask) -> bool:
    """Return whether deleted rows are not marked: of equal rows with a NULL in their key, all would be."""
    return any(delivery.null_keys for delivery in task.course.deliveries)


def shadow_folder(pipeline: Pipeline) -> str:
    return f"{pipeline.lake.rstrip('/')}/{layout.SHADOWS}"


# --- What is asked for ------------------------------------------------------------------------------------------------


def refuse_unused(
    target: BackfillTarget, *, schema: str = "historic", folder: str = "", from_logs: bool = False, reason: str = ""
) -> None:
    """Raise ConfigurationError with the options that were given and mean nothing to this target, and for files without a folder
    of theirs."""
    given = {"schema": schema == "current", "folder": folder, "from_logs": from_logs, "reason": reason.strip()}
    unused = [name for name, is_given in given.items() if is_given and name not in options_of(target)]
    found = [Finding(in_terminal(name), f"is nothing for the target {target}", use_of(name)) for name in unused]
    if target == "files" and not ("://" in folder or Path(folder).is_absolute()):
        cure = "add --folder /path, or --folder s3://bucket/path"
        found.append(Finding("--folder", "files need a folder, by its whole path", cure))
    refuse(found)


def options_of(target: BackfillTarget) -> tuple[str, ...]:
    return LIVE_TAKES if target == "live" else AIMS[target].takes


def in_terminal(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def use_of(option: str) -> str:
    targets = [target for target in get_args(BackfillTarget) if option in options_of(target)]
    field = option.replace("_", " ").capitalize()
    return f"leave it out, in Airflow the field {field}, or choose the target {', '.join(targets)}"


def refuse(findings: Sequence[Finding]) -> None:
    if findings:
        raise ConfigurationError(findings)


def range_of(from_scn: int, to_scn: int) -> ScnRange:
    if not 0 <= from_scn < to_scn:
        refuse([Finding("range", f"[{from_scn}, {to_scn}) holds no SCN", "give a from-SCN below the to-SCN")])
    return ScnRange(Scn(from_scn), Scn(to_scn))


# --- Its redo -----------------------------------------------------------------------------------------------------------


def plan_batch(
    context: Run,
    manifests: Sequence[WindowManifest],
    start: ChainPosition,
    end: int,
    entries: Sequence[TableEntry],
    of_time: VersionsOfTime,
) -> tuple[BatchSpec, list[WindowManifest]]:
    """Return the batch over what commits from `start` to `end`, which windows cover, and the windows that it reads. It goes on
    from the last batch that ended before, with its carry-over, so that no open transaction is missed. Raise ConfigurationError
    where that, or a file of its redo, is gone."""
    own = [window for window in manifests if window.resetlogs_id == start.resetlogs_id and window.start < end]
    before = with_whole_rows(context, last_batch(context, start))
    since = before.end if before is not None and before.resetlogs_id == start.resetlogs_id else 0
    windows = unbroken([window for window in own if window.end > since])
    if before is not None and before.end_position != windows[0].start_position:
        before = None  # no transaction survives a RESETLOGS or a declared gap
    pruned = context.landing.pruned
    if before is None and pruned is not None and windows[0].start_position == pruned.position:
        carried = (
            f"the rows that the batch to SCN {pruned.position.scn} carried over are damaged, and older windows were pruned"
        )
        refuse([Finding("range", carried, restore())])
    refuse(list(missing_files(context, windows)))
    return build_batch(context, windows, before, entries, of_time=of_time), windows


def find_covering(manifests: Sequence[WindowManifest], scns: ScnRange, pruned: Pruned | None = None) -> list[WindowManifest]:
    """Return the landed windows of the range. Raises ConfigurationError unless they cover it, in one incarnation."""
    found = find_overlapping(manifests, scns)
    if not found or found[0].start > scns.start or found[-1].end < scns.end:
        landed = f"landed is [{manifests[0].start}, {manifests[-1].end})" if manifests else "nothing is landed"
        gone = pruned_text(pruned, scns, manifests)
        refuse([Finding("range", f"{scns} is not completely landed: {landed}{gone}", "choose a range inside it")])
    last_run = unbroken(found)
    if len(last_run) < len(found):
        end, start = found[-len(last_run) - 1].end, last_run[0].start
        what = f"{scns} crosses a RESETLOGS or a gap: the landed windows end at SCN {end} and continue at SCN {start}"
        refuse([Finding("range", what, f"end the range at SCN {end}, or begin it at SCN {start}")])
    return found


def pruned_text(pruned: Pruned | None, scns: ScnRange, manifests: Sequence[WindowManifest]) -> str:
    """Say when the windows at the beginning of a range were pruned; empty where they were not."""
    if pruned is None or (manifests and scns.start >= manifests[0].start):
        return ""
    step = pruned.step_of(ChainPosition(pruned.position.resetlogs_id, scns.start)) or pruned.steps[0]
    return f"; the windows before that were pruned, those of SCN {scns.start} on {step.at} by {step.by}"


def find_overlapping(manifests: Sequence[WindowManifest], scns: ScnRange) -> list[WindowManifest]:
    return [m for m in manifests if m.end > scns.start and m.start < scns.end]


def missing_files(context: Run, windows: Sequence[WindowManifest]) -> Iterator[Finding]:
    """Yield the windows whose redo is no longer there: pruned, or removed by hand."""
    for window in windows:
        there = context.landing.windows.files.names(layout.window_folder(window.name))
        gone = sorted(set(window.all_files) - set(there))
        if gone:
            what = f"{len(gone)} file(s) of the window {window.name} are gone: {gone[0]}"
            yield Finding("range", what, f"choose a range without it, or {mine_again(window.name)}")


def not_landed(manifests: Sequence[WindowManifest], table: TableId, scns: ScnRange) -> Iterator[tuple[int, int]]:
    """Yield the SCN ranges without the table's redo: declared gaps, and windows mined without the table."""
    before: int | None = None
    for window in find_overlapping(manifests, scns):
        if before is not None and window.start > before:
            yield before, window.start
        if str(table) not in window.tables:
            yield window.start, window.end
        before = window.end


# --- Its tables ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableHistory:
    """A table as a range meets it. `versions` are those of the range's own time; the range may begin at `first`, after the last
    snapshot before it, and `snapshot` is that one's SCN. `next_baseline` is the SCN of the next one's dictionary. The first is
    None, and there are no versions, where the table had no contents."""

    table: TableId
    entry: TableEntry | None
    versions: tuple[TableVersion, ...] = ()
    first: int | None = None
    snapshot: int | None = None
    next_baseline: int | None = None


@dataclass(frozen=True, slots=True)
class OldRange:
    """A range that begins with nothing: its windows among all that have landed, and what each table was in it. `context` has
    the chain of its windows, also where they were mined beside that of the pipeline."""

    context: Run
    scns: ScnRange
    manifests: Sequence[WindowManifest]
    windows: Sequence[WindowManifest]
    histories: Mapping[TableId, TableHistory]


def old_range(context: Run, scns: ScnRange, chosen: Sequence[TableId]) -> OldRange:
    """Return the range with its windows. Raises ConfigurationError unless they cover it."""
    manifests = context.landing.windows.after()
    windows = find_covering(manifests, scns, context.landing.pruned)
    return OldRange(context, scns, manifests, windows, {table: table_history(context, table, scns) for table in chosen})


def check_tables(one: OldRange) -> OldRange:
    """Raise ConfigurationError with why tables are not known in all of the range."""

    def objections_since(since: int) -> list[Finding]:
        return [each for past in one.histories.values() for each in objections(past, one.scns, one.manifests, since)]

    if objections_since(0):  # else nobody needs to know what began where, for which the windows since a gap are read
        refuse(objections_since(find_earliest_begin(one)))
    return one


def find_earliest_begin(one: OldRange) -> int:
    """Return the SCN before which nothing began that commits in the range: the end of the last declared gap before it; or 0,
    where that cannot be said."""
    incarnation, gaps = one.windows[0].resetlogs_id, one.context.landing.gaps
    gap = gaps.last_before(ChainPosition(incarnation, one.scns.start))
    if gap is None or gap.end.chain_position.resetlogs_id != incarnation or one.context.pipeline.source.is_stream:
        return 0  # a stream may leave out what began before it
    cut = gaps.without_start(gap.name, gap.end.chain_position)
    if cut is None or any((at := each.committed_at) is not None and at.scn in one.scns for each in cut.transactions):
        return 0
    return int(gap.end.scn)


def table_history(context: Run, table: TableId, scns: ScnRange) -> TableHistory:
    entry, versions = context.ledger.table(table), context.ledger.versions(table)
    if entry is None or entry.complete_to_scn is None or not versions:
        return TableHistory(table, entry)
    known, snapshots = versions_of_time(versions, scns.start), sorted(snapshot_scns(context, entry))
    before = [scn for scn in snapshots if scn < scns.start]
    snapshot = before[-1] if before else next(iter(snapshots), None)
    first = max(int(known[0].from_scn), 0 if snapshot is None else snapshot + 1)
    return TableHistory(table, entry, tuple(known), first, snapshot, next_baseline(versions, int(known[0].from_scn)))


def snapshot_scns(context: Run, entry: TableEntry) -> set[int]:
    """Return the SCNs of the snapshots that were loaded into the table, as far as the landing has them."""
    loads = (loaded_tasks(context, name) or () for name in context.landing.files.names(layout.LOADS))
    found = {task.scn for tasks in loads for task, _ in tasks if task.table == entry.table}
    return found if entry.snapshot_scn is None else found | {entry.snapshot_scn}


def as_of_then(entry: TableEntry, complete_to: int, resetlogs_id: int, snapshot: int | None = None) -> TableEntry:
    """Return the table's entry as it was when it was complete to the SCN."""
    snapshot_scn = None if snapshot is None else Scn(snapshot)
    return replace(entry, state="live", complete_to_scn=Scn(complete_to), resetlogs_id=resetlogs_id, snapshot_scn=snapshot_scn)


def objections(history: TableHistory, scns: ScnRange, manifests: Sequence[WindowManifest], since: int) -> Iterator[Finding]:
    """Yield why the table cannot be backfilled. Its columns and changes are known only after its first snapshot. Nothing that
    commits in the range began before `since`."""
    table, first = history.table, history.first
    if first is None:
        yield Finding(str(table), "the table has no contents yet", f"`redolake snapshot {table}`, or leave it out")
        return
    if scns.start < first:
        what = f"its changes are known from SCN {first}, after its first snapshot, and the range begins at {scns.start}"
        yield Finding(str(table), what, f"begin at SCN {first} or later, or leave the table out")
        return
    # Not from the range's start: a transaction that commits in the range may have begun before it.
    for start, end in not_landed(manifests, table, ScnRange(Scn(max(first, since)), scns.end)):
        what = f"SCN [{start}, {end}) was landed without the table"
        cure = f"end the range at SCN {start}, or leave the table out"
        if start <= scns.start:
            what += ", and what commits in the range may have begun before its end"
            cure = "choose the target copy, or leave the table out: only ranges after its next snapshot are known again"
        yield Finding(str(table), what, cure)
        return


def find_stop(task: TableTask, scns: ScnRange, after: int | None = None) -> Iterator[Finding]:
    """Yield the hold, such as an unsupported DDL, that stops the table inside the range. A snapshot has read it again at SCN
    `after`."""
    if task.hold is not None and task.hold.at_scn < scns.end:
        error, at_scn = task.hold.error, task.hold.at_scn
        shorter = f"end the range at SCN {at_scn}, or " if at_scn > scns.start else ""
        later = f"begin it at SCN {after}, where a snapshot had read the table again, or " if after is not None else ""
        what = f"{error.get('code')} at SCN {at_scn}: {error.get('what')}"
        yield Finding(str(task.table), what, f"{shorter}{later}leave the table out")
    for whole in task.course.whole:
        first = min((scn for scn in whole.ddl if scn >= scns.start), default=scns.end)
        if first < scns.end <= whole.scn:
            what = f"a DDL at SCN {first} changed rows, which are known only AS OF SCN {whole.scn}, the end of its window"
            cure = f"end the range at SCN {first} or at SCN {whole.scn + 1}, or leave the table out"
            yield Finding(str(task.table), what, cure)
