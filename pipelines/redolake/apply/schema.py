"""The Delta schema of a table version, and the columns that a Delta table really has.

Our column ids are in the fields' metadata, which Delta keeps through ADD, DROP and overwriting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import types as T

from redolake.apply.own_columns import own_fields
from redolake.apply.spark.types import parse_type
from redolake.apply.table_log import COLUMN_ID, KEY_PLACE
from redolake.apply.target import TargetColumn, target_columns
from redolake.apply.translation import Translation
from redolake.errors import SchemaConflict
from redolake.values.datatypes import LARGE_TYPES
from redolake.values.delivery import delivery_of
from redolake.values.lake_rules import Conflict, LakeColumn, conflicts
from redolake.values.table import Column, Rules, TableId, TableVersion
from redolake.values.target_options import DEFAULT as DEFAULT_OPTIONS
from redolake.values.target_options import TargetOptions

COMMIT_SCN = "_commit_scn"  # one of the columns of ours, see own_columns.py
OURS = ("redolake.", "comment")  # what stays of a field's metadata where its table is written again
DEFAULT = "redolake.default"  # the value in rows older than the column, in neutral text


def field_of(column: Column, version: TableVersion, type_: str, default: str | None = None) -> T.StructField:
    """Return a nullable field: Delta could not drop NOT NULL in one commit with the change that needs it."""
    metadata: dict[str, Any] = {COLUMN_ID: column.id}
    if column.id in version.key:
        metadata[KEY_PLACE] = version.key.index(column.id) + 1
    if default is not None:
        metadata[DEFAULT] = default
    return T.StructField(column.name, parse_type(type_), True, metadata)


def target_schema(
    version: TableVersion, rules: Rules, translation: Translation, options: TargetOptions = DEFAULT_OPTIONS
) -> T.StructType:
    """Return the schema for a version with the lake's names.

    Raise SchemaConflict for what the lake cannot hold (lake_rules.py), and for a table without the key it needs."""
    columns = target_columns(version)
    types = {column.id: translation.spark_type(column.type, rules.get(column.id)) for column in columns}
    own = [LakeColumn(c.name, types[c.id], c.type.name in LARGE_TYPES) for c in version.columns]
    refuse_conflict(next(conflicts(own, options, has_rowid=has_rowid(version)), None), version.table)
    if not version.key and version.key_kind != "append":
        cure = "add one, declare another `key` for it in pipelines.yml, or leave it out"
        raise SchemaConflict("the table has no primary key", cure=cure, table=version.table)
    fields = [field_of(c, version, types[c.id]) for c in columns]
    return T.StructType([*fields, *own_fields(options)])


def has_rowid(version: TableVersion) -> bool:
    """Return whether its rows are read with their ROWID, as key or to be read again."""
    return version.key_kind == "rowid" or bool(delivery_of(version).rereads)


def refuse_conflict(found: Conflict | None, table: TableId, scn: int | None = None) -> None:
    if found is not None:
        cure = f"{found.cure}; then run `redolake snapshot {table} --replace`"
        raise SchemaConflict(found.what, cure=cure, table=table, scn=scn)


def columns_of(schema: T.StructType) -> dict[int, TargetColumn]:
    return {
        int(f.metadata[COLUMN_ID]): TargetColumn(
            int(f.metadata[COLUMN_ID]), f.name, f.dataType.simpleString(), f.metadata.get(DEFAULT)
        )
        for f in schema.fields
        if COLUMN_ID in f.metadata
    }


def check_columns(version: TableVersion, rules: Rules, have: Mapping[int, TargetColumn], translation: Translation) -> None:
    """Raise SchemaConflict unless the target has exactly the version's columns, by id, name and type."""
    want = {c.id: (c.name, translation.spark_type(c.type, rules.get(c.id))) for c in target_columns(version)}
    found = {c.id: (c.name, c.type) for c in have.values()}
    if want != found:
        differing = sorted(set(want.items()) ^ set(found.items()))
        names = ", ".join(dict.fromkeys(f"{name} {type_}" for _, (name, type_) in differing))
        raise SchemaConflict(
            f"the Delta table's columns differ from those of the Oracle table: {names}",
            cure=f"run `redolake snapshot {version.table} --replace` to rebuild the table{_keep_decimals(want, found)}",
            table=version.table,
            version_scn=version.from_scn,
        )


def _keep_decimals(want: Mapping[int, tuple[str, str]], found: Mapping[int, tuple[str, str]]) -> str:
    """Return how to keep decimals that the default has become integers of since, or an empty text."""
    kept = [
        f'{name}: "{found[i][1]}"'
        for i, (name, type_) in want.items()
        if i in found and type_ in ("int", "bigint") and found[i][1].startswith("decimal")
    ]
    return f", or keep its decimals: `columns: {{{', '.join(kept)}}}`" if kept else ""
