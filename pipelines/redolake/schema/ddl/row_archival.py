"""[NO] ROW ARCHIVAL: adds or drops hidden column ORA_ARCHIVE_STATE, which says what sessions see, and which is not captured."""

from __future__ import annotations

from dataclasses import replace

from redolake.schema.ddl.effect import Effect
from redolake.schema.ddl.segment import with_guard, without
from redolake.schema.ddl_statement import DdlStatement
from redolake.values.table import IgnoredColumn, TableVersion

ARCHIVE_STATE = "ORA_ARCHIVE_STATE"


def read(statement: DdlStatement, version: TableVersion) -> Effect | None:
    if not statement.alter_table():
        return None
    gone = statement.take("NO", "ROW", "ARCHIVAL")
    if not (gone or statement.take("ROW", "ARCHIVAL")):
        return None
    if not statement.done:
        raise statement.not_understood()
    if gone:
        return Effect(without(version, ignored=[column for column in version.ignored if column.kind == "archive"]))
    guarded = with_guard(statement, version, ARCHIVE_STATE, optimized=True)
    state = IgnoredColumn(guarded.next_segment_id, "archive", ARCHIVE_STATE)
    return Effect(replace(guarded, ignored=(*guarded.ignored, state)))
