"""Delta table features, each enabled where a table first needs it: every feature shuts some readers out.

Column mapping may be enabled later, because columns that exist keep their names in the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from pyspark.sql import types as T

from redolake.apply.delta.log import DeltaLog
from redolake.apply.spark.quoting import quote, text_literal
from redolake.errors import SchemaConflict
from redolake.values.lake_rules import MEASURED, NAMED_MEASURED, needs_mapping
from redolake.values.table import TableId
from redolake.values.target_options import Readers, TargetOptions

Feature = Literal["columnMapping", "typeWidening", "deletionVectors", "timestampNtz"]

PROPERTY: Mapping[Feature, tuple[str, str]] = {
    "columnMapping": ("delta.columnMapping.mode", "name"),
    "typeWidening": ("delta.enableTypeWidening", "true"),
    "deletionVectors": ("delta.enableDeletionVectors", "true"),
    "timestampNtz": ("delta.feature.timestampNtz", "supported"),
}
# `any` allows none of these; timestamps without a zone have no other Delta type.
NOT_WIDEST: tuple[Feature, ...] = ("columnMapping", "deletionVectors", "typeWidening")
# Column mapping alone is reader version 2, by which delta-rs shows a renamed column as NULL. With a feature that has no version
# of its own the protocol names its features, and readers know or refuse them.
NAMES_FEATURES: Feature = "timestampNtz"
# Types whose minima and maxima all readers read alike, whoever has written them. delta-rs finds no row, to Arrow, by a column
# with a count of NULLs and no minimum (BOOLEAN) or with one such as 0E-10. In files that it compacts, a decimal's are doubles
# or end at 2^63-1, and a double's leave NaN out, so that Spark, DuckDB and Polars lose rows too.
MEASURED_ALIKE = re.compile(r"int|bigint|string|date|timestamp|timestamp_ntz|decimal\((?:\d|1[0-5]),[0-6]\)")
MOST_MEASURED = 32  # Delta's own choice


def has_feature(log: DeltaLog, feature: Feature) -> bool:
    """Return whether the feature is enabled, as opposed to only supported."""
    if feature == "timestampNtz":
        return feature in log.features()
    key, value = PROPERTY[feature]
    return log.properties().get(key) == value


def enable_clause(feature: Feature) -> str:
    """Return the part of ALTER TABLE that enables the feature."""
    pairs = [PROPERTY[feature], *([PROPERTY[NAMES_FEATURES]] if feature == "columnMapping" else ())]
    return "SET TBLPROPERTIES (" + ", ".join(f"'{key}' = '{value}'" for key, value in pairs) + ")"


def feature_of_type(type_: str) -> Feature | None:
    return "timestampNtz" if type_ == "timestamp_ntz" else None


def feature_of_name(name: str) -> Feature | None:
    return "columnMapping" if needs_mapping(name) else None


def names_of(schema: T.StructType) -> Iterator[str]:
    """Yield the names of the columns, and of the fields in them."""
    for field in schema.fields:
        yield field.name
        if isinstance(field.dataType, T.StructType):
            yield from names_of(field.dataType)


def statistics(schema: T.StructType, options: TargetOptions, partitions: Iterable[str]) -> dict[str, str]:
    """Return the property by which Delta keeps minima and maxima for `readers: any`; none where the settings name one."""
    if options.readers != "any" or {MEASURED, NAMED_MEASURED} & dict(options.properties).keys():
        return {}
    present = {field.name for field in schema.fields}
    clustered = [name for name in map(options.name, options.cluster_by) if name in present]  # Delta does not cluster without
    apart = {*partitions, *clustered}
    names = [*clustered, *[name for name in measured_alike(schema) if name not in apart][:MOST_MEASURED]]
    return {NAMED_MEASURED: ",".join(map(quote, names))} if names else {MEASURED: "0"}


def measured_alike(schema: T.StructType) -> list[str]:
    return [field.name for field in schema.fields if MEASURED_ALIKE.fullmatch(field.dataType.simpleString())]


def statistics_clause(log: DeltaLog, after: T.StructType, options: TargetOptions) -> str | None:
    """Return the part of ALTER TABLE that comes before all rows are replaced by those of `after`: Delta keeps properties, and
    refuses names of columns that are gone. None where the table measures nothing else already."""
    types = {field.name: field.dataType for field in after.fields}
    present = T.StructType.fromJson(dict(log.schema()))
    both = T.StructType([field for field in present.fields if types.get(field.name) == field.dataType])
    wanted = statistics(both, options, log.partition_columns())
    listed = log.properties().get(NAMED_MEASURED)
    clustered = {name for name in map(options.name, options.cluster_by) if name in types}
    if not wanted or (listed is not None and {*listed.split(",")} <= {*map(quote, (*measured_alike(after), *clustered))}):
        return None
    return (
        "SET TBLPROPERTIES (" + ", ".join(f"{text_literal(key)} = {text_literal(value)}" for key, value in wanted.items()) + ")"
    )


def beyond(log: DeltaLog, readers: Readers) -> list[str]:
    """Return the features of the table that the profile does not allow."""
    if readers == "spark":
        return []
    known = log.features()
    return sorted(feature for feature in NOT_WIDEST if feature in known or has_feature(log, feature))


def check_readers(log: DeltaLog, readers: Readers, table: TableId) -> None:
    """Raise SchemaConflict when some of the profile's readers cannot open the table."""
    found = beyond(log, readers)
    if found:
        raise SchemaConflict(
            f"pipelines.yml says `readers: {readers}`, and the Delta table uses {', '.join(found)}",
            cure=f"run `redolake snapshot {table} --replace` to rebuild the table without them, or declare `readers: spark` "
            f"and run `redolake resume {table}`",
            table=table,
        )
