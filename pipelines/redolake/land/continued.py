"""Which batches were prepared after each batch: a small folder for each, by which later batches are found without listing all.

A batch is named here before its spec is written. `complete.json` says that this holds for all batches since then; without it,
only the folder of all batches is complete.
"""

from __future__ import annotations

from functools import cached_property

from redolake.host import crash
from redolake.land import layout
from redolake.land.files import Files
from redolake.records.continued import BatchPrepared
from redolake.values.scn import ChainPosition


class ContinuedBatches:
    def __init__(self, files: Files) -> None:
        self._files = files

    @cached_property
    def are_complete(self) -> bool:
        return self._files.exists(layout.CONTINUED_COMPLETE)

    @crash.writer
    def note_prepared(self, after: ChainPosition, batch: str) -> None:
        """Name a batch that is prepared while the last one ends at `after`."""
        self._files.create_record(layout.continued_file(after, batch), BatchPrepared())
        if not self.are_complete:
            self._files.create_record(layout.CONTINUED_COMPLETE, BatchPrepared())

    def after(self, position: ChainPosition) -> list[str]:
        """Return the batches that were prepared while the last one ended at the position."""
        return [name.removesuffix(".json") for name in self._files.names(layout.continued_folder(position))]
