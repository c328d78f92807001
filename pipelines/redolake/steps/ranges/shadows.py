"""Backfill: apply the landed changes that committed in an old SCN range to shadow tables beside the live ones.

The job and the landing are those of apply. A shadow contains every row that changed in the range: as it is at the range's end,
or marked as deleted. The columns of changes are those of their own time, whatever snapshots have been taken since. A backfill
that cannot be completed is refused before anything is written.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from redolake.config import Pipeline
from redolake.context import PipelineContext, Report, open_context, read_result, read_spec, silent
from redolake.errors import ConfigurationError, Finding, Terminal
from redolake.host import crash
from redolake.land import layout
from redolake.land.cures import mine_again, restore
from redolake.land.dictionary import Readings
from redolake.ledger import TableEntry
from redolake.reconcile.batches import loaded_tasks
from redolake.reconcile.damage import with_whole_rows
from redolake.reconcile.ledger import chain_of_batches, reconcile_ledger
from redolake.reconcile.next_batch import build_batch, unbroken
from redolake.reconcile.table_versions import history, next_baseline, table_task, versions_of_time
from redolake.records.batches.manifest import BatchResult, TableResult
from redolake.records.batches.spec import BatchSpec, ChangesForm, TableTask
from redolake.records.codec import decode
from redolake.records.pruned import Pruned
from redolake.records.windows import WindowManifest
from redolake.source import ConnectParams
from redolake.steps.ranges.dry_run import BackfillPlan, lacks_marks, plan_of, seconds_for
from redolake.steps.ranges.first_description import first_description, first_version, proof_lines
from redolake.steps.ranges.logs import LogsToRead, cut_transactions, mine_logs, objections_to_logs, plan_logs
from redolake.steps.ranges.range_ends import database_clock, find_range_ends
from redolake.steps.shared.chosen_folders import check_folder_to_write
from redolake.steps.shared.named_tables import named_tables
from redolake.steps.shared.spark_jobs import opened_spark, run_spark_job
from redolake.values.delivery import Assembled, RereadRows, RereadValues
from redolake.values.scn import ChainPosition, Scn, ScnRange
from redolake.values.table import TableId, TableVersion

ShadowSchema = Literal["historic", "current"]
RangeTarget = Literal["shadow", "changes", "files"]
FORMS: Mapping[RangeTarget, ChangesForm] = {"changes": "delta", "files": "parquet"}
LAST_BATCHES = 20  # by which the time is estimated
NOT_LOGGED = "columns that are not logged: `_unknown_before` and `_unknown_after` name them, and the result has a count"
ROWS_ONLY = ("truncate", "renumber", "remove_rows")  # kinds of followed DDL that leave the columns as they are


@dataclass(frozen=True, slots=True)
class PreparedBackfill:
    """`batch` is the location of the spec, None for a dry run. `plan` is `details` as text."""

    plan: str
    batch: str | None
    tables: tuple[str, ...]
    details: BackfillPlan | None = None


@dataclass(frozen=True, slots=True)
class ShadowTable:
    """`target` is the shadow's location. The counts are 0 where an earlier run had completed the shadow. Of changes that were
    written as they are, `unknown` have columns whose values the redo does not contain, and `filtered` others are of rows that
    the filter of the table leaves out before and after them; `not_read` have a `_reason`."""

    table: str
    target: str
    inserted: int
    updated: int
    deleted: int
    unknown: int = 0
    filtered: int = 0
    not_read: int = 0


@dataclass(frozen=True, slots=True)
class RecordedBackfill:
    to_scn: int
    tables: tuple[ShadowTable, ...]


@dataclass(frozen=True, slots=True)
class BackfillOutcome:
    """`recorded` is None for a dry run."""

    prepared: PreparedBackfill
    recorded: RecordedBackfill | None = None


@dataclass(frozen=True, slots=True)
class Into:
    """Where a range goes. `folder` is that of the files."""

    target: RangeTarget = "shadow"
    folder: str = ""

    def objections(self, schema: ShadowSchema) -> Iterator[Finding]:
        if self.target == "files" and not ("://" in self.folder or Path(self.folder).is_absolute()):
            yield Finding(
                "folder", "files need a folder, by its whole path", "add --folder /path, or --folder s3://bucket/path"
            )
        if self.target != "files" and self.folder:
            yield Finding("folder", "only files go to a folder of yours", "leave --folder out, or add --target files")
        if self.target != "shadow" and schema == "current":
            yield Finding("schema", "changes have the columns of their own time", "leave --schema out")


SHADOWS = Into()


@crash.writer
def prepare_backfill(
    pipeline: Pipeline,
    start: str | int,
    end: str | int,
    tables: Sequence[str] | None = None,
    dry_run: bool = True,
    schema: ShadowSchema = "historic",
    from_logs: LogsToRead | None = None,
    report: Report = silent,
    source: ConnectParams | None = None,
    into: Into = SHADOWS,
) -> PreparedBackfill:
    """Return the plan, and write the job's spec unless it is a dry run. `start` and `end` are moments (values/moment.py); the
    database is asked for a time.

    Raises ConfigurationError with all findings if the backfill cannot be completed.

    With `from_logs` the range is mined from archived logs, and not read from the landing; a dry run then shows only the logs.

    `historic`: a shadow has the columns that its table had at the range's end. `current`: those it has now, or had at the end
    of what is landed; the DDL in between is followed on the shadow.

    `into` says where the range goes: into shadow tables, or its changes as they are into tables or files of changes.
    """
    refuse(list(into.objections(schema)))
    if into.folder:
        check_folder_to_write(pipeline, "--folder", into.folder)
    with open_context(pipeline) as context:
        if into.folder:  # now with the tables that patterns have matched
            check_folder_to_write(context.pipeline, "--folder", into.folder)
        chosen = named_tables(context, tables)
        reconcile_ledger(context)
        manifests = context.landing.windows.after()
        first, last = find_range_ends(context, manifests, start, end, database_clock(context, source))
        scns = range_of(first.scn, last.scn)
        described = first_descriptions(context, chosen, scns)
        if from_logs is not None:
            planned = plan_logs(context, scns, chosen, from_logs, report, max(described.values(), default=None))
            if isinstance(planned, Finding):
                raise ConfigurationError([planned])
            if dry_run:
                lines = (f"{first} to {last}", *planned.lines, *proof_lines(described))
                return PreparedBackfill("\n".join(lines), None, tuple(map(str, chosen)))
            context = mine_logs(planned)
            manifests = context.landing.windows.after()
        windows = find_covering(manifests, scns, context.landing.pruned)
        histories = {table: table_history(context, table, scns) for table in chosen}
        early = [history for history in histories.values() if history.first is not None and scns.start < history.first]
        histories |= {history.table: from_the_start(context, history, scns, manifests) for history in early}
        refuse([f for history in histories.values() for f in objections(history, scns, manifests)])
        spec = backfill_batch(context, list(histories.values()), scns, manifests)
        if early:
            refuse(list(cut_transactions(context, spec, read_by(spec, manifests), scns)))
        refuse([objection for task in spec.tables for objection in find_stop(task, histories[task.table], scns)])
        if into.target != "shadow":
            refuse([objection for task in spec.tables for objection in objections_to_changes(task)])
        if from_logs is None:
            refuse(list(missing_files(context, read_by(spec, manifests))))
        else:
            refuse(list(objections_to_logs(context, spec, windows, scns)))
        if schema == "current":
            spec = reshape(context, spec, histories, scns, unbroken(manifests))
        name = f"{scns.start:020d}-{scns.end:020d}-{uuid.uuid4().hex}"
        spec = redirect_to_shadows(context, spec, name, scns, schema, into)
        details = plan_of(spec, windows, first, last, scns)
        took = seconds_for(details.rows, [batch.result or {} for batch in context.ledger.batches("applied", LAST_BATCHES)])
        details = replace(details, seconds=took)
        columns = ("the shadows get the columns of today",) if schema == "current" else ()
        if into.target != "shadow":
            unknown = {str(task.table): unknown_of_changes(task) for task in spec.tables}
            details = replace(details, tables=tuple(replace(one, unknown=unknown[one.table]) for one in details.tables))
        batch = None if dry_run else context.landing.files.write_new_record(layout.backfill_spec(name), spec)
        return PreparedBackfill("\n".join((*details.lines, *columns)), batch, tuple(map(str, chosen)), details)


# --- Checks -------------------------------------------------------------------------------------------------------------


def refuse(findings: Sequence[Finding]) -> None:
    if findings:
        raise ConfigurationError(findings)


def read_by(spec: BatchSpec, manifests: Sequence[WindowManifest]) -> list[WindowManifest]:
    names = {window.name for window in spec.windows}
    return [manifest for manifest in manifests if manifest.name in names]


def range_of(from_scn: int, to_scn: int) -> ScnRange:
    if not 0 <= from_scn < to_scn:
        refuse([Finding("range", f"[{from_scn}, {to_scn}) holds no SCN", "give a from-SCN below the to-SCN")])
    return ScnRange(Scn(from_scn), Scn(to_scn))


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


def table_history(context: PipelineContext, table: TableId, scns: ScnRange) -> TableHistory:
    entry, versions = context.ledger.table(table), context.ledger.versions(table)
    if entry is None or entry.complete_to_scn is None or not versions:
        return TableHistory(table, entry)
    known, snapshots = versions_of_time(versions, scns.start), sorted(snapshot_scns(context, entry))
    before = [scn for scn in snapshots if scn < scns.start]
    snapshot = before[-1] if before else next(iter(snapshots), None)
    first = max(int(known[0].from_scn), 0 if snapshot is None else snapshot + 1)
    return TableHistory(table, entry, tuple(known), first, snapshot, next_baseline(versions, int(known[0].from_scn)))


def first_descriptions(context: PipelineContext, chosen: Sequence[TableId], scns: ScnRange) -> dict[TableId, int]:
    """Return the SCN of the first description of each table that a range begins before."""
    found = {table: first_description(context.ledger.versions(table)) for table in chosen}
    return {table: scn for table, scn in found.items() if scn is not None and scns.start < scn}


def from_the_start(
    context: PipelineContext, history: TableHistory, scns: ScnRange, manifests: Sequence[WindowManifest]
) -> TableHistory:
    """Return the history with a version from the range's start on, which is before the table's first snapshot. Raises
    ConfigurationError where nothing proves which version that is."""
    entries = context.ledger.versions(history.table)
    described = first_description(entries)
    if described is None or described <= scns.start:  # only its contents were read later
        return replace(history, first=int(scns.start))
    found = first_version(entries, scns, manifests)
    if isinstance(found, Finding):
        raise ConfigurationError([found])
    return replace(history, versions=(found, *history.versions[1:]), first=int(scns.start))


def snapshot_scns(context: PipelineContext, entry: TableEntry) -> set[int]:
    """Return the SCNs of the snapshots that were loaded into the table, as far as the landing has them."""
    loads = (loaded_tasks(context, name) or () for name in context.landing.files.names(layout.LOADS))
    found = {task.scn for tasks in loads for task, _ in tasks if task.table == entry.table}
    return found if entry.snapshot_scn is None else found | {entry.snapshot_scn}


def objections(history: TableHistory, scns: ScnRange, manifests: Sequence[WindowManifest]) -> Iterator[Finding]:
    """Yield why the table cannot be backfilled. Its columns and changes are known only after its first snapshot."""
    table, first = history.table, history.first
    if first is None:
        yield Finding(str(table), "the table has no contents yet", f"`redolake snapshot {table}`, or leave it out")
        return
    if scns.start < first:
        what = f"its changes are known from SCN {first}, after its first snapshot, and the range begins at {scns.start}"
        yield Finding(str(table), what, f"begin at SCN {first} or later, or leave the table out")
        return
    # From `first` and not from the range's start: a transaction that commits in the range may have begun before it.
    for start, end in not_landed(manifests, table, ScnRange(Scn(first), scns.end)):
        what = f"SCN [{start}, {end}) was landed without the table"
        yield Finding(str(table), what, f"end the range at SCN {start}, or leave the table out")
        return


def missing_files(context: PipelineContext, windows: Sequence[WindowManifest]) -> Iterator[Finding]:
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


def find_stop(task: TableTask, history: TableHistory, scns: ScnRange) -> Iterator[Finding]:
    """Yield the hold, such as an unsupported DDL, that stops the table inside the range."""
    if task.hold is not None and task.hold.at_scn < scns.end:
        error, at_scn = task.hold.error, task.hold.at_scn
        shorter = f"end the range at SCN {at_scn}, or " if at_scn > scns.start else ""
        after = history.next_baseline
        later = f"begin it at SCN {after}, where a snapshot had read the table again, or " if after is not None else ""
        what = f"{error.get('code')} at SCN {at_scn}: {error.get('what')}"
        yield Finding(str(task.table), what, f"{shorter}{later}leave the table out")
    for whole in task.whole:
        first = min((scn for scn in whole.ddl if scn >= scns.start), default=scns.end)
        if first < scns.end <= whole.scn:
            what = f"a DDL at SCN {first} changed rows, which are known only AS OF SCN {whole.scn}, the end of its window"
            yield Finding(
                str(task.table), what, f"end the range at SCN {first} or at SCN {whole.scn + 1}, or leave the table out"
            )


def objections_to_changes(task: TableTask) -> Iterator[Finding]:
    """Yield why the changes of a table cannot be written as they are: the redo does not show them one by one."""
    if any(isinstance(delivery, (RereadRows, RereadValues, Assembled)) for delivery in task.deliveries):
        what = "its large objects or rows are assembled, or read again, and are in no single change"
        yield Finding(str(task.table), what, "leave the table out, leave the columns out, or use --target shadow")


def unknown_of_changes(task: TableTask) -> tuple[str, ...]:
    """Return what the plan does not know of the changes of a table."""
    filters = [version.mapping.where for version in task.versions if version.mapping is not None]
    texts = dict.fromkeys(one.text for one in filters if one is not None)
    return (NOT_LOGGED, *(f"which of them `where: {text}` leaves out: the result has a count" for text in texts))


# --- The spec -----------------------------------------------------------------------------------------------------------


def backfill_batch(
    context: PipelineContext, histories: Sequence[TableHistory], scns: ScnRange, manifests: Sequence[WindowManifest]
) -> BatchSpec:
    """Return a batch that continues the last one before the range, with its carry-over, so that no open transaction is missed.
    The state of the live tables does not matter: a shadow counts as complete up to the range's start."""
    before = with_whole_rows(context, last_batch_before(chain_of_batches(context), scns))
    ahead = unbroken(find_overlapping(manifests, ScnRange(Scn(before.end if before else 0), scns.end)))
    if before is not None and before.end != ahead[0].start:
        before = None  # no transaction survives a RESETLOGS or a declared gap
    pruned = context.landing.pruned
    if before is None and pruned is not None and ahead[0].start_position == pruned.position:
        carried = (
            f"the rows that the batch to SCN {pruned.position.scn} carried over are damaged, and older windows were pruned"
        )
        refuse([Finding("range", carried, restore())])
    tables = [entry for history in histories if (entry := entry_of_time(history, scns, ahead[0].resetlogs_id)) is not None]
    return build_batch(context, ahead, before, tables, of_time={history.table: history.versions for history in histories})


