"""What a batch did to tables, from its result in the ledger: rows by kind and by what became of them, DDL, times. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

from redolake.ledger.entries import BatchEntry, Json
from redolake.values.terms import ChangeCounts, Term, came_in


@dataclass(frozen=True, slots=True)
class RowStats(ChangeCounts):
    """`rows` are change rows by what became of them, as batches' row accounts have them; what is 0 is left out. `size` are all
    change rows that were read. The commit times are those of applied changes, in UTC; None without any, and where an older
    Redolake did not keep them."""

    ddl: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    first_commit_at: datetime | None = None
    last_commit_at: datetime | None = None
    seconds: float = 0.0

    @property
    def size(self) -> int:
        return came_in(self.rows)

    def count(self, term: Term) -> int:
        return self.rows.get(term.name, 0) if term.counts == "read" else getattr(self, term.name)

    def plus(self, other: RowStats) -> RowStats:
        return RowStats(
            dict(Counter(self.ddl) + Counter(other.ddl)),
            dict(Counter(self.rows) + Counter(other.rows)),
            min((at for at in (self.first_commit_at, other.first_commit_at) if at is not None), default=None),
            max((at for at in (self.last_commit_at, other.last_commit_at) if at is not None), default=None),
            round(self.seconds + other.seconds, 3),
            **ChangeCounts.sums([self, other]),
        )


QUARTER, SAME = 900, 10  # seconds: zones differ by quarters of an hour; clocks that differ by less than SAME count as equal


def clock_difference(ahead: float) -> timedelta:
    """Return by how much times of the database host are before UTC. Clocks are compared at each contact, which takes a while:
    that alone must not move the times that are shown."""
    zone = round(ahead / QUARTER) * QUARTER
    return timedelta(seconds=zone if abs(ahead - zone) < SAME else round(ahead))


def total(parts: Iterable[RowStats]) -> RowStats:
    return reduce(RowStats.plus, parts, RowStats())


def table_stats(batch: BatchEntry, ahead: timedelta, wanted: Collection[str] = ()) -> dict[str, RowStats]:
    """Return what a batch did to each wanted table whose changes it read, or that DDL changed; to all where none is named.
    `ahead` is how far the database host's clock is before UTC."""
    result: Json = batch.result or {}
    changes, seconds = result.get("changes", {}), result.get("seconds", {}).get("tables", {})
    stats = {
        table: row_stats(changes.get(table, {}), account, seconds.get(table, 0.0), ahead)
        for table, account in result.get("balances", {}).items()
        if not wanted or table in wanted
    }
    return {table: one for table, one in stats.items() if one.rows or one.ddl}


def row_stats(changes: Json, account: Mapping[str, int], seconds: float, ahead: timedelta) -> RowStats:
    counts: dict[str, Any] = {name: changes.get(name, 0) for name in ChangeCounts.sums(())}
    first, last = (utc(changes.get(name), ahead) for name in ("first_commit_at", "last_commit_at"))
    return RowStats(
        ddl=changes.get("ddl", {}), rows=account, first_commit_at=first, last_commit_at=last, seconds=seconds, **counts
    )  # fmt: skip


def utc(at: str | None, ahead: timedelta) -> datetime | None:
    return None if at is None else (datetime.fromisoformat(at) - ahead).replace(tzinfo=UTC)
