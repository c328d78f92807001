"""Recover from lost redo: report what is missing and what each choice costs, and carry out the choice of a person.

Three of the choices declare a gap: the redo between two positions is never read. The gap is written once beside the landing,
and apply starts again after it. Everything landed before is applied first, so that the gap can name every transaction whose
rows were carried and cannot be completed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from redolake.context import Run, held_lease, now, step
from redolake.errors import EncodingChanged, PdbChanged, SnapshotTooEarly, Terminal, plain_lines
from redolake.ledger import Loss
from redolake.reconcile.ledger import last_batch, reconcile_ledger
from redolake.reconcile.redo_loss import (
    MissingLogReport,
    lost_position,
    missing_log_report,
    missing_logs_of,
    record_redo_loss,
)
from redolake.records.batches.carry import OpenTransaction
from redolake.records.gaps import DeclaredGap, GapKind
from redolake.records.shown_facts import Choice
from redolake.source import Source, read_container, read_encoding, read_handover, read_redo_facts
from redolake.steps.shared.leases import apply_lease
from redolake.steps.shared.named_tables import named_tables
from redolake.steps.shared.same_container import pdb_change, record_pdb_change, recorded_container
from redolake.steps.shared.scn_times import end_time
from redolake.steps.shared.shown_facts import record_choices
from redolake.steps.shared.status import DeclaredGapReport, gap_report
from redolake.steps.snapshots.begin import check_shown, first_position
from redolake.values.redo import ContainerIdentity, Position, RedoFacts
from redolake.values.scn import BEFORE_ALL, Scn
from redolake.values.utc import beside
from redolake.window import Lost, MissingLog, missing_logs, plan_window
from redolake.window.recovery_options import (
    check_continues_from,
    checked_position,
    choices,
    gap_end,
    in_incarnation,
    pdb_choices,
    rman_commands,
    without,
)

CAPTURE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found at the source. `error` is None where the position can continue; `facts` exclude logs that failed."""

    position: Position
    facts: RedoFacts
    error: Mapping[str, Any] | None
    missing: tuple[MissingLog, ...]
    gap_end: Position | None
    loss: Loss | None
    container: ContainerIdentity | None
    pdb_opened_scn: int | None = None  # set where the PDB has changed: its redo is of its present tables from here on


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """`rman` are the commands that restore the missing logs; `back` are logs that were missing and are available again. The
    source had written the position's SCN at `position_at`, in UTC."""

    pipeline: str
    lost: bool
    position: Position
    error: Mapping[str, Any] | None
    missing: tuple[MissingLogReport, ...] = ()
    rman: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    back: tuple[MissingLogReport, ...] = ()
    position_at: str | None = None


@step
def inspect_redo_loss(context: Run, tables: Sequence[str] = ()) -> RecoveryReport:
    """Report which redo is lost, and the choices. Changes nothing, except that the ledger records the loss. A name in `tables`
    that means none is refused."""
    named_tables(context, tables)
    with open_inspection(context) as (_, found):
        report = recovery_report(context, found)
        record_choices(context, report.position, report.choices, report.rman)
        return report


@step
def recheck_redo_loss(context: Run) -> RecoveryReport:
    """Report which logs are back after a restore, and whether the position can continue.

    A log that failed in mining counts as back when a view lists it; the next run proves that it can be read.
    """
    with open_inspection(context, trust_views=True) as (_, found):
        still = {(log.resetlogs_id, log.thread, log.sequence) for log in found.missing}
        before = () if found.loss is None else missing_logs_of(found.loss)
        if found.error is None:
            context.ledger.clear_loss()
        return replace(recovery_report(context, found), back=tuple(log for log in before if log.id not in still))


@step
def declare_gap(
    context: Run,
    kind: GapKind,
    *,
    scn: int | None = None,
    approved: str | None = None,
    tables: Sequence[str] = (),
) -> DeclaredGapReport:
    """Continue the chain of windows after the lost redo. `tables` are to be read again after it: a name that means none is
    refused before anything is written.

    `approved` is the `cost_of` that a person saw. Raises Terminal where it is another one now, while nothing is lost, and until
    everything landed is applied. Any other obstacle is a typed error, and nothing is written.
    """
    check_gap_reason(context, kind)
    named_tables(context, tables)
    # The lease comes first: while this step waits for it, a batch may change what an inspection finds.
    with apply_lease(context), open_inspection(context) as (oracle, found):
        if found.error is None:
            made = already_declared(context, found.position, kind)
            context.ledger.clear_loss()
            return gap_report(context, made, list(made.tables))
        check_approved(recovery_report(context, found), kind, approved)
        end = end_of_gap(context, oracle, found, kind, scn)
        with held_lease(context, "capture", CAPTURE_SECONDS):
            made = context.landing.gaps.declare(
                DeclaredGap(
                    kind=kind,
                    start=found.position,
                    end=end,
                    reason=context.reason or "new snapshots of the tables",
                    by=context.decided_by,
                    at=now().isoformat(timespec="seconds"),
                    lost=found.error["what"],
                    tables=snapshot_scns(context),
                    dropped=open_transactions(context, found.position),
                    container=found.container,
                    encoding=read_encoding(oracle, context.pipeline.source.container),
                )
            )
            reconcile_ledger(context)
            context.ledger.clear_loss()
        return gap_report(context, made, list(made.tables))


