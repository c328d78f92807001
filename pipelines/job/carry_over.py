"""Write the carry-over of a batch: the rows of transactions that are still open."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from pipelines.assemble.assembled import AssembledBatch
from pipelines.assemble.attribution import CapturedTable
from pipelines.assemble.carry import list_open, rows_to_carry
from pipelines.assemble.parked import is_one_of, to_park
from pipelines.assemble.transactions import CARRIED_OUT
from pipelines.host import crash
from pipelines.land.files import Files
from pipelines.records.batches.carry import OpenTransaction, ParkedRows, join_transactions
from pipelines.records.file_digest import Digests, FileDigest


@dataclass(frozen=True, slots=True)
class CarriedOver:
    """`files` are read by the next batch, those of `parked` only by one in which the transaction may end. `digests` are of
    both."""

    files: tuple[str, ...] = ()
    parked: tuple[ParkedRows, ...] = ()
    open_transactions: tuple[OpenTransaction, ...] = ()
    digests: Digests = field(default_factory=dict)


def carry_over(spark: SparkSession, carry_out: str, batch: AssembledBatch, captured: Sequence[CapturedTable]) -> CarriedOver:
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
    files, listed, parked = dict[str, FileDigest](), tuple[OpenTransaction, ...](), list[ParkedRows]()
    if rows > sum(sum(tables.values()) for tables in large.values()):
        files = write_carried(carried.filter(~is_one_of(large)) if large else carried, folder)
        listed = list_open(spark.read.parquet(*files))
    digests = dict(files)
    for number, (transaction, tables) in enumerate(large.items()):
        own = write_carried(carried.filter(is_one_of([transaction])), f"{folder}-{number}")
        (part,) = list_open(spark.read.parquet(*own))
        parked.append(ParkedRows(part, tables, tuple(own)))
        digests |= own
    return CarriedOver(tuple(files), tuple(parked), join_transactions((*listed, *(one.part for one in parked))), digests)


def write_carried(rows: DataFrame, folder: str) -> dict[str, FileDigest]:
    """Write rows as Parquet and return the files with size and hash."""
    rows.write.mode("error").option("parquet.page.write-checksum.enabled", "true").parquet(folder)
    crash.point("carry-over")
    written = Files(folder)
    return {f"{folder}/{name}": written.digest(name) for name in written.names("") if name.endswith(".parquet")}
