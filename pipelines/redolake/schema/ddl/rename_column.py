"""ALTER TABLE .. RENAME COLUMN a TO b. The column keeps our id, its place in the segment and its part of the key."""

from __future__ import annotations

from dataclasses import replace

from redolake.records.batches.spec import ColumnChange
from redolake.schema.ddl.effect import Effect
from redolake.schema.ddl_statement import DdlStatement
from redolake.values.table import LEFT_OUT, TableVersion


def read(statement: DdlStatement, version: TableVersion) -> Effect | None:
    if not statement.alter_table() or not statement.take("RENAME", "COLUMN"):
        return None
    old = statement.name()
    statement.need("TO")
    new = statement.name()
    if not statement.done:
        raise statement.not_understood()
    taken = {c.name for c in version.columns} | {c.name for c in version.ignored}
    if new in taken:
        raise statement.refuse(f"DDL renames {old} to {new}, which the version of SCN {version.from_scn} already has")
    if any(c.kind in ("virtual", *LEFT_OUT) and c.name == old for c in version.ignored):
        renamed = (replace(c, part_of=new) if c.part_of == old else c for c in version.ignored)
        ignored = tuple(replace(c, name=new) if c.name == old else c for c in renamed)
        return Effect(replace(version, ignored=ignored))
    column = version.named(old)
    if column is None:
        raise statement.refuse(f"DDL renames column {old}, which the version of SCN {version.from_scn} does not have")
    if statement.policies.rename_column == "hold":
        raise statement.refuse("RENAME COLUMN, and `on_ddl: rename_column` is `hold`", "rename_column")
    after = replace(column, name=new)
    return Effect(version).with_change(after, ColumnChange(statement.row.scn, "rename_column", after))
