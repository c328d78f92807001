"""The row before and the row after a change, as a table's mapping makes them (apply/mapping.py): for the changes themselves.

Each image is computed by itself, as a row that a snapshot reads would be. A filter decides about each: so a change that takes
a row out of it has a row before and none after. A value of which the redo lacks a column is not known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.apply.landed.findings import TROUBLE
from redolake.apply.landed.key_texts import shown_key
from redolake.apply.landed.keys import has_null, key_text
from redolake.apply.landed.mapped_changes import in_lake, misfit, why, with_sources
from redolake.apply.mapping import NULL_KEY, maps_key, needed, shape
from redolake.apply.spark.shallow import any_of
from redolake.apply.target import target_columns
from redolake.errors import MappingFailed
from redolake.values import frames
from redolake.values.lake_columns import with_lake_names
from redolake.values.mapping import TableMapping, source_value
from redolake.values.quarantine import ErrorClass
from redolake.values.redo import Operation
from redolake.values.table import TableVersion
from redolake.values.target_options import DEFAULT

UNREAD = "unread"  # see with_unread
KEYS = "keys"  # of the row before and after, in the lake and as in Oracle, where an expression makes the key


@dataclass(frozen=True, slots=True)
class Side:
    """One image of a change. `operations` are those that have it; `unknown` is the column with the ids of its columns whose
    values the redo does not contain, `there` the one that says whether the lake has the row."""

    kind: frames.Kind
    operations: tuple[Operation, ...]
    unknown: str
    there: str

    @property
    def is_row(self) -> Expression:
        return F.col("operation_code").isin(*self.operations)

    def lacks(self, ids: Iterable[int]) -> Expression:
        """Return whether one of the columns is not known. Never NULL."""
        return any_of(F.array_contains(self.unknown, F.lit(i)) for i in ids)


BEFORE = Side(frames.redo_before, (Operation.UPDATE, Operation.DELETE), "unknown_before", "had")
AFTER = Side(frames.redo_after, (Operation.INSERT, Operation.UPDATE), "unknown_after", "has")
SIDES = (BEFORE, AFTER)


def with_images(changes: DataFrame, version: TableVersion, *, isolates: bool = False) -> DataFrame:
    """Return the changes with o<id> and n<id> of the lake's columns, `had` and `has`, and KEYS where an expression makes the
    key. They have a `finding`, and the `unknown` of each side by the columns of Oracle. With `isolates`, a change for which
    users' code raises gets a finding."""
    if maps_key(version):
        changes = changes.withColumns({name_in_oracle(side): F.when(side.is_row, key_of(version, side)) for side in SIDES})
    for side in SIDES:
        changes = with_image(changes, version, side, isolates=isolates)
    return with_keys(changes, version.key) if maps_key(version) else changes


def with_image(changes: DataFrame, version: TableVersion, side: Side, *, isolates: bool) -> DataFrame:
    mapping = version.mapping
    if mapping is None or not (mapping.computed or mapping.where):
        return changes.withColumn(side.there, side.is_row)
    ids = needed(version)
    sources = with_sources(changes, ids, side.kind).withColumn(side.there, is_there(version, mapping, side))
    there, inputs = F.col(side.there), [] if mapping.transform is None else [i for i, _ in mapping.transform.inputs]
    shaped = shape(version, is_whole=there & ~side.lacks(inputs), isolates=isolates)
    values = {
        side.kind(one.id): F.when(
            (side.is_row if one.id in version.key else there) & ~side.lacks(one.needs), shaped.values[one.id]
        )
        for one in mapping.computed
    }
    wrong = [F.when(there & ~side.lacks(one.needs) & is_wrong, misfit(one)) for one, is_wrong in shaped.misfits]
    if maps_key(version):
        made = [one for one in mapping.computed if one.id in version.key]
        null_key = why(MappingFailed.__name__, F.concat(F.lit(f"{NULL_KEY}: "), F.col(name_in_oracle(side))))
        wrong += [F.when(there & ~side.lacks(one.needs) & shaped.values[one.id].isNull(), null_key) for one in made]
    if shaped.failed is not None:
        wrong.append(F.when(there & shaped.failed.isNotNull(), why(MappingFailed.__name__, shaped.failed)))
    found = F.coalesce("finding", *of_filter(mapping, side), *wrong)
    more = {
        **values,
        side.unknown: in_lake(side.unknown, mapping.computed, lambda one: side.lacks(one.needs)),
        "finding": found,
    }
    return sources.withColumns(more).drop(*map(source_value, ids))


def is_there(version: TableVersion, mapping: TableMapping, side: Side) -> Expression:
    """Return whether the lake has the row: false where the filter lacks a column, which is a finding."""
    if mapping.where is None:
        return side.is_row
    passes = shape(replace(version, mapping=mapping.filter_alone)).passes
    assert passes is not None
    return F.coalesce(F.when(side.is_row & ~side.lacks(mapping.where.needs), passes), F.lit(False))


def of_filter(mapping: TableMapping, side: Side) -> Iterator[Expression]:
    """Yield the finding of a change of which nothing says whether its row passes the filter."""
    if mapping.where is not None:
        what = f"the redo of a change does not contain all columns that where: {mapping.where.text} needs"
        yield F.when(side.is_row & side.lacks(mapping.where.needs), why("NotLogged", what))


def with_unread(changes: DataFrame, version: TableVersion, classes: Collection[ErrorClass]) -> DataFrame:
    """Return the changes with UNREAD, the finding of one whose error is of these `classes` and whose keys are known. Nothing
    else is known of it, and it has no `finding` then. Changes have TROUBLE where there are classes."""
    found = F.col("finding")
    if not classes:
        return changes.withColumn(UNREAD, F.when(F.lit(False), found))
    trouble = F.coalesce(TROUBLE, F.when(found["code"] == MappingFailed.__name__, F.lit("transform")))
    lacks_key = any_of(side.is_row & has_null(version.key, side.kind) for side in SIDES)
    apart = F.coalesce(found.isNotNull() & trouble.isin(*classes) & ~lacks_key, F.lit(False))
    others = [c.id for c in target_columns(with_lake_names(version, DEFAULT)) if c.id not in version.key]
    more = {UNREAD: F.when(apart, found), "finding": F.when(~apart, found)}
    for side in SIDES:
        ids = F.array(*map(F.lit, others)).cast("array<int>")
        more[side.unknown] = F.when(apart, F.when(side.is_row, ids)).otherwise(F.col(side.unknown))
        more[side.there] = F.when(apart, side.is_row).otherwise(F.col(side.there))
        more |= {side.kind(i): F.when(~apart, F.col(side.kind(i))) for i in others}
    return changes.withColumns(more)


def key_of(version: TableVersion, side: Side) -> Expression:
    return shown_key(version, lambda column: F.col(side.kind(column.id)))


def name_in_oracle(side: Side) -> str:
    return f"key {side.there}"


def with_keys(changes: DataFrame, key: Sequence[int]) -> DataFrame:
    """Return the changes with KEYS: for each image that the lake has, the key there and that in Oracle."""
    pairs = [
        F.when(
            F.col(side.there),
            F.struct(
                key_text(F.struct(*(F.col(side.kind(i)).alias(frames.key(i)) for i in key))).alias("lake"),
                F.col(name_in_oracle(side)).alias("oracle"),
            ),
        )
        for side in SIDES
    ]
    return changes.withColumn(KEYS, F.array_compact(F.array(*pairs))).drop(*map(name_in_oracle, SIDES))
