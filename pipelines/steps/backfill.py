"""Backfill: apply the landed changes that committed in an old SCN range to shadow tables beside the live ones.

The job and the landing are those of apply. A shadow contains every row that changed in the range and is there at its end, as it
is then. It does not contain rows that were deleted in the range, nor a mark that they were: the plan says so. A backfill that
cannot be completed is refused before anything is written.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pipelines.config import Pipeline
from pipelines.context import PipelineContext, Report, open_context, read_result, read_spec, silent
from pipelines.errors import ConfigurationError, Finding, Terminal
from pipelines.host import crash
from pipelines.land import layout
from pipelines.land.dictionary import Readings
from pipelines.ledger import TableEntry
from pipelines.reconcile.damage import with_whole_rows
from pipelines.reconcile.ledger import chain_of_batches, reconcile_ledger
from pipelines.reconcile.next_batch import build_batch
from pipelines.reconcile.table_versions import history, known_versions, table_task
from pipelines.records.batches.manifest import BatchResult
from pipelines.records.batches.spec import BatchSpec, TableTask
from pipelines.records.codec import decode
from pipelines.records.windows import WindowManifest
from pipelines.steps.scn_times import time_written
from pipelines.steps.spark_jobs import opened_spark, run_spark_job
from pipelines.values.scn import Scn, ScnRange
from pipelines.values.table import TableId
from pipelines.values.utc import beside

ShadowSchema = Literal["historic", "current"]
NO_DELETED_ROWS = "rows that were deleted in the range are not in a shadow, nor a mark that they were"
ROWS_ONLY = ("truncate", "renumber", "remove_rows")  # kinds of followed DDL that leave the columns as they are


@dataclass(frozen=True, slots=True)
class PreparedBackfill:
    """`batch` is the location of the spec, None for a dry run. The source had written the two SCNs by `from_at` and `to_at`."""

    plan: str
    batch: str | None
    tables: tuple[str, ...]
    from_at: str | None = None
    to_at: str | None = None


@dataclass(frozen=True, slots=True)
class ShadowTable:
    """`target` is the shadow's location. The counts are 0 where an earlier run had completed the shadow."""

    table: str
    target: str
    inserted: int
    updated: int
    deleted: int


@dataclass(frozen=True, slots=True)
class RecordedBackfill:
    to_scn: int
    tables: tuple[ShadowTable, ...]


@dataclass(frozen=True, slots=True)
class BackfillOutcome:
    """`recorded` is None for a dry run."""

    prepared: PreparedBackfill
    recorded: RecordedBackfill | None = None


@crash.writer
def prepare_backfill(
    pipeline: Pipeline,
    from_scn: int,
    to_scn: int,
    tables: Sequence[str] | None = None,
    dry_run: bool = True,
    schema: ShadowSchema = "historic",
) -> PreparedBackfill:
    """Return the plan, and write the job's spec unless it is a dry run. Raises ConfigurationError with all findings if the
    backfill cannot be completed.

    `historic`: a shadow has the columns that its table had at the range's end. `current`: those it has now, or had at the end
    of what is landed; the DDL in between is followed on the shadow.
    """
    scns = range_of(from_scn, to_scn)
    with open_context(pipeline) as context:
        chosen = choose(context.pipeline, tables)
        reconcile_ledger(context)
        manifests = context.landing.windows.after()
        windows = find_covering(manifests, scns)
        entries = {table: context.ledger.table(table) for table in chosen}
        refuse([f for table, entry in entries.items() for f in objections(context, table, entry, scns, manifests)])
        spec = backfill_batch(context, [e for e in entries.values() if e is not None], scns, manifests)
        refuse([objection for task in spec.tables for objection in find_stop(task, scns)])
        if schema == "current":
            spec = reshape(context, spec, scns, unbroken(manifests))
        rows = sum(n for m in windows for what, n in m.counts.items() if any(what.startswith(f"{t} ") for t in chosen))
        where = shadow_folder(pipeline, scns, schema)
        columns = ", with the columns of today" if schema == "current" else ""
        from_at, to_at = time_written(context, scns.start), time_written(context, scns.end - 1)
        between = " to ".join(f"SCN {scn}{beside(at, 'by ')}" for scn, at in ((scns.start, from_at), (scns.end, to_at)))
        plan = f"{between}: {len(windows)} landed window(s), {rows} change rows, {len(chosen)} table(s) into {where}{columns}"
        plan += f"; {NO_DELETED_ROWS}"
        batch = None
        if not dry_run:
            name = f"{scns.start:020d}-{scns.end:020d}-{uuid.uuid4().hex}"
            path = layout.backfill_spec(name)
            batch = context.landing.files.write_new_record(path, redirect_to_shadows(context, spec, name, scns, schema))
        return PreparedBackfill(plan, batch, tuple(str(t) for t in chosen), from_at, to_at)


