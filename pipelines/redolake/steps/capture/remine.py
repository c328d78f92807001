"""Mine a landed window again: to compare it with its manifest, to replace damaged files, or to give it up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from redolake.context import Run, held_lease, step
from redolake.errors import RedoLost, Terminal
from redolake.host import crash
from redolake.host.progress import Progress
from redolake.land.chain_rules import build_manifest
from redolake.land.tally import log_identity
from redolake.reconcile.ledger import landed_position, last_batch, reconcile_ledger
from redolake.reconcile.table_versions import object_ids
from redolake.records.readers import lowest_scn
from redolake.records.windows import SliceRecord, WindowManifest, WindowPlan
from redolake.source import read_redo_facts, read_tables
from redolake.steps.capture.windows import LEASE_SECONDS, mine, plan_of
from redolake.steps.shared.leases import apply_lease
from redolake.steps.shared.reader_change import check_was_mined
from redolake.steps.shared.redo_dictionary import with_its_dictionary
from redolake.steps.shared.same_container import read_same_container
from redolake.values.redo import Position, RedoFacts, Slice, Window, logs_text
from redolake.values.scn import Scn
from redolake.values.table import TableId


@dataclass(frozen=True, slots=True)
class RemineReport:
    """`replaced` says that the files mined now have taken the place of the window's."""

    window: str
    equal: bool
    differs: tuple[str, ...]  # the parts of the identity that differ
    row_hash: str
    landed_row_hash: str
    replaced: bool = False


@step
@crash.writer
def remine_window(context: Run, window: str, *, in_place: bool = False) -> RemineReport:
    """Mine a landed window again and compare the identities. Remove the new files, or with `in_place` those of the window: then
    no batch runs meanwhile. Files with another identity replace nothing."""
    landed_position(context)  # raises for a landing that is not there
    manifest = context.landing.windows.manifest(window)
    if manifest is None:
        pruned = context.landing.pruned
        gone = "" if pruned is None else f"; those before SCN {pruned.position.scn} were pruned"
        raise Terminal(
            f"no window of this name has landed{gone}",
            cure="take a name that `redolake windows --output json` lists",
            window=window,
        )
    check_was_mined(manifest)
    return mine_again(context, manifest, in_place)


def mine_again(context: Run, landed: WindowManifest, in_place: bool) -> RemineReport:
    made = plan_again(context, landed)
    records: list[SliceRecord] = []
    replaced = False
    try:
        for piece in made.window.slices:
            number, slices = piece.number, len(made.window.slices)
            context.report(Progress(f"mining slice {number + 1} of {slices}", "mining slices", number, slices))
            records.append(mine(context, made, piece.number))
        again = build_manifest(made.window, made.tables, records)
        ours, theirs = landed.identity(), again.identity()
        differs = tuple(sorted(key for key in ours if ours[key] != theirs[key]))
        if in_place and not differs:
            with apply_lease(context):
                context.landing.windows.replace_redo(landed, again, records)
            replaced = True
    finally:
        if not replaced:
            for record in records:
                context.landing.windows.discard_slice(record)
    return RemineReport(landed.name, not differs, differs, again.row_hash, landed.row_hash, replaced)


def plan_again(context: Run, landed: WindowManifest) -> WindowPlan:
    """Return the window's plan; if the ledger was rebuilt and has none, a plan with one slice for each redo thread. The
    dictionary of now is recorded, because LogMiner writes its names. Raises RedoLost if V$ARCHIVED_LOG lacks a log."""
    with context.oracle() as oracle:
        facts = read_redo_facts(oracle)
        tables = tuple(TableId.parse(name) for name in landed.tables)
        dictionary = read_tables(oracle, tables, context.pipeline.source.container, context.pipeline.renamed)
        read_at = min((table.scn_before for table in dictionary.values()), default=Scn(landed.end))
        incarnation = facts.current_incarnation.resetlogs_id
        with held_lease(context, "capture", LEASE_SECONDS):  # as plan_slices
            context.landing.dictionary.write_dictionary(incarnation, read_at, dictionary.values(), context.pipeline.renamed)
        entry = context.ledger.window(landed.name)
        if entry is not None and entry.plan:
            return plan_of(context, landed.name)
        doubtful = None if landed.doubtful_scn is None else Scn(landed.doubtful_scn)
        window = Window(landed.dbid, landed.resetlogs_id, landed.scns, tuple(slices_of(landed, facts)), doubtful)
        if lowest_scn(landed) < landed.start:
            window = replace(window, reads_from=Scn(lowest_scn(landed)))
        window = with_its_dictionary(context.pipeline, oracle, window)
        container = read_same_container(context, oracle)
        return WindowPlan(window, tables, object_ids(context, dictionary), int(read_at), container)


