"""The chunks of a large table's snapshot: the plan, a manifest for each chunk that was read, and who paused it.

Each file is written once, so that any number of processes and hosts may read chunks of one snapshot: what has a manifest is not
read again, and of two that read one chunk at once the first manifest counts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from redolake.errors import LandingDamaged
from redolake.host import crash
from redolake.host.sealed_text import SealBroken, seal, unseal
from redolake.land import layout
from redolake.land.cures import snapshot_again
from redolake.land.files import Files
from redolake.land.parquet import WrittenFile, frames, write_parquet
from redolake.records.pauses import SnapshotPause
from redolake.records.snapshots import ChunkManifest, ChunkPlan, ChunkScn, SnapshotGivenUp
from redolake.values.chunks import Chunk
from redolake.values.table import TableId

log = logging.getLogger(__name__)


def each_limit(chunks: Iterable[Chunk], change: Callable[[str], str]) -> tuple[Chunk, ...]:
    return tuple(
        replace(chunk, low=chunk.low and change(chunk.low), high=chunk.high and change(chunk.high)) for chunk in chunks
    )


class Chunks:
    def __init__(self, files: Files) -> None:
        self._files = files

    @crash.writer
    def begin(self, table: TableId, scn: int, plan: ChunkPlan) -> None:
        """Publish the plan. A second writer gets that of the first: the ranges of both cover the table. Limits that are values
        of a key are encrypted where the rows are."""
        key = self._files.rows_key() if plan.by == "key" else None
        if key is not None:
            plan = replace(plan, chunks=each_limit(plan.chunks, partial(seal, key)), is_sealed=True)
        self._files.create_record(layout.chunk_plan(table, scn), plan)

    def plan(self, table: TableId, scn: int) -> ChunkPlan | None:
        """Return how the table is cut; None where it is read in one piece. Raises LandingDamaged for another table's plan."""
        file = layout.chunk_plan(table, scn)
        found = self._files.read_record(ChunkPlan, file, snapshot_again(table))
        if found is not None and (found.table, found.scn) != (str(table), scn):
            raise self._damage(table, file, "the file is of another snapshot")
        if found is None or not found.is_sealed:
            return found
        try:
            return replace(found, chunks=each_limit(found.chunks, unseal))
        except SealBroken as error:
            raise self._damage(table, file, "an encrypted limit of a chunk is damaged") from error

    def read(self, table: TableId, scn: int) -> dict[int, ChunkManifest]:
        """Return the chunks that were read, by their numbers."""
        names = set(self._files.names(layout.snapshot_folder(table, scn)))
        plan = self.plan(table, scn)
        numbers = [] if plan is None else [c.number for c in plan.chunks if layout.chunk_name(c.number) in names]
        found = {number: self._readable(table, scn, number) for number in numbers}
        return {number: one for number, one in found.items() if one is not None}

    def _readable(self, table: TableId, scn: int, number: int) -> ChunkManifest | None:
        try:
            return self.chunk(table, scn, number)
        except LandingDamaged as error:
            log.warning("chunk %s of %s AS OF SCN %s is read again: %s", number, table, scn, error)
            return None

    def numbers(self, table: TableId, scn: int) -> set[int]:
        """Return the numbers of the chunks that were read, by their names alone."""
        numbers = map(layout.chunk_number, self._files.names(layout.snapshot_folder(table, scn)))
        return {number for number in numbers if number is not None}

    def chunk(self, table: TableId, scn: int, number: int) -> ChunkManifest | None:
        file = layout.chunk_manifest(table, scn, number)
        found = self._files.read_record(ChunkManifest, file, snapshot_again(table))
        if found is not None and (found.table, found.number) != (str(table), number):
            raise self._damage(table, file, "the file is of another chunk")
        return found

    @crash.writer
    def write_rows(self, table: TableId, scn: int, answers: Iterable[Any], token: str) -> WrittenFile:
        """Write the driver's frames to a Parquet file. Nothing reads it before its chunk is published."""
        return write_parquet(
            self._files, f"{layout.snapshot_folder(table, scn)}/{layout.snapshot_rows(token)}", None, frames(answers)
        )

    @crash.writer
    def publish(self, table: TableId, scn: int, chunk: ChunkManifest) -> ChunkManifest:
        """Publish a chunk. A second reader gets the manifest of the first, or replaces it where its file is damaged."""
        file = layout.chunk_manifest(table, scn, chunk.number)
        if not self._files.create_record(file, chunk) and not self.is_whole(table, scn, chunk.number):
            self._files.replace_record(file, chunk)
        found = self.chunk(table, scn, chunk.number)
        assert found is not None
        return found

    def is_whole(self, table: TableId, scn: int, number: int) -> bool:
        """Return whether a chunk was read, and its file is as it was written."""
        try:
            found = self.chunk(table, scn, number)
            if found is not None:
                self._files.check(f"{layout.snapshot_folder(table, scn)}/{found.file}", found.digest)
        except LandingDamaged as error:
            log.warning("chunk %s of %s AS OF SCN %s is read again: %s", number, table, scn, error)
            return False
        return found is not None

    @crash.writer
    def record_later(self, table: TableId, scn: int, later: ChunkScn) -> None:
        """Record an SCN at which chunks of the snapshot are read from now on."""
        self._files.create_record(layout.later_scn(table, scn, later.scn), later)

    def later_scns(self, table: TableId, scn: int) -> list[int]:
        """Return these SCNs, ascending."""
        found = map(layout.later_scn_of, self._files.names(layout.snapshot_folder(table, scn)))
        return [later for later in found if later is not None]

    @crash.writer
    def give_up(self, table: TableId, scn: int, because: str) -> None:
        """Record that the snapshot is not continued, and its next one begins with no chunk read."""
        self._files.create_record(layout.given_up(table, scn), SnapshotGivenUp(because))

    def is_given_up(self, table: TableId, scn: int) -> bool:
        return self._files.exists(layout.given_up(table, scn))

    @crash.writer
    def pause(self, table: TableId, pause: SnapshotPause) -> None:
        self._files.replace_record(layout.snapshot_pause(table), pause)

    def pause_of(self, table: TableId) -> SnapshotPause | None:
        """Return who has paused the table's snapshots; None if they may go on."""
        found = self._files.read_record(SnapshotPause, layout.snapshot_pause(table))
        return found if found is not None and found.is_paused else None

    def pauses(self, tables: Iterable[TableId]) -> dict[TableId, SnapshotPause]:
        """Return the pauses of those of the tables whose snapshots may not go on."""
        names = set(self._files.names(layout.PAUSES))
        asked = [table for table in tables if layout.snapshot_pause(table).rpartition("/")[2] in names]
        found = {table: self.pause_of(table) for table in asked}
        return {table: pause for table, pause in found.items() if pause is not None}

    def _damage(self, table: TableId, file: str, what: str) -> LandingDamaged:
        return LandingDamaged(what, cure=snapshot_again(table), path=self._files.path_text(file), table=table)


def as_written(chunks: Mapping[int, ChunkManifest]) -> list[WrittenFile]:
    """Return the files of chunks, in their order."""
    return [WrittenFile(one.file, one.rows, one.digest) for _, one in sorted(chunks.items())]


def later_files(chunks: Mapping[int, ChunkManifest], scn: int) -> dict[str, int]:
    """Return the SCNs of the files that are not AS OF that one."""
    return {one.file: one.scn for one in chunks.values() if one.scn != scn}
