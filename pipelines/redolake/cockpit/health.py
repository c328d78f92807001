"""Say in one word and one sentence how a pipeline is. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from redolake.cockpit.texts import clock, count
from redolake.cockpit.values import TONES, Health, Latency, State
from redolake.cockpit.window_account import account_difference
from redolake.errors import one_line, plain_lines, with_options
from redolake.ledger.reading import LedgerReading
from redolake.reconcile.cures import Way, ways_of
from redolake.reconcile.table_state import FAULT_TONES, Fault, OpenGap, TableLine, Tone, one, worst
from redolake.records.codec import from_body
from redolake.records.shown_facts import FailureFact, PlanFact, RunwayFact, SnapshotFact, StreamsFact
from redolake.values.amounts import duration, plural

LATE_TIMES, LATE_FLOOR_SECONDS = 3.0, 300.0
SILENT_SECONDS = 900.0
HELD_SECONDS = 60.0  # that a stream may be behind another one


def health_of(
    pipeline: str,
    reading: LedgerReading,
    tables: Sequence[TableLine],
    latency: Latency,
    *,
    paused: bool = False,
    is_stream: bool = False,
) -> Health:
    """Return the summary that the page, the terminal, JSON and the metrics show; `tables` are all tables of the ledger.

    `paused`: Airflow's capture DAG is paused; the ledger does not know that."""
    now, captured = reading.read_at, [table for table in tables if table.is_captured]
    at = position_of(reading, captured)
    faults = faults_of(captured)
    missing = missing_rows(reading)
    known_at = max((fact.at for kind in ("source", "plan") if (fact := one(reading, kind)) is not None), default=None)
    state, sentence, cure = verdict(pipeline, reading, latency, tables, at, known_at, paused, is_stream)
    is_started = state not in ("not started", "snapshotting")
    tones = [TONES[state], *(FAULT_TONES[fault] for fault in faults if is_started or fault != "not loaded")]
    tones += ["bad"] if missing else []
    tones += doubts(reading, is_stream)
    return Health(
        state=of_faults(state, faults, missing),
        tone=worst(tones),
        sentence=one_line(sentence),
        more=plain_lines(more_facts(reading, captured, tables, faults, is_stream)),
        cure=with_options(one_line(" ".join(filter(None, [cure, *cures(pipeline, captured, faults)]))), [f"-p {pipeline}"]),
        complete_to_at=at.at,
        complete_to_scn=at.scn,
        lag_seconds=at.lag(now),
        known_at=known_at,
        faults=faults,
        right_tables=sum(not table.faults for table in captured),
        captured_tables=len(captured),
        open_gaps=len(gaps_of(captured)),
    )


@dataclass(frozen=True, slots=True)
class Reached:
    """The last SCN that every live table has, and when the source wrote it. None: no table is live, or the time is unknown."""

    scn: int | None = None
    at: datetime | None = None

    def lag(self, now: datetime) -> float | None:
        return None if self.at is None else max(0.0, (now - self.at).total_seconds())


def position_of(reading: LedgerReading, captured: Sequence[TableLine]) -> Reached:
    """Return the position of the least live table. Windows do not count: a snapshot may be newer, a table may lag."""
    live = {table.table for table in captured if table.state == "live" and table.complete_to_scn is not None}
    least = min((entry for entry in reading.tables if str(entry.table) in live), key=lambda e: e.position, default=None)
    if least is None:
        return Reached()
    return Reached(least.complete_to_scn, reading.contents_at.get(least.table))


def faults_of(captured: Sequence[TableLine]) -> dict[Fault, tuple[str, ...]]:
    """Return the tables that are not as the source, by why; what is worst first."""
    found = {fault: tuple(table.table for table in captured if fault in table.faults) for fault in FAULT_TONES}
    return {fault: names for fault, names in found.items() if names}


def missing_rows(reading: LedgerReading) -> int:
    """Return by how many change rows the accounts of the windows listed do not add up."""
    return sum(abs(account_difference(row.account)) for row in reading.windows if row.account is not None)


def of_faults(state: State, faults: Mapping[Fault, tuple[str, ...]], missing: int) -> State:
    """Return the state. A pipeline of which some table is known not to be as the source is not just on time."""
    if state != "on time" or not (faults or missing):
        return state
    return "wrong" if missing or any(FAULT_TONES[fault] == "bad" for fault in faults) else "incomplete"


