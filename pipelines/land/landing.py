"""The landing of one pipeline: windows written once, published in a chain, and read back.

A window exists when its manifest does. The manifest is first created under the name of its place in the chain, which only one
writer can do, and then in the window's own folder; a crash between the two is mended by whoever comes next.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from pipelines.crash import point
from pipelines.errors import LandingConflict
from pipelines.formats import check_format
from pipelines.land import layout
from pipelines.land.breaks import Break, is_break, place_name
from pipelines.land.chain import PLACE_CURE, build_manifest, check_break, check_place, check_same
from pipelines.land.files import Files, as_bytes
from pipelines.land.parquet import frames, read_columns, write_parquet
from pipelines.land.record import SliceRecord
from pipelines.land.tally import Tally
from pipelines.land.torn import COLUMNS, Torn, behind_next_window
from pipelines.land.torn import FORMAT as TORN_FORMAT
from pipelines.manifest import Manifest, as_json, from_json
from pipelines.redo import Position, Window
from pipelines.scn import Scn
from pipelines.table import TableId

SNAPSHOT_FORMAT = 1


class Landing:
    """`url` may be a local path or any URL fsspec knows."""

    def __init__(self, url: str, pipeline: str) -> None:
        self._files = Files(f"{url.rstrip('/')}/{pipeline}")
        self._read: dict[str, Manifest] = {}  # manifests never change

    @property
    def url(self) -> str:
        return self._files.url

    def begin(self, window: Window) -> Manifest | None:
        """Make the window's folder; the manifest when it is published already, and there is nothing left to do."""
        self._mend(self._place_of(window))
        published = self.read_manifest(window.name)
        if published is None:
            self._files.make_folder(layout.window_folder(window))
        return published

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

    def publish(
        self, window: Window, tables: Sequence[TableId], slice_records: Sequence[SliceRecord], previous_end: int | None
    ) -> Manifest:
        """Land the window: equal work of another run counts as done, other work or a taken place is a LandingConflict."""
        manifest = build_manifest(window, tables, slice_records)
        place = self._place_of(window)
        self._mend(place)
        published = self.read_manifest(window.name)
        if published is None:
            check_place(window, self.chain_end(), previous_end)
            self._files.create(layout.chain_file(place), as_bytes(as_json(manifest)))
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
        start, end = (window.resetlogs_id, int(window.scns.start)), self.chain_end()
        leads_there = end is not None and end.scn == start[1] and end.resetlogs_id < start[0]
        return place_name(end.resetlogs_id if leads_there and end is not None else start[0], start[1])

    def _mend(self, place: str) -> None:
        """Give the window or break that has this place in the chain its own file, if its writer died before that."""
        holder = self._files.read_json(layout.chain_file(place))
        if holder is not None and is_break(holder):
            self._files.create(layout.break_file(place), as_bytes(holder))
        elif holder is not None and self.read_manifest(name := from_json(holder, place).name) is None:
            self._files.create(layout.manifest_file(name), as_bytes(holder))

    def _mend_last(self) -> None:
        """The same for the end of the chain, so that nobody plans its place once more."""
        for name in self._files.names(layout.CHAIN)[-1:]:
            self._mend(name.removesuffix(".json"))

    def publish_break(self, found: Break) -> Break:
        """Lead the chain over what is not read. Raises LandingConflict when the chain does not end at the break's start, or
        leads on by another way already."""
        self._mend(found.name)
        there = self.read_break(found.start.resetlogs_id, int(found.start.scn))
        if there is None:
            check_break(found, self.chain_end())
            self._files.create(layout.chain_file(found.name), as_bytes(found.to_json()))
            self._mend(found.name)
            there = self.read_break(found.start.resetlogs_id, int(found.start.scn))
        if there is None or (there.kind, there.end) != (found.kind, found.end):
            by = "a window" if there is None else f"a break ({there.kind} to SCN {there.end.scn})"
            raise LandingConflict(f"the chain leads on by {by}", cure="look at `redolake status`", scn=found.start.scn)
        return there

    def read_break(self, resetlogs_id: int, scn: int) -> Break | None:
        """The break that leads on from there, or None."""
        file = layout.break_file(place_name(resetlogs_id, scn))
        body = self._files.read_json(file)
        return None if body is None else Break.from_json(body, self._files.shown(file))

    def breaks(self) -> list[Break]:
        """In the order of the chain."""
        self._mend_last()
        files = [f"{layout.BREAKS}/{name}" for name in self._files.names(layout.BREAKS)]
        return [Break.from_json(self._files.read_json(file) or {}, self._files.shown(file)) for file in files]

    def torn(self, found: Break) -> list[dict[str, Any]] | None:
        """Which transactions the windows behind the break, up to the next one, hold without their beginning; None while there
        is no window. Each window is read once, and what was found by its end is kept."""
        windows, state = self._stretch_behind(found), Torn()
        kept = {name.removesuffix(".json") for name in self._files.names(layout.torn_folder(found.name))}
        known = max((number for number, window in enumerate(windows) if window.name in kept), default=-1)
        if known >= 0:
            file = layout.torn_file(found.name, windows[known].name)
            body = self._files.read_json(file) or {}
            check_format(body, TORN_FORMAT, self._files.shown(file))
            state = Torn.from_json(body)
        for window in windows[known + 1 :]:
            paths = [f"{layout.WINDOWS}/{window.name}/{name}" for name in window.files]
            state = behind_next_window(state, read_columns(self._files, paths, COLUMNS))
            self.write_json_once(layout.torn_file(found.name, window.name), state.to_json())
        return state.transactions if windows else None

    def _stretch_behind(self, found: Break) -> list[Manifest]:
        """The windows from the break's end to the next break or RESETLOGS, which no transaction outlives."""
        start = (found.end.resetlogs_id, int(found.end.scn))
        ends = [(b.start.resetlogs_id, int(b.start.scn)) for b in self.breaks() if b.name > found.name]
        end = min(ends, default=(start[0] + 1, 0))
        behind = self.windows(start)
        return [m for m in behind if m.resetlogs_id == start[0] and start <= (m.resetlogs_id, m.start) < end]

    def chain_end(self) -> Position | None:
        """Where the chain goes on: behind its last window, or where its last break leads. None when nothing is landed."""
        ends = [Position(last.dbid, last.resetlogs_id, Scn(last.end)) for last in self.last_windows(1)]
        ends += [found.end for found in self.breaks()[-1:]]
        return max(ends, key=lambda end: (end.resetlogs_id, end.scn), default=None)

    def windows(self, behind: Place = (0, 0)) -> list[Manifest]:
        """The landed windows that end behind a place (incarnation, SCN), in the order of the chain."""
        self._mend_last()
        names = (name for name in self._files.names(layout.WINDOWS) if layout.ends_behind(name, *behind))
        return [manifest for manifest in map(self.read_manifest, names) if manifest is not None]

    def windows_unknown_to(self, names: Container[str]) -> list[Manifest]:
        """Those that somebody who knows `names` has not seen yet; only they are read."""
        self._mend_last()
        unknown = (name for name in self._files.names(layout.WINDOWS) if name not in names)
        return [manifest for manifest in map(self.read_manifest, unknown) if manifest is not None]

    def files_of(self, manifest: Manifest) -> tuple[str, ...]:
        folder = self._files.location(f"{layout.WINDOWS}/{manifest.name}")
        return tuple(f"{folder}/{file}" for file in manifest.files)

    def last_windows(self, number: int) -> list[Manifest]:
        """The newest ones, in the order of the chain, without reading what lies before them."""
        self._mend_last()
        found = map(self.read_manifest, reversed(self._files.names(layout.WINDOWS)))
        return list(islice((manifest for manifest in found if manifest is not None), number))[::-1]

    def read_manifest(self, window_name: str) -> Manifest | None:
        """None when no such window is landed."""
        if window_name not in self._read:
            file = layout.manifest_file(window_name)
            body = self._files.read_json(file)
            if body is None:
                return None
            self._read[window_name] = from_json(body, self._files.shown(file))
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

    def write_json_once(self, path: str, body: dict[str, Any]) -> bool:
        """True when written, False when the same was there; another content is a LandingConflict."""
        return self._files.write_json_once(path, body)

    def read_json(self, path: str) -> dict[str, Any] | None:
        return self._files.read_json(path)

    def names(self, folder: str) -> list[str]:
        return self._files.names(folder)

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

    def publish_snapshot(
        self, table: TableId, scn: int, chunks: Sequence[SnapshotChunk], circumstance: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Name the chunks that make up the snapshot; a second writer gets what the first one published."""
        ordered = sorted(chunks, key=lambda c: c["chunk"])
        if [c["chunk"] for c in ordered] != list(range(len(ordered))):
            raise LandingConflict("chunks are missing or come twice", cure="read the table again", table=table, scn=scn)
        body = {
            "format": SNAPSHOT_FORMAT,
            "table": str(table),
            "scn": scn,
            "row_count": sum(c["row_count"] for c in ordered),
            "files": [c["file"] for c in ordered],
            "circumstance": dict(circumstance or {}),
        }
        path = f"{layout.snapshot_folder(table, scn)}/snapshot.json"
        self._files.create(path, as_bytes(body))
        published = self.read_snapshot(table, scn)
        if published is None or published["row_count"] != body["row_count"]:
            cure = "keep both attempts' files and report it: AS OF the same SCN a table has the same rows"
            raise LandingConflict("another run landed this snapshot with other rows", cure=cure, table=table, scn=scn)
        return published

    def read_snapshot(self, table: TableId, scn: int) -> dict[str, Any] | None:
        file = f"{layout.snapshot_folder(table, scn)}/snapshot.json"
        body = self._files.read_json(file)
        check_format(body or {}, SNAPSHOT_FORMAT, self._files.shown(file))
        return body

    def snapshot_folder(self, table: TableId, scn: int) -> str:
        return layout.snapshot_folder(table, scn)


SnapshotChunk = dict[str, Any]
Place = tuple[int, int]
