"""Capture: plan the next sealed window, mine its slices, land it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Literal

from redolake.config import Pipeline
from redolake.context import Run, held_lease, step
from redolake.errors import (
    InvariantBroken,
    MiningIncomplete,
    NotLogged,
    PdbChanged,
    RedoLost,
    RedoNotUnderstood,
    SchemaConflict,
    StreamLost,
    Terminal,
    report_with,
)
from redolake.host import crash
from redolake.land import layout
from redolake.land.chain_rules import build_manifest
from redolake.land.windows import NOTHING_REREAD, Reread
from redolake.mine import EdgeCut, LogSet, mine_from_any_copy, mine_slice
from redolake.reconcile.ledger import reconcile_once
from redolake.reconcile.mappings import is_shaped
from redolake.reconcile.redo_loss import clear_redo_loss, record_redo_loss, unreadable_logs
from redolake.reconcile.table_versions import all_known_versions, object_ids, record_baselines
from redolake.records.codec import from_body, to_body
from redolake.records.readers import is_received
from redolake.records.windows import SliceRecord, WindowManifest, WindowPlan
from redolake.source import (
    DatabaseLogging,
    Source,
    has_needed_logging,
    logging_cure,
    read_container,
    read_database_logging,
    read_redo_facts,
    read_tables,
)
from redolake.source.standby import read_lags
from redolake.steps.capture.read_and_plan import PAUSE_SECONDS, read_and_plan
from redolake.steps.capture.reread import reread
from redolake.steps.capture.whole_tables import read_whole_tables
from redolake.steps.shared.comparison_rows import remove_left_rows
from redolake.steps.shared.doubt import record_doubt
from redolake.steps.shared.matched_tables import announced_tables, match_tables
from redolake.steps.shared.reader_change import last_window, plan_first_mined
from redolake.steps.shared.redo_dictionary import with_its_dictionary
from redolake.steps.shared.redo_streams import prove_unasked
from redolake.steps.shared.same_container import check_same, read_same_container, record_pdb_change
from redolake.steps.shared.scn_times import end_time
from redolake.steps.shared.shown_facts import (
    host_clock_ahead,
    record_choices,
    record_plan,
    record_redo,
    recorded_failure,
    utc_end_time,
)
from redolake.steps.shared.wait import AwaitedLog, awaited_log
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.mapping import needs_all_columns
from redolake.values.redo import ContainerIdentity, LogFile, Position, Window, logs_text
from redolake.values.table import TableId
from redolake.window import Lost, NothingNew, Wait, missing_logs
from redolake.window.recovery_options import choices, gap_end, rman_commands

LEASE_SECONDS = 60.0
Outcome = Literal["window", "nothing", "wait"]


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """`window` and `slices` are set if the outcome is window, `awaited` if it is wait. `announced` are new tables that match a
    pattern and are not captured."""

    outcome: Outcome
    reason: str
    window: str | None = None
    slices: tuple[int, ...] = ()
    awaited: AwaitedLog | None = None
    announced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AlreadyLanded:
    """Replaces the record of a slice that need not be mined: its window has landed, or the chain has passed it. `logs` names
    the slice's logs, where the plan is known."""

    slice: int
    logs: str = ""


@dataclass(frozen=True, slots=True)
class LandedWindowReport:
    """`manifest` is its location. An overtaken window has none: the chain already continues past its start. `ends_at` is when
    the source wrote its end, in UTC."""

    window: str
    start_scn: int
    end_scn: int
    rows: int
    manifest: str | None = None
    overtaken: bool = False
    ends_at: str | None = None


@step
def plan_next_window(run: Run) -> PlanOutcome:
    """Plan the next window, or return why there is none. Raises RedoLost."""
    while True:
        found = plan_next(run)
        if found.window is None or found.slices:
            return found
        # It has no redo and so no slice, and only a slice starts the task that lands.
        land_window(run, found.window, [])


