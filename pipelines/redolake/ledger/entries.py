"""The ledger's entries. Times are UTC; `plan`, `error`, `result` and `body` are JSON objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from redolake.ledger.states import BatchState, TableState, WindowState
from redolake.values.scn import ChainPosition, Scn, ScnRange
from redolake.values.table import TableId

Json = Mapping[str, Any]
LeaseKind = Literal["capture", "apply", "load", "receive"]


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write `name`. A later owner has a higher token; the ledger refuses writes under a lower one. The one before
    had `token_before`."""

    name: str
    owner: str
    token: int
    expires_at: datetime
    token_before: int = 0


def lease_name(what: LeaseKind, pipeline: str) -> str:
    return f"{what}/{pipeline}"


@dataclass(frozen=True, slots=True)
class WindowEntry:
    name: str
    resetlogs_id: int
    scns: ScnRange
    state: WindowState
    plan: Json
    token: int
    planned_at: datetime
    changed_at: datetime

    @property
    def end_position(self) -> ChainPosition:
        return ChainPosition(self.resetlogs_id, int(self.scns.end))


@dataclass(frozen=True, slots=True)
class TableEntry:
    """`complete_to_scn` is the applied SCN: every transaction that committed up to it, and with it, is in the target.
    `delta_version` is the version of the target that the batch or load left that brought it there."""

    table: TableId
    state: TableState
    captured_from_scn: Scn
    snapshot_scn: Scn | None = None
    complete_to_scn: Scn | None = None
    held_from: TableState | None = None
    held_at: datetime | None = None
    error: Json | None = None
    resetlogs_id: int | None = None
    delta_version: int | None = None

    @property
    def held_without_contents(self) -> bool:
        """Return whether the table is held and has never had contents, as one that cannot be captured."""
        return self.state == "held" and self.complete_to_scn is None

    @property
    def hold(self) -> Json:
        """The error that holds the table, as RedolakeError.as_dict() wrote it; empty for a table that is not held."""
        return self.error or {}

    @property
    def stopped_at(self) -> int | None:
        """Return the first SCN that is not applied; None for a table without contents."""
        return None if self.complete_to_scn is None else self.complete_to_scn + 1

    @property
    def position(self) -> ChainPosition:
        """Return the applied SCN with its incarnation; for a table without contents a position below all others."""
        return ChainPosition(self.resetlogs_id or 0, -1 if self.complete_to_scn is None else self.complete_to_scn)

    @property
    def contents_end(self) -> ChainPosition | None:
        """Return the position after the applied SCN; None without contents."""
        return None if self.complete_to_scn is None or self.resetlogs_id is None else self.position.plus(1)


@dataclass(frozen=True, slots=True)
class Loss:
    """Redo that is needed and not available: the error, the step that found it, and the missing logs."""

    error: Json
    step: str  # plan, mine
    position: Json
    missing: Sequence[Json]
    since: datetime


@dataclass(frozen=True, slots=True)
class VersionEntry:
    """`body` is the table version as redolake.schema writes it."""

    table: TableId
    from_scn: Scn
    source: str  # baseline, ddl
    body: Json
    ddl: str | None = None


@dataclass(frozen=True, slots=True)
class BatchEntry:
    name: str
    scns: ScnRange
    state: BatchState
    spec_path: str
    result: Json | None
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision; never changed, never deleted."""

    number: int
    kind: str
    body: Json
    who: str
    at: datetime
