"""Write text columns as plain `string`, the type that every Delta reader knows.

Spark Connect clients wrote `string collate UTF8_BINARY` into some lakes. Both name the same values in Spark, and readers other
than Spark refuse the second one. A snapshot load writes a new schema anyway.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from redolake.apply.delta.sql import table_at
from redolake.apply.delta.table import DeltaTable
from redolake.apply.delta.writer import commit
from redolake.apply.spark.quoting import quote
from redolake.apply.target import Tag, Terms

COLLATED = "string collate UTF8_BINARY"


def write_plain_types(table: DeltaTable, metadata: Mapping[str, object], terms: Terms) -> None:
    """Rewrite the schema if a column has a collated type: one commit of metadata, which changes no file and no position."""
    if table.log is None or COLLATED not in json.dumps(table.log.schema()):
        return
    # ALTER COLUMN would be skipped: for Spark the types are equal. REPLACE COLUMNS keeps ids, metadata and comments.
    fields = table.rows().schema.fields
    columns = ", ".join(f"{quote(field.name)} {field.dataType.simpleString()}" for field in fields)
    with commit(table, terms, Tag("", 0, {**metadata, "schema": "plain types"}), "evolve") as writer:
        writer.run(f"ALTER TABLE {table_at(table.path)} REPLACE COLUMNS ({columns})")
