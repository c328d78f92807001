"""Statements that give rows other ROWIDs: MOVE and SHRINK SPACE, which keep every row, and TRUNCATE, which removes all.

Redo before and after them must not be joined by ROWID, so each has a step even if nothing changes in the target.
"""

from __future__ import annotations

from dataclasses import replace

from redolake.records.batches.spec import ChangeKind, ColumnChange
from redolake.schema.ddl.effect import Effect
from redolake.schema.ddl.large_object_storage import take_storage
from redolake.schema.ddl.properties import take_property
from redolake.schema.ddl_statement import DdlStatement
from redolake.values.table import TableVersion

STORAGE = ("DROP STORAGE", "DROP ALL STORAGE", "REUSE STORAGE", "PRESERVE MATERIALIZED VIEW LOG", "PURGE MATERIALIZED VIEW LOG")


def read(statement: DdlStatement, version: TableVersion) -> Effect | None:
    if statement.from_start().take("TRUNCATE", "TABLE"):
        return _truncate(statement, version)
    if not statement.alter_table():
        return None
    if statement.take("SHRINK", "SPACE"):
        if take_shrink(statement):
            return Effect(version)
        return _renumber(statement, version, "SHRINK SPACE")
    if statement.take("MOVE"):
        if statement.sees("PARTITION") or statement.sees("SUBPARTITION"):
            return None
        while _take_place(statement) or take_property(statement):
            pass
        return _renumber(statement, version, "MOVE")
    return None


def take_shrink(statement: DdlStatement) -> bool:
    """Take what follows SHRINK SPACE, and return whether that is CHECK alone, which only says whether it could be done."""
    only_check = statement.take("CHECK") and statement.done
    while statement.take_any("COMPACT", "CASCADE", "CHECK"):
        pass
    return only_check


def _take_place(statement: DdlStatement) -> bool:
    """Take where and how MOVE writes the rows. INCLUDING ROWS removes some, so it is not known here."""
    if statement.take("TABLESPACE"):
        statement.name()
    elif statement.take("UPDATE", "INDEXES"):
        if statement.sees("("):
            statement.skip_parentheses()
    elif not take_storage(statement):
        return bool(statement.take_any("ONLINE", "ALLOW CLUSTERING", "DISALLOW CLUSTERING", "UPDATE GLOBAL INDEXES"))
    return True


def _renumber(statement: DdlStatement, version: TableVersion, what: str) -> Effect:
    if statement.sees("NOLOGGING"):
        raise statement.refuse("NOLOGGING allows rows to be written without redo")
    if not statement.done:
        raise statement.not_understood()
    if version.key_kind == "rowid":
        raise statement.refuse(f"{what} gives the rows new ROWIDs, and ROWID is the key")
    after = version if what == "SHRINK SPACE" else replace(version, data_object_id=_segment(statement, version))
    return _step(statement, after, "renumber")


def _truncate(statement: DdlStatement, version: TableVersion) -> Effect:
    statement.need_name_of_table()
    while statement.take_any(*STORAGE):
        pass
    statement.take("CASCADE")
    if not statement.done:
        raise statement.not_understood()
    policy = statement.policies.truncate
    if policy == "hold":
        raise statement.refuse("TRUNCATE removed all rows, and `on_ddl: truncate` is `hold`", "truncate")
    if statement.row.object_id != version.object_id:  # by its text alone it may be a table of another owner
        raise statement.refuse(
            f"TRUNCATE of object {statement.row.object_id or 'without number'}, and not certainly of this table"
        )
    segment = _segment(statement, version)
    if version.key_kind == "rowid" and not segment:
        raise statement.refuse("TRUNCATE gives later rows ROWIDs of a segment that no dictionary reading shows yet")
    return _step(statement, replace(version, data_object_id=segment), "truncate" if policy == "follow" else "renumber")


def _segment(statement: DdlStatement, version: TableVersion) -> int:
    """Return the DATA_OBJECT_ID after the statement, 0 if no dictionary was read since."""
    dictionary = statement.dictionary_after()
    return 0 if dictionary is None or dictionary.object_id != version.object_id else dictionary.data_object_id


def _step(statement: DdlStatement, version: TableVersion, kind: ChangeKind) -> Effect:
    return Effect(version, (ColumnChange(statement.row.scn, kind, version.columns[0]),))
