"""Snapshot: read tables AS OF an SCN and load them, so that no transaction is lost or applied twice."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import Any

from pipelines.config import Pipeline
from pipelines.context import (
    PipelineContext,
    Report,
    now,
    open_context,
    open_pipeline_source,
    read_result,
    read_spec,
    silent,
    take_lease,
)
from pipelines.errors import ChunksNeedOneScn, ConfigurationError, Finding, RedolakeError, SnapshotTooEarly, TableHeld, Terminal
from pipelines.host import crash
from pipelines.host.progress import count_rows
from pipelines.land import layout
from pipelines.land.parquet import WrittenFile
from pipelines.ledger import Lease
from pipelines.ledger.states import TableState
from pipelines.reconcile.batches import beyond, is_loaded, load_name
from pipelines.reconcile.chosen_columns import chosen_columns
from pipelines.reconcile.lake_place import check_landing, lake_place
from pipelines.reconcile.ledger import proven_position, reconcile_ledger
from pipelines.reconcile.mappings import with_mapping
from pipelines.reconcile.pushed_filter import pushed_for, read_by_another_filter
from pipelines.reconcile.quarantine import record_open_keys
from pipelines.reconcile.snapshot_start import (
    chain_epoch,
    check_captured,
    check_chain_epoch,
    check_followed,
    check_unread,
    find_doubled,
)
from pipelines.reconcile.table_versions import app_id, incarnation_of, known_versions, origin, rules
from pipelines.reconcile.tables import add_tables, record_load, restart_versions
from pipelines.records.codec import decode
from pipelines.records.file_digest import FileDigest
from pipelines.records.handover import FirstPosition
from pipelines.records.loads import SnapshotResult, SnapshotSpec, SnapshotTask
from pipelines.records.shown_facts import SnapshotFact
from pipelines.records.snapshots import SnapshotManifest
from pipelines.schema import baseline
from pipelines.source import (
    WHOLE,
    ConnectParams,
    Handover,
    Source,
    counted_rows,
    first_window_start,
    read_container,
    read_encoding,
    read_handover_and_tables,
    read_redo_facts,
)
from pipelines.steps.apply import finding_of
from pipelines.steps.chunks import EVERYTHING, Worker, find_unfinished, plan_chunks, read_chunks
from pipelines.steps.doctor import source_findings
from pipelines.steps.folders import refused_folders
from pipelines.steps.leases import LEASE_SECONDS, LOAD, apply_lease, renew_lease
from pipelines.steps.matched_tables import with_matched_tables
from pipelines.steps.redo_dictionary import dictionary_for
from pipelines.steps.refused_tables import hold_refused
from pipelines.steps.resnapshot import within_limit
from pipelines.steps.same_container import read_same_container
from pipelines.steps.scn_times import snapshot_time
from pipelines.steps.shown_facts import expected_rows, record_snapshot
from pipelines.steps.table_rows import read_rows
from pipelines.values.dictionary_table import DictionaryTable
from pipelines.values.ora_codes import OUT_OF_REACH
from pipelines.values.redo import ContainerIdentity, Position, RedoFacts
from pipelines.values.scn import ChainPosition, Scn
from pipelines.values.table import TableId
from pipelines.window import Lost, plan_window

log = logging.getLogger(__name__)

MORE_READS = 2
FILES_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class ReadShare:
    """What one task reads: tables, or, of one in chunks, the share of one of `of` workers."""

    scn: int
    tables: tuple[str, ...]
    worker: int = 0
    of: int = 1


@dataclass(frozen=True, slots=True)
class BegunSnapshot:
    """`tables` is empty, and `scn` 0, if there is none to read. `held` says why tables without contents are held instead. The
    SCN was the source's current one at `at`, in UTC."""

    scn: int
    tables: tuple[str, ...]
    replace: bool
    held: tuple[Finding, ...] = ()
    at: str | None = None
    continued: tuple[tuple[str, int], ...] = ()  # tables whose unfinished snapshot is of another SCN
    chunks: tuple[tuple[str, int], ...] = ()  # of the tables that are read in chunks, how many

    def scn_of(self, table: str) -> int:
        """Return the SCN at which the table's snapshot was begun."""
        return dict(self.continued).get(table, self.scn)

    def shares(self, sessions: Mapping[str, int]) -> tuple[ReadShare, ...]:
        """Return the tables one by one, and those in chunks once for each of their sessions."""
        chunks = dict(self.chunks)
        workers = {table: max(1, min(sessions.get(table, 1), chunks.get(table, 1))) for table in self.tables}
        return tuple(ReadShare(self.scn_of(t), (t,), n, of) for t, of in workers.items() for n in range(of))


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """A table's rows AS OF an SCN, which was the source's current one at `at`, in UTC. It is not `complete` while other workers
    read chunks of it."""

    table: str
    scn: int
    rows: int
    at: str | None = None
    complete: bool = True


