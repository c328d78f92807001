"""Ends of redo, of an incarnation or of a redo thread: an SCN, or still open."""

from __future__ import annotations

from enum import Enum

from redolake.values.scn import Scn


class End(Enum):
    """The end of redo that may still be written."""

    OPEN = "open"


def is_past(scn: Scn, end: Scn | End) -> bool:
    """Return whether `scn` is at or after `end`; never where the end is open."""
    return end is not End.OPEN and scn >= end
