"""What a target is given, whatever it is: columns by our ids, and rows that each say what becomes of the row with their key."""

from __future__ import annotations

from dataclasses import dataclass

# `op` of a net change: the row is as it says, the row is gone, or only its large objects or filled columns are as it says.
UPSERT, REMOVE, OBJECTS = "U", "D", "O"


@dataclass(frozen=True, slots=True)
class TargetColumn:
    """A column of the table in the lake. `default` is its value in rows older than the column, in neutral text."""

    id: int
    name: str
    type: str
    default: str | None = None