@dataclass(frozen=True, slots=True)
class LoadedSnapshot:
    """`scn` is None if there was nothing to load."""

    scn: int | None
    tables: tuple[TableSnapshot, ...]


@crash.writer
def begin_snapshot(
    pipeline: Pipeline,
    source: ConnectParams | None = None,
    tables: Sequence[str] | None = None,
    *,
    replace: bool = False,
    only_held: bool = False,
    restart: bool = False,
) -> BegunSnapshot:
    """Choose the SCN and record where redo must be read from. Default: the tables without contents, and those of them that
    cannot be captured are held. With `only_held`, named tables that are not held any more are left out. A snapshot in chunks
    that was begun before is continued, unless it is to `restart`. Raises ConfigurationError if a named table has errors."""
    with open_context(pipeline) as context:
        reconcile_ledger(context)
        if context.ledger.position() is None:
            check_landing(context)  # before whose the tables in the lake are: it says why
        if only_held:
            still = {str(entry.table) for entry in context.ledger.tables("held")}
            tables = [table for table in tables or () if table in still]
            if not tables:
                return BegunSnapshot(0, (), replace)
        if pipeline.patterns:
            with open_pipeline_source(pipeline, source) as oracle:
                context = with_matched_tables(context, oracle, pipeline)
            pipeline = context.pipeline
        chosen = choose(context, tables, replace)
        if not chosen:
            return BegunSnapshot(0, (), replace)
        begun_before = unfinished_snapshots(context, chosen, restart=restart)
        chosen = tuple(table for table in chosen if table not in begun_before)
        if not chosen:
            return begun_snapshot(context, max(begun_before.values()), (), replace, begun_before)
        with open_pipeline_source(pipeline, source) as oracle:
            refused = check_source(context.pipeline, oracle, chosen)
            for table, finding in refused_folders(context, chosen, replaces=replace).items():
                refused.setdefault(table, []).append(finding)
            if refused and (tables or (len(refused) == len(chosen) and context.ledger.position() is None)):
                raise ConfigurationError([finding for findings in refused.values() for finding in findings])
            chosen = tuple(table for table in chosen if table not in refused)
            if not chosen:
                held = hold_refused(context, refused)
                return begun_snapshot(context, max(begun_before.values(), default=0), (), replace, begun_before, held)
            at, handover, dictionary = read_beginning(context, oracle, chosen)
            held = hold_refused(context, refused)
            epoch = chain_epoch(context)
            check_followed(context, read_redo_facts(oracle))
            since = check_captured(context, chosen, handover.start_scn)
            scn = int(handover.snapshot_scn)
            for table in dictionary:
                check_unread(context, table, scn, epoch)
            plan_chunks(context, oracle, tuple(dictionary.values()), scn)
        with ThreadPoolExecutor(FILES_AT_ONCE) as pool:  # each file is synced, which is mostly waiting
            list(pool.map(lambda found: context.landing.snapshots.begin(found, scn, epoch, since), dictionary.values()))
        record_snapshot(context, chosen, SnapshotFact("chosen", scn, scn_at=at))
        return begun_snapshot(context, scn, chosen, replace, begun_before, held, at)


