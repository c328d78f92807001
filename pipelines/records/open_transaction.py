"""A transaction without commit or rollback at the end of a batch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """`start_scn` and `first_at` are those of its START, or of its first change where no START was read."""

    con_id: int
    xid: str
    thread: int
    start_scn: int
    first_at: str | None
    rows: int
    bytes: int
    username: str | None
