"""Say in one word and one sentence how a pipeline is. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from redolake.cockpit.texts import clock, count, plural
from redolake.cockpit.values import TONES, Health, Latency, State, TableLine, Tone
from redolake.ledger.reading import FactRow, LedgerReading, WindowRow
from redolake.records.codec import from_body
from redolake.records.shown_facts import FailureFact, PlanFact, RunwayFact, StreamsFact
from redolake.values.amounts import duration

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
    """`paused`: Airflow's capture DAG is paused; the ledger does not know that."""
    if reading.position is None:
        return plain(
            "not started", "No table has contents yet.", cure=f"Start {pipeline}_snapshot, or run `redolake snapshot`."
        )
    now = reading.read_at
    newest = next((row for row in reading.windows if row.state == "applied" and row.ends_at is not None), None)
    lag = None if newest is None or newest.ends_at is None else (now - newest.ends_at).total_seconds()
    known_at = max((fact.at for kind in ("source", "plan") if (fact := one(reading, kind)) is not None), default=None)
    state, sentence, cure = verdict(pipeline, reading, latency, newest, lag, known_at, paused, is_stream)
    differing = [table.name for table in tables if table.differs and table.listed]
    if differing and not cure:
        cure = f"Repair {', '.join(differing)}: start {pipeline}_repair, or run `redolake repair`."
    return Health(
        state=state,
        tone=tone_of(
            state,
            bool(differing) or any(table.history_differs for table in tables if table.listed),
            any(table.counted_as == "held" for table in tables),
        ),
        sentence=sentence,
        more=tuple(more_facts(reading, tables, now, is_stream)),
        cure=cure,
        complete_to_at=None if newest is None else newest.ends_at,
        complete_to_scn=None if newest is None else newest.end_scn,
        lag_seconds=lag,
        known_at=known_at,
    )


def tone_of(state: State, any_differs: bool, any_held: bool) -> Tone:
    """Return the tone. A table that is known to be wrong is never shown as good, however timely the pipeline is."""
    if any_differs:
        return "bad"
    return "notice" if state == "on time" and any_held else TONES[state]


def plain(state: State, sentence: str, cure: str = "") -> Health:
    return Health(state, TONES[state], sentence, cure=cure)


def one(reading: LedgerReading, kind: str, name: str = "") -> FactRow | None:
    return reading.facts.get(kind, {}).get(name)


def verdict(
    pipeline: str,
    reading: LedgerReading,
    latency: Latency,
    newest: WindowRow | None,
    lag: float | None,
    known_at: datetime | None,
    paused: bool,
    is_stream: bool,
) -> tuple[State, str, str]:
    """Return the state, the sentence and the cure. Tables that need a person come first."""
    now = reading.read_at
    up_to = up_to_text(newest, lag, now)
    if reading.loss is not None:
        since = clock(reading.loss.since, now)
        return (
            "stopped",
            f"Stopped since {since}: {reading.loss.error['what']}. {up_to}",
            f"Choose how to continue: start {pipeline}_recover, or run `redolake recover`.",
        )
    if (failed := one(reading, "source failure")) is not None:
        failure = from_body(FailureFact, failed.body, "the last failure in the ledger")
        since = duration((now - datetime.fromisoformat(failure.since)).total_seconds())
        return "source away", f"Oracle has not answered for {since}: {sentence(failure.what)} {up_to}", failure.cure
    if paused:
        return "paused", f"Paused in Airflow. {up_to}", f"Unpause {pipeline}_capture."
    plan = one(reading, "plan")
    found = None if plan is None else from_body(PlanFact, plan.body, "the last plan in the ledger")
    if found is not None and found.outcome == "wait":
        since = duration((now - datetime.fromisoformat(found.since)).total_seconds())
        what = f"Waiting for log {found.sequence} of redo thread {found.thread} for {since}"
        return "waiting for a log", f"{what}: it is switched and not archived yet. {up_to}", ""
    if (held := held_back(reading, now) if is_stream else None) is not None:
        return "late", f"{held} {up_to}", "See that it runs, and has its logs: `redolake doctor` asks it."
    if (late := why_late(reading, latency, lag, known_at, is_stream)) is not None:
        return "late", f"{up_to} Late: {late}.", ""
    return "on time", up_to, ""


def held_back(reading: LedgerReading, now: datetime) -> str | None:
    """Return which redo thread holds windows back, by its stream, since more than a moment."""
    plan, fact = one(reading, "plan"), one(reading, "streams")
    if plan is None or fact is None or plan.body.get("outcome") == "window":
        return None
    streams = from_body(StreamsFact, fact.body, "the streams in the ledger").streams
    held = [stream for stream in streams if stream.holds_back]
    since = now - datetime.fromisoformat(str(plan.body["since"]))
    if not held or since.total_seconds() < HELD_SECONDS:
        return None
    text = ", ".join(f"redo thread {stream.thread} ({stream.address})" for stream in held)
    return f"Windows are held back for {duration(since.total_seconds())} by the stream of {text}."


def sentence(what: str) -> str:
    """Return a driver's text without its number of this one connection, and with one full stop."""
    return re.sub(r" \(CONNECTION_ID=[^)]*\)", "", what).rstrip(". ") + "."


def up_to_text(newest: WindowRow | None, lag: float | None, now: datetime) -> str:
    if newest is None:
        return "The snapshot is loaded; no window is applied yet."
    return f"Right up to {clock(newest.ends_at, now)} (SCN {count(newest.end_scn)}), {duration(lag)} behind."


def late_after(reading: LedgerReading, latency: Latency) -> float:
    """Return the lag from which on a pipeline is late: three times the usual one, and twice ARCHIVE_LAG_TARGET."""
    runway = one(reading, "runway")
    target = 0
    if runway is not None:
        target = from_body(RunwayFact, runway.body, "the runway in the ledger").archive_lag_target_seconds or 0
    return max(LATE_TIMES * (latency.usual_total_seconds or 0), 2.0 * target, LATE_FLOOR_SECONDS)


def why_late(
    reading: LedgerReading, latency: Latency, lag: float | None, known_at: datetime | None, is_stream: bool
) -> str | None:
    now, limit = reading.read_at, late_after(reading, latency)
    if known_at is not None and now - known_at > timedelta(seconds=max(SILENT_SECONDS, limit)):
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


def more_facts(reading: LedgerReading, tables: Sequence[TableLine], now: datetime, is_stream: bool) -> list[str]:
    held = sum(table.counted_as == "held" for table in tables)
    found = [f"{plural(held, 'table')} held"] if held else []
    if (runway := one(reading, "runway")) is not None:
        fact = from_body(RunwayFact, runway.body, "the runway in the ledger")
        if fact.hours_left is not None:
            least = "at least " if fact.is_floor else ""
            low = "" if fact.state == "enough" else f" (below {fact.warn_below_hours:g} h)"
            found.append(f"runway {least}{duration(fact.hours_left * 3600)}{low}")
    if is_stream and (unproved := unproved_scn(reading)) is not None:
        found.append(f"not proved by the database since SCN {count(unproved)}")
    wrong = sum(table.differs for table in tables if table.listed)
    equal = [t.proof for t in tables if t.proof and t.proof.result.is_equal and t.counted_as not in ("held", "not listed")]
    if wrong:
        found.append(f"{wrong} DIFFER from the source")
    elif equal:
        since = clock(min(proof.at for proof in equal), now)
        found.append(f"{len(equal)} of {plural(len(tables), 'table')} proved equal since {since}")
    if histories := sum(table.history_differs for table in tables if table.listed):
        found.append(f"{plural(histories, 'history', 'histories')} DIFFER from the table")
    return found
