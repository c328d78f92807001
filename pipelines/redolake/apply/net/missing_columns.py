"""Fill in the columns that an UPDATE's redo does not contain: from earlier changes in the batch, else from the target row.

With supplemental logging of the key alone the redo contains only the key and the columns that SET names. Rows older than a
column miss it too: Oracle does not rewrite them on ADD COLUMN, so their redo shows NULL or nothing where SELECT shows the
default. Changes of one row share their ROW_ID; the target row is found by the key it had before the batch.

MERGE finds that target row itself, unless the row's key changed in the batch: so the net change says only which columns keep
their value, and the target is read for the rows that moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Row, Window, WindowSpec
from pyspark.sql import functions as F

from redolake.apply.landed.decoded import is_absent
from redolake.apply.landed.keys import is_moved
from redolake.apply.net.net_change import ENTERED, ORDER
from redolake.apply.spark.probes import Probe
from redolake.apply.spark.quoting import quote
from redolake.apply.spark.shallow import any_of
from redolake.apply.target import UPSERT, TargetColumn
from redolake.values import frames
from redolake.values.redo import Operation

# Up to this many changes the keys are broadcast to every worker, so that the target is read once and not shuffled.
MOST_KEYS_TO_BROADCAST = 500_000


@dataclass(frozen=True, slots=True)
class Missing:
    """`columns` are those that the redo of some UPDATE does not contain; `keys_change` says whether one changes a key."""

    columns: tuple[TargetColumn, ...] = ()
    keys_change: bool = False

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(column.id for column in self.columns)


NOTHING_MISSING = Missing()


def probe_missing(decoded: DataFrame, key: Sequence[int]) -> Probe:
    """Return the probe that reports which columns the redo of the changes lacks, and whether one changes a key."""
    moved = (F.col("operation_code") == Operation.UPDATE) & is_moved(key)
    rows = decoded.select(moved.alias("moved"), F.explode_outer("absent").alias("id"))
    return Probe(rows, ("max(moved) AS moved", "collect_set(id) AS ids"))


def missing_of(columns: Sequence[TargetColumn], seen: Row) -> Missing:
    """Return which of `columns` are missing by the answer to that probe."""
    return Missing(tuple(c for c in columns if c.id in seen["ids"]), bool(seen["moved"]))


def with_missing(decoded: DataFrame, missing: Missing) -> DataFrame:
    """Return the changes with u<id> for each missing column, whether the change lacks its value, in place of `absent`."""
    if not missing.columns:
        return decoded.drop("absent")  # a Connect client refuses withColumns without columns
    return decoded.withColumns({frames.unknown(i): is_absent(i) for i in missing.ids}).drop("absent")


def fill_known(happened: DataFrame, missing: Missing, key: Sequence[int]) -> DataFrame:
    """Resolve a<id> from earlier changes of the row. Where the target's value stays, u<id> remains true.

    `happened` are events (see net). Oracle reuses ROWIDs: an INSERT begins another row, with all its values, and after a
    DELETE there is no row to update.
    """
    # While no key changes, a row's events are all at one key: so the window has the partitions of the net change, and costs no
    # shuffle of its own.
    so_far = _so_far(*(() if missing.keys_change else map(frames.key, key)), "row_id")
    code = F.col("operation_code")

    def show(i: int) -> Expression:
        """Return the column's value after the event, if the event shows it; `is_there` is false after a DELETE."""
        value = F.col(frames.after(i))
        absent = F.struct(F.lit(False).alias("is_there"), F.lit(None).alias("value"))
        known = F.struct(F.lit(True).alias("is_there"), value.alias("value"))
        return F.when(code == Operation.DELETE, absent).when((F.col("event") == ENTERED) & ~F.col(frames.unknown(i)), known)

    known = {i: F.last(show(i), ignorenulls=True).over(so_far) for i in missing.ids}
    filled = happened.withColumns({f"known{i}": value for i, value in known.items()})
    open_ = {i: F.col(frames.unknown(i)) & (F.col("event") == ENTERED) for i in missing.ids}
    deleted = any_of(open_[i] & ~F.col(f"known{i}.is_there") for i in missing.ids)
    return filled.withColumns(
        {
            **{
                frames.after(i): F.when(open_[i], F.col(f"known{i}.value")).otherwise(F.col(frames.after(i)))
                for i in missing.ids
            },
            **{frames.unknown(i): open_[i] & F.col(f"known{i}").isNull() for i in missing.ids},
            "finding": F.coalesce("finding", F.when(deleted, no_target_row(missing.columns))),
        }
    ).drop(*(f"known{i}" for i in missing.ids))