def doubts(reading: LedgerReading, is_stream: bool) -> list[Tone]:
    """Return the tones of what makes no table wrong, and is not right: a short runway, streams that nobody has proved."""
    found: list[Tone] = ["notice"] if is_stream and unproved_scn(reading) is not None else []
    runway = runway_fact(reading)
    if runway is not None and runway.state != "enough":
        found.append("bad" if runway.state == "lost" else "notice")
    return found


def runway_fact(reading: LedgerReading) -> RunwayFact | None:
    fact = one(reading, "runway")
    return None if fact is None else from_body(RunwayFact, fact.body, "the runway in the ledger")


def verdict(
    pipeline: str,
    reading: LedgerReading,
    latency: Latency,
    tables: Sequence[TableLine],
    at: Reached,
    known_at: datetime | None,
    paused: bool,
    is_stream: bool,
) -> tuple[State, str, str]:
    """Return the state, the sentence and the cure. What needs a person comes first."""
    now, captured = reading.read_at, [table for table in tables if table.is_captured]
    up_to = up_to_text(reading, captured, at, is_stream)
    if reading.loss is not None:
        since = clock(reading.loss.since, now)
        return (
            "stopped",
            f"Stopped since {since}: {reading.loss.error['what']}. {up_to}",
            f"Choose how to continue: start {pipeline}_recover, or run `redolake recover -p {pipeline}`.",
        )
    if (failed := one(reading, "source failure")) is not None:
        failure = from_body(FailureFact, failed.body, "the last failure in the ledger")
        since = duration((now - datetime.fromisoformat(failure.since)).total_seconds())
        return "source away", f"Oracle has not answered for {since}: {sentence(failure.what)} {up_to}", failure.cure
    if not any(table.complete_to_scn is not None or table.state == "held" for table in captured):
        return of_start(pipeline, reading, captured)
    if paused:
        return "paused", f"Paused in Airflow. {up_to}", f"Unpause {pipeline}_capture."
    plan = one(reading, "plan")
    found = None if plan is None else from_body(PlanFact, plan.body, "the last plan in the ledger")
    if found is not None and found.outcome == "wait":
        since = duration((now - datetime.fromisoformat(found.since)).total_seconds())
        what = f"Waiting for log {found.sequence} of redo thread {found.thread} for {since}"
        return "waiting for a log", f"{what}: it is switched and not archived yet. {up_to}", ""
    if (held := held_back(reading, now) if is_stream else None) is not None:
        return "late", f"{held} {up_to}", f"See that it runs, and has its logs: `redolake doctor -p {pipeline}` asks it."
    if (late := why_late(reading, latency, at.lag(now), known_at, is_stream)) is not None:
        return "late", f"{up_to} Late: {late}.", ""
    return "on time", up_to, ""


def of_start(pipeline: str, reading: LedgerReading, captured: Sequence[TableLine]) -> tuple[State, str, str]:
    """Return the verdict where no table has contents: a snapshot is under way, or none was begun."""
    facts = {table.table: fact for table in captured if (fact := one(reading, "snapshot", table.table)) is not None}
    begun = {name: from_body(SnapshotFact, fact.body, f"the snapshot of {name}") for name, fact in facts.items()}
    again = f"start {pipeline}_snapshot, or run `redolake snapshot -p {pipeline}`"
    if not begun and not any(table.state == "snapshotting" for table in captured):
        what = "The ledger knows of no table with contents."
        return "not started", what, f"{again[0].upper()}{again[1:]}."
    counts: Counter[str] = Counter(fact.state for fact in begun.values())
    words = {"read": "read and not loaded", "reading": "being read", "loaded": "loaded", "chosen": "waiting"}
    parts = [f"{counts[state]} {text}" for state, text in words.items() if counts[state]]
    of = f"{plural(len(captured), 'table')}" + (f": {', '.join(parts)}" if parts else "")
    last = max((fact.at for fact in facts.values()), default=None)
    quiet = None if last is None else (reading.read_at - last).total_seconds()
    since = "" if quiet is None else f" Its last news is {duration(quiet)} old."
    cure = f"If it does not run any more, {again}." if quiet is not None and quiet > SILENT_SECONDS else ""
    return "snapshotting", f"The first snapshot is under way, of {of}.{since}", cure


