"""Transactions whose START was not read: it lies in a declared gap, or before the first log of the chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from redolake.records.codec import PositionName
from redolake.values.scn import ChainPosition


@dataclass(frozen=True, slots=True, order=True)
class TransactionName:
    """`scn` is that of its START; 0 in a file of an older Redolake, which did not keep it."""

    con_id: int | None
    xid: str
    scn: int = 0


@dataclass(frozen=True, slots=True)
class SplitTransaction:
    """`committed` is where its COMMIT stands in the chain; None where none was read."""

    con_id: int | None
    xid: str
    rows: int  # change rows that were read without their START
    committed: PositionName | None = None

    @property
    def committed_at(self) -> ChainPosition | None:
        return None if self.committed is None else ChainPosition.parse(self.committed)


@dataclass(frozen=True, slots=True)
class SplitTransactions:
    """The state at the end of one window. `begun` are the open transactions whose START was read."""

    FORMAT: ClassVar[int] = 2
    begun: tuple[TransactionName, ...] = ()
    transactions: tuple[SplitTransaction, ...] = ()
