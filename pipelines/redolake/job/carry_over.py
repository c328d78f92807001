"""Write the carry-over of a batch: the rows of transactions that are still open."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from redolake.assemble.assembled import AssembledBatch
from redolake.assemble.attribution import CapturedTable
from redolake.assemble.carry import list_open, rows_to_carry
from redolake.assemble.parked import is_one_of, to_park
from redolake.assemble.transactions import CARRIED_OUT
from redolake.host import crash
from redolake.host.encrypted_parquet import is_encrypted
from redolake.host.parquet_frames import key_of, read_parquet, write_in_tasks
from redolake.host.secrets import RowsKey
from redolake.land.files import Files
from redolake.land.parquet import write_parquet
from redolake.records.batches.carry import OpenTransaction, ParkedRows, join_transactions
from redolake.records.batches.spec import Redo
from redolake.records.file_digest import Digests, FileDigest
from redolake.values.landed_schema import CARRIED_SCHEMA


@dataclass(frozen=True, slots=True)
class CarriedOver:
    """`files` are read by the next batch, those of `parked` only by one in which the transaction may end. `digests` are of
    both."""

    files: tuple[str, ...] = ()
    parked: tuple[ParkedRows, ...] = ()
    open_transactions: tuple[OpenTransaction, ...] = ()
    digests: Digests = field(default_factory=dict)


def carry_over(
    spark: SparkSession, carry_out: str, redo: Redo, batch: AssembledBatch, captured: Sequence[CapturedTable]
) -> CarriedOver:
    """Write the rows of open transactions that the batch has read to a new folder, those of each large one by themselves.

    Each attempt has a folder of its own, so that a late attempt cannot change files that a manifest lists. With parallel DML
    nothing is parked: a row's transaction may then be decided by another row.
    """
    rows = sum(batch.accounting.count(table.number, CARRIED_OUT) for table in captured)
    if not rows:
        return CarriedOver()
    parallel, folder = batch.input_counts.parallel_rows > 0, f"{carry_out.rstrip('/')}/{uuid.uuid4().hex}"
    large = {} if parallel else to_park(batch.changes, captured, rows)
    carried = rows_to_carry(batch.changes, batch.rows, parallel)
    key = newest_key(redo)
    files, listed, parked = dict[str, FileDigest](), tuple[OpenTransaction, ...](), list[ParkedRows]()
    if rows > sum(sum(tables.values()) for tables in large.values()):
        files = write_carried(carried.filter(~is_one_of(large)) if large else carried, folder, key)
        listed = list_open(read_parquet(spark, list(files)))
    digests = dict(files)
    for number, (transaction, tables) in enumerate(large.items()):
        own = write_carried(carried.filter(is_one_of([transaction])), f"{folder}-{number}", key)
        (part,) = list_open(read_parquet(spark, list(own)))
        parked.append(ParkedRows(part, tables, tuple(own)))
        digests |= own
    return CarriedOver(tuple(files), tuple(parked), join_transactions((*listed, *(one.part for one in parked))), digests)


def write_carried(rows: DataFrame, folder: str, key: RowsKey | None = None) -> dict[str, FileDigest]:
    """Write rows as Parquet, encrypted with a key; return the files with size and hash."""
    if key is not None:
        return write_encrypted(rows, folder, key)
    rows.write.mode("error").option("parquet.page.write-checksum.enabled", "true").parquet(folder)
    crash.point("carry-over")
    written = Files(folder)
    return {f"{folder}/{name}": written.digest(name) for name in written.names("") if name.endswith(".parquet")}


def write_encrypted(rows: DataFrame, folder: str, key: RowsKey) -> dict[str, FileDigest]:
    def write(batches: Iterable[pa.RecordBatch]) -> dict[str, Any] | None:
        return write_part(batches, folder, key)

    written = write_in_tasks(rows.select(*CARRIED_SCHEMA.names), write, "name string, bytes bigint, sha256 string")
    crash.point("carry-over")
    return {f"{folder}/{one['name']}": FileDigest(one["bytes"], one["sha256"]) for one in written}


@crash.writer
def write_part(batches: Iterable[pa.RecordBatch], folder: str, key: RowsKey) -> dict[str, Any] | None:
    """Write the rows of one task; return the name, size and hash of their file, None for no rows."""
    filled = (batch.cast(CARRIED_SCHEMA) for batch in batches if batch.num_rows)
    if (first := next(filled, None)) is None:
        return None
    files = Files(folder)
    files.rows_key = lambda: key
    written = write_parquet(files, f"part-{uuid.uuid4().hex}.parquet", CARRIED_SCHEMA, chain([first], filled))
    return {"name": written.name, "bytes": written.digest.bytes, "sha256": written.digest.sha256}


def newest_key(redo: Redo) -> RowsKey | None:
    """Return the key of the newest file of a batch that is encrypted: what was encrypted once stays so."""
    files = (*redo.carried, *(file for window in sorted(redo.windows, key=attrgetter("end")) for file in window.files))
    newest = next(filter(is_encrypted, reversed(files)), None)
    return None if newest is None else RowsKey(*key_of(newest))
