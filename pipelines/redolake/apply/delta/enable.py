"""Enable features of a Delta table that exists, in commits of their own: Delta does not do so with a write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql.types import StructType

from redolake.apply.delta.features import Feature, enable_clause, feature_of_name, feature_of_type, has_feature
from redolake.apply.delta.sql import table_at
from redolake.apply.delta.table import DeltaTable
from redolake.apply.delta.writer import commit
from redolake.apply.target import Tag, Terms


def enable_features(table: DeltaTable, features: Iterable[Feature], metadata: Mapping[str, object], terms: Terms) -> None:
    """Enable the features that the table lacks; a table that is created gets its own."""
    for feature in features:
        if table.log is None or has_feature(table.log, feature):
            continue
        with commit(table, terms, Tag("", 0, metadata), "feature") as writer:
            writer.run(f"ALTER TABLE {table_at(table.path)} {enable_clause(feature)}")


def enable_for(table: DeltaTable, schema: StructType, metadata: Mapping[str, object], terms: Terms) -> None:
    """Enable what the names and types of the columns need with which the table is going to be written again."""
    names = (feature_of_name(field.name) for field in schema.fields)
    types = (feature_of_type(field.dataType.simpleString()) for field in schema.fields)
    needed = sorted({feature for feature in (*names, *types) if feature is not None})
    enable_features(table, needed, metadata, terms)
