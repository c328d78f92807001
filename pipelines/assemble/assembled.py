"""A batch's changes, assembled: from landed rows to committed changes that add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.assemble.captured_tables import CapturedTable, add_table_numbers
from pipelines.assemble.dropped import count_dropped, mark_dropped, read_xid_uses
from pipelines.assemble.input_counts import InputCounts, count_input
from pipelines.assemble.landed import read_rows
from pipelines.assemble.parallel_dml import fill_coordinators, stop_unordered
from pipelines.assemble.row_accounting import RowAccounting, account_rows
from pipelines.assemble.transactions import APPLIED, cancel_undone, dispose, join_ends, stop_ends_without_container
from pipelines.assemble.unknown_xid import resolve_unknown_xids
from pipelines.batch import Dropped, DroppedRows, LandedWindow
from pipelines.scn import ScnRange


@dataclass(frozen=True, slots=True)
class AssembledBatch:
    """`rows` are all rows as read, `changes` those of captured tables with their disposition."""

    rows: DataFrame
    changes: DataFrame
    input_counts: InputCounts
    accounting: RowAccounting
    dropped: tuple[DroppedRows, ...]

    def committed(self, table: int, piece: int) -> DataFrame:
        """The surviving changes of one table and piece, to be applied in the order of batch.CHANGE_ORDER."""
        mine = (F.col("table_number") == table) & (F.col("piece") == piece) & (F.col("disposition") == APPLIED)
        return self.changes.filter(mine)


def assemble_batch(
    spark: SparkSession,
    scns: ScnRange,
    windows: Sequence[LandedWindow],
    carry_in: Sequence[str],
    captured: Sequence[CapturedTable],
    container: str | None,
    dropped: Sequence[Dropped] = (),
) -> AssembledBatch:
    """The changes are worked out once and kept by the executors; every table then reads them with a plan of one node, where
    the whole lineage would be planned anew for each of its jobs."""
    rows = add_table_numbers(read_rows(spark, windows, carry_in), captured, container)
    found = count_input(rows, scns)
    if found.unknown_xids:
        rows = resolve_unknown_xids(rows, dropped)
    if found.parallel_rows:
        rows = fill_coordinators(rows)
    joined = join_ends(rows, found.ends, parallel=found.parallel_rows > 0)
    if found.ends_without_container:
        joined = stop_ends_without_container(joined, rows)
    matched = cancel_undone(joined) if found.undo_rows else joined
    if found.parallel_rows:
        matched = stop_unordered(matched)
    marked = mark_dropped(matched, xid_uses := read_xid_uses(rows, dropped))
    changes = dispose(marked, captured).localCheckpoint()
    return AssembledBatch(rows, changes, found, account_rows(changes), count_dropped(changes, xid_uses, captured))