def plan_next(context: Run) -> PlanOutcome:
    pipeline = context.pipeline
    reconcile_once(context)
    remove_left_rows(context)
    position = context.ledger.position()
    if position is None:
        reason = f"no table has contents yet: run {pipeline.name}_snapshot, or `redolake snapshot`"
        return PlanOutcome("nothing", reason)
    with recorded_failure(context), context.oracle() as oracle:
        ahead = host_clock_ahead(oracle)
        last = last_window(context, position)
        if last is not None and is_received(last):
            prove_landed(context, oracle, position, last)
            facts, found = plan_first_mined(context, oracle, position, last)
        else:
            pause = min(PAUSE_SECONDS, pipeline.wait_max_pause_seconds)
            facts, found = read_and_plan(oracle, position, pipeline.window, pause)
        try:
            container = read_same_container(context, oracle)  # after the facts: they are of this PDB
        except PdbChanged as error:
            record_pdb_change(context, error, position, facts)
            raise
        record_redo(context, position, facts, ahead, read_lags(oracle, facts)[0], is_all=False)
        if isinstance(found, Lost):
            missing = missing_logs(position, facts)
            record_redo_loss(context, found.error, "plan", position, missing)
            record_plan(context, "lost", found.error.what)
            options = choices(pipeline.name, position, facts, missing, gap_end(position, facts))
            record_choices(context, position, options, rman_commands(missing, facts))
            raise found.error
        clear_redo_loss(context, "plan")
        record_doubt(context, oracle, position, facts)
        if isinstance(found, NothingNew):
            outcome = PlanOutcome("nothing", found.reason)
        elif isinstance(found, Wait):
            outcome = PlanOutcome("wait", found.reason, awaited=awaited_log(position, found))
        else:
            match_tables(context, oracle)
            resetlogs_id, ends_at = facts.current_incarnation.resetlogs_id, utc_end_time(found.window, facts, ahead)
            window = with_its_dictionary(pipeline, oracle, found.window)
            outcome = plan_slices(context, oracle, window, resetlogs_id, container, ends_at)
        record_plan(context, outcome.outcome, outcome.reason, outcome.awaited)
        return outcome


def prove_landed(context: Run, oracle: Source, position: Position, last: WindowManifest) -> None:
    """Prove received windows that nobody has proved yet; a loss there is recorded, and raised."""
    try:
        prove_unasked(context.pipeline, oracle, position, last)
    except StreamLost as error:
        record_redo_loss(context, error, "mine", position, ())  # no view shows that it is lost
        raise


@crash.writer
def plan_slices(
    context: Run,
    oracle: Source,
    window: Window,
    resetlogs_id: int,
    container: ContainerIdentity | None,
    ends_at: datetime | None = None,
) -> PlanOutcome:
    """Record the plan in the ledger. LogMiner uses the dictionary of mining time, so it is read now, under the current
    incarnation, which may be later than the window's. `ends_at` is when the window's end was written."""
    ids = tuple(table.id for table in context.pipeline.tables)
    dictionary = read_tables(oracle, ids, context.pipeline.source.container, context.pipeline.renamed)
    read_at = min(table.scn_before for table in dictionary.values()) if dictionary else window.scns.end
    known = {entry.table for entry in context.ledger.tables()}
    with context.ledger.at_once():
        for table in ids:
            if table not in known:
                context.ledger.add_table(table, window.scns.start)
        hold_undescribed(context, ids, dictionary)
    hold_unlogged(context, oracle, dictionary)
    made = WindowPlan(window, ids, object_ids(context, dictionary), read_at, container)
    with held_lease(context, "capture", LEASE_SECONDS) as lease:
        # Under the lease: a prune would remove a content that no reading refers to yet.
        context.landing.dictionary.write_dictionary(resetlogs_id, read_at, dictionary.values(), context.pipeline.renamed)
        entry = context.ledger.plan_window(window.name, window.resetlogs_id, window.scns, to_body(made), lease, ends_at)
    numbers = tuple(s.number for s in window.slices)
    return PlanOutcome("window", redo_of(window), entry.name, numbers, announced=announced_tables(context))


def redo_of(window: Window) -> str:
    """Return how much redo LogMiner reads for the window, and how much of it the window before has read too."""
    logs = [log for s in window.slices for log in s.logs]
    threads, size = len({log.thread for log in logs}), sum(log.bytes for log in logs)
    again = sum(log.bytes for log in logs if log.first_scn < window.scns.start)
    cut = f", {again:,} of them in logs that begin before it" if again else ""
    beside = sum(log.bytes for log in window.dictionary_logs if log not in logs)
    names = f"; for names each session reads up to {beside:,} bytes more, from the dictionary in the redo on" if beside else ""
    return f"SCN {window.scns}, {len(logs)} log(s) of {threads} redo thread(s), {size:,} bytes{cut}{names}"


def hold_undescribed(context: Run, ids: Sequence[TableId], dictionary: Mapping[TableId, DictionaryTable]) -> None:
    """Record the first version of each table that has none, and hold those that have no valid description: never seen in the
    dictionary, or not capturable. The others continue. A dropped table is held by its DROP in the redo."""
    described = context.ledger.described_tables()
    for table in ids:
        if table in described:
            continue
        if table not in dictionary:
            context.ledger.hold(table, not_in_dictionary(table).as_dict())
            continue
        try:
            record_baselines(context, {table: dictionary[table]})
        except SchemaConflict as error:
            context.ledger.hold(table, error.as_dict())


