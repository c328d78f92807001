"""The record of what was pruned, and its removal. Windows and batches below it do not count, even where files are left.

So the record comes first, and a removal that is killed is finished by the next prune. Facts that only the pruned files
contained are in the record: see records/pruned.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from redolake.host import crash
from redolake.land import layout
from redolake.land.cures import copy_of_pruned, restore
from redolake.land.files import Files
from redolake.records.pruned import Pruned

REMOVED_AT_ONCE = 16


class PrunedFiles:
    def __init__(self, files: Files) -> None:
        self._files = files

    def read(self) -> Pruned | None:
        """Return the record; None where nothing was pruned. One that is gone comes back from its copy."""
        found = self._files.read_record(Pruned, layout.PRUNED, copy_of_pruned())
        return found or self._files.read_record(Pruned, layout.PRUNED_COPY, restore())

    def complete(self, pruned: Pruned) -> None:
        """Write the record again where a killed writer, or a person, has left one file of the two."""
        if not (self._files.exists(layout.PRUNED) and self._files.exists(layout.PRUNED_COPY)):
            self.write_pruned(pruned)

    @crash.writer
    def write_pruned(self, pruned: Pruned) -> None:
        """Replace the record, its copy first: nothing is removed before both are there."""
        self._files.replace_record(layout.PRUNED_COPY, pruned)
        self._files.replace_record(layout.PRUNED, pruned)

    def remove_all(self, paths: Iterable[str]) -> None:
        """Remove files and folders, several side by side: an object store takes its time for each."""
        with ThreadPoolExecutor(REMOVED_AT_ONCE) as pool:
            for _ in pool.map(self.remove_pruned, paths):
                pass

    @crash.writer
    def remove_pruned(self, path: str) -> None:
        self._files.remove(path)
