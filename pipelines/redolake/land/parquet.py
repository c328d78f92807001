"""Writes Arrow batches to one Parquet file in row groups of a useful size, in constant memory, and reads them back.

Each page has a checksum, which Spark and pyarrow compare when they read it. The headers of pages and the footer have none, so
the file's size and hash are returned for the manifest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from redolake.errors import LandingDamaged, ValueDoesNotFit, without_breaks
from redolake.host.encrypted_parquet import encrypted_name, encryption_properties, properties_for
from redolake.land.files import Files
from redolake.records.codec import DAMAGED
from redolake.records.file_digest import Digests, FileDigest
from redolake.values.landed_schema import LANDED_SCHEMA
from redolake.values.table import file_names

# A group is written whole, from memory. Twice the size costs 50 MB more in each mining process, and saves 0.5 % of the file.
GROUP_ROWS, GROUP_BYTES = 64 * 1024, 32 * 2**20


def frames(answers: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of the driver's frames (Arrow PyCapsule streams); an empty frame yields one batch without rows."""
    for answer in answers:
        table = pa.table(answer)
        if (names := file_names(table.column_names)) != table.column_names:
            table = table.rename_columns(names)
        yield from table.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]


# A dictionary of values that hardly repeat is built in vain, and minima of text serve no reader. Snappy would cost a third less
# than zstd, but landed redo is kept, and would need two thirds more space: docs/performance.md has what was compared.
DISTINCT = frozenset({"ordinal", "rs_id", "scn", "row_id", "sql_redo"})
OTHER_OPTIONS: Mapping[str, Any] = {"compression": "zstd", "write_page_checksum": True}
LANDED_OPTIONS: Mapping[str, Any] = {
    **OTHER_OPTIONS,
    "use_dictionary": [name for name in LANDED_SCHEMA.names if name not in DISTINCT],
    "write_statistics": [field.name for field in LANDED_SCHEMA if not pa.types.is_string(field.type)],
}


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """`name` is relative to the folder in which a manifest will name the file."""

    name: str
    rows: int
    digest: FileDigest


class HashedFile:
    """A file that is written from its beginning to its end, and hashed on the way."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out, self._hash, self._bytes = out, hashlib.sha256(), 0

    def write(self, data: Any) -> int:
        self._hash.update(data)
        self._bytes += len(data)
        return self._out.write(data)

    def flush(self) -> None:
        self._out.flush()

    def tell(self) -> int:
        return self._bytes

    @property
    def closed(self) -> bool:
        return self._out.closed

    @property
    def digest(self) -> FileDigest:
        return FileDigest(self._bytes, self._hash.hexdigest())


def write_parquet(files: Files, path: str, schema: pa.Schema | None, batches: Iterable[pa.RecordBatch]) -> WrittenFile:
    """Write a Parquet file; where the landing has a key, encrypted and under a name that says so. Without a schema, the first
    batch gives it."""
    row_count, key = 0, files.rows_key()
    rest = iter(batches)
    waiting: list[pa.RecordBatch] = []
    if schema is None:
        first = next(rest, None)
        if first is None:
            raise ValueError("no schema, and no batch that has one")
        schema, waiting = first.schema, [first]
    options = LANDED_OPTIONS if schema == LANDED_SCHEMA else OTHER_OPTIONS
    if key is not None:
        path, options = encrypted_name(path), {**options, "encryption_properties": encryption_properties(key)}
    with files.open_new(path) as out:
        hashed = HashedFile(out)
        try:
            with pq.ParquetWriter(hashed, schema, **options) as writer:
                for batch in rest:
                    waiting.append(batch)
                    if sum(b.num_rows for b in waiting) >= GROUP_ROWS or sum(b.nbytes for b in waiting) >= GROUP_BYTES:
                        row_count += _write(writer, schema, waiting)
                        waiting = []
                row_count += _write(writer, schema, waiting)
        except (OSError, pa.ArrowException) as error:  # Parquet's own refusals are OSErrors too
            refuse_columns(schema, waiting, error)
            raise
    return WrittenFile(path.rpartition("/")[2], row_count, hashed.digest)


def refuse_columns(schema: pa.Schema, batches: Sequence[pa.RecordBatch], error: Exception) -> None:
    """Raise ValueDoesNotFit if Parquet cannot hold one of the columns, wherever it is written."""
    rows = pa.Table.from_batches(batches, schema)
    for name in schema.names:
        try:
            pq.write_table(rows.select([name]), pa.BufferOutputStream())
        except (OSError, pa.ArrowException) as refused:
            raise ValueDoesNotFit(
                f"Parquet cannot hold column {name}, {schema.field(name).type}: {refused}",
                cure=f"declare `columns: {{{name}: string}}` for the table, or leave the column out (`exclude_columns`)",
                column=name,
            ) from error


def _write(writer: pq.ParquetWriter, schema: pa.Schema, batches: list[pa.RecordBatch]) -> int:
    group = pa.Table.from_batches(batches, schema)
    if group.num_rows:
        writer.write_table(group, row_group_size=group.num_rows)
    return int(group.num_rows)


def read_columns(
    files: Files, paths: Sequence[str], columns: Sequence[str] | None, digests: Digests, cure: str = DAMAGED
) -> Iterator[pa.RecordBatch]:
    """Yield some columns of several files, one row group at a time; None for all columns. `digests` are by path."""
    for path in paths:
        with open_checked(files, path, digests.get(path), cure) as parquet:
            yield from parquet.iter_batches(columns=None if columns is None else list(columns))


@contextmanager
def open_checked(files: Files, path: str, written: FileDigest | None, cure: str = DAMAGED) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file. Raises LandingDamaged if it is not as it was written, or cannot be read."""
    files.check(path, written, cure)
    with files.reading(path, cure) as file:
        try:
            yield pq.ParquetFile(file, page_checksum_verification=True, decryption_properties=properties_for(path))
        except (pa.ArrowException, OSError) as error:
            if getattr(error, "errno", None) is not None:
                raise  # of the file system, not of the file
            what = f"the file cannot be read: {without_breaks(error)}"
            raise LandingDamaged(what, cure=cure, path=files.path_text(path)) from error