def held_back(reading: LedgerReading, now: datetime) -> str | None:
    """Return which redo thread holds windows back, by its stream, since more than a moment."""
    last, fact = one(reading, "plan"), one(reading, "streams")
    plan = None if last is None else from_body(PlanFact, last.body, "the last plan in the ledger")
    if plan is None or fact is None or plan.outcome == "window":
        return None
    streams = from_body(StreamsFact, fact.body, "the streams in the ledger").streams
    held = [stream for stream in streams if stream.holds_back]
    since = now - datetime.fromisoformat(plan.since)
    if not held or since.total_seconds() < HELD_SECONDS:
        return None
    text = ", ".join(f"redo thread {stream.thread} ({stream.address})" for stream in held)
    return f"Windows are held back for {duration(since.total_seconds())} by the stream of {text}."


def sentence(what: str) -> str:
    """Return a driver's text without its number of this one connection, and with one full stop."""
    return re.sub(r" \(CONNECTION_ID=[^)]*\)", "", what).rstrip(". ") + "."


def up_to_text(reading: LedgerReading, captured: Sequence[TableLine], at: Reached, is_stream: bool) -> str:
    """Say up to which SCN, the last one that is included, how many of the captured tables are right, and why the others are
    not."""
    now, right = reading.read_at, sum(not table.faults for table in captured)
    lag = at.lag(now)
    where = "" if at.scn is None else f"SCN {count(at.scn)}"
    if at.at is not None:
        where = f"{clock(at.at, now)} ({where}), {duration(lag)} behind"
    others = ", ".join(fault_words(fault, len(names)) for fault, names in faults_of(captured).items())
    if (missing := missing_rows(reading)) != 0:
        said = f"Applied up to {where}" if where else "Nothing is known to be right"
        rows = f"{plural(missing, 'change row')} of the last windows are not accounted for"
        return f"{said}: {', '.join(filter(None, [rows, others]))}."
    unproved = unproved_scn(reading) if is_stream else None
    verb = "right" if unproved is None else "received"
    doubt = "" if unproved is None else f", not proved by the database since SCN {count(unproved)}"
    if not captured:
        return "No table is captured."
    if right == len(captured):
        return f"{verb.capitalize()} up to {where}{doubt}."
    if not right:
        applied = f", applied up to {where}" if where else ""
        return f"{'The table is not' if len(captured) == 1 else 'No table is'} right{applied}{doubt}: {others}."
    is_are = "is" if right == 1 else "are"
    return f"{right:,} of {plural(len(captured), 'table')} {is_are} {verb} up to {where}{doubt}: {others}."


WORDS: Mapping[Fault, tuple[str, str]] = {
    "differs": ("DIFFERS from the source", "DIFFER from the source"),
    "history differs": ("has a history that DIFFERS from it", "have histories that DIFFER from them"),
    "gap": ("lacks the redo of a declared gap", "lack the redo of a declared gap"),
    "dropped": ("lacks a dropped transaction", "lack dropped transactions"),
    "held": ("is held", "are held"),
    "quarantine": ("has keys in quarantine", "have keys in quarantine"),
    "not loaded": ("is not loaded", "are not loaded"),
}
LABELS: Mapping[Fault, str] = {
    "differs": "DIFFER from the source",
    "history differs": "histories that DIFFER",
    "dropped": "lack dropped transactions",
    "held": "held",
    "quarantine": "with keys in quarantine",
    "not loaded": "not loaded",
}
NAMED = 3


def fault_words(fault: Fault, number: int) -> str:
    return f"{number:,} {WORDS[fault][number != 1]}"


