"""An open transaction that a person has dropped: its rows are not applied, whether it commits or not.

It is written once beside the landing. It records what only people knew; it is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redolake.records.batches.carry import OpenTransaction
from redolake.records.batches.spec import DroppedXid
from redolake.values.scn import ChainPosition


@dataclass(frozen=True, slots=True)
class DroppedTransaction:
    """`transaction` as it was open at `scn` of the incarnation, the end of the last batch; `rows` are those carried then, by
    table; `servers` the xids of its parallel servers."""

    transaction: OpenTransaction
    resetlogs_id: int
    scn: int
    reason: str
    by: str
    at: str
    rows: Mapping[str, int]
    servers: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        t = self.transaction
        return f"{self.resetlogs_id:010d}-{t.start_scn:020d}-{t.con_id}-{t.xid}"

    @property
    def position(self) -> ChainPosition:
        return ChainPosition(self.resetlogs_id, self.scn)

    @property
    def key(self) -> tuple[int, str, int]:
        return self.transaction.con_id, self.transaction.xid, self.transaction.start_scn

    @property
    def dropped_xid(self) -> DroppedXid:
        """The transaction as a batch's specification names it."""
        return DroppedXid(*self.key, servers=self.servers)