def unfinished_snapshots(context: PipelineContext, chosen: Sequence[TableId], *, restart: bool) -> dict[TableId, int]:
    """Return the SCNs of snapshots in chunks that can be continued. With `restart` they are given up."""
    if context.ledger.position() is None:
        return {}
    found = {table: scn for table in chosen if (scn := find_unfinished(context, table)) is not None}
    if not restart:
        return found
    for table, scn in found.items():
        context.landing.chunks.give_up(table, scn, "it was begun again")
    return {}


def begun_snapshot(
    context: PipelineContext,
    scn: int,
    chosen: Sequence[TableId],
    replace: bool,
    begun_before: Mapping[TableId, int],
    held: tuple[Finding, ...] = (),
    at: str | None = None,
) -> BegunSnapshot:
    scns = {**dict.fromkeys(chosen, scn), **begun_before}
    plans = {table: context.landing.chunks.plan(table, own) for table, own in scns.items()}
    return BegunSnapshot(
        scn,
        tuple(map(str, scns)),
        replace,
        held,
        at or now().isoformat(timespec="seconds"),
        tuple((str(table), own) for table, own in begun_before.items()),
        tuple((str(table), len(plan.chunks)) for table, plan in plans.items() if plan is not None),
    )


def read_beginning(
    context: PipelineContext, oracle: Source, chosen: Sequence[TableId]
) -> tuple[str, Handover, Mapping[TableId, DictionaryTable]]:
    """Return the time, the SCN of then with the start of the oldest transaction open at it, and the dictionary of that SCN. The
    first snapshot also sets where mining begins."""
    container = read_container(oracle, context.pipeline.source.container)  # first: a later change of the PDB then shows
    handover, dictionary = read_handover_and_tables(oracle, chosen, context.pipeline.source.container, context.pipeline.renamed)
    missing = [Finding(str(table), "was dropped a moment ago", "begin again") for table in chosen if table not in dictionary]
    if missing or (missing := list(find_doubled(context, dictionary))):
        raise ConfigurationError(missing)
    at = now().isoformat(timespec="seconds")
    start_pipeline(context, oracle, handover, None if container is None else container.identity)
    read_same_container(context, oracle)
    return at, handover, chosen_columns(context.pipeline, dictionary)


def check_source(pipeline: Pipeline, oracle: Source, chosen: Sequence[TableId]) -> dict[TableId, list[Finding]]:
    """Return the errors that doctor finds, by table. Raises ConfigurationError for those of the source, before anything is
    written."""
    errors = [f for f in source_findings(pipeline, oracle, chosen) if f.severity == "error"]
    by_table = {table: [f for f in errors if f.subject == str(table) or f.subject.startswith(f"{table}.")] for table in chosen}
    of_source = [f for f in errors if all(f not in found for found in by_table.values())]
    if of_source:
        raise ConfigurationError(errors)
    return {table: found for table, found in by_table.items() if found}


def choose(context: PipelineContext, tables: Sequence[str] | None, replace: bool) -> tuple[TableId, ...]:
    states = {entry.table: entry.state for entry in context.ledger.tables()}
    configured = [table.id for table in context.pipeline.tables]
    if not tables:
        return tuple(t for t in configured if states.get(t) not in ("live", "held"))
    chosen = tuple(TableId.parse(text) for text in tables)
    for table in chosen:
        if table not in configured:
            raise Terminal("is no table of the pipeline", cure="add it to pipelines.yml first", table=table)
        if states.get(table) in ("live", "held") and not replace:
            raise Terminal("the table has contents", cure="use --replace to read it again and replace them", table=table)
    return chosen


@crash.writer
def start_pipeline(context: PipelineContext, oracle: Source, handover: Handover, container: ContainerIdentity | None) -> None:
    """Set where mining begins, at the first snapshot only. From there every configured table is captured."""
    if context.ledger.position() is not None:
        return
    position = first_position(context.pipeline, read_redo_facts(oracle), handover)
    dictionary_for(context.pipeline, oracle, position.chain_position)  # raises while the first window would have none
    encoding = read_encoding(oracle, context.pipeline.source.container)
    start = FirstPosition(position.dbid, position.resetlogs_id, int(position.scn), encoding, container)
    context.landing.files.write_record_once(layout.HANDOVER, start)
    context.ledger.start_at(position)
    add_tables(context, {table.id: position.scn for table in context.pipeline.tables})


