"""Supplemental logging of a table: ADD and DROP SUPPLEMENTAL LOG of ALTER TABLE."""

from __future__ import annotations

from standin.engine.storage import TableStore
from standin.engine.tokens import Cursor
from standin.interface import OraError
from standin.model import LogGroup

_LOGGING = {
    ("ALL",): "ALL COLUMN LOGGING",
    ("PRIMARY", "KEY"): "PRIMARY KEY LOGGING",
    ("UNIQUE",): "UNIQUE KEY LOGGING",
    ("FOREIGN", "KEY"): "FOREIGN KEY LOGGING",
}


def add_logging(store: TableStore, cursor: Cursor) -> None:
    groups = store.definition.log_groups
    if cursor.accept("GROUP"):
        name, columns = cursor.name(), cursor.names()
        groups.append(LogGroup(name, "USER LOG GROUP", columns, cursor.accept("ALWAYS")))
        return
    for kind in logging_kinds(cursor):
        if any(g.kind == kind for g in groups):
            raise OraError(32588, f"supplemental logging attribute {kind.lower().removesuffix(' logging')} exists")
        always = kind in ("ALL COLUMN LOGGING", "PRIMARY KEY LOGGING")
        groups.append(LogGroup(f"SYS_C{store.definition.object_id:06d}_{kind[:2]}", kind, [], always))


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
