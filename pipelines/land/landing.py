"""The landing of one pipeline: windows written once, published in a chain, and read back.

A window exists when its manifest does. The manifest is first created under the name of its place in the chain, which only one
writer can do, and then in the window's own folder; a crash between the two is mended by whoever comes next.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any, TypeVar

import pyarrow as pa

from pipelines import crash
from pipelines.crash import point
from pipelines.errors import LandingConflict
from pipelines.land import layout
from pipelines.land.chain import PLACE_CURE, build_manifest, check_break, check_place, check_same
from pipelines.land.files import Files
from pipelines.land.parquet import frames, read_columns, write_parquet
from pipelines.land.split import COLUMNS, after_next_window
from pipelines.land.tally import Tally
from pipelines.records.chain_link import decode_link
from pipelines.records.declared_gap import DeclaredGap
from pipelines.records.slice_record import SliceRecord
from pipelines.records.snapshot_manifest import SnapshotManifest
from pipelines.records.split_transactions import SplitTransactions
from pipelines.records.window_manifest import WindowManifest
from pipelines.redo import Position, Window
from pipelines.scn import BEFORE_ALL, ChainPosition, Scn
from pipelines.table import TableId

T = TypeVar("T")


class Landing:
    """`url` may be a local path or any URL fsspec knows."""

    def __init__(self, url: str, pipeline: str) -> None:
        self._files = Files(f"{url.rstrip('/')}/{pipeline}")
        self._read: dict[str, WindowManifest] = {}  # manifests never change

    @property
    def url(self) -> str:
        return self._files.url

    def begin(self, window: Window) -> WindowManifest | None:
        """Make the window's folder; the manifest when it is published already, and there is nothing left to do."""
        self._mend(self._place_of(window))
        published = self.read_manifest(window.name)
        if published is None:
            self._files.make_folder(layout.window_folder(window))
        return published

    @crash.writer
    def write_slice(
        self,
        window: Window,
        slice_number: int,
        batches: Iterable[pa.RecordBatch],
        token: str,
        *,
        schema: pa.Schema,
        tables: Mapping[int, TableId],
        names: Iterable[TableId] = (),
        circumstance: Mapping[str, Any] | None = None,
    ) -> SliceRecord:
        """Stream one slice's rows to its file under this attempt's token, counting and hashing on the way.

        `tables` are the captured tables by object id, `names` those without one; they tell which rows are of the identity.
        """
        logs = next(s for s in window.slices if s.number == slice_number)
        tally = Tally(logs, tables, frozenset(names))
        name = layout.redo_file(token, slice_number)

        def counted() -> Iterable[pa.RecordBatch]:
            for batch in batches:
                tally.add(batch)
                yield batch

        write_parquet(self._files, f"{layout.window_folder(window)}/{name}", schema, counted())
        facts = {**(circumstance or {}), "landed_rows": tally.row_count, "unresolved_rows": tally.unresolved_count}
        return SliceRecord(
            window=window.name,
            number=slice_number,
            token=token,
            tables=tuple(sorted(str(table) for table in {*names, *tables.values()})),
            files=(name,),
            logs=tally.logs,
            counts=dict(sorted(tally.counts.items())),
            ddl=tuple(tally.ddl),
            circumstance=facts,
        )

    @crash.writer
    def publish(
        self, window: Window, tables: Sequence[TableId], slice_records: Sequence[SliceRecord], previous_end: int | None
    ) -> WindowManifest:
        """Land the window: equal work of another run counts as done, other work or a taken place is a LandingConflict."""
        manifest = build_manifest(window, tables, slice_records)
        place = self._place_of(window)
        self._mend(place)
        published = self.read_manifest(window.name)
        if published is None:
            check_place(window, self.chain_end(), previous_end)
            self._files.create_record(layout.chain_file(place), manifest)
            point("land.chain")
            self._mend(place)
            published = self.read_manifest(window.name)
        if published is None:
            raise LandingConflict("its place in the chain is taken", cure=PLACE_CURE, window=window.name)
        check_same(published, manifest)
        return published

    def _place_of(self, window: Window) -> str:
        """Exactly at a RESETLOGS a place has two names: its own is that of the incarnation that has led there, which a break
        from there would take."""
        start, end = window.start_position, self.chain_end()
        leads_there = end is not None and end.scn == start.scn and end.chain < start
        return end.chain.name if leads_there and end is not None else start.name

    @crash.writer
    def _mend(self, place: str) -> None:
        """Give the window or break that has this place in the chain its own file, if its writer died before that."""
        file = layout.chain_file(place)
        body = self._files.read(file)
        link = None if body is None else decode_link(body, self._files.shown(file))
        if isinstance(link, DeclaredGap):
            self._files.create_record(layout.break_file(place), link)
        elif link is not None and self.read_manifest(link.name) is None:
            self._files.create_record(layout.manifest_file(link.name), link)

    def _mend_last(self) -> None:
        """The same for the end of the chain, so that nobody plans its place once more."""
        for name in self._files.names(layout.CHAIN)[-1:]:
            self._mend(name.removesuffix(".json"))

    @crash.writer
    def publish_break(self, found: DeclaredGap) -> DeclaredGap:
        """Lead the chain over what is not read. Raises LandingConflict when the chain does not end at the break's start, or
        leads on by another way already."""
        self._mend(found.name)
        there = self.read_break(found.start.chain)
        if there is None:
            check_break(found, self.chain_end())
            self._files.create_record(layout.chain_file(found.name), found)
            self._mend(found.name)
            there = self.read_break(found.start.chain)
        if there is None or (there.kind, there.end) != (found.kind, found.end):
            by = "a window" if there is None else f"a break ({there.kind} to SCN {there.end.scn})"
            raise LandingConflict(f"the chain leads on by {by}", cure="look at `redolake status`", scn=found.start.scn)
        return there

    def read_break(self, start: ChainPosition) -> DeclaredGap | None:
        """Return the declared gap that begins there, or None."""
        return self._files.read_record(DeclaredGap, layout.break_file(start.name))

    def breaks(self) -> list[DeclaredGap]:
        """In the order of the chain."""
        self._mend_last()
        files = [f"{layout.BREAKS}/{name}" for name in self._files.names(layout.BREAKS)]
        return [found for file in files if (found := self._files.read_record(DeclaredGap, file)) is not None]

    @crash.writer
    def torn(self, found: DeclaredGap) -> list[dict[str, Any]] | None:
        """Which transactions the windows behind the break, up to the next one, hold without their beginning; None while there
        is no window. Each window is read once, and what was found by its end is kept."""
        windows, state = self._stretch_behind(found), SplitTransactions()
        kept = {name.removesuffix(".json") for name in self._files.names(layout.torn_folder(found.name))}
        known = max((number for number, window in enumerate(windows) if window.name in kept), default=-1)
        if known >= 0:
            file = layout.torn_file(found.name, windows[known].name)
            state = self._files.read_record(SplitTransactions, file) or state
        for window in windows[known + 1 :]:
            paths = [f"{layout.WINDOWS}/{window.name}/{name}" for name in window.files]
            state = after_next_window(state, read_columns(self._files, paths, COLUMNS))
            self.write_once(layout.torn_file(found.name, window.name), state)
        return [asdict(transaction) for transaction in state.transactions] if windows else None

    def _stretch_behind(self, found: DeclaredGap) -> list[WindowManifest]:
        """The windows from the break's end to the next break or RESETLOGS, which no transaction outlives."""
        start = found.end.chain
        ends = [b.start.chain for b in self.breaks() if b.name > found.name]
        end = min(ends, default=ChainPosition(start.resetlogs_id + 1, 0))
        behind = self.windows(start)
        return [m for m in behind if m.resetlogs_id == start.resetlogs_id and start <= m.start_position < end]

    def chain_end(self) -> Position | None:
        """Where the chain goes on: behind its last window, or where its last break leads. None when nothing is landed."""
        ends = [Position(last.dbid, last.resetlogs_id, Scn(last.end)) for last in self.last_windows(1)]
        ends += [found.end for found in self.breaks()[-1:]]
        return max(ends, key=lambda end: end.chain, default=None)

    def windows(self, after: ChainPosition = BEFORE_ALL) -> list[WindowManifest]:
        """Return the landed windows that end after a position, in the order of the chain."""
        self._mend_last()
        names = (name for name in self._files.names(layout.WINDOWS) if layout.ends_after(name, after))
        return [manifest for manifest in map(self.read_manifest, names) if manifest is not None]

    def windows_unknown_to(self, names: Container[str]) -> list[WindowManifest]:
        """Those that somebody who knows `names` has not seen yet; only they are read."""
        self._mend_last()
        unknown = (name for name in self._files.names(layout.WINDOWS) if name not in names)
        return [manifest for manifest in map(self.read_manifest, unknown) if manifest is not None]

    def files_of(self, manifest: WindowManifest) -> tuple[str, ...]:
        folder = self._files.location(f"{layout.WINDOWS}/{manifest.name}")
        return tuple(f"{folder}/{file}" for file in manifest.files)

    def last_windows(self, number: int) -> list[WindowManifest]:
        """The newest ones, in the order of the chain, without reading what lies before them."""
        self._mend_last()
        found = map(self.read_manifest, reversed(self._files.names(layout.WINDOWS)))
        return list(islice((manifest for manifest in found if manifest is not None), number))[::-1]

    def read_manifest(self, window_name: str) -> WindowManifest | None:
        """None when no such window is landed."""
        if window_name not in self._read:
            manifest = self._files.read_record(WindowManifest, layout.manifest_file(window_name))
            if manifest is None:
                return None
            self._read[window_name] = manifest
        return self._read[window_name]

    def location(self, path: str) -> str:
        """The full path or URL, for readers that open it themselves."""
        return self._files.location(path)

    def write_text(self, path: str, text: str) -> str:
        """Write a new small file; its location."""
        if not self._files.create(path, text.encode()):
            raise LandingConflict("the file is there already", cure="give each attempt a name of its own", path=path)
        return self.location(path)

    def read_text(self, location: str) -> str | None:
        """By location; None when there is no such file."""
        body = self._files.read(location.removeprefix(self._files.location("")).lstrip("/"))
        return None if body is None else body.decode()

    def write_rows(self, path: str, answers: Iterable[Any]) -> int:
        """A Parquet file of the driver's frames, e.g. for a comparison."""
        return write_parquet(self._files, path, None, frames(answers))

    def discard(self, path: str) -> None:
        """Remove a file or folder that nothing published names."""
        self._files.remove(path)

    def write_once(self, path: str, record: Any) -> bool:
        """Return False when the same record is there already. Raises LandingConflict when another one is."""
        return self._files.write_record_once(path, record)

    def read(self, kind: type[T], path: str) -> T | None:
        """Return None when there is no such file. Raises FormatTooNew, LandingConflict."""
        return self._files.read_record(kind, path)

    def names(self, folder: str) -> list[str]:
        return self._files.names(folder)

    @crash.writer
    def write_snapshot_chunk(
        self,
        table: TableId,
        scn: int,
        chunk: int,
        answers: Iterable[Any],
        token: str,
        schema: pa.Schema | None = None,
    ) -> SnapshotChunk:
        """One chunk of a table's snapshot, from the driver's frames; nothing reads it before the snapshot is published."""
        name = layout.snapshot_file(token, chunk)
        row_count = write_parquet(self._files, f"{layout.snapshot_folder(table, scn)}/{name}", schema, frames(answers))
        return {"chunk": chunk, "file": name, "row_count": row_count}

    @crash.writer
    def publish_snapshot(
        self, table: TableId, scn: int, chunks: Sequence[SnapshotChunk], circumstance: Mapping[str, Any] | None = None
    ) -> SnapshotManifest:
        """Name the chunks that make up the snapshot; a second writer gets what the first one published."""
        ordered = sorted(chunks, key=lambda c: c["chunk"])
        if [c["chunk"] for c in ordered] != list(range(len(ordered))):
            raise LandingConflict("chunks are missing or come twice", cure="read the table again", table=table, scn=scn)
        manifest = SnapshotManifest(
            table=str(table),
            scn=scn,
            row_count=sum(c["row_count"] for c in ordered),
            files=tuple(c["file"] for c in ordered),
            circumstance=circumstance or {},
        )
        self._files.create_record(f"{layout.snapshot_folder(table, scn)}/snapshot.json", manifest)
        published = self.read_snapshot(table, scn)
        if published is None or published.row_count != manifest.row_count:
            cure = "keep both attempts' files and report it: AS OF the same SCN a table has the same rows"
            raise LandingConflict("another run landed this snapshot with other rows", cure=cure, table=table, scn=scn)
        return published

    def read_snapshot(self, table: TableId, scn: int) -> SnapshotManifest | None:
        return self._files.read_record(SnapshotManifest, f"{layout.snapshot_folder(table, scn)}/snapshot.json")

    def snapshot_folder(self, table: TableId, scn: int) -> str:
        return layout.snapshot_folder(table, scn)


SnapshotChunk = dict[str, Any]