def not_in_dictionary(table: TableId) -> SchemaConflict:
    return SchemaConflict(
        "the table is not in the dictionary, or privileges on it are missing",
        cure=f"run `redolake doctor`; grant SELECT on it and `redolake resume {table}`, or correct its name in pipelines.yml",
        table=table,
    )


def hold_unlogged(context: Run, oracle: Source, dictionary: Mapping[TableId, DictionaryTable]) -> None:
    """Hold live tables whose supplemental logging was removed, before an UPDATE comes without its key columns. Nothing is lost:
    a resumed table continues from its own position, and each row is checked for its key.

    A table that was created again is another: its DDL says so in the redo, and logging would not cure that."""
    keys = {name: context.pipeline.table(name).key_policy for name in dictionary}
    whole = need_all_columns(context, dictionary)
    # A table that lost the primary key it is keyed by is held by the DDL that dropped the key.
    checked = {name: table for name, table in dictionary.items() if table.key or keys[name].kind != "primary"}
    is_logged = {
        name: partial(has_needed_logging, table, keys[name], all_columns=name in whole) for name, table in checked.items()
    }
    if all(logged(DatabaseLogging()) for logged in is_logged.values()):
        return  # most tables have their own log groups; only the others need a query of database-wide logging
    wide = read_database_logging(oracle, context.pipeline.source.container)
    live = {entry.table for entry in context.ledger.tables("live")}
    objects = {name: versions[-1].object_id for name, versions in all_known_versions(context).items()}
    for name, table in checked.items():
        if name in live and not is_logged[name](wide) and objects.get(name, 0) in (0, table.object_id):
            cure = logging_cure(table, keys[name], all_columns=name in whole)
            context.ledger.hold(name, not_logged(table, cure, all_columns=name in whole).as_dict())


def need_all_columns(context: Run, tables: Iterable[TableId]) -> set[TableId]:
    """Return the tables whose mapping needs the whole row of each change."""
    if not any(is_shaped(context.pipeline.settings(table)) for table in tables):
        return set()
    known = {table: versions[-1] for table, versions in all_known_versions(context).items()}
    return {table for table, version in known.items() if needs_all_columns(version.mapping, version.key)}


def not_logged(table: DictionaryTable, cured_by: str, *, all_columns: bool) -> NotLogged:
    name = table.table
    then = f"then `redolake resume {name}`; if an UPDATE came in between, the table is held there and needs a new snapshot"
    lacks = "contains the whole row, which its mapping needs" if all_columns else "identifies its row"
    return NotLogged(
        f"supplemental logging was removed: redo of an UPDATE no longer {lacks}",
        cure=f"{cured_by}; {then}",
        table=name,
        scn=table.scn_before,
    )


def plan_of(context: Run, window: str) -> WindowPlan:
    entry = context.ledger.window(window)
    if entry is None or not entry.plan:
        raise Terminal("the ledger has no plan of this window", cure="clear the plan task, or begin a new run", window=window)
    return from_body(WindowPlan, entry.plan, f"the plan of window {window}")


def planned_logs(context: Run, window: str, slice_number: int) -> str:
    """Return the name of a slice's logs; empty where a rebuilt ledger does not have the plan."""
    entry = context.ledger.window(window)
    slices = plan_of(context, window).window.slices if entry is not None and entry.plan else ()
    found = next((s for s in slices if s.number == slice_number), None)
    return "" if found is None else logs_text(found.thread, found.logs[0].sequence, found.logs[-1].sequence)


def is_overtaken(context: Run, window: Window) -> bool:
    """Return whether the chain has passed the window's start: the redo of a cleared old run has already been read."""
    end = context.landing.chain_end()
    return end is not None and end.chain_position > window.start_position


@step
def mine_window_slice(context: Run, window: str, slice_number: int) -> SliceRecord | AlreadyLanded:
    """Mine one slice into this attempt's own files, which the record names. A landed window is not mined again."""
    if context.landing.windows.manifest(window) is not None:
        return AlreadyLanded(slice_number, planned_logs(context, window, slice_number))
    made = plan_of(context, window)
    if is_overtaken(context, made.window):
        return AlreadyLanded(slice_number, planned_logs(context, window, slice_number))
    try:
        return mine(context, made, slice_number)
    except (RedoLost, RedoNotUnderstood, MiningIncomplete) as error:  # an operator may choose to continue without it
        position = None if isinstance(error, EdgeCut) else context.ledger.position()
        if position is not None and position.scn == made.window.scns.start:  # else another run has overtaken this one
            logs, end = unreadable_logs(error, made.window), int(made.window.scns.end)
            record_redo_loss(context, error, "mine", position, logs, end)
        raise


