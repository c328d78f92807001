"""The evidence that LogMiner of the database leaves quotes inside values single."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DoubtfulWindows:
    """A table's windows, before the one with the evidence, that contain quotes side by side: each may be one quote or two."""

    first: str
    last: str
    rows: int

    @property
    def start(self) -> int:
        return int(self.first.split("-")[1])

    @property
    def end(self) -> int:
        return int(self.last.split("-")[2])


@dataclass(frozen=True, slots=True)
class SingleQuotes:
    """`window` is the first with a row whose text has no meaning unless its quotes are single. `doubtful` is by OWNER.NAME."""

    window: str
    doubtful: Mapping[str, DoubtfulWindows] = field(default_factory=dict)
