"""What is kept of windows and batches that were pruned: where the chain now begins, and what only they had shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from redolake.records.batches.manifest import DroppedRows
from redolake.records.single_quotes import DoubtfulWindows, SingleQuotes
from redolake.values.scn import ChainPosition

STEPS_KEPT = 100


@dataclass(frozen=True, slots=True)
class PruneStep:
    """One prune: from then on the chain began at `scn`."""

    resetlogs_id: int
    scn: int
    at: str
    by: str

    @property
    def position(self) -> ChainPosition:
        return ChainPosition(self.resetlogs_id, self.scn)


@dataclass(frozen=True, slots=True)
class KnownVersion:
    """A version of a table as the ledger had it: DDL in a pruned window may have made it."""

    from_scn: int
    source: Literal["baseline", "ddl"]
    body: Mapping[str, Any]
    ddl: str | None = None


@dataclass(frozen=True, slots=True)
class PrunedTable:
    """`captured_from` is the position from which all pruned windows had the table, `batched_from` that from which all pruned
    batches had it; None where the last one lacked it. `versions` are all that the ledger had. `without_transaction` is the
    position of the newest change in a pruned batch that was not carried over though its transaction may be open."""

    captured_from: str | None = None
    batched_from: str | None = None
    versions: tuple[KnownVersion, ...] = ()
    without_transaction: str | None = None


@dataclass(frozen=True, slots=True)
class Pruned:
    """`steps` is never empty; the last one says where the chain begins. A batch ended there, and is kept with its carried rows.
    `dropped` are the rows of dropped transactions that pruned batches counted."""

    steps: tuple[PruneStep, ...]
    windows: int
    tables: Mapping[str, PrunedTable] = field(default_factory=dict)
    doubtful: Mapping[str, DoubtfulWindows] = field(default_factory=dict)
    single_quotes: SingleQuotes | None = None
    dropped: tuple[DroppedRows, ...] = ()

    FORMAT: ClassVar[int] = 2

    @property
    def position(self) -> ChainPosition:
        return self.steps[-1].position

    def step_of(self, position: ChainPosition) -> PruneStep | None:
        """Return the prune that removed the redo at a position; None where it is still there."""
        return next((step for step in self.steps if position < step.position), None)


def add_step(steps: tuple[PruneStep, ...], step: PruneStep) -> tuple[PruneStep, ...]:
    """Return the steps with one more. If there are many, the oldest are joined to the first that stays."""
    return (*steps, step)[-STEPS_KEPT:]