# --- Checks -------------------------------------------------------------------------------------------------------------


def refuse(findings: Sequence[Finding]) -> None:
    if findings:
        raise ConfigurationError(findings)


def range_of(from_scn: int, to_scn: int) -> ScnRange:
    if not 0 <= from_scn < to_scn:
        refuse([Finding("range", f"[{from_scn}, {to_scn}) holds no SCN", "give a from-SCN below the to-SCN")])
    return ScnRange(Scn(from_scn), Scn(to_scn))


def choose(pipeline: Pipeline, tables: Sequence[str] | None) -> list[TableId]:
    """Return the named tables, each once; all of the pipeline's tables if none is named."""
    configured = {str(table.id): table.id for table in pipeline.tables}
    chosen = {name: configured.get(name) or parse_table(name) for name in tables or configured}
    refuse(
        [
            Finding(name, "is no table of the pipeline", f"one of: {', '.join(configured)}")
            for name, table in chosen.items()
            if table not in configured.values()
        ]
    )
    return list(dict.fromkeys(table for table in chosen.values() if table is not None))


def parse_table(name: str) -> TableId | None:
    try:
        return TableId.parse(name)
    except ValueError:
        return None


def find_covering(manifests: Sequence[WindowManifest], scns: ScnRange) -> list[WindowManifest]:
    """Return the landed windows of the range. Raises ConfigurationError unless they cover it, in one incarnation."""
    found = find_overlapping(manifests, scns)
    if not found or found[0].start > scns.start or found[-1].end < scns.end:
        landed = f"landed is [{manifests[0].start}, {manifests[-1].end})" if manifests else "nothing is landed"
        refuse([Finding("range", f"{scns} is not completely landed: {landed}", "choose a range inside it")])
    last_run = unbroken(found)
    if len(last_run) < len(found):
        end, start = found[-len(last_run) - 1].end, last_run[0].start
        what = f"{scns} crosses a RESETLOGS or a gap: the landed windows end at SCN {end} and continue at SCN {start}"
        refuse([Finding("range", what, f"end the range at SCN {end}, or begin it at SCN {start}")])
    return found


def unbroken(windows: Sequence[WindowManifest]) -> list[WindowManifest]:
    """Return the last windows that adjoin each other, in one incarnation."""
    run: list[WindowManifest] = []
    for window in reversed(windows):
        if run and window.end_position != run[-1].start_position:
            break
        run.append(window)
    return run[::-1]


def find_overlapping(manifests: Sequence[WindowManifest], scns: ScnRange) -> list[WindowManifest]:
    return [m for m in manifests if m.end > scns.start and m.start < scns.end]


def objections(
    context: PipelineContext, table: TableId, entry: TableEntry | None, scns: ScnRange, manifests: Sequence[WindowManifest]
) -> Iterator[Finding]:
    """Yield why the table cannot be backfilled. Its columns and changes are known only after its last snapshot."""
    known = known_versions(context, table)
    if entry is None or entry.complete_to_scn is None or not known:
        yield Finding(str(table), "the table has no contents yet", f"`redolake snapshot {table}`, or leave it out")
        return
    first = Scn(max(known[0].from_scn, (entry.snapshot_scn or 0) + 1))
    if scns.start < first:
        what = f"its changes are known from SCN {first}, after its last snapshot, and the range begins at {scns.start}"
        yield Finding(str(table), what, f"begin at SCN {first} or later, or leave the table out")
        return
    # From `first` and not from the range's start: a transaction that commits in the range may have begun before it.
    for start, end in not_landed(manifests, table, ScnRange(first, scns.end)):
        what = f"SCN [{start}, {end}) was landed without the table"
        yield Finding(str(table), what, f"end the range at SCN {start}, or leave the table out")
        return


def not_landed(manifests: Sequence[WindowManifest], table: TableId, scns: ScnRange) -> Iterator[tuple[int, int]]:
    """Yield the SCN ranges without the table's redo: declared gaps, and windows mined without the table."""
    before: int | None = None
    for window in find_overlapping(manifests, scns):
        if before is not None and window.start > before:
            yield before, window.start
        if str(table) not in window.tables:
            yield window.start, window.end
        before = window.end


def find_stop(task: TableTask, scns: ScnRange) -> Iterator[Finding]:
    """Yield the hold, such as an unsupported DDL, that stops the table inside the range."""
    if task.hold is not None and task.hold.at_scn < scns.end:
        error, at_scn = task.hold.error, task.hold.at_scn
        shorter = f"end the range at SCN {at_scn}, or " if at_scn > scns.start else ""
        yield Finding(
            str(task.table), f"{error.get('code')} at SCN {at_scn}: {error.get('what')}", f"{shorter}leave the table out"
        )
    for whole in task.whole:
        first = min((scn for scn in whole.ddl if scn >= scns.start), default=scns.end)
        if first < scns.end <= whole.scn:
            what = f"a DDL at SCN {first} changed rows, which are known only AS OF SCN {whole.scn}, the end of its window"
            yield Finding(
                str(task.table), what, f"end the range at SCN {first} or at SCN {whole.scn + 1}, or leave the table out"
            )


