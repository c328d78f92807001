"""Read the landing's Parquet files into Spark, encrypted ones too, and write encrypted ones.

Spark's own reader would need a Java class for its keys on each executor (parquet-mr has one for tests alone), and the key in a
setting. So Python workers of Spark read encrypted files by pyarrow. The key reaches them inside the function, as that of `hash`
masks does: neither a setting, a plan nor Spark's pages show it. The files to be read are rows, for Spark writes a function with
many names in it to a disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from redolake.host.encrypted_parquet import decryption_properties, find_key_of, is_encrypted, properties_for
from redolake.host.filesystem import open_filesystem

PART_BYTES = 64 * 2**20  # of a task, before Parquet's compression
AT_ONCE = 8  # an object store answers late
BATCH_ROWS = 4000
PARTS = "path string, first int, last int"


def read_parquet(
    spark: SparkSession, files: Sequence[str], schema: StructType | None = None, options: Mapping[str, str] | None = None
) -> DataFrame:
    """Return the rows of one or more files. Raises ConfigurationError where the key of an encrypted one is not here."""
    encrypted = [file for file in files if is_encrypted(file)]
    clear = [file for file in files if not is_encrypted(file)]
    frames = list[DataFrame]()
    if clear:
        reader = spark.read if schema is None else spark.read.schema(schema)
        frames.append(reader.options(**(options or {})).parquet(*clear))
        schema = frames[0].schema
    if encrypted:
        frames.append(read_encrypted(spark, encrypted, schema))
    return reduce(DataFrame.unionByName, frames)


def read_encrypted(spark: SparkSession, files: Sequence[str], schema: StructType | None) -> DataFrame:
    with ThreadPoolExecutor(AT_ONCE, "footer") as threads:
        schemas, groups, keys_of = zip(*threads.map(read_footer, files), strict=True)
    of_rows = from_arrow_schema(schemas[0], prefer_timestamp_ntz=True) if schema is None else schema
    parts = list(parts_of(dict(zip(files, groups, strict=True))))
    keys = {key_id: key for keys in keys_of for key_id, key in keys.items()}
    listed = spark.createDataFrame(parts, PARTS).repartition(max(1, len(parts)))
    return listed.mapInArrow(rows_reader(keys, to_arrow_schema(of_rows)), of_rows)


def read_footer(path: str) -> tuple[pa.Schema, tuple[int, ...], Mapping[str, bytes]]:
    """Return of an encrypted file its columns, the sizes of its row groups, and its keys by their ids."""
    keys = dict[str, bytes]()

    def find(key_id: str) -> bytes:
        keys[key_id] = find_key_of(key_id)
        return keys[key_id]

    filesystem, place = open_filesystem(path)
    with filesystem.open(place, "rb") as file:
        parquet = pq.ParquetFile(file, decryption_properties=decryption_properties(find))
        metadata = parquet.metadata
        groups = tuple(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
        return parquet.schema_arrow, groups, keys


def parts_of(groups: Mapping[str, Sequence[int]]) -> Iterator[tuple[str, int, int]]:
    """Yield the parts of files that are read by one task each: the path, the first row group and the one after the last."""
    for path, sizes in groups.items():
        first, size = 0, 0
        for number, one in enumerate(sizes):
            if number > first and size + one > PART_BYTES:
                yield path, first, number
                first, size = number, 0
            size += one
        if first < len(sizes):
            yield path, first, len(sizes)


def rows_reader(keys: Mapping[str, bytes], schema: pa.Schema) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that Spark's workers run."""

    def read(parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in parts:
            for part in batch.to_pylist():
                yield from rows_of(part["path"], range(part["first"], part["last"]), keys, schema)

    return read


def rows_of(path: str, groups: range, keys: Mapping[str, bytes], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some row groups in the columns and types of the schema."""
    filesystem, place = open_filesystem(path)
    with filesystem.open(place, "rb") as file:
        parquet = pq.ParquetFile(file, page_checksum_verification=True, decryption_properties=properties_for(path, keys))
        for batch in parquet.iter_batches(BATCH_ROWS, row_groups=list(groups), columns=schema.names):
            yield batch.select(schema.names).cast(schema)


def key_of(path: str) -> tuple[str, bytes]:
    """Return the id and the key of an encrypted file."""
    ((key_id, key),) = read_footer(path)[2].items()
    return key_id, key


def write_in_tasks(
    rows: DataFrame, write: Callable[[Iterable[pa.RecordBatch]], Mapping[str, Any] | None], columns: str
) -> list[dict[str, Any]]:
    """Call `write` for the rows of each task, in Spark's workers; return what it has returned. A task that Spark repeats has
    written twice; only what the last attempt has returned counts."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if (found := write(batches)) is not None:
            yield pa.RecordBatch.from_pylist([dict(found)])

    return [row.asDict() for row in rows.mapInArrow(work, columns).collect()]
