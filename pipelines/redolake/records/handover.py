"""The handover from the first snapshot to capture: the start of the first window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from redolake.values.redo import ContainerIdentity, Encoding, Position
from redolake.values.scn import ChainPosition, Scn


@dataclass(frozen=True, slots=True)
class FirstPosition:
    """`encoding` is that of the PDB; `container` is the PDB, None where there are no containers. `parameters` are those of
    V$PARAMETER that decide about forms of redo."""

    FORMAT: ClassVar[int] = 2
    dbid: int
    resetlogs_id: int
    scn: int
    encoding: Encoding
    container: ContainerIdentity | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        """Where the landing began, which no other landing of the same name shares."""
        return f"{self.dbid}-{self.resetlogs_id}-{self.scn}"

    @property
    def position(self) -> Position:
        return Position(self.dbid, self.resetlogs_id, Scn(self.scn))

    @property
    def chain_position(self) -> ChainPosition:
        return ChainPosition(self.resetlogs_id, self.scn)