def entry_of_time(history: TableHistory, scns: ScnRange, resetlogs_id: int) -> TableEntry | None:
    """Return the table's entry as it was when everything before the range was applied."""
    if history.entry is None:
        return None
    return replace(
        history.entry,
        state="live",
        complete_to_scn=Scn(scns.start - 1),
        resetlogs_id=resetlogs_id,
        snapshot_scn=None if history.snapshot is None else Scn(history.snapshot),
    )


def last_batch_before(chain: Sequence[BatchResult], scns: ScnRange) -> BatchResult | None:
    return next((batch for batch in reversed(chain) if batch.end <= scns.start), None)


def reshape(
    context: PipelineContext,
    spec: BatchSpec,
    histories: Mapping[TableId, TableHistory],
    scns: ScnRange,
    manifests: Sequence[WindowManifest],
) -> BatchSpec:
    """Return the batch with the changes of columns that were followed after the range, as far as is landed without a break.

    Raises ConfigurationError for a table that such a change would have held.
    """
    later = [window for window in manifests if window.end > scns.end]
    if not later or later[0].start > scns.end:
        return spec
    readings, tasks, findings = Readings(context.landing.dictionary), [], list[Finding]()
    for task in spec.tables:
        known = histories[task.table].versions
        past = history(context, known, scns.end, later, later[-1].end, readings, as_configured=False)
        if past.hold is not None:
            what = f"a DDL at SCN {past.hold.at_scn} after the range is not followed: {past.hold.error.get('what')}"
            findings.append(Finding(str(task.table), what, "use `--schema historic`"))
        filled = next((step for step in past.derived.steps if step.kind == "fill" and step.scn >= scns.end), None)
        if filled is not None:
            what = (
                f"a DDL at SCN {filled.scn} after the range gave older rows values in {filled.column.name}, which no redo shows"
            )
            findings.append(Finding(str(task.table), what, "use `--schema historic`"))
        now = table_task(context, past, task.app_id, task.target)
        steps = tuple(step for step in now.ddl if step.scn >= scns.end and step.kind not in ROWS_ONLY)
        tasks.append(replace(task, reshape=steps, reshaped=now.versions[-1], rules={**now.rules, **task.rules}))
    refuse(findings)
    return replace(spec, tables=tuple(tasks))


