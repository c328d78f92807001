"""The landed windows: written once, published in the chain, and read back."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any

import pyarrow as pa

from redolake.errors import LandingConflict
from redolake.host import crash
from redolake.host.crash import point
from redolake.land import layout
from redolake.land.chain import Chain
from redolake.land.chain_rules import TAKEN_CURE, build_manifest, check_position, check_same
from redolake.land.parquet import WrittenFile, frames, open_checked, read_columns, write_parquet
from redolake.land.quotes import Quotes, has_single_quotes
from redolake.land.tally import Tally
from redolake.records.batches.spec import RereadFile
from redolake.records.file_digest import Digests, FileDigest
from redolake.records.windows import (
    DOUBTFUL_QUOTE_ROWS,
    OTHER_NAMES,
    OTHERS_OBJECTS,
    SINGLE_QUOTE_ROWS,
    SINGLE_QUOTES_KNOWN,
    UNKNOWN_OBJECTS,
    RereadRows,
    SliceRecord,
    WholeTable,
    WindowManifest,
)
from redolake.values.landed_schema import LANDED_SCHEMA
from redolake.values.parts import in_parts
from redolake.values.redo import Window
from redolake.values.scn import BEFORE_ALL, ChainPosition
from redolake.values.table import NOT_RENAMED, Renamed, TableId


@dataclass(frozen=True, slots=True)
class Reread:
    """What was read again for a window: changed rows, and whole tables. `later_file` names the rows that wait for their
    transaction's end."""

    tables: tuple[RereadRows, ...] = ()
    later_file: str | None = None
    whole: tuple[WholeTable, ...] = ()


NOTHING_REREAD = Reread()
READ_AT_ONCE = 16
KEPT = 1000  # manifests in memory, each with the names of all tables
MINE_AGAIN = "run again: the window has not landed, and is mined again"
log = logging.getLogger(__name__)


def digests_of(manifest: WindowManifest, records: Iterable[SliceRecord], written: Digests) -> dict[str, FileDigest]:
    """Return size and hash of each file that the manifest names."""
    known = {**written, **{name: one for record in records for name, one in record.digests.items()}}
    return {name: known[name] for name in manifest.all_files if name in known}


