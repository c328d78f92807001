"""Maintain the Delta tables: OPTIMIZE where there are many small files, VACUUM with a horizon, under the apply lease.

The job has a budget of minutes, so that the next batch waits no longer than that. Tables that were left come first next time.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from redolake.config import Pipeline
from redolake.context import Run, now, read_result, read_spec, step
from redolake.errors import Terminal
from redolake.host import crash
from redolake.land import layout
from redolake.ledger import Lease
from redolake.reconcile.lake_place import lake_place
from redolake.reconcile.ledger import reconcile_once
from redolake.records.codec import decode
from redolake.records.maintenance import MaintainedTable, MaintenanceResult, MaintenanceSpec, MaintenanceTask
from redolake.steps.ranges.history_prune import limit_of
from redolake.steps.shared.events import due_events, record_failure
from redolake.steps.shared.leases import APPLY, LOAD, lease_for_job, leases_of, renew_lease
from redolake.steps.shared.named_tables import named_tables
from redolake.steps.shared.spark_jobs import run_spark_job
from redolake.values.amounts import duration, size
from redolake.values.table import TableId


@dataclass(frozen=True, slots=True)
class PreparedMaintenance:
    """`batch` is the location of the spec; None where no table has contents."""

    batch: str | None
    tables: tuple[str, ...]


@step
def prepare_maintenance(context: Run, tables: Sequence[str] = ()) -> PreparedMaintenance:
    """Write the spec of the job: the tables that the last one had no time for, then the others. Raises LeaseHeld while a batch
    runs, Terminal for a table without contents."""
    reconcile_once(context)
    chosen = choose(context, tables)
    if not chosen:
        return PreparedMaintenance(None, ())
    # A load takes its lease before the apply lease too.
    with lease_for_job(context, LOAD) as loads, lease_for_job(context, APPLY) as lease:
        location = write_maintenance(context, chosen, loads, lease)
    return PreparedMaintenance(location, tuple(map(str, chosen)))


@crash.writer
def write_maintenance(context: Run, chosen: Sequence[TableId], loads: Lease, lease: Lease) -> str:
    name, settings, keep = uuid.uuid4().hex, context.pipeline.optimize, context.pipeline.keep
    spec = MaintenanceSpec(
        pipeline=context.name,
        token=name,
        tables=tuple(task for table in chosen for task in tasks_of(context, table)),
        manifest=context.landing.files.location(layout.maintenance_manifest(name)),
        files=settings.files,
        file_bytes=settings.file_bytes,
        minutes=settings.minutes,
        history_hours=None if keep.delta_history is None else int(keep.delta_history.total_seconds() // 3600),
        lease=lease.token,
        load_lease=loads.token,
        lake=lake_place(context),
        history_from=None if keep.history is None else limit_of(keep.history).isoformat(),
        events=due_events(context),
        events_from=None if keep.events is None else (now() - keep.events).isoformat(),
    )
    return context.landing.files.write_new_record(layout.maintenance_spec(name), spec)


@step
def look_up_maintenance(context: Run, tables: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the tables that the job would maintain, in its order, and changes nothing."""
    reconcile_once(context)
    return tuple(map(str, choose(context, tables)))


def choose(context: Run, tables: Sequence[str]) -> list[TableId]:
    """Return the named tables, or all with contents: first those for which the last maintenance had no time left."""
    filled = [e.table for e in context.ledger.tables() if e.complete_to_scn is not None and e.table in context.pipeline.by_id]
    if tables:
        for table in (chosen := named_tables(context, tables)):
            if table not in filled:
                raise Terminal("the table has no contents yet", cure=f"redolake snapshot {table}", table=table)
        return chosen
    left = (context.ledger.fact("maintenance") or {}).get("left", ())
    return sorted(filled, key=lambda table: str(table) not in left)


def tasks_of(context: Run, table: TableId) -> Iterator[MaintenanceTask]:
    """Yield the table and its history, if it has begun."""
    from redolake.job.lake import has_log

    names = tuple(name for name, _ in context.pipeline.target_options(table).properties)
    yield MaintenanceTask(table, context.pipeline.target(table), names)
    history = context.pipeline.history_target(table)
    if history is not None and has_log(history):
        yield MaintenanceTask(table, history, names, of=context.pipeline.target(table))


@step
def record_maintenance(context: Run, batch: str) -> MaintenanceResult:
    """Return what the job did, and let the next writer begin."""
    spec = read_spec(context, batch)
    result = decode(MaintenanceResult, read_result(context, spec), spec.manifest)
    if isinstance(spec, MaintenanceSpec) and (spec.events or result.events_error):
        record_failure(context, result.events_error)
    for lease in (renew_lease(context, spec), *leases_of(context, spec)[1:]):
        context.ledger.release_lease(lease)
    context.ledger.record_fact("maintenance", {"left": list(result.left)})
    return result


@step
def run_maintenance(run: Run, tables: Sequence[str] = ()) -> MaintenanceResult:
    """Maintain tables in this process."""
    prepared = prepare_maintenance(run, tables)
    if prepared.batch is None:
        return MaintenanceResult(run.name, ())
    run_spark_job(run, prepared.batch)
    return record_maintenance(run, prepared.batch)


def describe_maintenance(found: MaintenanceResult) -> Iterator[str]:
    """Yield lines for a person."""
    for one in found.tables:
        yield f"{one.name}: {table_text(one)}"
    if found.left:
        yield f"no time was left for {len(found.left)} table(s), which come first next time: {', '.join(found.left[:8])}"
    if not found.tables:
        yield "No table has contents."


def describe_rules(pipeline: Pipeline) -> str:
    """Say what the job would do with each table."""
    small, keep = pipeline.optimize, pipeline.keep.delta_history
    rewrite = (
        f"OPTIMIZE of a table with {small.files} files or more, if they are smaller than {size(small.file_bytes)} on average"
    )
    if keep is None:
        return f"{rewrite}; no VACUUM, as `keep.delta_history` is not set."
    return f"{rewrite}; VACUUM of what is older than {duration(keep.total_seconds())}."


def table_text(one: MaintainedTable) -> str:
    if one.error:
        return one.error
    return f"{one.files_before} files are {one.files_after} now" if one.optimized else f"{one.files_before} files"
