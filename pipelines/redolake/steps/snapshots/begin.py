"""Begin a snapshot: choose its tables and its SCN, and record where redo must be read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from redolake.config import Pipeline
from redolake.context import Run, now, step
from redolake.errors import ConfigurationError, Finding, SnapshotTooEarly, SourceRefused, Terminal
from redolake.host import crash
from redolake.land import layout
from redolake.reconcile.chosen_columns import chosen_columns
from redolake.reconcile.lake_place import check_landing
from redolake.reconcile.ledger import reconcile_once
from redolake.reconcile.omitted_tables import begins_at, open_in_redo
from redolake.reconcile.snapshot_start import (
    chain_epoch,
    check_captured,
    check_followed,
    check_unread,
    find_doubled,
)
from redolake.reconcile.tables import add_tables
from redolake.records.handover import FirstPosition
from redolake.records.shown_facts import SnapshotFact
from redolake.source import (
    FORM_PARAMETERS,
    Handover,
    Source,
    first_window_start,
    read_container,
    read_encoding,
    read_handover_and_tables,
    read_parameters,
    read_redo_facts,
)
from redolake.steps.checks.doctor import source_findings
from redolake.steps.shared.folders import refused_folders
from redolake.steps.shared.matched_tables import match_tables
from redolake.steps.shared.named_tables import named_tables
from redolake.steps.shared.redo_dictionary import dictionary_for
from redolake.steps.shared.same_container import read_same_container
from redolake.steps.shared.shown_facts import record_snapshot
from redolake.steps.snapshots.chunk_plan import find_unfinished, plan_chunks
from redolake.steps.snapshots.refused_tables import hold_refused
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.redo import ContainerIdentity, Position, RedoFacts
from redolake.values.table import TableId
from redolake.window import Lost, plan_window

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


@step
@crash.writer
def begin_snapshot(
    context: Run,
    tables: Sequence[str] | None = None,
    *,
    replace: bool = False,
    only_held: bool = False,
    restart: bool = False,
) -> BegunSnapshot:
    """Choose the SCN and record where redo must be read from. Default: the tables without contents, and those of them that
    cannot be captured are held. With `only_held`, named tables that are not held any more are left out. A snapshot in chunks
    that was begun before is continued, unless it is to `restart`. Raises ConfigurationError if a named table has errors."""
    reconcile_once(context)
    if context.ledger.position() is None:
        check_landing(context)  # before whose the tables in the lake are: it says why
    if only_held:
        still = {str(entry.table) for entry in context.ledger.tables("held")}
        tables = [table for table in tables or () if table in still]
        if not tables:
            return BegunSnapshot(0, (), replace)
    if context.pipeline.patterns and (context.pipeline.source.connection is not None or tables):
        with context.oracle() as oracle:
            match_tables(context, oracle)
    chosen = choose(context, tables, replace)
    if not chosen:
        return BegunSnapshot(0, (), replace)
    begun_before = unfinished_snapshots(context, chosen, restart=restart)
    chosen = tuple(table for table in chosen if table not in begun_before)
    if not chosen:
        return begun_snapshot(context, max(begun_before.values()), (), replace, begun_before)
    with context.oracle() as oracle:
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
        if not handover.is_listed:
            begin = begins_at(context, since)
            assert begin is not None, "the chain has begun"
            context.landing.gaps.keep_without_start(begin[0])
        scn = int(handover.snapshot_scn)
        for table in dictionary:
            check_unread(context, table, scn, epoch)
        plan_chunks(context, oracle, tuple(dictionary.values()), scn)
    with ThreadPoolExecutor(FILES_AT_ONCE) as pool:  # each file is synced, which is mostly waiting
        record = partial(context.landing.snapshots.begin, is_listed=handover.is_listed)
        list(pool.map(lambda found: record(found, scn, epoch, since), dictionary.values()))
    record_snapshot(context, chosen, SnapshotFact("chosen", scn, scn_at=at))
    return begun_snapshot(context, scn, chosen, replace, begun_before, held, at)


def unfinished_snapshots(context: Run, chosen: Sequence[TableId], *, restart: bool) -> dict[TableId, int]:
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
    context: Run,
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
    context: Run, oracle: Source, chosen: Sequence[TableId]
) -> tuple[str, Handover, Mapping[TableId, DictionaryTable]]:
    """Return the time, the SCN of then with the start of the oldest transaction open at it, and the dictionary of that SCN. The
    first snapshot also sets where mining begins."""
    container = read_container(oracle, context.pipeline.source.container)  # first: a later change of the PDB then shows
    handover, dictionary = read_handover_and_tables(
        oracle, chosen, context.pipeline.source.container, context.pipeline.renamed, partial(open_in_redo, context)
    )
    check_shown(context, handover)
    missing = [Finding(str(table), "was dropped a moment ago", "begin again") for table in chosen if table not in dictionary]
    if missing or (missing := list(find_doubled(context, dictionary))):
        raise ConfigurationError(missing)
    at = now().isoformat(timespec="seconds")
    begun = start_pipeline(context, oracle, handover, None if container is None else container.identity)
    read_same_container(context, oracle)
    if begun is not None and not handover.is_listed:
        handover = replace(handover, scn_before=begun.scn)  # all of it may have rows of what was open
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


@step
def lacking_contents(context: Run) -> list[str]:
    """Return the tables that a later snapshot must read; none before the first one."""
    reconcile_once(context)
    return [] if context.ledger.position() is None else list(map(str, choose(context, None, replace=False)))


def choose(context: Run, tables: Sequence[str] | None, replace: bool) -> tuple[TableId, ...]:
    entries = {entry.table: entry for entry in context.ledger.tables()}
    states = {table: entry.state for table, entry in entries.items()}
    with_contents = {table for table, entry in entries.items() if entry.complete_to_scn is not None}
    configured = [table.id for table in context.pipeline.tables]
    if not tables and replace:
        what = "reads again the tables that are named, and none is named"
        raise ConfigurationError(
            [Finding("replace", what, "name the tables, or leave it out: that reads tables without contents")]
        )
    if not tables:
        return tuple(t for t in configured if states.get(t) not in ("live", "held"))
    chosen = tuple(named_tables(context, tables))
    for table in chosen:
        if states.get(table) in ("live", "held") and table in with_contents and not replace:
            raise Terminal("the table has contents", cure="use --replace to read it again and replace them", table=table)
    return chosen


@crash.writer
def start_pipeline(context: Run, oracle: Source, handover: Handover, container: ContainerIdentity | None) -> Position | None:
    """Set where mining begins, at the first snapshot only, and return it. From there every configured table is captured."""
    if context.ledger.position() is not None:
        return None
    position = first_position(context.pipeline, read_redo_facts(oracle), handover)
    dictionary_for(context.pipeline, oracle, position.chain_position)  # raises while the first window would have none
    parameters = read_parameters(oracle)
    start = FirstPosition(
        position.dbid,
        position.resetlogs_id,
        int(position.scn),
        read_encoding(oracle, context.pipeline.source.container),
        container,
        {name: parameters[name] for name in FORM_PARAMETERS if parameters.get(name)},
    )
    context.landing.files.write_record_once(layout.HANDOVER, start)
    context.ledger.start_at(position)
    add_tables(context, {table.id: position.scn for table in context.pipeline.tables})
    return position


def check_shown(context: Run, handover: Handover) -> None:
    """Raise SourceRefused where a stream of committed transactions would have to show what was open: it begins after them."""
    if context.pipeline.source.is_stream and not handover.is_listed:
        raise SourceRefused(
            "the database is a physical standby, whose V$TRANSACTION does not show the transactions that are open on the "
            "primary, and OpenLogReplicator sends none that began before it",
            cure="name the connection of its primary as `primary` below `source` in pipelines.yml: only open transactions and "
            "current SCNs are asked for there",
        )


def first_position(pipeline: Pipeline, facts: RedoFacts, handover: Handover) -> Position:
    """Return where redo must be read from for a snapshot taken now. Raises SnapshotTooEarly if some of it is gone."""
    current = facts.current_incarnation
    position = Position(
        facts.dbid, current.resetlogs_id, first_window_start(facts, handover.start_scn, as_old_as_kept=not handover.is_listed)
    )
    lost = plan_window(position, facts, pipeline.window)
    if isinstance(lost, Lost):
        raise SnapshotTooEarly(
            f"redo of an open transaction is gone: {lost.error.what}",
            cure="wait until it ends, or restore the log; then snapshot again",
            transaction_start_scn=int(handover.start_scn),
        )
    return position