def cost_of(found: RecoveryReport, kind: GapKind) -> str:
    """Return what the choice does and what it costs. Raises Terminal where it is not possible now."""
    for choice in found.choices:
        if choice.name == kind:
            return f"{choice.what}\ncosts: {choice.costs}"
    if not found.lost:
        raise Terminal(
            f"nothing is lost: the redo from SCN {found.position.scn} on is there",
            cure="go on with `redolake run`, or let the DAGs go on",
        )
    possible = ", ".join(choice.name for choice in found.choices) or "no choice"
    raise Terminal(f"{kind} is not possible here", cure=f"possible: {possible}; *show* lists what each costs")


def check_approved(found: RecoveryReport, kind: GapKind, approved: str | None) -> None:
    """Raise Terminal if a person approved another cost than that of now: more redo may have been lost meanwhile."""
    if approved is not None and approved != (present := cost_of(found, kind)):
        what = f"the cost has changed since it was approved. It was: {approved}\nnow: {present}"
        raise Terminal(what, cure="read the cost as it is now, and choose again; nothing was done")


def check_gap_reason(run: Run, kind: GapKind) -> None:
    """Raise ConfigurationError unless a gap or a position has a reason."""
    if kind != "snapshot":
        run.decision("a declared gap")


@contextmanager
def open_inspection(context: Run, *, trust_views: bool = False) -> Iterator[tuple[Source, Inspection]]:
    reconcile_ledger(context)
    position, container = context.ledger.position(), context.pipeline.source.container
    if position is None:
        cure = f"run `redolake snapshot -p {context.name}`"
        raise Terminal("no table has contents yet, so nothing can be lost", cure=cure)
    with context.oracle() as oracle:
        facts = read_redo_facts(oracle)
        found, encoding = read_container(oracle, container), read_encoding(oracle, container)
        changed = pdb_change(context, recorded_container(context), found, encoding)
        identity = None if found is None else found.identity
        yield oracle, inspect(context, position, facts, identity, changed, trust_views)


def inspect(
    context: Run,
    position: Position,
    facts: RedoFacts,
    identity: ContainerIdentity | None,
    changed: PdbChanged | None,
    trust_views: bool,
) -> Inspection:
    """Find lost redo: logs that the views do not list, and listed ones that failed in mining unless `trust_views`. A PDB that
    has `changed` comes first: no redo continues the tables."""
    if changed is not None:
        since = record_pdb_change(context, changed, position, facts)
        stopped = changed.as_dict()
        return Inspection(position, facts, stopped, (), in_incarnation(since, facts), context.ledger.loss(), identity, since)
    loss = context.ledger.loss()
    failed = loss if loss is not None and loss.step == "mine" and not trust_views else None
    if failed is not None and lost_position(failed).scn != position.scn:
        failed = None
    known = facts if failed is None else without(facts, [log.id for log in missing_logs_of(failed)])
    found = plan_window(position, known, context.pipeline.window)
    missing = missing_logs(position, known)
    error = None if failed is None else failed.error
    if isinstance(found, Lost):
        if failed is None:
            loss = record_redo_loss(context, found.error, "plan", position, missing)
        error = error or found.error.as_dict()
    # Where no log is to blame, the whole window that could not be mined is lost.
    window_end = lost_position(failed).window_end if failed is not None and not failed.missing else None
    gap = None if error is None else gap_end(position, known, window_end)
    return Inspection(position, known, error, missing, gap, loss, identity)


def recovery_report(context: Run, found: Inspection) -> RecoveryReport:
    at = end_time(context, found.position.chain_position)
    if found.error is None:
        return RecoveryReport(context.name, False, found.position, None, position_at=at)
    return RecoveryReport(
        pipeline=context.name,
        lost=True,
        position=found.position,
        error=found.error,
        missing=tuple(missing_log_report(log) for log in found.missing),
        rman=tuple(rman_commands(found.missing, found.facts)),
        choices=tuple(
            choices(context.name, found.position, found.facts, found.missing, found.gap_end)
            if found.pdb_opened_scn is None
            else pdb_choices(context.name, found.position)
        ),
        position_at=at,
    )


def already_declared(context: Run, position: Position, kind: GapKind) -> DeclaredGap:
    """Return the gap of an attempt that was killed after declaring it. Raises Terminal where there is none."""
    for gap in context.landing.gaps.all()[-1:]:
        if (gap.kind, gap.end) == (kind, position):
            return gap
    raise Terminal(
        f"nothing is lost: the redo from SCN {position.scn} on is there", cure=f"go on with `redolake run -p {context.name}`"
    )


