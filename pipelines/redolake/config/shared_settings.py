"""Settings that a pipeline has for all its tables, and each table for itself."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import Field

from redolake.config.mapping import KeySource, ShapeSettings
from redolake.config.on_ddl import OnDdl
from redolake.config.on_error import OnError
from redolake.config.resnapshot import ResnapshotLimits
from redolake.config.snapshot import SnapshotSettings
from redolake.config.values import InvalidText, Properties, Settings, UnsupportedColumns
from redolake.values.history import HistoryKind
from redolake.values.own_columns import OWN_COLUMNS, MetadataName
from redolake.values.table import LargeObjects
from redolake.values.target_options import DEFAULT, Deletes, Names, Readers


class SharedSettings(ShapeSettings):
    """What a table does not say is as the pipeline says it (`setting_of`)."""

    readers: Readers = Field(
        DEFAULT.readers,
        description="`spark`: each Delta feature once a table needs it (deletion vectors for MERGE into a large "
        "table, column mapping for RENAME and DROP of a column, type widening); `any`: none, so that "
        "delta-rs, Polars and others open the table, and such a change writes it again",
    )
    column_names: Names = Field(DEFAULT.column_names, description="column names in the lake: as in Oracle, or in lower case")
    metadata_columns: tuple[MetadataName, ...] = Field(
        DEFAULT.metadata_columns,
        description="Redolake's columns, after all others: "
        + ", ".join(f"`{name}` ({OWN_COLUMNS[name].help})" for name in get_args(MetadataName)),
    )
    deletes: Deletes = Field(
        DEFAULT.deletes, description="deleted rows: `remove` them from the lake, or `mark` them in the column `_deleted`"
    )
    properties: Properties = Field(default_factory=dict, description="more table properties of Delta")
    unsupported_columns: UnsupportedColumns = Field(
        "refuse",
        description="columns of types that the redo does not show (XMLTYPE, JSON, LONG, LONG RAW, VECTOR, BOOLEAN, "
        "UROWID, object types, VARRAY): `refuse` their tables, `exclude` them, or `reread` each changed "
        "row whole from the table",
    )
    large_objects: LargeObjects = Field(
        "refuse",
        description="CLOB, NCLOB and BLOB columns: `refuse` their tables, `reread` values after each change, assemble "
        "them from the `redo` alone, XMLTYPE too, or `exclude` the columns",
    )
    invalid_text: InvalidText = Field(
        "hold",
        description="text with bytes that are no characters, as old clients store it: `hold` the table, `replace` "
        "them (surrogate pairs of CESU-8 by the character that they mean, others by U+FFFD), or store "
        "VARCHAR2 and CHAR as `binary`. Not for columns of the key, or with a rule of their own",
    )
    history: HistoryKind = Field(
        "none",
        description="`changes`: a second Delta table, below `_history` of the lake, with every change of each row, "
        "before and after; `scd2`: versions of rows too, as views of `redolake views`",
    )
    change_data_feed: bool = Field(False, description="Delta's change data feed")
    mask_key: KeySource | None = Field(
        None, description="where the key of `hash` masks is: `connection` (an Airflow connection's password) or `variable`"
    )
    on_ddl: OnDdl = OnDdl()
    on_error: OnError = OnError()
    resnapshot: ResnapshotLimits = ResnapshotLimits()
    snapshot: SnapshotSettings = SnapshotSettings()


def setting_of(own: Settings, of_pipeline: Settings, name: str) -> Any:
    """Return a setting as the table has it; what it does not say of it is the pipeline's."""
    mine, theirs = getattr(own, name), getattr(of_pipeline, name)
    if name not in own.model_fields_set:
        return theirs
    if isinstance(type(own).model_fields[name].default, Settings):
        return theirs.model_copy(update={one: setting_of(mine, theirs, one) for one in mine.model_fields_set})
    return {**theirs, **mine} if isinstance(theirs, dict) else mine
