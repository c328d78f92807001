"""Backfill: apply the landed changes that committed in an old SCN range to shadow tables beside the live ones.

The job and the landing are those of apply. A shadow contains every row that changed in the range: as it is at the range's end,
or marked as deleted. The columns of changes are those of their own time, whatever snapshots have been taken since. A backfill
that cannot be completed is refused before anything is written.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from redolake.context import Run, read_result, read_spec, step
from redolake.errors import ConfigurationError, Finding, Terminal, plain_lines
from redolake.host import crash
from redolake.land import layout
from redolake.land.dictionary import Readings
from redolake.ledger.entries import VersionEntry
from redolake.reconcile.ledger import reconcile_ledger
from redolake.reconcile.next_batch import unbroken
from redolake.reconcile.table_versions import history, read_versions, table_task
from redolake.records.batches.manifest import BatchResult, TableResult
from redolake.records.batches.spec import BatchSpec, TableTask
from redolake.records.codec import decode
from redolake.records.windows import DdlRow, WindowManifest
from redolake.steps.ranges.dry_run import BackfillPlan, plan_of, seconds_for
from redolake.steps.ranges.logs import (
    LogsToRead,
    cut_transactions,
    mine_logs,
    objections_to_logs,
    plan_logs,
    rows_without_transaction,
)
from redolake.steps.ranges.range_ends import database_clock, find_range_ends
from redolake.steps.ranges.replay import (
    AIMS,
    BackfillTarget,
    OldRange,
    TableHistory,
    as_of_then,
    check_tables,
    find_stop,
    old_range,
    plan_batch,
    range_of,
    refuse,
    refuse_unused,
    shadow_folder,
)
from redolake.steps.shared.chosen_folders import check_folder_to_write
from redolake.steps.shared.named_tables import named_tables
from redolake.steps.shared.spark_jobs import run_spark_job
from redolake.values.delivery import is_in_redo
from redolake.values.scn import ChainPosition, Scn, ScnRange
from redolake.values.table import TableId, TableVersion
from redolake.values.terms import RowCounts

ShadowSchema = Literal["historic", "current"]
LAST_BATCHES = 20  # by which the time is estimated
ROWS_ONLY = ("truncate", "renumber", "remove_rows")  # kinds of followed DDL that leave the columns as they are


@dataclass(frozen=True, slots=True)
class PreparedBackfill:
    """`batch` is the location of the spec, None for a dry run. `plan` is `details` as text."""

    plan: str
    batch: str | None
    tables: tuple[str, ...]
    details: BackfillPlan | None = None


@dataclass(frozen=True, slots=True)
class ShadowTable(RowCounts):
    """`target` is the shadow's location. The counts are 0 where an earlier run had completed the shadow. Of changes that were
    written as they are, `unknown` have columns whose values the redo does not contain, and `filtered` others are of rows that
    the filter of the table leaves out before and after them; `not_read` have a `_reason`."""

    table: str
    target: str
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


@step
@crash.writer
def prepare_backfill(
    context: Run,
    start: str | int,
    end: str | int,
    tables: Sequence[str] | None = None,
    dry_run: bool = True,
    schema: ShadowSchema = "historic",
    from_logs: LogsToRead | None = None,
    target: BackfillTarget = "shadow",
    folder: str = "",
) -> PreparedBackfill:
    """Return the plan, and write the job's spec unless it is a dry run. `start` and `end` are moments (values/moment.py); the
    database is asked for a time.

    Raises ConfigurationError with all findings if the backfill cannot be completed.

    With `from_logs` the range is mined from archived logs, and not read from the landing; a dry run then shows only the logs.

    `historic`: a shadow has the columns that its table had at the range's end. `current`: those it has now, or had at the end
    of what is landed; the DDL in between is followed on the shadow.

    `target` says where the range goes: into shadow tables, or its changes as they are into tables, or into files in `folder`.
    """
    refuse_unused(target, schema=schema, folder=folder, from_logs=from_logs is not None)
    if folder:
        check_folder_to_write(context.pipeline, "--folder", folder)
    chosen = named_tables(context, tables)
    reconcile_ledger(context)
    first, last = find_range_ends(context, context.landing.windows.after(), start, end, database_clock(context))
    scns = range_of(first.scn, last.scn)
    if from_logs is not None:
        described = {table: scn for table in chosen if (scn := later_description(context, table, scns)) is not None}
        planned = plan_logs(context, scns, chosen, from_logs, max(described.values(), default=None))
        if dry_run:
            lines = (f"{first} to {last}", *planned.lines, *proof_lines(described))
            return PreparedBackfill("\n".join(lines), None, tuple(map(str, chosen)))
    chain, context = context, context if from_logs is None else mine_logs(planned)
    one = check_tables(from_the_start(found := old_range(context, scns, chosen)))
    spec, read = plan_range(one)
    if from_logs is not None:
        refuse(list(objections_to_logs(context, spec, one.windows, scns)))
    elif one is not found:
        refuse(list(cut_transactions(context, spec, read, scns)))
    refuse(list(rows_without_transaction(chain, context, spec, one.windows, scns)))
    if target != "shadow":
        refuse([objection for task in spec.tables for objection in objections_to_changes(task)])
    if schema == "current":
        spec = reshape(one, spec)
    kind = "-current" if schema == "current" else "-changes" if target == "changes" else ""
    name = f"{scns.start:020d}-{scns.end:020d}-{uuid.uuid4().hex}"
    into = folder.rstrip("/") or shadow_folder(context.pipeline)
    there = replace(AIMS[target], folder=f"{into}/{scns.start}-{scns.end}{kind}", batch=layout.backfill_folder(name))
    spec = there.aim(context, spec, scns)
    details = plan_of(spec, one.windows, first, last, scns)
    took = seconds_for(details.rows, [batch.result or {} for batch in context.ledger.batches("applied", LAST_BATCHES)])
    details = replace(details, seconds=took)
    columns = ("the shadows get the columns of today",) if schema == "current" else ()
    batch = None if dry_run else context.landing.files.write_new_record(layout.backfill_spec(name), spec)
    return PreparedBackfill("\n".join((*details.lines, *columns)), batch, tuple(map(str, chosen)), details)


def plan_range(one: OldRange) -> tuple[BatchSpec, list[WindowManifest]]:
    """Return the batch over the range, and the windows that it reads. The state of the live tables does not matter: each counts
    as complete up to the range's start."""
    context, scns, resetlogs_id = one.context, one.scns, one.windows[0].resetlogs_id
    histories = one.histories
    entries = [
        as_of_then(past.entry, scns.start - 1, resetlogs_id, past.snapshot)
        for past in histories.values()
        if past.entry is not None
    ]
    of_time = {table: past.versions for table, past in histories.items()}
    spec, read = plan_batch(context, one.manifests, ChainPosition(resetlogs_id, scns.start), scns.end, entries, of_time)
    refuse([found for task in spec.tables for found in find_stop(task, scns, histories[task.table].next_baseline)])
    return spec, read