def first_position(pipeline: Pipeline, facts: RedoFacts, handover: Handover) -> Position:
    """Return where redo must be read from for a snapshot taken now. Raises SnapshotTooEarly if some of it is gone."""
    current = facts.current_incarnation
    position = Position(facts.dbid, current.resetlogs_id, first_window_start(facts, handover.start_scn))
    lost = plan_window(position, facts, pipeline.window)
    if isinstance(lost, Lost):
        raise SnapshotTooEarly(
            f"redo of an open transaction is gone: {lost.error.what}",
            cure="wait until it ends, or restore the log; then snapshot again",
            transaction_start_scn=int(handover.start_scn),
        )
    return position


def read_snapshot_table(
    pipeline: Pipeline,
    source: ConnectParams | None,
    scn: int,
    table: str,
    report: Report = silent,
    *,
    by_itself: bool = False,
    worker: tuple[int, int] = (0, 1),
    waits: bool = True,
    stop: Event | None = None,
) -> TableSnapshot:
    """Read one table into Parquet AS OF the SCN, or AS OF a newer one where the database can no longer show it at that SCN. A
    table in chunks may be read by several workers, each its share: `worker` is the number of one, and how many there are. Once
    `stop` is set, no further chunk is read.

    A table that was already read is not read again. Raises SnapshotTooLarge for a table that is read again `by_itself` and has
    more rows than its limit; its error then says so.
    """
    for _ in range(MORE_READS):
        try:
            return read_table_as_of(
                pipeline, source, scn, TableId.parse(table), report, by_itself, Worker(*worker), waits=waits, stop=stop
            )
        except RedolakeError as error:
            if error.ora_code not in OUT_OF_REACH and not isinstance(error, ChunksNeedOneScn):
                raise
            log.warning("%s cannot be read AS OF SCN %s any more, and is read AS OF a newer one: %s", table, scn, error.what)
            give_up_chunks(pipeline, TableId.parse(table), scn, error.what)
            worker = (0, 1)  # the other workers may have ended with their shares of the older one
        scn = begin_snapshot(pipeline, source, [table], replace=True).scn_of(table)
    return read_table_as_of(
        pipeline, source, scn, TableId.parse(table), report, by_itself, Worker(*worker), waits=waits, stop=stop
    )


def give_up_chunks(pipeline: Pipeline, table: TableId, scn: int, because: str) -> None:
    with open_context(pipeline) as context:
        if context.landing.chunks.plan(table, scn) is not None:
            context.landing.chunks.give_up(table, scn, because)


def read_table_as_of(
    pipeline: Pipeline,
    source: ConnectParams | None,
    scn: int,
    wanted: TableId,
    report: Report,
    by_itself: bool = False,
    worker: Worker = EVERYTHING,
    *,
    waits: bool = True,
    stop: Event | None = None,
) -> TableSnapshot:
    with open_context(pipeline) as context:
        there = context.landing.snapshots.whole(wanted, scn)
        if there is None and context.landing.chunks.plan(wanted, scn) is not None:
            record_snapshot(context, [wanted], SnapshotFact("reading", scn))
            there = read_chunks(pipeline, source, wanted, scn, report, worker, by_itself=by_itself, waits=waits, stop=stop)
            if there is None:  # others read the rest
                return TableSnapshot(str(wanted), scn, 0, snapshot_time(context, wanted, scn), complete=False)
            record_snapshot(context, [wanted], SnapshotFact("read", scn, there.row_count))
        elif there is None:
            found, started = dictionary_of(context, wanted, scn), time.monotonic()
            expected = expected_rows(context, wanted)  # before this snapshot is recorded in place of the last one
            record_snapshot(context, [wanted], SnapshotFact("reading", scn))
            with open_pipeline_source(pipeline, source, pipeline.source.container) as oracle:
                if expected is None:
                    expected = counted_rows(oracle, wanted, pipeline.source.container)
                by_rowid, token = pipeline.table(wanted).key == "rowid", uuid.uuid4().hex

                def write(answers: Iterator[Any]) -> WrittenFile:
                    counted = count_rows(answers, f"rows of {wanted}", report, expected)
                    return context.landing.snapshots.write_rows(wanted, scn, counted, token=token)

                chosen = within_limit(context, wanted, write) if by_itself else write
                pushed = pushed_for(context.pipeline, found)
                parts = [] if pushed is None else [pushed.within(WHOLE)]
                file = read_rows(context, source, oracle, found, Scn(scn), by_rowid, chosen, *parts)
            record = "" if pushed is None else pushed.record
            there = context.landing.snapshots.publish_manifest(wanted, scn, [file], filter=record)
            seconds = round(time.monotonic() - started, 3)
            record_snapshot(context, [wanted], SnapshotFact("read", scn, there.row_count, seconds))
        return TableSnapshot(str(wanted), scn, there.row_count, snapshot_time(context, wanted, scn))