class Windows:
    def __init__(self, chain: Chain, quotes: Quotes) -> None:
        self._chain, self._files, self._quotes = chain, chain.files, quotes
        self.files = chain.files
        self._written: dict[str, FileDigest] = {}  # files of this attempt, besides those of slices; their names are unique

    @crash.writer
    def write_slice(
        self,
        window: Window,
        slice_number: int,
        batches: Iterable[pa.RecordBatch],
        token: str,
        *,
        tables: Mapping[int, TableId],
        names: Iterable[TableId] = (),
        renamed: Renamed = NOT_RENAMED,
    ) -> SliceRecord:
        """Write one slice's rows to a file of this attempt, and count and hash them on the way.

        `tables` are the captured tables by object id, `names` those without one; `renamed` has the names in Oracle of
        those that have another one there. Only their rows are part of the identity.
        """
        logs = next(s for s in window.slices if s.number == slice_number)
        tally = Tally(logs, tables, frozenset(names), renamed)
        name = layout.redo_file(token, slice_number)

        def count() -> Iterable[pa.RecordBatch]:
            for batch in batches:
                tally.add(batch)
                yield batch

        written = write_parquet(self._files, layout.in_window(window.name, name), LANDED_SCHEMA, count())
        facts = {
            "landed_rows": tally.row_count,
            "unresolved_rows": tally.unresolved_count,
            SINGLE_QUOTE_ROWS: tally.single_quote_count,
            DOUBTFUL_QUOTE_ROWS: dict(sorted(tally.doubtful_quotes.items())),
            OTHER_NAMES: {table: sorted(names) for table, names in sorted(tally.other_names.items())},
            UNKNOWN_OBJECTS: [list(astuple(one)) for _, one in sorted(tally.unknown_objects.items())],
            OTHERS_OBJECTS: sorted(tally.others_objects),
        }
        if tally.single_quote_count:
            log.warning(
                "window %s, slice %s: LogMiner left quotes inside values single in %s row(s); apply reads those that have one "
                "reading, and holds a table for others",
                window.name, slice_number, tally.single_quote_count,
            )  # fmt: skip
        return SliceRecord(
            window=window.name,
            number=slice_number,
            token=token,
            tables=tuple(sorted(str(table) for table in {*names, *tables.values()})),
            files=(written.name,),
            logs=tally.logs,
            counts=dict(sorted(tally.counts.items())),
            ddl=tuple(tally.ddl),
            circumstance=facts,
            digests={written.name: written.digest},
        )

    @crash.writer
    def discard_slice(self, record: SliceRecord) -> None:
        """Remove the files of a slice that no manifest names."""
        for file in record.files:
            self._files.remove(layout.in_window(record.window, file))

    @crash.writer
    def publish(
        self,
        window: Window,
        tables: Sequence[TableId],
        slice_records: Sequence[SliceRecord],
        previous_end: int | None,
        reread: Reread = NOTHING_REREAD,
    ) -> WindowManifest:
        """Land the window, or return its manifest when another run has landed the same rows. Raises LandingConflict when
        the chain continues in another way, or another run found other rows."""
        manifest = replace(
            build_manifest(window, tables, slice_records),
            reread=reread.tables,
            reread_later=reread.later_file,
            whole=reread.whole,
        )
        manifest = replace(manifest, digests=digests_of(manifest, slice_records, self._written))
        position = self._position_of(window)
        self._chain.finish(position)
        published = self.manifest(window.name)
        if published is None:
            check_position(window, self._chain.end(), previous_end)
            known = self._quotes.evidence() is not None
            if has_single_quotes(slice_records) and not known:
                self._quotes.record_evidence(window.name, self.after())  # first: no batch reads the window without it
            if has_single_quotes(slice_records) or known:
                manifest = replace(manifest, circumstance={**manifest.circumstance, SINGLE_QUOTES_KNOWN: True})
            self._chain.continue_with(position, manifest)
            point("land.chain")
            self._chain.finish(position)
            published = self.manifest(window.name)
            rows = sum(tally.row_count for record in slice_records for tally in record.logs)
            log.info("landed window %s: %s log(s), %s rows", window.name, len(manifest.logs), rows)
        if published is None:
            raise LandingConflict("another window has its position in the chain", cure=TAKEN_CURE, window=window.name)
        check_same(published, manifest)
        return published

    @crash.writer
    def replace_redo(self, landed: WindowManifest, again: WindowManifest, records: Sequence[SliceRecord]) -> WindowManifest:
        """Put the redo that was mined again in the place of a landed window's, and remove the old files. Rows that were read
        again stay. The manifest and its copy in the chain are each replaced at once; a killed attempt is repeated."""
        check_same(landed, again)
        kept = {name: one for name, one in landed.digests.items() if name not in landed.files}
        made = replace(landed, files=again.files, circumstance={**landed.circumstance, **again.circumstance})
        made = replace(made, digests=digests_of(made, records, kept))
        self._chain.replace_manifest(made)
        for file in set(landed.files) - set(made.files):
            self._files.remove(layout.in_window(landed.name, file))
        return made

    @crash.writer
    def discard_from(self, position: ChainPosition) -> tuple[str, ...]:
        """Give up the windows from a position on, the newest first, so that the chain has no hole meanwhile. Return their
        names."""
        names = [name for name in self._chain.window_names() if layout.ends_after(name, position)]
        for name in reversed(names):
            self._chain.remove_last(name)
        return tuple(names)

    @crash.writer
    def write_reread(
        self, window: str, token: str, number: int, answers: Iterable[Any], *, before: bool = False
    ) -> tuple[str, int]:
        """Write the driver's frames to a file that no manifest names yet; return its name and number of rows."""
        file = layout.in_window(window, layout.reread_file(token, number, before=before))
        return self._note(write_parquet(self._files, file, None, frames(answers)))

    @crash.writer
    def write_whole(self, window: str, token: str, answers: Iterable[Any]) -> tuple[str, int]:
        """Write the driver's frames of a whole table to a file that no manifest names yet; return its name and rows."""
        file = layout.in_window(window, layout.whole_file(token))
        return self._note(write_parquet(self._files, file, None, frames(answers)))

    @crash.writer
    def write_reread_later(self, window: str, token: str, rows: pa.Table) -> str:
        file = layout.in_window(window, layout.reread_later_file(token))
        return self._note(write_parquet(self._files, file, rows.schema, rows.to_batches()))[0]

    def _note(self, written: WrittenFile) -> tuple[str, int]:
        """Keep the file's digest for the manifest that will name it."""
        self._written[written.name] = written.digest
        return written.name, written.rows

    def reread_later(self, manifest: WindowManifest) -> pa.Table | None:
        """Return the rows that wait for the end of their transaction; None if there are none. Raises LandingDamaged."""
        if manifest.reread_later is None:
            return None
        file = layout.in_window(manifest.name, manifest.reread_later)
        with open_checked(self._files, file, manifest.digests.get(manifest.reread_later)) as parquet:
            return parquet.read()

    def redo_columns(
        self, window: str, records: Sequence[SliceRecord | WindowManifest], columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Yield some columns of the rows of mined slices, or of a landed window."""
        digests = {layout.in_window(window, name): one for r in records for name, one in r.digests.items()}
        paths = [layout.in_window(window, file) for record in records for file in record.files]
        return read_columns(self._files, paths, columns, digests, MINE_AGAIN)

    def _position_of(self, window: Window) -> str:
        """Return the name of the window's start. Exactly at a RESETLOGS the start has a name in either incarnation; a gap from
        there would have the older one, so the window takes it too."""
        start, end = window.start_position, self._chain.end()
        is_at_resetlogs = end is not None and end.scn == start.scn and end.chain_position < start
        return end.chain_position.name if is_at_resetlogs and end is not None else start.name

    def manifest(self, window: str) -> WindowManifest | None:
        """Return None when no such window is landed."""
        return self._chain.manifest(window)

    def window_at(self, position: ChainPosition) -> WindowManifest | None:
        """Return the window that the chain names at a position, also where the window's own folder is gone."""
        return self._chain.window_at(position.name)

    def after(self, position: ChainPosition = BEFORE_ALL) -> list[WindowManifest]:
        """Return the landed windows that end after a position, in the order of the chain."""
        return list(self.each_after(position))

    def names_after(self, position: ChainPosition) -> list[str]:
        """Return the names of the landed windows that end after a position, in the order of the chain."""
        return list(self._chain.names_after(position))

    def each_after(self, position: ChainPosition) -> Iterator[WindowManifest]:
        """Yield what `after` returns; a manifest is read when it is asked for."""
        return self._read(self._chain.names_after(position))

    def newest_first(self) -> Iterator[WindowManifest]:
        """Yield the landed windows in the reverse order of the chain. A manifest is read when it is asked for; only the newest
        are kept in memory."""
        names = self._chain.newest_names()
        yield from self._read(islice(names, KEPT))
        yield from self.each_once(names)

    def names(self) -> list[str]:
        """Return the names of the landed windows in the order of the chain."""
        return self._chain.window_names()

    def until(self, position: ChainPosition) -> list[str]:
        """Return the names of the landed windows that end at a position or before, in the order of the chain."""
        return [name for name in self._chain.window_names() if not layout.ends_after(name, position)]

    def each_once(self, names: Iterable[str]) -> Iterator[WindowManifest]:
        """Yield the manifests of windows, read several side by side, and keep none in memory."""
        with ThreadPoolExecutor(READ_AT_ONCE) as pool:
            for some in in_parts(names, READ_AT_ONCE):
                yield from (manifest for manifest in pool.map(self._chain.read_once, some) if manifest is not None)

    def landing_time(self, window: str) -> datetime | None:
        """Return when the store says the window's manifest was written: when it landed, or was mined again."""
        return self._files.time_of(layout.window_manifest(window))

    def newest_names(self) -> Iterator[str]:
        """Yield the names of the landed windows in the reverse order of the chain."""
        return self._chain.newest_names()

    def with_scn(self, scn: int) -> list[WindowManifest]:
        """Return the landed windows that contain an SCN: one in each incarnation at most."""
        return list(self._read(name for name in self._chain.window_names() if layout.contains(name, scn)))

    def each(self, names: Sequence[str]) -> Iterator[WindowManifest]:
        """Yield the manifests of windows. Those of a few are kept for who asks next; those of years would fill the memory."""
        return self._read(names) if len(names) <= KEPT else self.each_once(names)

    def with_ddl(self) -> list[WindowManifest]:
        """Return the landed windows that contain DDL, in the order of the chain."""
        return [manifest for manifest in self.each(self.names()) if manifest.ddl]

    def last(self, number: int) -> list[WindowManifest]:
        """Return the newest windows in the order of the chain, without reading older ones."""
        return self._chain.last_windows(number)

    def _read(self, names: Iterable[str]) -> Iterator[WindowManifest]:
        return (manifest for manifest in map(self.manifest, names) if manifest is not None)

    def files_of(self, manifest: WindowManifest) -> tuple[str, ...]:
        """Return the full paths of the window's Parquet files."""
        return tuple(self.file_of(manifest, file) for file in manifest.files)

    def digests_of(self, manifest: WindowManifest) -> dict[str, FileDigest]:
        """Return size and hash of the window's files by their full paths."""
        return {self.file_of(manifest, file): one for file, one in manifest.digests.items()}

    def file_of(self, manifest: WindowManifest, file: str) -> str:
        """Return the full path of one of the window's files."""
        return f"{self._files.location(layout.window_folder(manifest.name))}/{file}"

    def reread_of(self, manifest: WindowManifest) -> tuple[RereadFile, ...]:
        """Return the files with what was read again for the window."""
        folder = self._files.location(layout.window_folder(manifest.name))
        return tuple(
            RereadFile(
                TableId.parse(one.table),
                one.scn,
                f"{folder}/{one.file}",
                one.late,
                None if one.before is None else f"{folder}/{one.before}",
                one.bases,
                one.asked,
            )
            for one in manifest.reread
            if one.file is not None
        )