# --- From before the first description -----------------------------------------------------------------------------------

# Nothing describes a table before its first snapshot. But a table that the redo does not change in between is the same: every
# window from the range's start to that description is there, and none has a DDL that names the table or one of its objects.


def later_description(context: Run, table: TableId, scns: ScnRange) -> int | None:
    """Return the SCN of the table's first description where a range begins before it."""
    entries = context.ledger.versions(table)
    return int(entries[0].from_scn) if entries and scns.start < entries[0].from_scn else None


def from_the_start(one: OldRange) -> OldRange:
    """Return the range, where it begins before the first snapshot of a table, with the table's versions from its start on.
    Raises ConfigurationError where nothing proves which the first one is."""
    early = {
        table: beginning(one, past)
        for table, past in one.histories.items()
        if past.first is not None and one.scns.start < past.first
    }
    return replace(one, histories={**one.histories, **early}) if early else one


def beginning(one: OldRange, past: TableHistory) -> TableHistory:
    if later_description(one.context, past.table, one.scns) is None:  # only its contents were read later
        return replace(past, first=int(one.scns.start))
    found = first_version(one.context.ledger.versions(past.table), one.scns, one.manifests)
    if isinstance(found, Finding):
        raise ConfigurationError([found])
    return replace(past, versions=(found, *past.versions[1:]), first=int(one.scns.start))


def proof_lines(described: Mapping[TableId, int]) -> tuple[str, ...]:
    """Say why logs after a range are mined."""
    why = "logs up to there are mined too, to prove that no DDL has changed it until then"
    return plain_lines(f"{table}: first described at SCN {scn}; {why}" for table, scn in described.items())