def dictionary_of(context: PipelineContext, table: TableId, scn: int) -> DictionaryTable:
    found = context.landing.snapshots.dictionary(table, scn)
    if found is None:
        raise Terminal("no snapshot was begun at this SCN", cure="clear the begin task", table=table, scn=scn)
    return found


def prepare_snapshot_load(pipeline: Pipeline, reads: Mapping[str, int], *, replace: bool = False) -> str:
    """Write the spec that loads tables, each with the SCN that it was read at, into Delta. Return its location."""
    with open_context(pipeline) as context:
        lease = take_lease(context, LOAD, LEASE_SECONDS)
        with apply_lease(context):  # no batch is under way; those that begin later leave these tables alone
            return write_load(context, lease, reads, replace=replace)


@crash.writer
def write_load(context: PipelineContext, lease: Lease, reads: Mapping[str, int], *, replace: bool) -> str:
    reconcile_ledger(context)
    position = proven_position(context)
    assert position is not None, "snapshot_begin has set it"
    chosen = {TableId.parse(table): scn for table, scn in reads.items()}
    newest = max(chosen.values())
    chosen = {table: scn for table, scn in chosen.items() if not was_loaded_by_others(context, table, scn)}
    for table, scn in chosen.items():
        check_chain_epoch(context, table, scn)
    passed = {scn: beyond(context, ChainPosition(position.resetlogs_id, scn)) for scn in set(chosen.values())}
    tasks = [load_task(context, table, scn, position.resetlogs_id, passed[scn].get(table, ())) for table, scn in chosen.items()]
    token = uuid.uuid4().hex
    name = load_name(token, newest, tasks)
    spec = SnapshotSpec(
        pipeline=context.name,
        scn=newest,
        token=token,
        tables=tuple(tasks),
        manifest=context.landing.files.location(layout.load_manifest(name)),
        replace=replace,
        lease=lease.token,
        lake=lake_place(context),
        origin=origin(context),
        digests={file: one for task in tasks for file, one in digests_of(context, task).items()},
    )
    for task in tasks:
        context.ledger.move_table(
            task.table, states_before_load(context, task.table), "snapshotting", snapshot_scn=Scn(task.scn)
        )
    return context.landing.files.write_new_record(layout.load_spec(name), spec)


def was_loaded_by_others(context: PipelineContext, table: TableId, scn: int) -> bool:
    """Return whether another process that read chunks of the same snapshot has loaded it meanwhile."""
    return context.landing.chunks.plan(table, scn) is not None and is_loaded(context, table, scn)


def digests_of(context: PipelineContext, task: SnapshotTask) -> dict[str, FileDigest]:
    there = context.landing.snapshots.manifest(task.table, task.scn)
    return {} if there is None else context.landing.snapshots.digests_of(task.table, task.scn, there)


