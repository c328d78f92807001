"""Copies of landed redo and of snapshots, under other keys and ROWIDs: more changes than the stand-in can hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

FIRST_KEY = 1_000_000_000  # a key has the number of its copy in the three digits after the first one
BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"  # of ROWIDs
CONTROL = (6, 7, 36)  # START, COMMIT, ROLLBACK


def copy_all(files: Sequence[str], folder: Path, copies: int) -> tuple[str, ...]:
    return tuple(copy_file(Path(file), folder / f"{Path(file).parent.name}-{Path(file).name}", copies) for file in files)


def copy_file(file: Path, to: Path, copies: int) -> str:
    """Write copies of a file of redo, or of a snapshot: with other keys, and other ROWIDs. A transaction ends once only."""
    from redolake.land.files import Files
    from redolake.land.parquet import write_parquet

    parquet = pq.ParquetFile(file)
    ordinals = parquet.metadata.num_rows * 10

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(copies):
            for batch in parquet.iter_batches(10_000):
                yield copy_of(batch, number, ordinals)

    write_parquet(Files(str(to.parent)), to.name, parquet.schema_arrow, batches())
    return str(to)


def copy_of(batch: pa.RecordBatch, number: int, ordinals: int) -> pa.RecordBatch:
    columns = {name: batch[name] for name in batch.schema.names}
    if "sql_redo" not in columns:
        keys = pc.add(columns["ID"].cast(pa.int64()), number * 1_000_000)
        columns["ID"] = keys.cast(pa.decimal128(19, 0)).cast(columns["ID"].type)
        return pa.RecordBatch.from_pydict(columns, batch.schema)
    block = "".join(BASE64[number >> shift & 63] for shift in (12, 6, 0))
    key = pc.replace_substring_regex(columns["sql_redo"], r"'1000(\d{6})'", rf"'1{number:03d}\1'")
    columns["sql_redo"] = pc.replace_substring_regex(key, r"(ROWID = '.{9})AAA", rf"\1{block}")
    columns["row_id"] = pc.replace_substring_regex(columns["row_id"], r"^(.{9})AAA", rf"\1{block}")
    columns["ordinal"] = pc.add(columns["ordinal"], number * ordinals)
    copied = pa.RecordBatch.from_pydict(columns, batch.schema)
    if number == 0:
        return copied
    return copied.filter(pc.invert(pc.is_in(copied["operation_code"], pa.array(CONTROL, pa.int32()))))