def first_version(entries: Sequence[VersionEntry], scns: ScnRange, windows: Sequence[WindowManifest]) -> TableVersion | Finding:
    """Return the first version, as of the range's start, or why it is not known to be right there."""
    version = read_versions(entries[:1])[0]
    table, described = version.table, int(version.from_scn)
    hole = first_hole(windows, table, ScnRange(scns.start, Scn(described)))
    if hole is not None:
        what = f"it is first described at SCN {described}, and its redo from SCN {hole} to there is not known"
        return Finding(str(table), what, f"begin at SCN {described} or later, mine the range with --from-logs, or leave it out")
    between = (row for window in windows for row in window.ddl if scns.start <= row.scn < described)
    last = max((row.scn for row in between if changes(row, version)), default=None)
    if last is not None:
        what = f"a DDL at SCN {last} changed it before it was first described, at SCN {described}: what it was is not known"
        return Finding(str(table), what, f"begin at SCN {last + 1} or later, or leave it out")
    return replace(version, from_scn=scns.start)


def first_hole(windows: Sequence[WindowManifest], table: TableId, scns: ScnRange) -> int | None:
    """Return the first SCN of a range that no window with the table's redo has; None where they cover it."""
    reached = int(scns.start)
    for window in windows:
        if window.start <= reached < window.end and str(table) in window.tables:
            reached = window.end
    return None if reached >= scns.end else reached


def changes(row: DdlRow, version: TableVersion) -> bool:
    """Return whether a DDL may have changed a table: it names the table or one of its objects, or removes rows of others."""
    names = {(name.owner, name.name) for name in (version.table, version.in_oracle)}
    return bool(row.cascades_from) or row.object_id in version.object_ids or (row.owner, row.table) in names


# --- Checks -------------------------------------------------------------------------------------------------------------


def objections_to_changes(task: TableTask) -> Iterator[Finding]:
    """Yield why the changes of a table cannot be written as they are: the redo does not show them one by one."""
    if not is_in_redo(task.course.deliveries):
        what = "its large objects or rows are assembled, or read again, and are in no single change"
        yield Finding(str(task.table), what, "leave the table out, leave the columns out, or use --target shadow")


def reshape(one: OldRange, spec: BatchSpec) -> BatchSpec:
    """Return the batch with the changes of columns that were followed after the range, as far as is landed without a break.

    Raises ConfigurationError for a table that such a change would have held.
    """
    context, scns = one.context, one.scns
    later = [window for window in unbroken(one.manifests) if window.end > scns.end]
    if not later or later[0].start > scns.end:
        return spec
    readings, tasks, findings = Readings(context.landing.dictionary), [], list[Finding]()
    for task in spec.tables:
        known = one.histories[task.table].versions
        past = history(context, known, scns.end, later, later[-1].end, readings, as_configured=False)
        if past.hold is not None:
            what = f"a DDL at SCN {past.hold.at_scn} after the range is not followed: {past.hold.error.get('what')}"
            findings.append(Finding(str(task.table), what, "use `--schema historic`"))
        filled = next((step for step in past.derived.steps if step.kind == "fill_column" and step.scn >= scns.end), None)
        if filled is not None:
            what = (
                f"a DDL at SCN {filled.scn} after the range gave older rows values in {filled.column.name}, which no redo shows"
            )
            findings.append(Finding(str(task.table), what, "use `--schema historic`"))
        now = table_task(context, past, task.destination.app_id, task.destination.target).course
        steps = tuple(step for step in now.ddl if step.scn >= scns.end and step.kind not in ROWS_ONLY)
        course = replace(task.course, rules={**now.rules, **task.course.rules})
        there = replace(task.destination, reshape=steps, reshaped=now.latest)
        tasks.append(replace(task, destination=there, course=course))
    refuse(findings)
    return replace(spec, tables=tuple(tasks))


# --- After the job ----------------------------------------------------------------------------------------------------


@step
def record_backfill(context: Run, batch: str) -> RecordedBackfill:
    """Return the job's changes to the shadows, 0 for those that were complete already. The ledger does not contain shadows."""
    spec = read_spec(context, batch)
    assert isinstance(spec, BatchSpec)
    result = decode(BatchResult, read_result(context, spec), spec.manifest)
    targets = {task.table: task.destination.target for task in spec.tables}
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
    return ShadowTable(str(done.table), target, done.unknown, *apart, **done.counts)


@step
def run_backfill(
    run: Run,
    start: str | int,
    end: str | int,
    tables: Sequence[str] | None = None,
    *,
    schema: ShadowSchema = "historic",
    from_logs: LogsToRead | None = None,
    target: BackfillTarget = "shadow",
    folder: str = "",
) -> BackfillOutcome:
    """Run the whole backfill in this process, or only its plan."""
    prepared = prepare_backfill(run, start, end, tables, not run.execute, schema, from_logs, target, folder)
    run.report(prepared.plan)
    if prepared.batch is None:
        return BackfillOutcome(prepared)
    run_spark_job(run, prepared.batch)
    return BackfillOutcome(prepared, record_backfill(run, prepared.batch))
