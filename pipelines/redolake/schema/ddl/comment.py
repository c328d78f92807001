"""COMMENT ON TABLE and COMMENT ON COLUMN.

A comment that is not on a captured column, or whose text cannot be read, changes nothing: no row depends on it.
"""

from __future__ import annotations

from redolake.records.batches.spec import ChangeKind, ColumnChange
from redolake.schema.ddl.effect import Effect
from redolake.schema.ddl_statement import DdlStatement
from redolake.values.lake_columns import comments_of
from redolake.values.table import TableVersion


def read(statement: DdlStatement, version: TableVersion) -> Effect | None:
    statement.from_start()
    what = statement.take_any("COMMENT ON TABLE", "COMMENT ON COLUMN")
    if what is None:
        return None
    names = [statement.name()]
    while statement.take("."):
        names.append(statement.name())
    text = statement.text() if statement.take("IS") else None
    column = version.named(names.pop()) if what == "COMMENT ON COLUMN" else None
    is_ours = tuple(names) in ((version.in_oracle.name,), (version.in_oracle.owner, version.in_oracle.name))
    if not is_ours or text is None or (what == "COMMENT ON COLUMN" and column is None):
        return Effect(version)
    if column is not None and column.id in comments_of(version):
        return Effect(version)  # pipelines.yml gives the column another one
    kind: ChangeKind = "comment_table" if column is None else "comment"
    return Effect(version, (ColumnChange(statement.row.scn, kind, column or version.columns[0], comment=text),))