def end_of_gap(context: Run, oracle: Source, found: Inspection, kind: GapKind, scn: int | None) -> Position:
    check_continues_from(found.position, found.facts)
    if found.pdb_opened_scn is not None and kind != "snapshot":
        of_encoding = found.error is not None and found.error["code"] == EncodingChanged.__name__
        why = "redo that was written in another encoding" if of_encoding else "rows that the pluggable database no longer has"
        raise Terminal(
            f"a gap would keep {why}",
            cure=f"run `redolake recover -p {context.name} snapshot --execute --yes --reason TEXT`",
        )
    if kind == "snapshot":
        handover = read_handover(oracle, context.pipeline.source.container)
        check_shown(context, handover)
        end = first_position(context.pipeline, found.facts, handover)
        if not handover.is_listed and found.gap_end is not None and found.gap_end.scn <= handover.snapshot_scn:
            end = max(end, found.gap_end, key=lambda position: position.chain_position)
        opened = None if found.error is None else found.error["where"].get("opened_scn")
        if isinstance(opened, int) and end.scn < opened <= handover.start_scn:
            end = replace(end, scn=Scn(opened))  # no transaction of the PDB is older
        now_there = read_container(oracle, context.pipeline.source.container)
        if (None if now_there is None else now_there.identity) != found.container:
            raise SnapshotTooEarly(
                "the pluggable database was set back a moment ago",
                cure=f"run `redolake recover -p {context.name} snapshot --execute --yes --reason TEXT` again",
            )
        if found.gap_end is not None and end.chain_position < found.gap_end.chain_position:
            raise SnapshotTooEarly(
                f"a snapshot taken now needs redo from SCN {end.scn} on, and what cannot be read ends at SCN "
                f"{found.gap_end.scn}",
                cure="switch the logs (ALTER SYSTEM ARCHIVE LOG CURRENT), let open transactions end, and choose it again",
            )
        return checked_position(found.position, int(end.scn), found.facts)
    if scn is not None:
        return checked_position(found.position, scn, found.facts)
    if kind == "position" or found.gap_end is None:
        raise Terminal("an SCN is missing", cure="see `redolake recover` for the SCN from which the redo is complete")
    return checked_position(found.position, int(found.gap_end.scn), found.facts)


def snapshot_scns(context: Run) -> dict[str, int | None]:
    """Return the SCN of the snapshot that each captured table's contents came from."""
    return {str(entry.table): entry.snapshot_scn for entry in context.ledger.tables() if entry.state != "new"}


def open_transactions(context: Run, position: Position) -> tuple[OpenTransaction, ...]:
    """Return the transactions whose rows are carried at the position. Raises Terminal while landed windows are not applied,
    because only then these transactions are known."""
    last = last_batch(context)
    if any(True for _ in context.landing.windows.each_after(BEFORE_ALL if last is None else last.end_position)):
        raise Terminal(
            "windows landed before the lost redo are not applied yet",
            cure=f"let {context.name}_apply run, or `redolake run -p {context.name}`; then recover again",
        )
    if last is None or last.end_position != position.chain_position:
        return ()  # nothing was landed since the last gap, which dropped the transactions that were open there
    return last.open_transactions


def command_of(choice: Choice) -> str:
    return choice.command


def recovery_text(found: RecoveryReport, how: Callable[[Choice], str] = command_of) -> str:
    """Return the report as lines for a person. `how` says how a choice is carried out: by default its command, to be copied."""
    lines, at = [f"back: redo thread {log.thread} log {log.sequence}" for log in found.back], beside(found.position_at)
    if found.error is None:
        return "\n".join([*lines, f"Nothing is lost: the redo from SCN {found.position.scn}{at} on is there."])
    lines += [str(found.error["what"]), f"position: SCN {found.position.scn}{at} of incarnation {found.position.resetlogs_id}"]
    lines += [f"missing: {missing_text(log)}" for log in found.missing]
    for number, choice in enumerate(found.choices, 1):
        lines += ["", f"{number}. {choice.what}", f"   costs: {choice.costs}", f"   {how(choice)}"]
        if choice.name == "restore":
            lines += [f"   RMAN> {line}" for line in found.rman]
    return "\n".join(plain_lines(lines if found.choices else [*lines, "", f"do this: {found.error['cure']}"]))


def missing_text(log: MissingLogReport) -> str:
    scns = "" if log.scns is None else f", SCN {log.scns[0]} to {log.scns[1]}"
    files = "; ".join(f"last known as {copy.file} in destination {copy.destination}" for copy in log.files if copy.file)
    older = "; older ones may be missing as well" if log.older_too else ""
    return f"redo thread {log.thread} log {log.sequence}{scns}: {log.why}{files and f' ({files})'}{older}"
