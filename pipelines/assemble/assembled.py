"""A batch's changes, assembled: from landed rows to committed changes that add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.assemble.census import Census, take_census
from pipelines.assemble.dropped import count_dropped, mark_dropped, read_lives
from pipelines.assemble.landed import read_rows
from pipelines.assemble.parallel_dml import stop_unordered, tell_coordinators
from pipelines.assemble.subjects import Subject, attribute
from pipelines.assemble.survey import Survey, survey
from pipelines.assemble.transactions import APPLIED, cancel_undone, dispose, join_ends, stop_unplaced
from pipelines.assemble.unknown_xid import resolve
from pipelines.batch import Dropped, DroppedRows, LandedWindow
from pipelines.scn import ScnRange


@dataclass(frozen=True, slots=True)
class Assembled:
    """`rows` are all rows as read, `changes` those of captured tables with their disposition."""

    rows: DataFrame
    changes: DataFrame
    survey: Survey
    census: Census
    dropped: tuple[DroppedRows, ...]

    def committed(self, subject: int, piece: int) -> DataFrame:
        """The surviving changes of one table and piece, to be applied in the order of batch.CHANGE_ORDER."""
        mine = (F.col("subject") == subject) & (F.col("piece") == piece) & (F.col("disposition") == APPLIED)
        return self.changes.filter(mine)


def assembled(
    spark: SparkSession,
    scns: ScnRange,
    windows: Sequence[LandedWindow],
    carry_in: Sequence[str],
    subjects: Sequence[Subject],
    container: str | None,
    dropped: Sequence[Dropped] = (),
) -> Assembled:
    """The changes are worked out once and kept by the executors; every table then reads them with a plan of one node, where
    the whole lineage would be planned anew for each of its jobs."""
    rows = attribute(read_rows(spark, windows, carry_in), subjects, container)
    found = survey(rows, scns)
    if found.unknown_xids:
        rows = resolve(rows, dropped)
    if found.parallel_rows:
        rows = tell_coordinators(rows)
    joined = join_ends(rows, found.ends, parallel=found.parallel_rows > 0)
    if found.unplaced_ends:
        joined = stop_unplaced(joined, rows)
    matched = cancel_undone(joined) if found.undo_rows else joined
    if found.parallel_rows:
        matched = stop_unordered(matched)
    marked = mark_dropped(matched, lives := read_lives(rows, dropped))
    changes = dispose(marked, subjects).localCheckpoint()
    return Assembled(rows, changes, found, take_census(changes), count_dropped(changes, lives, subjects))