# --- The spec -----------------------------------------------------------------------------------------------------------


def backfill_batch(
    context: PipelineContext, entries: Sequence[TableEntry], scns: ScnRange, manifests: Sequence[WindowManifest]
) -> BatchSpec:
    """Return a batch that continues the last one before the range, with its carry-over, so that no open transaction is missed.
    The state of the live tables does not matter: a shadow counts as complete up to the range's start."""
    before = with_whole_rows(context, last_batch_before(chain_of_batches(context), scns))
    ahead = unbroken(find_overlapping(manifests, ScnRange(Scn(before.end if before else 0), scns.end)))
    if before is not None and before.end != ahead[0].start:
        before = None  # no transaction survives a RESETLOGS or a declared gap
    tables = [replace(entry, state="live", complete_to_scn=Scn(scns.start - 1)) for entry in entries]
    return build_batch(context, ahead, before, tables)


def last_batch_before(chain: Sequence[BatchResult], scns: ScnRange) -> BatchResult | None:
    return next((batch for batch in reversed(chain) if batch.end <= scns.start), None)


def reshape(context: PipelineContext, spec: BatchSpec, scns: ScnRange, manifests: Sequence[WindowManifest]) -> BatchSpec:
    """Return the batch with the changes of columns that were followed after the range, as far as is landed without a break.

    Raises ConfigurationError for a table that such a change would have held.
    """
    later = [window for window in manifests if window.end > scns.end]
    if not later or later[0].start > scns.end:
        return spec
    readings, tasks, findings = Readings(context.landing.dictionary), [], list[Finding]()
    for task in spec.tables:
        past = history(context, known_versions(context, task.table), scns.end, later, later[-1].end, readings)
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


def shadow_name(scns: ScnRange, schema: ShadowSchema) -> str:
    return f"{scns.start}-{scns.end}" + ("-current" if schema == "current" else "")


def shadow_folder(pipeline: Pipeline, scns: ScnRange, schema: ShadowSchema) -> str:
    return f"{pipeline.lake.rstrip('/')}/_shadow/{shadow_name(scns, schema)}"


def redirect_to_shadows(
    context: PipelineContext, spec: BatchSpec, name: str, scns: ScnRange, schema: ShadowSchema
) -> BatchSpec:
    """Redirect the batch to shadow tables. It leaves out what commits at or above the range's end."""
    location = context.landing.files.location
    base = shadow_folder(context.pipeline, scns, schema)
    tasks = tuple(
        replace(
            task,
            target=f"{base}/{context.pipeline.table(task.table).path}",
            app_id=f"{task.app_id}/shadow/{shadow_name(scns, schema)}",
            shadow_from=scns.start,
        )
        for task in spec.tables
    )
    return replace(
        spec,
        tables=tasks,
        end=scns.end,
        manifest=location(layout.backfill_manifest(name)),
        carry_out=location(layout.backfill_carry(name)),
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
                raise Terminal(
                    f"its shadow stopped at SCN {done.complete_to}: {error.get('code')}: {error.get('what')}",
                    cure="remove the cause, delete the shadow, and run the backfill again; other shadows stay. "
                    "An UPDATE of a row older than the range needs supplemental logging of ALL columns; with "
                    "`large_objects: redo` it is not possible: the redo has no value of an object that did not change",
                    table=done.table,
                    shadow=targets[done.table],
                )
        shadows = (ShadowTable(str(t.table), targets[t.table], t.inserted, t.updated, t.deleted) for t in result.tables)
        return RecordedBackfill(result.end, tuple(shadows))


def run_backfill(
    pipeline: Pipeline,
    from_scn: int,
    to_scn: int,
    tables: Sequence[str] | None = None,
    *,
    execute: bool = False,
    schema: ShadowSchema = "historic",
    spark: Any = None,
    report: Report = silent,
) -> BackfillOutcome:
    """Run the whole backfill in this process, or only its plan."""
    prepared = prepare_backfill(pipeline, from_scn, to_scn, tables, dry_run=not execute, schema=schema)
    report(prepared.plan)
    if prepared.batch is None:
        return BackfillOutcome(prepared)
    with opened_spark(pipeline, spark) as session:
        run_spark_job(pipeline, prepared.batch, session, report)
    return BackfillOutcome(prepared, record_backfill(pipeline, prepared.batch))
