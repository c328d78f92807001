"""A transaction without commit or rollback at the end of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

LONG_OPEN_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """`start_scn` and `first_at` are those of its START, or of its first change where no START was read."""

    con_id: int
    xid: str
    thread: int
    start_scn: int
    first_at: str | None
    rows: int
    bytes: int
    username: str | None

    @property
    def key(self) -> tuple[int, str]:
        return self.con_id, self.xid

    @property
    def slot(self) -> str:
        """The undo slot that it has until it ends."""
        return self.xid.rpartition(".")[0]

    def plus(self, other: OpenTransaction) -> OpenTransaction:
        """Return this transaction with other rows of it."""
        first, second = sorted((self, other), key=lambda part: part.start_scn)
        return OpenTransaction(
            self.con_id,
            self.xid,
            thread=min(self.thread, other.thread),
            start_scn=first.start_scn,
            first_at=min((at for at in (self.first_at, other.first_at) if at is not None), default=None),
            rows=self.rows + other.rows,
            bytes=self.bytes + other.bytes,
            username=first.username or second.username,
        )


@dataclass(frozen=True, slots=True)
class ParkedRows:
    """Rows of a large open transaction, in files of their own that later batches list and do not read while it cannot have
    ended. `part` is the transaction as far as these rows show it; `tables` has the number of change rows by OWNER.NAME."""

    part: OpenTransaction
    tables: Mapping[str, int]
    files: tuple[str, ...]


def is_long_open(one: OpenTransaction, read_to: str | None) -> bool:
    """Return whether a batch that reads to a time asks whether another transaction has got its undo slot since: most
    transactions end before that."""
    if one.first_at is None or read_to is None:
        return True
    return (datetime.fromisoformat(read_to) - datetime.fromisoformat(one.first_at)).total_seconds() >= LONG_OPEN_SECONDS


def join_transactions(parts: Iterable[OpenTransaction]) -> tuple[OpenTransaction, ...]:
    """Return each transaction once, oldest first."""
    found: dict[tuple[int, str], OpenTransaction] = {}
    for part in parts:
        found[part.key] = found[part.key].plus(part) if part.key in found else part
    return tuple(sorted(found.values(), key=lambda t: (t.start_scn, t.con_id, t.xid)))
