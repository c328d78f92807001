"""Lost redo: what is missing, which ways lead on and what each costs, and doing what a person chose. Nothing is chosen for him.

Three of the ways break the chain of windows: what lies between two positions is never read. That is written down once beside
the landing, and apply begins anew behind it. Everything landed before is applied first, so that the break can name every
transaction whose rows were carried and cannot be completed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pipelines.config import Pipeline
from pipelines.context import Workplace, now, opened_source, take_lease, workplace
from pipelines.errors import SnapshotTooEarly, Terminal
from pipelines.ledger import Loss
from pipelines.reconcile.ledger import correct_ledger, last_batch
from pipelines.records.declared_gap import DeclaredGap, GapKind
from pipelines.records.open_transaction import OpenTransaction
from pipelines.redo import Position, RedoFacts
from pipelines.scn import BEFORE_ALL
from pipelines.source import ConnectParams, Source, read_handover, read_redo_facts
from pipelines.steps.leases import take_apply_lease
from pipelines.steps.redo_loss import identity_of, keep_loss, missing_to_json, position_to_json
from pipelines.steps.snapshot import first_position
from pipelines.steps.status import break_to_json
from pipelines.window import Lost, MissingLog, missing_logs, plan_window
from pipelines.window.recovery_options import check_continues_from, checked_position, choices, gap_end, rman_commands, without

CAPTURE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Case:
    """A look at the source: `error` is None where the position can go on. `facts` already know of logs whose files failed."""

    position: Position
    facts: RedoFacts
    error: dict[str, Any] | None
    missing: tuple[MissingLog, ...]
    gap: Position | None
    loss: Loss | None


def inspect_redo_loss(pipeline: Pipeline, source: ConnectParams | None = None) -> dict[str, Any]:
    """What is lost, and the choices; nothing is changed but that the ledger knows of the loss."""
    with looking(pipeline, source) as (_, _, case):
        return told(pipeline, case)


def recheck_redo_loss(pipeline: Pipeline, source: ConnectParams | None = None) -> dict[str, Any]:
    """After logs were restored: which are back, and whether the position can go on. A log that failed in mining is back when
    a view lists it; that it can be read, the next run proves."""
    with looking(pipeline, source, trusting=True) as (work, _, case):
        still = {(m.resetlogs_id, m.thread, m.sequence) for m in case.missing}
        before = [] if case.loss is None else list(case.loss.missing)
        back = [dict(log) for log in before if identity_of(log) not in still]
        if case.error is None:
            work.ledger.clear_loss()
        return {**told(pipeline, case), "back": back}


def declare_gap(
    pipeline: Pipeline,
    kind: GapKind,
    source: ConnectParams | None = None,
    *,
    scn: int | None = None,
    reason: str = "",
    by: str = "",
) -> dict[str, Any]:
    """Lead the chain of windows over what is lost. Raises Terminal while nothing is lost, or before all that is landed is
    applied; what else stands against the choice is told as a typed error, and nothing is written."""
    check_reason(kind, reason)
    with looking(pipeline, source) as (work, oracle, case):
        if case.error is None:
            made = led_already(work, case.position, kind)
            work.ledger.clear_loss()
            return break_to_json(made, list(made.tables))
        end = end_of_break(work, oracle, case, kind, scn)
        capture, applying = take_lease(work, "capture", CAPTURE_SECONDS), take_apply_lease(work)
        try:
            made = work.landing.gaps.declare(
                DeclaredGap(
                    kind=kind,
                    start=case.position,
                    end=end,
                    reason=reason.strip() or "new snapshots of the tables",
                    by=by,
                    at=now().isoformat(timespec="seconds"),
                    lost=str(case.error["what"]),
                    tables=contents(work),
                    dropped=open_transactions(work, case.position),
                )
            )
            correct_ledger(work)
            work.ledger.clear_loss()
        finally:
            work.ledger.release_lease(applying)
            work.ledger.release_lease(capture)
        return break_to_json(made, list(made.tables))


def check_reason(kind: GapKind, reason: str) -> None:
    if kind != "snapshot" and not reason.strip():
        raise Terminal("a reason is wanted: it is kept with the break", cure="say --reason TEXT")


@contextmanager
def looking(
    pipeline: Pipeline, source: ConnectParams | None, *, trusting: bool = False
) -> Iterator[tuple[Workplace, Source, Case]]:
    with workplace(pipeline) as work:
        correct_ledger(work)
        position = work.ledger.position()
        if position is None:
            raise Terminal("no table has contents yet, so nothing can be lost", cure=f"redolake snapshot -p {pipeline.name}")
        with opened_source(pipeline, source) as oracle:
            yield work, oracle, examine(work, position, read_redo_facts(oracle), trusting)


def examine(work: Workplace, position: Position, facts: RedoFacts, trusting: bool) -> Case:
    """Lost is what the views say, and what failed in mining although they list it, unless they are trusted once more."""
    loss = work.ledger.loss()
    failed = loss is not None and loss.step == "mine" and loss.position["scn"] == position.scn and not trusting
    known = without(facts, map(identity_of, loss.missing)) if failed and loss is not None else facts
    found = plan_window(position, known, work.pipeline.window)
    missing = missing_logs(position, known)
    error: dict[str, Any] | None = dict(loss.error) if failed and loss is not None else None
    # Where no log is to blame, all of the window that could not be mined is lost.
    window_end = loss.position.get("window_end") if failed and loss is not None and not loss.missing else None
    if isinstance(found, Lost):
        if not failed:
            loss = keep_loss(work, found.error, "plan", position, missing)
        error = error or dict(found.error.as_dict())
    gap = gap_end(position, known, window_end) if error is not None else None
    return Case(position, known, error, missing, gap, loss)


def told(pipeline: Pipeline, case: Case) -> dict[str, Any]:
    lost = case.error is not None
    offered = choices(pipeline.name, case.position, case.facts, case.missing, case.gap) if lost else []
    return {
        "pipeline": pipeline.name,
        "lost": lost,
        "position": position_to_json(case.position),
        "error": case.error,
        "missing": [missing_to_json(log) for log in case.missing] if lost else [],
        "rman": rman_commands(case.missing, case.facts) if lost else [],
        "choices": [{"name": c.name, "what": c.what, "costs": c.costs, "command": c.command} for c in offered],
        "back": [],
    }


def led_already(work: Workplace, position: Position, kind: GapKind) -> DeclaredGap:
    """The break of an attempt that was killed behind it, so that the repeat goes on. Raises Terminal where there is none."""
    for found in work.landing.gaps.all()[-1:]:
        if (found.kind, found.end) == (kind, position):
            return found
    raise Terminal(f"nothing is lost: the redo from SCN {position.scn} on is there", cure=f"redolake run {work.name}")


def end_of_break(work: Workplace, oracle: Source, case: Case, kind: GapKind, scn: int | None) -> Position:
    check_continues_from(case.position, case.facts)
    if kind == "snapshot":
        end = first_position(work.pipeline, case.facts, read_handover(oracle))
        if case.gap is not None and end.chain_position < case.gap.chain_position:
            raise SnapshotTooEarly(
                f"a snapshot taken now needs redo from SCN {end.scn} on, and what cannot be read ends at SCN {case.gap.scn}",
                cure="switch the logs (ALTER SYSTEM ARCHIVE LOG CURRENT), let open transactions end, and choose it again",
            )
        return checked_position(case.position, int(end.scn), case.facts)
    if scn is not None:
        return checked_position(case.position, scn, case.facts)
    if kind == "position" or case.gap is None:
        raise Terminal("an SCN is wanted", cure="`redolake recover` tells from where on the redo is whole")
    return checked_position(case.position, int(case.gap.scn), case.facts)


def contents(work: Workplace) -> dict[str, int | None]:
    """The captured tables with the snapshot their contents come from."""
    return {str(entry.table): entry.snapshot_scn for entry in work.ledger.tables() if entry.state != "new"}


def open_transactions(work: Workplace, position: Position) -> tuple[OpenTransaction, ...]:
    """Those whose rows are carried at the position. Raises Terminal while landed windows are not applied: not before that is
    it known which these are."""
    last = last_batch(work)
    if work.landing.windows.after(BEFORE_ALL if last is None else last.end_position):
        raise Terminal(
            "what is landed before the lost redo is not applied yet",
            cure=f"let {work.name}_apply run, or `redolake run {work.name}`; then recover again",
        )
    if last is None or last.end_position != position.chain_position:
        return ()  # nothing was landed since the last break, which dropped what was open there
    return last.open_transactions


def recovery_text(found: dict[str, Any]) -> str:
    """What a look has found, to be read by a person; the commands are there to be copied."""
    position = found["position"]
    lines = [f"back: redo thread {log['thread']} log {log['sequence']}" for log in found["back"]]
    if not found["lost"]:
        return "\n".join([*lines, f"Nothing is lost: the redo from SCN {position['scn']} on is there."])
    lines += [found["error"]["what"], f"position: SCN {position['scn']} of incarnation {position['resetlogs_id']}"]
    lines += [f"missing: {missing_text(log)}" for log in found["missing"]]
    for number, choice in enumerate(found["choices"], 1):
        lines += ["", f"{number}. {choice['what']}", f"   costs: {choice['costs']}", f"   {choice['command']}"]
        if choice["name"] == "restore":
            lines += [f"   RMAN> {line}" for line in found["rman"]]
    return "\n".join(lines if found["choices"] else [*lines, "", f"do this: {found['error']['cure']}"])


def missing_text(log: dict[str, Any]) -> str:
    scns = "" if log["scns"] is None else f", SCN {log['scns'][0]} to {log['scns'][1]}"
    files = "; ".join(f"last known as {f['file']} in destination {f['destination']}" for f in log["files"] if f["file"])
    older = "; older ones may be missing as well" if log["older_too"] else ""
    return f"redo thread {log['thread']} log {log['sequence']}{scns}: {log['why']}{files and f' ({files})'}{older}"
