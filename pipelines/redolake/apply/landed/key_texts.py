"""The texts of a key: that by which a row is known in the quarantine, JSON with each column's name in Oracle and its value, and
that of errors."""

from __future__ import annotations

from collections.abc import Callable, Collection

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.apply.landed.keys import has_null
from redolake.apply.mapping import REDACTED
from redolake.apply.spark.quoting import quote
from redolake.apply.spark.text import to_text
from redolake.apply.target import target_columns
from redolake.values.frames import Kind
from redolake.values.lake_columns import with_lake_names
from redolake.values.table import Column, TableVersion
from redolake.values.target_options import TargetOptions

MOST_LISTED = 1000  # values in a condition


def key_text(version: TableVersion, value: Callable[[int], Expression]) -> Expression:
    """Return the text of a key of which `value` returns the column with an id."""
    columns = {column.id: column for column in target_columns(version)}
    return F.to_json(F.struct(*(to_text(value(i), columns[i]).alias(columns[i].name) for i in version.key)))


def shown_key(version: TableVersion, in_oracle: Callable[[Column], Expression]) -> Expression:
    """Return the key of a row in Oracle for an error, without what a mask hides; empty for a table without a key."""
    masked = frozenset[int]() if version.mapping is None else version.mapping.masked
    columns = {column.id: column for column in target_columns(version)}

    def part(column: Column) -> Expression:
        value = F.lit(REDACTED) if column.id in masked else to_text(in_oracle(column), column)
        return F.concat(F.lit(f"{column.name} "), value)

    return F.concat_ws(", ", F.lit(None).cast("string"), *(part(columns[i]) for i in version.key))


def key_of_change(version: TableVersion, side: Kind) -> Expression:
    """Return the text of a change's key on one side; NULL where a column of it is not known."""
    return F.when(~has_null(version.key, side), key_text(version, lambda i: F.col(side(i))))


def key_in_lake(version: TableVersion, options: TargetOptions) -> Expression:
    """Return the text of the key of a row as the lake has it."""
    names = {column.id: column.name for column in target_columns(with_lake_names(version, options))}
    return key_text(version, lambda i: F.col(quote(names[i])))


def is_among(key: Expression, keys: Collection[str]) -> Expression:
    return F.coalesce(key.isin(*sorted(keys)), F.lit(False)) if keys else F.lit(False)


def without_keys(rows: DataFrame, key: Expression, keys: Collection[str]) -> DataFrame:
    """Return the rows with none of the keys, however many these are."""
    if len(keys) <= MOST_LISTED:
        return rows.filter(~is_among(key, keys))
    listed = F.broadcast(rows.sparkSession.createDataFrame([(one,) for one in sorted(keys)], "listed string"))
    return (
        rows.withColumn("key of row", key).join(listed, F.col("key of row") == F.col("listed"), "left_anti").drop("key of row")
    )