def mine(context: Run, made: WindowPlan, slice_number: int) -> SliceRecord:
    piece = next(s for s in made.window.slices if s.number == slice_number)

    def read_archived() -> tuple[LogFile, ...]:
        with context.connect() as oracle:
            return read_redo_facts(oracle).archived

    logs = LogSet.of(piece, made.window.dictionary_logs)
    return mine_from_any_copy(logs, lambda reading: mine_once(context, made, reading), read_archived)


def reads_large_objects(pipeline: Pipeline, table: TableId) -> bool:
    """Return whether large objects of a table are read. The window may have been planned while another table was in `tables`:
    the pipeline's setting counts for one that was removed."""
    return (pipeline.choice(table).large_objects if pipeline.lists(table) else pipeline.large_objects) != "refuse"


def mine_once(context: Run, made: WindowPlan, reading: LogSet) -> SliceRecord:
    """Mine once, in a new session; a failed attempt leaves no file."""
    settings, renamed, started = context.pipeline.source, context.pipeline.renamed, time.monotonic()
    with context.connect() as oracle:
        mining = mine_slice(
            oracle,
            reading,
            made.window,
            tables=[renamed.get(table, table) for table in made.tables],
            object_ids=frozenset(made.object_ids),
            container=settings.container,
            fetch_rows=settings.fetch_rows,
            with_objects=frozenset(
                number for number, table in made.object_ids.items() if reads_large_objects(context.pipeline, table)
            ),
        )
        record = context.landing.windows.write_slice(
            made.window,
            reading.own.number,
            mining,
            uuid.uuid4().hex,
            tables=made.object_ids,
            names=made.tables,
            renamed=renamed,
        )
        # LogMiner may have used the dictionary of another PDB, or its character set.
        check_same(context, oracle, made.container, read_container(oracle, settings.container))
    cost = {"seconds": round(time.monotonic() - started, 3), "redo_bytes": sum(log.bytes for log in reading.own.logs)}
    return replace(record, circumstance={**record.circumstance, **mining.facts.as_json(), **cost})


@step
def land_window(context: Run, window: str, mined_slices: Sequence[SliceRecord | AlreadyLanded]) -> LandedWindowReport:
    """Publish the manifest, then advance the position. A landed window stays as it is; a window that the chain has passed is
    reported as overtaken."""
    manifest = context.landing.windows.manifest(window)
    records = [mined for mined in mined_slices if isinstance(mined, SliceRecord)]
    if manifest is None or len(records) == len(mined_slices):
        made = plan_of(context, window)
        if manifest is None and is_overtaken(context, made.window):
            scns = made.window.scns
            return LandedWindowReport(window, int(scns.start), int(scns.end), rows=0, overtaken=True)
        end = context.landing.chain_end()
        reread = NOTHING_REREAD if manifest is not None else read_again(context, made, records)
        manifest = context.landing.windows.publish(
            made.window, made.tables, records, None if end is None else int(end.scn), reread
        )
    reconcile_once(context)
    check_goes_on(context, manifest)
    clear_redo_loss(context, "mine")
    path = context.landing.files.location(layout.window_manifest(manifest.name))
    ends_at = end_time(context, manifest.end_position)
    return LandedWindowReport(manifest.name, manifest.start, manifest.end, manifest.change_rows, path, ends_at=ends_at)


def check_goes_on(context: Run, landed: WindowManifest) -> None:
    """Raise InvariantBroken if the chain does not reach the end of a landed window: the same redo would be mined for ever."""
    end = context.landing.chain_end()
    if end is None or end.chain_position < landed.end_position:
        raise InvariantBroken(
            f"the window has landed, and the chain ends before it: {'nowhere' if end is None else f'at SCN {end.scn}'}",
            cure=f"{report_with('the names in the folders chain/ and windows/ of the landing')}; nothing is mined until then",
            window=landed.name,
        )


def read_again(context: Run, made: WindowPlan, records: Sequence[SliceRecord]) -> Reread:
    """Read again what the redo does not show: changed rows, and whole tables after some DDL."""
    whole = read_whole_tables(context, made, build_manifest(made.window, made.tables, records))
    return replace(reread(context, made, records), whole=whole)
