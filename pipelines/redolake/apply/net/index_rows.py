"""Rows of an index-organized table through UPDATEs of their key: which changes belong to one row. No ROWID says it.

A row is found by the key that it has at each change. Within one statement a row may enter a key before another has left it
(`id = id + 1`). A statement changes a row once, so of two rows at a key the one that has been there longer leaves. Where a row
enters a key that no change of the batch has left before, the target says whether another is there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.apply.landed.keys import is_moved, key_text
from redolake.apply.spark.quoting import quote
from redolake.apply.target import TargetColumn
from redolake.values import frames
from redolake.values.frames import Kind
from redolake.values.redo import CHANGE_ORDER, Operation

MOST_STEPS = 1_000_000  # of one table in a batch: they are read by one Python process, which remembers every key
PLACE = ("window_start", "slice", "ordinal")
STEP = (*PLACE, "code", "before", "after")  # of a change; of a key of the target `after` alone
NAMED = "window_start bigint, slice int, ordinal bigint, row string, why string"


def with_rows(decoded: DataFrame, target: DataFrame, key: Sequence[TargetColumn]) -> DataFrame:
    """Return the changes with the same `row_id` for all changes of a row, and a finding where a change contradicts those before
    it. Changes of rows at other keys are not read."""
    ids = [column.id for column in key]
    code = F.col("operation_code")
    placed = decoded.select(
        *CHANGE_ORDER, code.alias("code"),
        _text(ids, frames.key_before).alias("before"), _text(ids, frames.after).alias("after"),
        ((code == Operation.UPDATE) & is_moved(ids)).alias("moved"),
    )  # fmt: skip
    moves = placed.filter("moved")
    touched = moves.select(F.col("before").alias("at")).union(moves.select("after"))
    at = F.when(F.col("code") == Operation.INSERT, F.col("after")).otherwise(F.col("before"))
    steps = placed.withColumn("at", at).join(touched, "at", "left_semi")
    there = target.select(_text_of(key).alias("after")).join(F.broadcast(moves.select("after")), "after", "left_semi")
    # The keys of the target have no place, and so come first.
    ordered = steps.unionByName(there, allowMissingColumns=True).repartition(1).sortWithinPartitions(*CHANGE_ORDER)
    named = ordered.select(*STEP).mapInArrow(name_rows, NAMED)
    why = F.struct("commit_scn", "scn", F.lit("RedoNotUnderstood").alias("code"), F.col("why").alias("what"))
    return (
        decoded.join(named, [*PLACE], "left")
        .withColumn("row_id", F.coalesce("row", "row_id"))
        .withColumn("finding", F.coalesce("finding", F.when(F.col("why").isNotNull(), why)))
        .select(*decoded.columns)
    )


def name_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the row of each change, or why it is of none. The keys of the target come first."""
    rows = Rows()
    for batch in batches:
        steps = [step for step in batch.to_pylist() if step["code"] is not None or rows.expect(step)]
        taken = [rows.take(step) for step in steps]
        named = [*([step[name] for step in steps] for name in PLACE), [row for row, _ in taken], [why for _, why in taken]]
        types = [*(batch.schema.field(name).type for name in PLACE), pa.string(), pa.string()]
        if steps:
            yield pa.record_batch(list(map(pa.array, named, types)), [*PLACE, "row", "why"])


class Rows:
    """Who is at each key, the row that has been there longest first. A row is named by the key that it had before the batch, or
    by its first key and a number if it came later."""

    def __init__(self) -> None:
        self._in_target: set[str] = set()
        self._at: dict[str, deque[str]] = {}
        self._steps = 0

    def expect(self, step: Mapping[str, Any]) -> bool:
        """Record that the target has a row with a key."""
        self._in_target.add(step["after"])
        return False

    def take(self, step: Mapping[str, Any]) -> tuple[str | None, str | None]:
        """Return the row that changes, or else why there is none."""
        before, after = step["before"], step["after"]
        self._steps += 1
        if self._steps > MOST_STEPS:
            return None, f"more than {MOST_STEPS} changes of rows whose keys UPDATEs have changed"
        if step["code"] == Operation.INSERT:
            row = f"{after} {self._steps}"
            self._at.setdefault(after, deque()).append(row)
            return row, None
        rows = self._at.setdefault(before, deque([before]))  # the first change at a key says that a row was there
        if not rows:
            return None, f"a change of the row with key {before}, which no row has by then"
        is_moved = step["code"] == Operation.UPDATE and before != after
        if len(rows) > 1 and not is_moved:
            return None, f"a change of one of two rows with key {before}"
        if step["code"] == Operation.UPDATE and not is_moved:
            return rows[0], None
        row = rows.popleft()
        if is_moved:
            self._at.setdefault(after, deque([after] if after in self._in_target else [])).append(row)
        return row, None


def _text(ids: Sequence[int], side: Kind) -> Expression:
    return key_text(F.struct(*(F.col(side(i)).alias(frames.key(i)) for i in ids)))


def _text_of(key: Sequence[TargetColumn]) -> Expression:
    return key_text(F.struct(*(F.col(quote(column.name)).alias(frames.key(column.id)) for column in key)))
