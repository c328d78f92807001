"""Gaps that are closed: the windows mined from restored logs, in a chain of their own, and the record of each closed table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from redolake.host import crash
from redolake.land import layout
from redolake.land.files import Files
from redolake.records.closed import ClosedTable
from redolake.records.gaps import DeclaredGap

CLOSE_AGAIN = "remove the file, and run `redolake close-gap` again"


class Closings:
    def __init__(self, files: Files) -> None:
        self._files = files

    @crash.writer
    def record_closed(self, closed: ClosedTable) -> None:
        """Record that a table has what the gap lacked. A repeat changes nothing."""
        self._files.write_record_once(layout.closed_file(closed.gap, closed.table, closed.snapshot_scn), closed)

    def of(self, gap: str) -> list[ClosedTable]:
        """Return the tables that have what the gap lacked."""
        files = (layout.closed_folder(gap) + "/" + name for name in self._files.names(layout.closed_folder(gap)))
        found = (self._files.read_record(ClosedTable, file, CLOSE_AGAIN) for file in files)
        return [one for one in found if one is not None]


def still_open(gap: DeclaredGap, closed: Callable[[str], list[ClosedTable]]) -> DeclaredGap:
    """Return the gap without the tables that have what it lacked."""
    found: Mapping[str, int | None] = {one.table: one.snapshot_scn for one in closed(gap.name)}
    return gap.without(found) if found else gap
