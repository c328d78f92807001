"""A table that has what a declared gap lacked: the gap's logs were restored and mined, and the rows they touch read again."""

from __future__ import annotations

from dataclasses import dataclass

from redolake.values.terms import RowCounts


@dataclass(frozen=True, slots=True)
class ClosedTable(RowCounts):
    """The proof that a table lacks nothing of a gap any more, as long as it has the contents of the snapshot `snapshot_scn`.

    `windows` cover the gap without a hole, and `logs` archived logs of all redo threads contain them. `changes` rows of redo
    touch `keys` keys; the rows with these keys were read AS OF the SCNs of `scns`, the table's positions then, merged in
    `delta_versions`, and compared as equal. Of both the last ones are named.
    """

    gap: str
    table: str  # OWNER.NAME
    snapshot_scn: int | None
    windows: tuple[str, ...]
    logs: int
    changes: int
    keys: int
    scns: tuple[int, ...]
    delta_versions: tuple[int, ...]
    reason: str
    by: str
    at: str  # ISO time in UTC
