"""Describe the redo of each thread for people: which logs are read, unread, online, due or missing. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from redolake.records.shown_facts import LogFact, LogKind, RedoFact, ThreadFact
from redolake.values.redo import LogFile, Position, RedoFacts, Window
from redolake.values.scn import ChainPosition, Scn

LOGS_SHOWN = 120  # of each thread


def redo_of_threads(position: Position, facts: RedoFacts, ahead: timedelta) -> RedoFact:
    """Return the logs of the position's incarnation and of later ones, by thread. Logs that are read and deleted are left
    out: nobody needs them. `ahead` is the database host's clock minus UTC."""
    logs = {(g.thread, g.resetlogs_id, g.sequence): g for g in (*facts.online, *facts.archived)}
    instances = {t.number: t.instance for t in facts.threads}
    threads = []
    for number in sorted({t.number for t in facts.threads} | {thread for thread, _, _ in logs}):
        own = sorted((g for g in logs.values() if g.thread == number), key=lambda g: (g.resetlogs_id, g.sequence))
        shown = [fact for g in own if (fact := log_fact(g, position, ahead)) is not None]
        older = shown[:-LOGS_SHOWN]
        threads.append(
            ThreadFact(
                thread=number,
                instance=instances.get(number),
                logs=tuple(shown[-LOGS_SHOWN:]),
                older_logs=len(older),
                older_from=older[0].begins_at if older else None,
            )
        )
    return RedoFact(position.resetlogs_id, int(position.scn), int(facts.current_scn), tuple(threads))


def log_fact(log: LogFile, position: Position, ahead: timedelta) -> LogFact | None:
    kind = kind_of(log, position)
    if kind is None:
        return None
    begins = None if log.first_at is None else (log.first_at - ahead).replace(tzinfo=UTC).isoformat(timespec="seconds")
    next_scn = None if log.next_scn is None else int(log.next_scn)
    return LogFact(log.sequence, int(log.first_scn), next_scn, begins, log.bytes, kind)


def kind_of(log: LogFile, position: Position) -> LogKind | None:
    end = log.next_scn
    if end is not None and ChainPosition(log.resetlogs_id, end) <= position.chain_position:
        return "read" if log.claimed else None
    if not log.copies:
        return "online" if end is None else "due"
    return "unread" if log.claimed else "missing"


def end_time(window: Window, facts: RedoFacts) -> datetime | None:
    """Return when the window's end SCN was written, by the database host's clock: the log that begins there began then.

    Where no log does, it is the time of the newest log that begins before it, so that the window seems older than it is."""
    logs = [g for g in (*facts.archived, *facts.online) if g.first_at is not None and g.resetlogs_id >= window.resetlogs_id]
    exact = [g.first_at for g in logs if g.first_scn == window.scns.end and g.first_at is not None]
    before = [g.first_at for g in logs if g.first_scn < Scn(window.scns.end) and g.first_at is not None]
    return max(exact, default=None) or max(before, default=None)
