"""The chain of landed windows and declared gaps.

A window exists when its manifest does. The manifest is created first under its position in the chain, which only one writer can
do, and then in the window's own folder. When a writer dies between the two, the next one finishes its work. So do gaps.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice

from redolake.errors import LandingDamaged
from redolake.host import crash
from redolake.land import layout
from redolake.land.cures import copy_of_link
from redolake.land.files import Files
from redolake.land.pruned import PrunedFiles
from redolake.records.chain import ChainLink, decode_link
from redolake.records.gaps import DeclaredGap
from redolake.records.pruned import Pruned
from redolake.records.windows import WindowManifest
from redolake.values.redo import Position
from redolake.values.scn import ChainPosition, Scn


class Chain:
    """`recent` returns names of the newest windows that the ledger knows, in the order of the chain. They are a hint: from the
    newest whose manifest is there the links are followed. Without one the folders are listed, which grow with the years."""

    def __init__(self, files: Files, recent: Callable[[], Sequence[str]] = tuple) -> None:
        self.files, self._recent = files, recent
        self._manifests: dict[str, WindowManifest] = {}  # manifests never change
        self._tables: dict[tuple[str, ...], tuple[str, ...]] = {}  # one list for all windows with the same tables
        self._newest: ChainPosition | None = None  # where the newest known link ends
        self._end: Position | None = None  # the same, if the links were followed from a hint
        self._tail: list[str] | None = None  # the newest windows, without a hole, if the links were followed from a hint
        self._names: list[str] | None = None  # of windows, as listed, and of those that landed since

    @cached_property
    def pruned(self) -> Pruned | None:
        """What was pruned when this was first asked; None where nothing was."""
        return PrunedFiles(self.files).read()

    def continue_with(self, position: str, link: ChainLink) -> None:
        """Take a position of the chain, unless another writer has it already."""
        self.files.create_record(layout.chain_link(position), link)

    @crash.writer
    def finish(self, position: str) -> ChainLink | None:
        """Give the window or gap at a position its own file, if its writer died before that. Return it; None without one."""
        link, file = self._link_at(position), layout.chain_link(position)
        if link is not None and not begins_at(link, position):
            raise LandingDamaged(
                f"the file is of another position: {link.name}",
                cure="copy the manifest of the window that begins there over it, from windows/<window>/manifest.json",
                path=self.files.path_text(file),
            )
        if isinstance(link, DeclaredGap):
            self.files.create_record(layout.gap_file(position), link)
        elif link is not None and self._read_manifest(link.name) is None:
            self.files.create_record(layout.window_manifest(link.name), link)
        return link

    def finish_last(self) -> None:
        """Finish the last link, so that nobody plans from its start again. Later links are found by their position: each begins
        where the one before ended."""
        if self._newest is None:
            self._follow_hint()
        if self._newest is None:
            for name in self.files.names(layout.CHAIN)[-1:]:
                self._advance(self.finish(name.removesuffix(".json")))
                self._names = None  # listed before the first link, it may lack more than that one
            return
        while (link := self.finish(self._newest.name)) is not None:
            self._advance(link)

    def _follow_hint(self) -> None:
        """Begin at the newest window that the ledger knows, if its manifest is there. It is asked once: before the first window
        there is nothing to know, and later ones are found by their links."""
        known = [name for name in self._recent() if self._is_kept(name)]
        self._recent = tuple
        while known:
            self.finish(layout.start_position(known[-1]).name)
            manifest = self._read_manifest(known[-1])
            if manifest is not None:
                self._tail = adjoining_end(known)
                self._advance(manifest)
                return
            known.pop()

    def _advance(self, link: ChainLink | None) -> None:
        if link is None:
            return
        if isinstance(link, DeclaredGap):
            self._newest, self._end = link.end.chain_position, link.end
            return
        self._newest, self._end = link.end_position, Position(link.dbid, link.resetlogs_id, Scn(link.end))
        if self._tail is not None and link.name not in self._tail[-1:]:
            self._tail.append(link.name)
        if self._names is not None and link.name not in self._names:
            insort(self._names, link.name)

    def end(self) -> Position | None:
        """Return where the chain continues: the end of its last window or gap; None when nothing is landed."""
        self.finish_last()
        if self._tail is not None:
            return self._end
        ends = [Position(last.dbid, last.resetlogs_id, Scn(last.end)) for last in self.last_windows(1)]
        ends += [gap.end for gap in self._gaps()[-1:]]  # the last link is finished by now
        return max(ends, key=lambda end: end.chain_position, default=None)

    def window_names(self) -> list[str]:
        """Return the names of all windows. Listed once, and that takes its time where there are many."""
        self.finish_last()
        if self._names is None:
            self._names = [name for name in self.files.names(layout.WINDOWS) if self._is_kept(name)]
        return list(self._names)

    def _is_kept(self, window: str) -> bool:
        """Return whether a window was not pruned: what a killed prune has left of one does not count."""
        return self.pruned is None or layout.ends_after(window, self.pruned.position)

    def names_after(self, position: ChainPosition) -> Iterator[str]:
        """Yield the names of the windows that end after a position, in the order of the chain. Where a link begins there, the
        links are followed; else the folder is listed."""
        self.finish_last()
        while self._names is None and self._tail is not None and position < layout.start_position(self._tail[0]):
            link = self._link_at(position.name)
            if link is None:
                break  # it lies within a window, or there is a hole
            if isinstance(link, WindowManifest):
                yield link.name
            position = end_of(link)
        is_known = self._names is None and self._tail is not None and position >= layout.start_position(self._tail[0])
        names = self._tail if is_known and self._tail is not None else self.window_names()
        yield from [name for name in names if layout.ends_after(name, position)]

    def newest_names(self) -> Iterator[str]:
        """Yield the names of the windows, the newest first; older ones than the ledger's newest are listed when asked for."""
        self.finish_last()
        tail = list(self._tail or ()) if self._names is None else []
        yield from reversed(tail)
        yield from (name for name in reversed(self.window_names()) if not tail or name not in tail)

    def last_windows(self, number: int) -> list[WindowManifest]:
        """Return the newest windows in the order of the chain, without reading older ones."""
        found = map(self.manifest, self.newest_names())
        return list(islice((manifest for manifest in found if manifest is not None), number))[::-1]

    def manifest(self, window: str) -> WindowManifest | None:
        """Return None when no such window is landed."""
        if not self._is_kept(window):
            return None
        if window not in self._manifests:
            manifest = self._read_manifest(window) or self._read_linked(window)
            if manifest is None:
                return None
            self._manifests[window] = manifest
        return self._manifests[window]

    def read_once(self, window: str) -> WindowManifest | None:
        """Return what `manifest` does, and do not keep it."""
        if not self._is_kept(window):
            return None
        return self._read_manifest(window) or self._read_linked(window)

    def _read_manifest(self, window: str) -> WindowManifest | None:
        """Raise LandingDamaged for a damaged manifest, and for that of another window."""
        file = layout.window_manifest(window)
        cure = copy_of_link(window, layout.link_of(window))
        manifest = self.files.read_record(WindowManifest, file, cure)
        if manifest is not None and manifest.name != window:
            what = f"the file is the manifest of another window: {manifest.name}"
            raise LandingDamaged(what, cure=cure, path=self.files.path_text(file))
        if manifest is None:
            return None
        return replace(manifest, tables=self._tables.setdefault(manifest.tables, manifest.tables))

    def _read_linked(self, window: str) -> WindowManifest | None:
        """Return the manifest of a window whose writer has died before it was in the window's own folder, or that was removed
        there; None for one that has not landed."""
        link = self.window_at(window.rpartition("-")[0])
        return link if link is not None and link.name == window else None

    def window_at(self, position: str) -> WindowManifest | None:
        """Return the window that continues the chain from a position; None if a gap does, or nothing."""
        link = self._link_at(position)
        return link if isinstance(link, WindowManifest) else None

    def _link_at(self, position: str) -> ChainLink | None:
        file = layout.chain_link(position)
        body = self.files.read(file)
        return None if body is None else decode_link(body, self.files.path_text(file))

    def replace_manifest(self, manifest: WindowManifest) -> None:
        """Replace the manifest of a landed window, and its copy in the chain, by one with the same identity."""
        self.files.replace_record(layout.window_manifest(manifest.name), manifest)
        if link := self._link_file(manifest.name):
            self.files.replace_record(link, manifest)
        self._manifests[manifest.name] = manifest

    def remove_last(self, window: str) -> None:
        """Give up the last window of the chain. Its link says whether it has landed: as long as that is there, the next reader
        writes the manifest again, and after that nobody does."""
        manifest = layout.window_manifest(window)
        self.files.remove(manifest)
        if link := self._link_file(window):
            self.files.remove(link)
        self.files.remove(manifest)  # a reader may have written it again in between
        self._manifests.pop(window, None)
        self._newest = self._names = self._tail = self._end = None

    def _link_file(self, window: str) -> str | None:
        """Return the chain's file of a window; at a RESETLOGS it may have the name of the older incarnation."""
        scn = f"-{window.split('-')[1]}.json"
        files = [layout.link_of(window), *(f"{layout.CHAIN}/{n}" for n in self.files.names(layout.CHAIN) if n.endswith(scn))]
        for file in files:
            body = self.files.read(file)
            link = None if body is None else decode_link(body, self.files.path_text(file))
            if isinstance(link, WindowManifest) and link.name == window:
                return file
        return None

    def gap_from(self, start: ChainPosition) -> DeclaredGap | None:
        """Return the declared gap that begins there, or None."""
        return self._read_gap(start.name)

    def _read_gap(self, name: str) -> DeclaredGap | None:
        """Raise LandingDamaged for a damaged gap, and for another one."""
        file = layout.gap_file(name)
        cure = f"remove {file}: the next run writes it again from its copy, {layout.chain_link(name)}"
        gap = self.files.read_record(DeclaredGap, file, cure)
        if gap is not None and gap.name != name:
            raise LandingDamaged(f"the file is another gap: {gap.name}", cure=cure, path=self.files.path_text(file))
        return gap

    def gaps(self) -> list[DeclaredGap]:
        """Return all declared gaps in the order of the chain."""
        self.finish_last()
        return self._gaps()

    def _gaps(self) -> list[DeclaredGap]:
        names = [name.removesuffix(".json") for name in self.files.names(layout.GAPS)]
        return [gap for name in names if (gap := self._read_gap(name)) is not None]


def begins_at(link: ChainLink, position: str) -> bool:
    """Return whether the link continues the chain from a position. Exactly at a RESETLOGS it may have the older incarnation's
    name; see Windows._position_of."""
    start, own = (
        ChainPosition.parse(position),
        link.start.chain_position if isinstance(link, DeclaredGap) else link.start_position,
    )
    return start == own or (start.scn == own.scn and start < own and isinstance(link, WindowManifest))


def end_of(link: ChainLink) -> ChainPosition:
    return link.end.chain_position if isinstance(link, DeclaredGap) else link.end_position


def adjoining_end(names: Sequence[str]) -> list[str]:
    """Return the last windows of which each begins where the one before ended, in one incarnation."""
    found = list(names[-1:])
    for name in reversed(names[:-1]):
        if layout.end_position(name) != layout.start_position(found[0]):
            break
        found.insert(0, name)
    return found
