"""Snapshots of tables: the rows AS OF an SCN, published once, and the records of their beginning."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from redolake.errors import LandingConflict, LandingDamaged, report_with
from redolake.host import crash
from redolake.land import layout
from redolake.land.cures import snapshot_again
from redolake.land.files import Files
from redolake.land.parquet import WrittenFile, frames, write_parquet
from redolake.records.file_digest import FileDigest
from redolake.records.snapshots import RedoNeededFrom, SnapshotBegun, SnapshotManifest
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId

T = TypeVar("T")
log = logging.getLogger(__name__)


class Snapshots:
    def __init__(self, files: Files) -> None:
        self._files = files

    @crash.writer
    def begin(
        self, found: DictionaryTable, scn: int, epoch: str, redo_needed_from: ChainPosition, *, is_listed: bool = True
    ) -> None:
        """Record that a snapshot was begun in one epoch of the chain. `redo_needed_from` is where the oldest transaction began
        that was open at the snapshot, as far as it `is_listed`."""
        since = layout.snapshot_since(found.table, scn, redo_needed_from)
        self._files.write_record_once(since, RedoNeededFrom(redo_needed_from.scn, is_listed))
        self._files.write_record_once(layout.snapshot_begun(found.table, scn, epoch), SnapshotBegun())
        self._files.write_record_once(layout.snapshot_dictionary(found.table, scn), found)

    def was_begun(self, table: TableId, scn: int, epoch: str) -> bool:
        file = layout.snapshot_begun(table, scn, epoch)
        return self._files.read_record(SnapshotBegun, file, snapshot_again(table)) is not None

    def scns(self, table: TableId) -> list[int]:
        """Return the SCNs at which snapshots of the table were begun or read."""
        return [int(name) for name in self._files.names(layout.snapshot_folders(table)) if name.isdigit()]

    def dictionary(self, table: TableId, scn: int) -> DictionaryTable | None:
        """Return the table as the dictionary described it when the snapshot began."""
        file = layout.snapshot_dictionary(table, scn)
        found = self._files.read_record(DictionaryTable, file, snapshot_again(table))
        return None if found is None else self._of(table, found.table == table, found, file)

    def redo_needed_from(self, table: TableId, scn: int) -> ChainPosition | None:
        """Return the lowest position from which a snapshot at this SCN needs redo; None when none was begun."""
        positions = map(layout.since_of, self._files.names(layout.snapshot_folder(table, scn)))
        return min((position for position in positions if position is not None), default=None)

    def is_listed(self, table: TableId, scn: int) -> bool:
        """Return whether it was shown which transactions were open at a snapshot."""
        files = [name for name in self._files.names(layout.snapshot_folder(table, scn)) if layout.since_of(name) is not None]
        paths = (f"{layout.snapshot_folder(table, scn)}/{name}" for name in files)
        found = (self._files.read_record(RedoNeededFrom, path, snapshot_again(table)) for path in paths)
        return all(one is None or one.is_listed for one in found)

    @crash.writer
    def write_rows(
        self, table: TableId, scn: int, answers: Iterable[Any], token: str, schema: pa.Schema | None = None
    ) -> WrittenFile:
        """Write the driver's frames to a Parquet file. Nothing reads it before the snapshot is published."""
        name = layout.snapshot_rows(token)
        return write_parquet(self._files, f"{layout.snapshot_folder(table, scn)}/{name}", schema, frames(answers))

    @crash.writer
    def write_for_comparison(
        self, token: str, object_id: int, answers: Iterable[Any], number: int = 0
    ) -> tuple[str, FileDigest]:
        """Write the driver's frames to a Parquet file for one comparison; return its location, size and hash."""
        file = layout.verify_file(token, object_id, number)
        written = write_parquet(self._files, file, None, frames(answers))
        return self._files.location(f"{file.rpartition('/')[0]}/{written.name}"), written.digest

    @crash.writer
    def publish_manifest(
        self, table: TableId, scn: int, files: Sequence[WrittenFile], scns: Mapping[str, int] | None = None, filter: str = ""
    ) -> SnapshotManifest:
        """Publish the files of the snapshot; `scns` are those of files AS OF another SCN, `filter` says by what Oracle chose
        the rows. A second writer gets the manifest of the first, or replaces it where its files are damaged. Raises
        LandingConflict when the first has another number of rows."""
        manifest = SnapshotManifest(
            table=str(table),
            scn=scn,
            row_count=sum(file.rows for file in files),
            files=tuple(file.name for file in files),
            digests={file.name: file.digest for file in files},
            scns=scns or {},
            filter=filter,
        )
        file = layout.snapshot_manifest(table, scn)
        if not self._files.create_record(file, manifest) and self.whole(table, scn) is None:
            self._files.replace_record(file, manifest)
        log.info("landed the snapshot of %s AS OF SCN %s: %s rows", table, scn, manifest.row_count)
        published = self.manifest(table, scn)
        if published is None or published.row_count != manifest.row_count:
            folder = f"the folder snapshots/{table}/{scn}/ of the landing"
            cure = f"run `redolake snapshot {table} --replace`, which reads AS OF a new SCN; and {report_with(folder)}"
            raise LandingConflict("another run landed this snapshot with other rows", cure=cure, table=table, scn=scn)
        return published

    def manifest(self, table: TableId, scn: int) -> SnapshotManifest | None:
        """Return None when no such snapshot is published."""
        file = layout.snapshot_manifest(table, scn)
        found = self._files.read_record(SnapshotManifest, file, snapshot_again(table))
        return None if found is None else self._of(table, (found.table, found.scn) == (str(table), scn), found, file)

    def whole(self, table: TableId, scn: int) -> SnapshotManifest | None:
        """Return the manifest of a published snapshot; None where it, or one of its files, is damaged."""
        try:
            manifest = self.manifest(table, scn)
            if manifest is not None:
                for name in manifest.files:
                    self._files.check(f"{layout.snapshot_folder(table, scn)}/{name}", manifest.digests.get(name))
        except LandingDamaged as error:
            log.warning("%s AS OF SCN %s is read again: %s", table, scn, error)
            return None
        return manifest

    def _of(self, table: TableId, is_own: bool, found: T, file: str) -> T:
        """Raise LandingDamaged for the file of another snapshot."""
        if not is_own:
            what = "the file is of another snapshot"
            raise LandingDamaged(what, cure=snapshot_again(table), path=self._files.path_text(file), table=table)
        return found

    def files_of(self, table: TableId, scn: int, manifest: SnapshotManifest) -> tuple[str, ...]:
        """Return the full paths of the snapshot's Parquet files."""
        folder = self._files.location(layout.snapshot_folder(table, scn))
        return tuple(f"{folder}/{file}" for file in manifest.files)

    def digests_of(self, table: TableId, scn: int, manifest: SnapshotManifest) -> dict[str, FileDigest]:
        """Return size and hash of the snapshot's files by their full paths."""
        folder = self._files.location(layout.snapshot_folder(table, scn))
        return {f"{folder}/{file}": one for file, one in manifest.digests.items()}