def states_before_load(context: PipelineContext, table: TableId) -> tuple[TableState, ...]:
    """Return the states a load may start from. `begin_snapshot` lets `held` and `live` tables through only with `replace`."""
    entry = context.ledger.table(table)
    return ("new",) if entry is None or entry.state == "snapshotting" else (entry.state,)


def load_task(
    context: PipelineContext, table: TableId, scn: int, resetlogs_id: int, supersedes: tuple[str, ...]
) -> SnapshotTask:
    there = context.landing.snapshots.manifest(table, scn)
    if there is None:
        raise Terminal("the table was not read AS OF this SCN", cure="clear its read task", table=table, scn=scn)
    found = dictionary_of(context, table, scn)
    known = known_versions(context, table)
    policy, choice = context.pipeline.table(table).key_policy, context.pipeline.choice(table)
    version = baseline(found, found.scn_before, known[-1] if known else None, policy, choice)
    version = with_mapping(context.pipeline, version)
    check_filter(context, there, found)
    files = context.landing.snapshots.files_of(table, scn, there)
    folder = files[0].rpartition("/")[0]
    return SnapshotTask(
        table=table,
        target=context.pipeline.target(table),
        app_id=app_id(context, table, resetlogs_id),
        version=version,
        files=files,
        rules=rules(context, table, (version,)),
        rows=there.row_count,
        supersedes=supersedes,
        options=context.pipeline.target_options(table),
        comment=found.comment,
        comments=tuple(
            (column.id, described.comment)
            for column in version.columns
            for described in found.columns
            if described.name == column.name and described.comment
        ),
        scn=scn,
        scns={f"{folder}/{name}": later for name, later in there.scns.items()},
    )


def check_filter(context: PipelineContext, there: SnapshotManifest, found: DictionaryTable) -> None:
    """Raise SchemaConflict for rows that Oracle chose by another filter: others that the lake shall have were not read."""
    pushed = pushed_for(context.pipeline, found) if there.filter else None
    if there.filter and (pushed is None or pushed.record != there.filter):
        raise read_by_another_filter(found.table, there.scn)


def record_snapshot_load(pipeline: Pipeline, batch: str) -> LoadedSnapshot:
    """Make the loaded tables live from the snapshot's SCN on. Raises TableHeld for those that could not be loaded."""
    with open_context(pipeline) as context:
        spec = read_spec(context, batch)
        result = decode(SnapshotResult, read_result(context, spec), spec.manifest)
        lease = renew_lease(context, spec)
        reconcile_ledger(context)
        failed = []
        tasks = {task.table: task for task in spec.tables if isinstance(task, SnapshotTask)}
        for loaded in result.tables:
            if loaded.state == "held":
                context.ledger.hold(loaded.table, dict(loaded.error or {}))
                failed.append(finding_of(loaded.table, loaded.error))
                continue
            # Not earlier: until the new contents are loaded, DDL of the old contents still applies and may hold the table.
            task, entry = tasks[loaded.table], context.ledger.table(loaded.table)
            record_snapshot(context, [loaded.table], SnapshotFact("loaded", task.scn, loaded.rows))
            record_open_keys(context, loaded.table, 0)  # what was in quarantine is of the contents before
            if entry is not None and entry.state == "live" and entry.snapshot_scn == task.scn:
                continue  # a batch that was prepared meanwhile has found the load, and may have gone on from it
            restart_versions(context, task.version, lease)
            incarnation = incarnation_of(task.app_id)
            context.ledger.record_complete_to(loaded.table, Scn(task.scn), incarnation, loaded.delta_version)
            context.ledger.move_table(loaded.table, ("snapshotting",), "live", snapshot_scn=Scn(task.scn))
        record_load(context, layout.name_of(spec.manifest))
        context.ledger.release_lease(lease)
        if failed:
            raise TableHeld(failed)
        scns = ((loaded, tasks[loaded.table].scn) for loaded in result.tables)
        found = (TableSnapshot(str(t.table), scn, t.rows, snapshot_time(context, t.table, scn)) for t, scn in scns)
        return LoadedSnapshot(result.scn, tuple(found))
