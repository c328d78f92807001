"""Since when it is kept which transactions have no START, beside their states, which may be removed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NobodyListed:
    """A snapshot was begun at which nobody showed what was open; the file's name is where the redo begins that is read."""

    begun: bool = True
