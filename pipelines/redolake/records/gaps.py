"""A declared gap: the redo between two positions is not read, because a person decided so.

A gap and a window from the same position exclude each other: only one of them can be published. A gap records what only
people knew; it is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from redolake.records.batches.carry import OpenTransaction
from redolake.values.redo import ContainerIdentity, Encoding, Position
from redolake.values.scn import ChainPosition

GapKind = Literal["position", "snapshot", "gap"]


@dataclass(frozen=True, slots=True)
class DeclaredGap:
    """`tables` maps each captured table to the SCN of the snapshot its contents came from; a newer snapshot makes it complete.
    `dropped` are the transactions open at `start`: their rows were carried, and their commits may lie in the gap.
    `container` is the PDB that the chain continues with, `encoding` its character sets and time zone."""

    kind: GapKind
    start: Position
    end: Position
    reason: str
    by: str
    at: str
    lost: str
    tables: Mapping[str, int | None]
    dropped: tuple[OpenTransaction, ...] = ()
    container: ContainerIdentity | None = None
    encoding: Encoding | None = None

    @property
    def name(self) -> str:
        """The gap's file name, which sorts in the order of the chain."""
        return self.start.chain_position.name

    @property
    def last_position(self) -> ChainPosition:
        """The last SCN that was not read: contents AS OF it, or later ones, have what the gap has not."""
        return self.end.chain_position.plus(-1)

    @property
    def dropped_rows(self) -> int:
        return sum(transaction.rows for transaction in self.dropped)

    def concerns(self, table: object, snapshot_scn: int | None) -> bool:
        """Return whether the table still has the contents it had when the gap was declared."""
        return str(table) in self.tables and self.tables[str(table)] == snapshot_scn

    def without(self, closed: Mapping[str, int | None]) -> DeclaredGap:
        """Return the gap without the tables of `closed` that still have the contents of the snapshot named there."""
        kept = {name: scn for name, scn in self.tables.items() if name not in closed or closed[name] != scn}
        return replace(self, tables=kept)
