"""Transactions split by a declared gap: the windows after the gap contain changes of them, but not their start."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class TransactionName:
    con_id: int | None
    xid: str


@dataclass(frozen=True, slots=True)
class SplitTransaction:
    con_id: int | None
    xid: str
    rows: int  # change rows that were read without their START


@dataclass(frozen=True, slots=True)
class SplitTransactions:
    """The state at the end of one window after the gap. `begun` are the open transactions whose START was read after the
    gap."""

    begun: tuple[TransactionName, ...] = ()
    transactions: tuple[SplitTransaction, ...] = ()
