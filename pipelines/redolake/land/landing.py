"""The landing of one pipeline: windows and declared gaps in one chain, snapshots, and the files of batches and loads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy

from redolake.land import layout
from redolake.land.captured import CapturedLists
from redolake.land.chain import Chain
from redolake.land.chunks import Chunks
from redolake.land.closings import Closings
from redolake.land.continued import ContinuedBatches
from redolake.land.dictionary import Dictionary
from redolake.land.files import Files
from redolake.land.gaps import Gaps
from redolake.land.handover import HandoverFiles
from redolake.land.keys import LandingKeys
from redolake.land.proofs import Proofs
from redolake.land.pruned import PrunedFiles
from redolake.land.quotes import Quotes
from redolake.land.snapshots import Snapshots
from redolake.land.windows import Windows
from redolake.records.pruned import Pruned
from redolake.values.mapping import SecretName
from redolake.values.redo import Encoding, Position
from redolake.values.scn import ChainPosition


class Landing:
    """`url` may be a local path or any URL that fsspec knows. `layout` maps the paths that `files` takes. `recent` returns the
    names of the newest windows, as far as the ledger knows: see Chain. `key` says where that of its files of rows is."""

    def __init__(
        self, url: str, pipeline: str, recent: Callable[[], Sequence[str]] = tuple, key: SecretName | None = None
    ) -> None:
        self.files = Files(f"{url.rstrip('/')}/{pipeline}")
        self.files.rows_key = LandingKeys(self.files, key).current
        self._chain = Chain(self.files, recent)
        self.handover = HandoverFiles(self.files)
        self.quotes = Quotes(self._chain)
        self.windows = Windows(self._chain, self.quotes)
        self.gaps = Gaps(self._chain)
        self.snapshots = Snapshots(self.files)
        self.chunks = Chunks(self.files)
        self.dictionary = Dictionary(self.files)
        self.captured = CapturedLists(self.files)
        self.continued = ContinuedBatches(self.files)
        self.pruning = PrunedFiles(self.files)
        self.proofs = Proofs(self.files)
        self.closings = Closings(self.files)
        self._place = f"{url.rstrip('/')}/{pipeline}"

    @property
    def pruned(self) -> Pruned | None:
        """What was pruned when this was first asked; None where nothing was."""
        return self._chain.pruned

    def chain_end(self) -> Position | None:
        """Return where the chain of windows and gaps continues; None when nothing is landed."""
        return self._chain.end()

    def side_landing(self, name: str) -> Landing:
        """Return the landing of windows that were mined beside the chain, such as those that fill a declared gap."""
        folder, _, last = layout.restored_landing(name).rpartition("/")
        side = Landing(f"{self._place}/{folder}", last)
        side.files.rows_key = self.files.rows_key
        side.handover = self.handover  # the pipeline began once
        return side

    def with_chain_of(self, side: Landing) -> Landing:
        """Return this landing with the windows of another chain; everything else is its own."""
        made = copy(self)
        made._chain, made.windows, made.gaps = side._chain, side.windows, side.gaps
        return made

    def encoding(self, at: ChainPosition | None = None) -> Encoding:
        """Return the PDB's character sets and time zone at a position of the chain, default its end: as recorded when the
        pipeline began, or at the last declared gap before the position."""
        for gap in reversed(self.gaps.all()):
            if gap.encoding is not None and (at is None or gap.end.chain_position <= at):
                return gap.encoding
        start = self.handover.start()
        return Encoding() if start is None else start.encoding
