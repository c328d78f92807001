"""Split the age of a change, from Oracle to Delta, into the terms that make it, and name the one that grew. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median

from redolake.cockpit.values import Latency, Term
from redolake.ledger.reading import WindowRow

TERMS = {
    "log open": "from the window's first change to the log switch that ends it: ARCHIVE_LAG_TARGET, or many logs at once",
    "archive": "from the switch to the plan: archiving, and the schedule of capture",
    "mine": "from the plan to the landed window: LogMiner and writing",
    "wait": "from the landed window to its batch: another batch, or Airflow",
    "apply": "from the batch's start to its end: decode, join, merge",
}
# The same terms, where OpenLogReplicator's transactions are received.
TERMS_OF_STREAM = {
    "log open": ("window", "from the window's first change to the checkpoint that ends it"),
    "archive": (
        "receive",
        "from that checkpoint to the end of receiving: OpenLogReplicator, network, schedule of capture",
    ),
    "mine": ("land", "from there to the landed window: writing"),
    "wait": ("wait", TERMS["wait"]),
    "apply": ("apply", TERMS["apply"]),
}
# Of a standby, at the last contact: parts of terms, and not added to them.
LAGS = {
    "transport lag": "a part of `archive`: from the primary to the standby, by its V$DATAGUARD_STATS at the last contact",
    "apply lag": "a part of `mine` where values are read again, which wait until the window's end is applied; by the same view",
}
NO_LAGS: Mapping[str, float] = {}
GROWN, GROWN_SECONDS = 1.5, 5.0
LATEST = 20


def latency_of(
    windows: Sequence[WindowRow],
    batch_starts: Mapping[str, datetime],
    *,
    is_stream: bool = False,
    lags: Mapping[str, float] = NO_LAGS,
) -> Latency:
    """Return the terms of the newest applied window and the median of those before it, and the lags of a standby. `windows`
    begin with the newest."""
    found = [(row, terms_of(row, older, batch_starts)) for row, older in pairwise(windows) if row.applied_at is not None]
    found = found[:LATEST]
    if not found:
        return Latency()
    _, newest = found[0]
    others = [terms for _, terms in found[1:]]
    usual = {name: median_of([terms[name] for terms in others]) for name in TERMS}
    grown = most_grown(newest, usual)
    named = TERMS_OF_STREAM if is_stream else {name: (name, what) for name, what in TERMS.items()}
    terms = tuple(Term(*named[name], newest[name], usual[name], name == grown) for name in TERMS)
    terms += tuple(Term(name, what, lags[name], None) for name, what in LAGS.items() if name in lags)
    mined = [row for row, _ in found if row.mine_seconds and row.redo_bytes]
    seconds = sum(row.mine_seconds or 0 for row in mined)
    return Latency(
        terms=terms,
        total_seconds=sum(value for value in newest.values() if value is not None),
        usual_total_seconds=sum(value for value in usual.values() if value is not None) if others else None,
        windows=len(found),
        mined_rows_per_second=sum(row.row_count or 0 for row in mined) / seconds if seconds else None,
        mined_bytes_per_second=sum(row.redo_bytes or 0 for row in mined) / seconds if seconds else None,
    )


def terms_of(row: WindowRow, older: WindowRow, batch_starts: Mapping[str, datetime]) -> dict[str, float | None]:
    """Return the seconds of each term. Where the start of the batch is not known, waiting counts as a part of applying."""
    began = batch_starts.get(row.batch or "") or row.landed_at
    return {
        "log open": between(older.ends_at, row.ends_at),
        "archive": between(row.ends_at, row.planned_at),
        "mine": between(row.planned_at, row.landed_at),
        "wait": between(row.landed_at, began),
        "apply": between(began, row.applied_at),
    }


def between(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else max(0.0, (end - start).total_seconds())


def median_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def most_grown(newest: Mapping[str, float | None], usual: Mapping[str, float | None]) -> str | None:
    """Return the term that grew most in seconds, if it grew by half and by seconds that matter."""
    growth = {
        name: value - before
        for name, value in newest.items()
        if value is not None and (before := usual[name]) is not None and value > GROWN * before
    }
    name = max(growth, key=lambda term: growth[term], default=None)
    return name if name is not None and growth[name] >= GROWN_SECONDS else None
