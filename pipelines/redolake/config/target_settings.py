"""The options of a target, as pipelines.yml sets them."""

from __future__ import annotations

from typing import get_args

from pydantic import Field

from redolake.config.values import Properties, Settings
from redolake.values.own_columns import OWN_COLUMNS, MetadataName
from redolake.values.target_options import Deletes, Names, Readers


class TargetSettings(Settings):
    """What may be said for all tables of a pipeline, and for each: the table's own counts before the pipeline's, and without
    both the default of the option (values/target_options.py)."""

    readers: Readers | None = Field(
        None,
        description="`spark`: each Delta feature once a table needs it (deletion vectors for MERGE into a large "
        "table, column mapping for RENAME and DROP of a column, type widening); `any`: none, so that "
        "delta-rs, Polars and others open the table, and such a change writes it again",
    )
    column_names: Names | None = Field(None, description="column names in the lake: as in Oracle, or in lower case")
    metadata_columns: tuple[MetadataName, ...] | None = Field(
        None,
        description="Redolake's columns, after all others: "
        + ", ".join(f"`{name}` ({OWN_COLUMNS[name].help})" for name in get_args(MetadataName)),
    )
    deletes: Deletes | None = Field(
        None, description="deleted rows: `remove` them from the lake, or `mark` them in the column `_deleted`"
    )
    properties: Properties = Field(default_factory=dict, description="more table properties of Delta")
