"""Assemble a batch: from landed rows to committed changes, with an account of every row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from operator import methodcaller

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from redolake.assemble.attribution import CapturedTable, add_table_numbers
from redolake.assemble.dropped import count_dropped, mark_dropped, read_xid_uses
from redolake.assemble.input_counts import InputCounts, count_input
from redolake.assemble.landed import read_rows
from redolake.assemble.parallel_dml import fill_coordinators, stop_unordered
from redolake.assemble.row_accounting import RowAccounting, account_rows
from redolake.assemble.transactions import (
    APPLIED,
    cancel_undone,
    dispose,
    join_ends,
    stop_doubtful_commits,
    stop_ends_without_container,
    stop_without_end,
)
from redolake.assemble.unknown_xid import resolve_unknown_xids
from redolake.assemble.valueless import valueless
from redolake.records.batches.carry import OpenTransaction, is_long_open
from redolake.records.batches.manifest import DroppedRows
from redolake.records.batches.spec import DroppedXid, LandedWindow
from redolake.values.scn import ScnRange

# From here on a second look at a few columns of the landed files costs less than to keep all of them.
MANY_CHANGES = 100_000
KEEP = methodcaller("localCheckpoint", eager=False)  # of whichever DataFrame: that of Connect is another class


@dataclass(frozen=True, slots=True)
class AssembledBatch:
    """`rows` are all rows that were read, `changes` those of captured tables, with their disposition."""

    rows: DataFrame
    changes: DataFrame
    input_counts: InputCounts
    accounting: RowAccounting
    dropped: tuple[DroppedRows, ...]

    def changes_of(self, table: int, range_number: int) -> DataFrame:
        """Return the changes to apply to one table in one commit range, in the order of batch.CHANGE_ORDER."""
        mine = (F.col("table_number") == table) & (F.col("range_number") == range_number) & (F.col("disposition") == APPLIED)
        return self.changes.filter(mine)

    def changes_of_tables(self, tables: Collection[int]) -> DataFrame:
        """Return the changes to apply to these tables, in all commit ranges."""
        return self.changes.filter(F.col("table_number").isin(*tables) & (F.col("disposition") == APPLIED))


@dataclass(frozen=True, slots=True)
class NoChanges(AssembledBatch):
    """A batch without change rows, of which nothing has to be read: `rows` and `changes` are no DataFrames."""

    def changes_of(self, table: int, range_number: int) -> DataFrame:
        return self.changes


def no_changes(no_rows: DataFrame, read_to: str | None) -> NoChanges:
    """Return what is assembled from no changes, with `no_rows` in place of DataFrames."""
    return NoChanges(no_rows, no_rows, InputCounts(read_to=read_to), RowAccounting({}, {}), ())


def assemble_batch(
    spark: SparkSession,
    scns: ScnRange,
    windows: Sequence[LandedWindow],
    carry_in: Sequence[str],
    captured: Sequence[CapturedTable],
    container: str | None,
    dropped: Sequence[DroppedXid] = (),
    doubtful_scn: int | None = None,
    open_in: Sequence[OpenTransaction] = (),
    keep: Callable[[DataFrame], DataFrame] = KEEP,
) -> AssembledBatch:
    """Assemble the transactions that end in `scns`.

    The changes are computed once, when they are counted, and stay on the executors. Otherwise Spark would plan the whole
    lineage again for each job of each table. Many changes with one reader are computed again for it: to count them only a few
    columns are read, while kept they are as large as all their redo SQL.
    """
    rows = add_table_numbers(read_rows(spark, windows, carry_in), captured, container)
    counts = count_input(rows, scns)
    if counts.unknown_xids:
        rows = resolve_unknown_xids(rows, dropped)
    if counts.parallel_rows:
        rows = fill_coordinators(rows)
    joined = join_ends(rows, counts.ends, parallel=counts.parallel_rows > 0)
    if counts.ends_without_container:
        joined = stop_ends_without_container(joined, rows)
    if slots := {one.slot for one in open_in if is_long_open(one, counts.read_to)}:
        joined = stop_without_end(joined, rows, slots)
    if doubtful_scn is not None:
        joined = stop_doubtful_commits(joined, doubtful_scn)
    matched = (
        cancel_undone(
            joined,
            [t for t in captured if t.no_large_objects or valueless(t.delivery) != "none"],
            in_indexes=any(not t.rows_have_rowids for t in captured),
        )
        if counts.undo_rows
        else joined
    )
    if counts.parallel_rows:
        matched = stop_unordered(matched)
    xid_uses = read_xid_uses(rows, dropped)
    marked = mark_dropped(matched, xid_uses)
    changes = dispose(marked, captured)
    is_cheap = not (counts.undo_rows or counts.parallel_rows or counts.unknown_xids or dropped)
    if is_cheap and counts.changes >= MANY_CHANGES and all(valueless(t.delivery) == "none" for t in captured):
        accounting = account_rows(changes)
        changes = changes if accounting.readers == 1 else keep(changes)
    else:
        changes = keep(changes)
        accounting = account_rows(changes)
    return AssembledBatch(rows, changes, counts, accounting, count_dropped(changes, xid_uses, captured))