def fill_moved(filled: DataFrame, target: DataFrame, missing: Missing, key: Sequence[TargetColumn], count: int) -> DataFrame:
    """Resolve a<id> of rows whose key changed in the batch by the target's row with the key before. `count` is the number of
    changes."""
    ids = [column.id for column in key]
    # The first event of a row has the key that the target knows. After an INSERT or DELETE nothing is unknown.
    placed = filled.withColumns({first_key(i): F.first(frames.key(i)).over(_so_far("row_id")) for i in ids})
    moved = is_moved(ids, first_key)
    placed = placed.withColumn("wanted", moved & any_of(F.col(frames.unknown(i)) for i in missing.ids))
    joined = placed.join(_before(placed, target, missing.columns, key, count), ["wanted", *(first_key(i) for i in ids)], "left")
    not_found = F.col("wanted") & F.col("there").isNull()
    values = {
        frames.after(i): F.when(F.col("wanted") & F.col(frames.unknown(i)), F.col(frames.in_target(i))).otherwise(
            F.col(frames.after(i))
        )
        for i in missing.ids
    }
    kept = {frames.unknown(i): F.col(frames.unknown(i)) & ~F.col("wanted") for i in missing.ids}
    finding = F.coalesce("finding", F.when(not_found, no_target_row(missing.columns)))
    return joined.withColumns({**values, **kept, "finding": finding}).select(*filled.columns)


def _so_far(*of_row: str) -> WindowSpec:
    """Return the window over a row's events up to one of them."""
    return Window.partitionBy(*of_row).orderBy(*ORDER).rowsBetween(Window.unboundedPreceding, Window.currentRow)


def _before(
    placed: DataFrame, target: DataFrame, columns: Sequence[TargetColumn], key: Sequence[TargetColumn], count: int
) -> DataFrame:
    """Return the target rows that are needed: t<id> of each of `columns`, by first<id>."""
    firsts = [first_key(k.id) for k in key]
    wanted = placed.filter("wanted").select("wanted", *firsts).distinct()
    if count <= MOST_KEYS_TO_BROADCAST:
        wanted = F.broadcast(wanted)
    named = target.select(
        *(F.col(quote(k.name)).alias(first_key(k.id)) for k in key),
        *(F.col(quote(c.name)).alias(frames.in_target(c.id)) for c in columns),
        F.lit(True).alias("there"),
    )
    return named.join(wanted, firsts)


def not_in_target(net: DataFrame, target: DataFrame, missing: Missing, key: Sequence[TargetColumn]) -> DataFrame:
    """Return the net changes that keep values of a target row, where there is none, with their `finding`."""
    keeps = (F.col("op") == UPSERT) & any_of(F.col(frames.unknown(i)) for i in missing.ids)
    keys = target.select(*(F.col(quote(k.name)).alias(frames.key(k.id)) for k in key))
    lacking = net.filter(keeps).join(keys, [frames.key(k.id) for k in key], "left_anti")
    return lacking.withColumn("finding", no_target_row(missing.columns))


def no_target_row(columns: Sequence[TargetColumn]) -> Expression:
    names = ", ".join(column.name for column in columns)
    return F.struct(
        F.col("commit_scn"),
        F.col("scn"),
        F.lit("RedoNotUnderstood").alias("code"),
        F.lit(f"the redo of an UPDATE does not contain {names}, and the row is not in the target").alias("what"),
    )


def first_key(column_id: int) -> str:
    """Return the name of a key column's value in the first UPDATE of a row."""
    return f"first{column_id}"