def slices_of(landed: WindowManifest, facts: RedoFacts) -> Iterator[Slice]:
    """Yield the window's logs as V$ARCHIVED_LOG lists them now, one slice for each redo thread."""
    there = {log_identity(log): log for log in facts.archived if log.next_scn is not None}
    missing = [log for log in landed.logs if log not in there]
    if missing:
        first = missing[0]
        raise RedoLost(
            f"{len(missing)} log(s) of the window are no longer in V$ARCHIVED_LOG, first "
            f"{logs_text(first.thread, first.sequence, first.sequence)}",
            cure="restore or catalog them and try again; or restore the window's files from a copy of the landing",
            window=landed.name,
            thread=first.thread,
            sequence=first.sequence,
        )
    for number, thread in enumerate(sorted({log.thread for log in landed.logs})):
        logs = sorted((log for log in landed.logs if log.thread == thread), key=lambda log: log.first_scn)
        yield Slice(number, thread, tuple(there[log] for log in logs))


@step
@crash.writer
def discard_windows(context: Run, window: str, *, shown: Sequence[str] | None = None) -> tuple[str, ...]:
    """Forget a landed window and all later ones, none of which a batch has applied, and return their names; without `execute`,
    only return these. The next run mines them again; where their logs are gone, it reports lost redo, and `recover` shows the
    choices. Their data files stay. Raises Terminal where they are not those that were `shown` to who decided."""
    by, reason = context.decision("to forget windows") if context.execute else ("", "")
    with ExitStack() as leases:
        if context.execute:
            leases.enter_context(apply_lease(context))
            leases.enter_context(held_lease(context, "capture", LEASE_SECONDS))
        reconcile_ledger(context)
        first = context.landing.windows.manifest(window)
        if first is None:
            raise Terminal(
                "no window of this name has landed",
                cure="take a name that `redolake windows --output json` lists",
                window=window,
            )
        last = last_batch(context)
        if last is not None and last.end_position > first.start_position:
            raise Terminal(
                f"a batch has applied it, or later windows, up to SCN {last.end}",
                cure="mine it again with `redolake remine WINDOW --replace --execute`; or read the table that still needs it "
                "again with `redolake snapshot OWNER.TABLE --replace`",
                window=window,
            )
        if any(gap.start.chain_position >= first.start_position for gap in context.landing.gaps.all()):
            raise Terminal("a declared gap follows it", cure="restore the window's files from a copy", window=window)
        names = tuple(found.name for found in context.landing.windows.after(first.start_position))
        if not context.execute:
            return names
        if shown is not None and tuple(shown) != names:
            raise Terminal(
                f"{len(names)} windows would be forgotten, up to {names[-1]}, and {len(shown)} were shown",
                cure="look again, and decide of these",
                window=window,
            )
        with context.ledger.at_once():  # first: a window that still has its manifest is recorded again
            context.ledger.correct_position(Position(first.dbid, first.resetlogs_id, Scn(first.start)))
            context.ledger.forget_windows(names)
            context.ledger.record_decision("discard windows", {"from_scn": first.start, "reason": reason}, by)
        context.landing.windows.discard_from(first.start_position)
        reconcile_ledger(context)
        return names