def named(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def gaps_of(captured: Sequence[TableLine]) -> list[OpenGap]:
    """Return the declared gaps that some captured table lacks."""
    return sorted({gap for table in captured for gap in table.gaps}, key=lambda gap: gap.at)


def cures(pipeline: str, captured: Sequence[TableLine], faults: Mapping[Fault, tuple[str, ...]]) -> Iterator[str]:
    """Yield what to do for each kind of fault: the way of the first table that has it."""
    said = dict[tuple[str, str], Way]()
    for fault, names in faults.items():
        way = next(way for way in ways_of(next(one for one in captured if one.table == names[0])) if fault in way.faults)
        said.setdefault((names[0], way.command), way)
    for (table, command), way in said.items():
        others = max(len(faults[fault]) for fault in way.faults if fault in faults) - 1
        more = f" `redolake mend TABLE -p {pipeline}` says it of the {plural(others, 'other table')}." if others else ""
        typed = way.typed_for(table, f"-p {pipeline}") if command else f"redolake tables -p {pipeline}"
        start = f"Start {pipeline}_{'snapshot' if command == 'snapshot' else 'mend'}, or run" if command else "See"
        yield f"{table}: {way.why.rstrip('.')}. {start} `{typed}`.{more}"


def late_after(reading: LedgerReading, latency: Latency) -> float:
    """Return the lag from which on a pipeline is late: three times the usual one, and twice ARCHIVE_LAG_TARGET."""
    runway = runway_fact(reading)
    target = 0 if runway is None else runway.archive_lag_target_seconds or 0
    return max(LATE_TIMES * (latency.usual_total_seconds or 0), 2.0 * target, LATE_FLOOR_SECONDS)


def why_late(
    reading: LedgerReading, latency: Latency, lag: float | None, known_at: datetime | None, is_stream: bool
) -> str | None:
    now, limit = reading.read_at, late_after(reading, latency)
    if known_at is None:
        return "no run is known to have asked Oracle, as after the ledger was rebuilt"
    if known_at - now > timedelta(seconds=SILENT_SECONDS):
        return (
            f"the last run that asked Oracle did so {duration((known_at - now).total_seconds())} from now: a clock was set back"
        )
    if now - known_at > timedelta(seconds=max(SILENT_SECONDS, limit)):
        return f"no run has asked Oracle for {duration((now - known_at).total_seconds())}"
    waiting = reading.window_counts.get("landed", 0)
    if lag is None:
        first = min((row.landed_at for row in reading.windows if row.state == "landed" and row.landed_at), default=None)
        if first is not None and (now - first).total_seconds() > limit:
            return f"{plural(waiting, 'landed window')} not applied since {clock(first, now)}"
        return None
    if lag <= limit:
        return None
    if waiting:
        return f"{plural(waiting, 'landed window waits', 'landed windows wait')} to be applied"
    if reading.window_counts.get("planned"):
        return "a window is being received" if is_stream else "a window is being mined"
    nothing = "OpenLogReplicator has sent no change since" if is_stream else "no redo thread has switched its log since"
    return nothing if is_nothing_new(reading) else "see the latency by term"


def is_nothing_new(reading: LedgerReading) -> bool:
    plan = one(reading, "plan")
    return plan is not None and plan.body.get("outcome") == "nothing"


def unproved_scn(reading: LedgerReading) -> int | None:
    """Return the SCN since which streams are received without asking the database."""
    fact = one(reading, "streams")
    return None if fact is None else from_body(StreamsFact, fact.body, "the streams in the ledger").unproved_since


def more_facts(
    reading: LedgerReading,
    captured: Sequence[TableLine],
    tables: Sequence[TableLine],
    faults: Mapping[Fault, tuple[str, ...]],
    is_stream: bool,
) -> Iterator[str]:
    """Yield the facts beside the sentence, what is wrong first: the tables by name, gaps by SCN, runway, proofs."""
    now = reading.read_at
    for fault, names in faults.items():
        if fault != "gap":
            yield f"{LABELS[fault]}: {named(names)}"
    for gap in gaps_of(captured):
        lacking = named([table.table for table in captured if gap in table.gaps])
        yield f"SCN {count(gap.first_scn)} to {count(gap.last_scn)} was never read, in {lacking}"
    if (unwritten := one(reading, "events")) is not None:
        yield from_body(FailureFact, unwritten.body, "the last failure of the lake's log").what
    if (runway := runway_fact(reading)) is not None and runway.state == "lost":
        yield "redo that is needed is lost"
    elif runway is not None and runway.hours_left is not None and not (runway.is_floor and runway.hours_left == 0):
        least = "at least " if runway.is_floor else ""
        low = "" if runway.state == "enough" else f" (below {runway.warn_below_hours:g} h)"
        yield f"runway {least}{duration(runway.hours_left * 3600)}{low}"
    if is_stream and (unproved := unproved_scn(reading)) is not None:
        yield f"not proved by the database since SCN {count(unproved)}"
    proofs = [table.proved for table in captured if table.proved is not None]
    if proofs:
        since = clock(min(proof.when for proof in proofs), now)
        yield f"{len(proofs)} of {plural(len(captured), 'table')} proved equal since {since}"
    elif any(table.complete_to_scn is not None for table in captured):
        yield "no table proved equal yet"
    if dropped := sum(table.listed and table.dropped_at is not None for table in tables):
        yield f"{plural(dropped, 'table')} dropped in Oracle and kept in Delta"
    if others := sum(not table.listed for table in tables):
        yield f"{plural(others, 'table')} not listed any more"
