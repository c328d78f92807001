"""Count the rows of a batch before anything is joined: the input of row accounting, and which later steps are needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.assemble.parallel_dml import is_parallel
from redolake.assemble.unknown_xid import has_unknown_sequence
from redolake.errors import OF_BATCH, InvariantBroken, RedoNotUnderstood, report_with
from redolake.values.redo import CONTROL, TRANSACTION_ENDS
from redolake.values.scn import ScnRange

AGAIN = f"run again, which prepares the batch again; nothing was merged. If it comes again, {report_with(OF_BATCH)}"


@dataclass(frozen=True, slots=True)
class InputCounts:
    """Row counts of a batch's input; those of change rows are for captured tables."""

    landed: Mapping[int, int] = field(default_factory=dict)  # change rows per table
    carried: Mapping[int, int] = field(default_factory=dict)  # change rows per table
    per_window: Mapping[int, int] = field(default_factory=dict)  # landed change rows by the start of their window
    foreign: int = 0  # change rows of objects that are not captured
    ends: int = 0  # commits and rollbacks
    ends_without_container: int = 0
    undo_rows: int = 0
    unknown_xids: int = 0
    parallel_rows: int = 0
    read_to: str | None = None  # time of the newest row

    @property
    def changes(self) -> int:
        return sum(self.landed.values()) + sum(self.carried.values())


def count_input(rows: DataFrame, scns: ScnRange) -> InputCounts:
    """Count rows that have a table number, in one pass.

    Raises InvariantBroken for a row that occurs twice or is in no window, and RedoNotUnderstood for a change that has neither
    the name nor the number of its object.
    """
    code, captured = F.col("operation_code"), F.col("table_number").isNotNull()
    # A bitmap over the ordinals of a slice counts distinct rows exactly, without a shuffle of every row.
    bucket = F.bitmap_bucket_number("ordinal")
    per_bucket = rows.groupBy("table_number", "carried", "window_start", "slice", bucket.alias("bucket")).agg(
        F.count("*").alias("rows"),
        F.bitmap_count(F.bitmap_construct_agg(F.bitmap_bit_position("ordinal"))).alias("distinct_rows"),
        F.count_if(code.isin(*TRANSACTION_ENDS)).alias("ends"),
        F.count_if(code.isin(*TRANSACTION_ENDS) & F.col("con_id").isNull()).alias("ends_without_container"),
        F.count_if(captured & F.col("rollback")).alias("undo_rows"),
        F.count_if(has_unknown_sequence(F.col("xid"))).alias("unknown_xids"),
        F.count_if(captured & is_parallel()).alias("parallel_rows"),
        F.count_if(~code.isin(*CONTROL) & ~captured).alias("foreign"),
        F.count_if(~code.isin(*CONTROL) & F.col("object_id").isNull() & F.col("table_name").isNull()).alias("nameless"),
        F.count_if(F.col("window_start").isNull()).alias("outside"),
        F.max("at").alias("at"),
    )
    found = per_bucket.groupBy("table_number", "carried", "window_start").agg(
        F.date_format(F.max("at"), "yyyy-MM-dd HH:mm:ss").alias("at"),
        *(F.sum(name).alias(name) for name in ("rows", "distinct_rows", "ends", "ends_without_container", "undo_rows")),
        *(F.sum(name).alias(name) for name in ("unknown_xids", "parallel_rows", "foreign", "nameless", "outside")),
    )
    groups = [row.asDict() for row in found.collect()]

    def total(name: str) -> int:
        return sum(int(group[name]) for group in groups)

    if total("outside"):
        raise InvariantBroken(f"{total('outside')} landed rows are outside every window of the batch", cure=AGAIN, scns=scns)
    if total("rows") != total("distinct_rows"):
        raise InvariantBroken(
            f"{total('rows') - total('distinct_rows')} of {total('rows')} redo rows occur twice",
            cure=f"{AGAIN}: it names a window or a carry-over folder twice",
            scns=scns,
        )
    if total("nameless"):
        raise RedoNotUnderstood(
            f"{total('nameless')} change rows have neither the name nor the number of their object",
            cure="find the window's name with `redolake windows --output json`, and mine it again: "
            "`redolake remine WINDOW --replace --execute`",
            scns=scns,
        )
    of_tables = [group for group in groups if group["table_number"] is not None]
    landed = [group for group in of_tables if not group["carried"]]
    return InputCounts(
        landed=_sum_by("table_number", landed),
        carried=_sum_by("table_number", [group for group in of_tables if group["carried"]]),
        per_window=_sum_by("window_start", landed),
        foreign=total("foreign"),
        ends=total("ends"),
        ends_without_container=total("ends_without_container"),
        undo_rows=total("undo_rows"),
        unknown_xids=total("unknown_xids"),
        parallel_rows=total("parallel_rows"),
        read_to=max((group["at"] for group in groups if group["at"] is not None), default=None),
    )


def _sum_by(key: str, groups: Iterable[Mapping[str, Any]]) -> dict[int, int]:
    sums: Counter[int] = Counter()
    for group in groups:
        sums[group[key]] += int(group["rows"])
    return dict(sums)
