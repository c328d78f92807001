"""System change numbers, half-open ranges of them, and positions in the chain of windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType

Scn = NewType("Scn", int)

LARGEST_SCN = 2**63 - 1
# The NEXT_CHANGE# that V$LOG and V$ARCHIVED_LOG show for a log that is still open. Releases differ.
OPEN_ENDS = frozenset({2**48 - 1, 2**63 + 2**56 - 1, 2**64 - 1})


def check_scn(scn: int) -> None:
    """Raise ValueError for a number that is no SCN."""
    if not 0 <= scn <= LARGEST_SCN:
        raise ValueError(f"{scn} is no SCN: they end at {LARGEST_SCN}")


def known_end(next_change: int | None) -> Scn | None:
    """Return NEXT_CHANGE#, or None for a log that is still open: NULL, a known sentinel, or more than an SCN can be."""
    is_open = next_change is None or next_change in OPEN_ENDS or next_change > LARGEST_SCN
    return None if next_change is None or is_open else Scn(next_change)


@dataclass(frozen=True, slots=True, order=True)
class ChainPosition:
    """A position in the chain of windows. A RESETLOGS may set SCNs back, so positions compare by incarnation first."""

    resetlogs_id: int
    scn: int

    @property
    def name(self) -> str:
        """Fixed width, so that names sort as positions do."""
        return f"{self.resetlogs_id:010d}-{self.scn:020d}"

    def plus(self, scns: int) -> ChainPosition:
        return ChainPosition(self.resetlogs_id, self.scn + scns)

    @classmethod
    def parse(cls, name: str) -> ChainPosition:
        resetlogs_id, _, scn = name.partition("-")
        return cls(int(resetlogs_id), int(scn))


BEFORE_ALL = ChainPosition(0, 0)


@dataclass(frozen=True, slots=True, order=True)
class ScnRange:
    """All SCNs from `start`, inclusive, to `end`, exclusive."""

    start: Scn
    end: Scn

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"not a range of SCNs: [{self.start}, {self.end})")

    def __contains__(self, scn: int) -> bool:
        return self.start <= scn < self.end

    def __str__(self) -> str:
        return f"[{self.start}, {self.end})"

    @property
    def last_scn(self) -> Scn:
        return Scn(self.end - 1)
