"""Changes of large objects, and the ROWIDs that changes of their rows may lack."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from redolake.apply.landed.keys import is_moved
from redolake.values import frames
from redolake.values.logminer import LARGE_OBJECT_CHANGES, NO_ROWID, Mined
from redolake.values.redo import CHANGE_ORDER, Operation

# The end of a write's text, after its value: amount and offset. A text with a SELECT names its row itself.
WRITE = r"dbms_lob\.write\(loc_\w+,\s*(\d+),\s*(\d+),\s*buf_\w+\);\s*(?:END;\s*)?$"
SELECTS = r"(?s)^\s*DECLARE\s[^'\"]*BEGIN\s+select\s"
OF_COMMIT = ("commit_scn", "commit_thread", "commit_at", "xid")
OF_OBJECT = ("con_id", "commit_at", "xid")  # what else is decoded of a change of a large object


def of_objects(changes: DataFrame) -> DataFrame:
    return changes.filter(F.col("operation_code").isin(*LARGE_OBJECT_CHANGES))


def without_objects(changes: DataFrame) -> DataFrame:
    return changes.filter(~F.col("operation_code").isin(*LARGE_OBJECT_CHANGES))


def count_changes(changes: DataFrame) -> tuple[int, int]:
    """Return how many changes of large objects there are, and how many of them are stray writes.

    A write without a SELECT belongs to the locator before it, but a BasicFile that is never stored in its row has writes
    without a locator (redpanda-data/connect #4430). One that names no row may be such a write if it does not continue the one
    before it, or comes after a text that is no locator and names its row itself: all texts of that object do.
    """
    text, code = F.coalesce("sql_redo", F.lit("")), F.col("operation_code")
    at, amount = (F.regexp_extract(text, WRITE, number).try_cast("bigint") for number in (2, 1))
    is_write, selects = (code == Mined.LOB_WRITE) & at.isNotNull(), text.rlike(SELECTS)
    begins = code.isin(Mined.SELECT_LOB_LOCATOR, Mined.XML_DOC_BEGIN, Mined.LONG_VALUE_BEGIN)
    in_order = Window.partitionBy("con_id", "xid").orderBy(*CHANGE_ORDER)
    through = Window.partitionBy("con_id", "xid", "locator_number").orderBy(*CHANGE_ORDER)
    before = F.last(F.when(is_write, at + amount), ignorenulls=True).over(through.rowsBetween(Window.unboundedPreceding, -1))
    names_itself = F.last(F.when(begins | selects, ~begins), ignorenulls=True).over(in_order)
    names_none = ~selects & (F.coalesce("row_id", F.lit(NO_ROWID)) == NO_ROWID)
    numbered = changes.withColumn("locator_number", F.count(F.when(begins | selects, 1)).over(in_order))
    strays = numbered.select((is_write & names_none & ((at != before) | names_itself)).alias("is_stray"))
    found = strays.agg(F.count("*").alias("changes"), F.count_if("is_stray").alias("strays")).first()
    assert found is not None
    return found["changes"], found["strays"]


def with_row_ids(decoded: DataFrame, key: Sequence[int]) -> DataFrame:
    """Give an INSERT or UPDATE without a ROWID that of another change which finds the same row by its key: of the next one,
    else of the last. No other row has the key until a change with a ROWID deletes the row or gives it another key."""
    code, has_rowid, is_copy = F.col("operation_code"), F.col("row_id") != NO_ROWID, F.col("is_copy")
    is_insert, is_update = code == Operation.INSERT, code == Operation.UPDATE
    moved = is_update & is_moved(key)
    found = {
        f"found{i}": F.when(is_insert | is_copy, F.col(frames.after(i))).otherwise(F.col(frames.key_before(i))) for i in key
    }
    # A row that gets another key is seen at both keys.
    copies = F.when(moved & has_rowid, F.array(F.lit(False), F.lit(True))).otherwise(F.array(F.lit(False)))
    seen = decoded.withColumn("is_copy", F.explode(copies)).withColumns(found)
    order = (*CHANGE_ORDER, "is_copy")
    so_far = Window.partitionBy(*found).orderBy(*order).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    of_row = Window.partitionBy(*found, "inserts").orderBy(*order)
    # In reverse order: Spark computes a window that reaches to the end again for each row.
    back = Window.partitionBy(*found, "inserts").orderBy(*(F.col(name).desc() for name in order))
    following = F.last(F.when(has_rowid & ~is_copy, F.col("row_id")), ignorenulls=True)
    last = F.last(F.when(has_rowid & (is_copy | (is_update & ~moved)), F.col("row_id")), ignorenulls=True)
    row_id = F.coalesce(
        following.over(back.rowsBetween(Window.unboundedPreceding, -1)),
        last.over(of_row.rowsBetween(Window.unboundedPreceding, -1)),
        F.col("row_id"),
    )
    return (
        seen.withColumn("inserts", F.count_if(is_insert).over(so_far))
        .withColumn("row_id", F.when(has_rowid, F.col("row_id")).otherwise(row_id))
        .filter(~is_copy)
        .drop(*found, "is_copy", "inserts")
    )
