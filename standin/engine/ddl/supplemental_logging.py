"""Supplemental logging of a table: ADD and DROP SUPPLEMENTAL LOG of ALTER TABLE, and SUPPLEMENTAL LOG in CREATE TABLE."""

from __future__ import annotations

from collections.abc import Iterable

from standin.engine.storage.storage import TableStore
from standin.engine.text.tokens import Cursor
from standin.interface import OraError
from standin.model import LogGroup, TableDef

_LOGGING = {
    ("ALL",): "ALL COLUMN LOGGING",
    ("PRIMARY", "KEY"): "PRIMARY KEY LOGGING",
    ("UNIQUE",): "UNIQUE KEY LOGGING",
    ("FOREIGN", "KEY"): "FOREIGN KEY LOGGING",
}


def add_logging(store: TableStore, cursor: Cursor) -> None:
    add_log_groups(store.definition, log_groups(cursor))


def log_groups(cursor: Cursor) -> list[LogGroup]:
    """Read what follows SUPPLEMENTAL LOG. The groups of DATA (..) COLUMNS get their names with their table."""
    if cursor.accept("GROUP"):
        name, columns = cursor.name(), cursor.names()
        return [LogGroup(name, "USER LOG GROUP", columns, cursor.accept("ALWAYS"))]
    always = ("ALL COLUMN LOGGING", "PRIMARY KEY LOGGING")
    return [LogGroup("", kind, [], kind in always) for kind in logging_kinds(cursor)]


def add_log_groups(table: TableDef, groups: Iterable[LogGroup]) -> None:
    for group in groups:
        kind = group.kind
        if not group.name and any(g.kind == kind for g in table.log_groups):
            raise OraError(32588, f"supplemental logging attribute {kind.lower().removesuffix(' logging')} exists")
        group.name = group.name or f"SYS_C{table.object_id:06d}_{kind[:2]}"
        table.log_groups.append(group)


def logging_kinds(cursor: Cursor) -> list[str]:
    """Read `DATA (ALL, PRIMARY KEY ...) COLUMNS` and return the kinds of logging."""
    cursor.expect("DATA")
    cursor.expect("(")
    found = []
    while True:
        words = next((words for words in _LOGGING if cursor.accept(*words)), None)
        if words is None:
            raise OraError(905, "missing keyword", cursor.next.start)
        found.append(_LOGGING[words])
        if not cursor.accept(","):
            break
    cursor.expect(")")
    cursor.expect("COLUMNS")
    return found


def drop_logging(store: TableStore, cursor: Cursor) -> None:
    groups = store.definition.log_groups
    if cursor.accept("GROUP"):
        name = cursor.name()
        wanted = [g for g in groups if g.name == name]
    else:
        kinds = logging_kinds(cursor)
        wanted = [g for g in groups if g.kind in kinds]
    if not wanted:
        raise OraError(32587, "Cannot drop nonexistent supplemental logging")
    for group in wanted:
        groups.remove(group)
