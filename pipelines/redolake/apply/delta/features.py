"""Delta table features, each enabled where a table first needs it: every feature shuts some readers out.

Column mapping may be enabled later, because columns that exist keep their names in the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from redolake.apply.delta.log import DeltaLog
from redolake.errors import SchemaConflict
from redolake.values.lake_rules import needs_mapping
from redolake.values.table import TableId
from redolake.values.target_options import Readers

Feature = Literal["columnMapping", "typeWidening", "deletionVectors", "timestampNtz"]

PROPERTY: Mapping[Feature, tuple[str, str]] = {
    "columnMapping": ("delta.columnMapping.mode", "name"),
    "typeWidening": ("delta.enableTypeWidening", "true"),
    "deletionVectors": ("delta.enableDeletionVectors", "true"),
    "timestampNtz": ("delta.feature.timestampNtz", "supported"),
}
# `any` allows none of these; timestamps without a zone have no other Delta type.
NOT_WIDEST: tuple[Feature, ...] = ("columnMapping", "deletionVectors", "typeWidening")
# Column mapping alone is reader version 2, by which delta-rs shows a renamed column as NULL, and DuckDB opens no table. With a
# feature that has no version of its own the protocol names its features, and readers know or refuse them.
NAMES_FEATURES: Feature = "timestampNtz"


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
