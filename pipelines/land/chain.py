"""The chain of landed windows and declared gaps.

A window exists when its manifest does. The manifest is created first under its position in the chain, which only one writer can
do, and then in the window's own folder. When a writer dies between the two, the next one finishes its work. So do gaps.
"""

from __future__ import annotations

from bisect import insort
from itertools import islice

from pipelines import crash
from pipelines.land import layout
from pipelines.land.files import Files
from pipelines.records.chain_link import ChainLink, decode_link
from pipelines.records.declared_gap import DeclaredGap
from pipelines.records.window_manifest import WindowManifest
from pipelines.redo import Position
from pipelines.scn import ChainPosition, Scn


class Chain:
    def __init__(self, files: Files) -> None:
        self.files = files
        self._manifests: dict[str, WindowManifest] = {}  # manifests never change
        self._newest: ChainPosition | None = None  # where the newest known link ends
        self._names: list[str] | None = None  # of windows, as listed, and of those that landed since

    def continue_with(self, position: str, link: ChainLink) -> None:
        """Take a position of the chain, unless another writer has it already."""
        self.files.create_record(layout.chain_link(position), link)

    @crash.writer
    def finish(self, position: str) -> ChainLink | None:
        """Give the window or gap at a position its own file, if its writer died before that. Return it; None without one."""
        file = layout.chain_link(position)
        body = self.files.read(file)
        link = None if body is None else decode_link(body, self.files.shown(file))
        if isinstance(link, DeclaredGap):
            self.files.create_record(layout.gap_file(position), link)
        elif link is not None and self.manifest(link.name) is None:
            self.files.create_record(layout.window_manifest(link.name), link)
        return link

    def finish_last(self) -> None:
        """Finish the last link, so that nobody plans from its start again.

        The folder, which grows with the years, is listed once. Later links are found by their position: each begins where the
        one before ended.
        """
        if self._newest is None:
            for name in self.files.names(layout.CHAIN)[-1:]:
                self._advance(self.finish(name.removesuffix(".json")))
                self._names = None  # listed before the first link, it may lack more than that one
            return
        while (link := self.finish(self._newest.name)) is not None:
            self._advance(link)

    def _advance(self, link: ChainLink | None) -> None:
        if link is not None:
            self._newest = link.end.chain_position if isinstance(link, DeclaredGap) else link.end_position
        if isinstance(link, WindowManifest) and self._names is not None and link.name not in self._names:
            insort(self._names, link.name)

    def end(self) -> Position | None:
        """Return where the chain continues: the end of its last window or gap; None when nothing is landed."""
        ends = [Position(last.dbid, last.resetlogs_id, Scn(last.end)) for last in self.last_windows(1)]
        ends += [gap.end for gap in self._gaps()[-1:]]  # the last link is finished by now
        return max(ends, key=lambda end: end.chain_position, default=None)

    def window_names(self) -> list[str]:
        self.finish_last()
        if self._names is None:
            self._names = self.files.names(layout.WINDOWS)
        return list(self._names)

    def last_windows(self, number: int) -> list[WindowManifest]:
        """Return the newest windows in the order of the chain, without reading older ones."""
        found = map(self.manifest, reversed(self.window_names()))
        return list(islice((manifest for manifest in found if manifest is not None), number))[::-1]

    def manifest(self, window: str) -> WindowManifest | None:
        """Return None when no such window is landed."""
        if window not in self._manifests:
            manifest = self.files.read_record(WindowManifest, layout.window_manifest(window))
            if manifest is None:
                return None
            self._manifests[window] = manifest
        return self._manifests[window]

    def gap_from(self, start: ChainPosition) -> DeclaredGap | None:
        """Return the declared gap that begins there, or None."""
        return self.files.read_record(DeclaredGap, layout.gap_file(start.name))

    def gaps(self) -> list[DeclaredGap]:
        """Return all declared gaps in the order of the chain."""
        self.finish_last()
        return self._gaps()

    def _gaps(self) -> list[DeclaredGap]:
        files = [f"{layout.GAPS}/{name}" for name in self.files.names(layout.GAPS)]
        return [gap for file in files if (gap := self.files.read_record(DeclaredGap, file)) is not None]