def shadow_name(scns: ScnRange, schema: ShadowSchema, into: Into = SHADOWS) -> str:
    kind = "-current" if schema == "current" else "-changes" if into.target == "changes" else ""
    return f"{scns.start}-{scns.end}{kind}"


def shadow_folder(pipeline: Pipeline, scns: ScnRange, schema: ShadowSchema, into: Into = SHADOWS) -> str:
    folder = into.folder.rstrip("/") if into.folder else f"{pipeline.lake.rstrip('/')}/_shadow"
    return f"{folder}/{shadow_name(scns, schema, into)}"


def redirect_to_shadows(
    context: PipelineContext, spec: BatchSpec, name: str, scns: ScnRange, schema: ShadowSchema, into: Into = SHADOWS
) -> BatchSpec:
    """Redirect the batch to shadow tables, in which deleted rows are marked. It leaves out what commits at or above the range's
    end."""
    location = context.landing.files.location
    base = shadow_folder(context.pipeline, scns, schema, into)
    tasks = tuple(
        replace(
            task,
            target=f"{base}/{context.pipeline.table(task.table).path}",
            app_id=f"{task.app_id}/shadow/{shadow_name(scns, schema, into)}",
            shadow_from=scns.start,
            history=None,
            options=task.options if lacks_marks(task) else replace(task.options, deletes="mark"),
            quarantine=None if into.target == "shadow" else task.quarantine,
        )
        for task in spec.tables
    )
    return replace(
        spec,
        tables=tasks,
        end=scns.end,
        manifest=location(layout.backfill_manifest(name)),
        carry_out=location(layout.backfill_carry(name)),
        changes=FORMS.get(into.target),
    )


# --- After the job ----------------------------------------------------------------------------------------------------


def record_backfill(pipeline: Pipeline, batch: str) -> RecordedBackfill:
    """Return the job's changes to the shadows, 0 for those that were complete already. The ledger does not contain shadows."""
    with open_context(pipeline) as context:
        spec = read_spec(context, batch)
        assert isinstance(spec, BatchSpec)
        result = decode(BatchResult, read_result(context, spec), spec.manifest)
        targets = {task.table: task.target for task in spec.tables}
        for done in result.tables:
            if done.state == "held":
                error = done.error or {}
                if spec.changes is not None:
                    raise Terminal(
                        f"none of its changes is written: {error.get('code')}: {error.get('what')}",
                        cure="remove the cause, choose a range without that change, or leave the table out, and run the "
                        "backfill again; other tables' changes stay",
                        table=done.table,
                    )
                raise Terminal(
                    f"its shadow stopped at SCN {done.complete_to}: {error.get('code')}: {error.get('what')}",
                    cure="remove the cause, delete the shadow, and run the backfill again; other shadows stay. "
                    "An UPDATE of a row older than the range needs supplemental logging of ALL columns; with "
                    "`large_objects: redo` it is not possible: the redo has no value of an object that did not change",
                    table=done.table,
                    shadow=targets[done.table],
                )
        return RecordedBackfill(result.end, tuple(shadow_of(done, targets[done.table]) for done in result.tables))


def shadow_of(done: TableResult, target: str) -> ShadowTable:
    apart = done.balance.filtered, done.balance.quarantined
    return ShadowTable(str(done.table), target, done.inserted, done.updated, done.deleted, done.unknown, *apart)


def run_backfill(
    pipeline: Pipeline,
    start: str | int,
    end: str | int,
    tables: Sequence[str] | None = None,
    *,
    execute: bool = False,
    schema: ShadowSchema = "historic",
    from_logs: LogsToRead | None = None,
    into: Into = SHADOWS,
    spark: Any = None,
    report: Report = silent,
    source: ConnectParams | None = None,
) -> BackfillOutcome:
    """Run the whole backfill in this process, or only its plan."""
    prepared = prepare_backfill(pipeline, start, end, tables, not execute, schema, from_logs, report, source, into)
    report(prepared.plan)
    if prepared.batch is None:
        return BackfillOutcome(prepared)
    with opened_spark(pipeline, spark) as session:
        run_spark_job(pipeline, prepared.batch, session, report)
    return BackfillOutcome(prepared, record_backfill(pipeline, prepared.batch))
