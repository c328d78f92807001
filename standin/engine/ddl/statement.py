"""DDL: finds the statement's implementation and makes its implicit commit. An unknown statement raises ORA-03001."""

from __future__ import annotations

from collections.abc import Callable

from standin.engine.ddl import (
    accounts,
    alter_table,
    alter_type,
    flashback,
    indexes,
    materialized_views,
    objects,
    pluggable,
    redo_dictionary,
    sequences,
    system,
    tables,
    user_types,
)
from standin.engine.ddl.redo import write_failed
from standin.engine.sessions.session import EngineSession
from standin.engine.text.tokens import Cursor
from standin.interface import OraError

_AFTER_CREATE = (("OR", "REPLACE"), ("NO", "FORCE"), ("FORCE",), ("EDITIONABLE",), ("NONEDITIONABLE",))
Statement = Callable[[EngineSession, Cursor], None]

# Stored, and not executed.
UNITS = ("PACKAGE BODY", "TYPE BODY", "PACKAGE", "PROCEDURE", "FUNCTION", "DIMENSION", "CLUSTER")
# By first words, longest first, without OR REPLACE and the like. These statements commit before and after themselves.
STATEMENTS: dict[tuple[str, ...], Statement] = {
    ("CREATE", "UNIQUE", "INDEX"): indexes.create_index,
    ("CREATE", "BITMAP", "INDEX"): indexes.create_index,
    ("CREATE", "INDEX"): indexes.create_index,
    ("CREATE", "GLOBAL", "TEMPORARY", "TABLE"): tables.create_table,
    ("CREATE", "IMMUTABLE", "TABLE"): tables.create_table,
    ("CREATE", "BLOCKCHAIN", "TABLE"): tables.create_table,
    ("CREATE", "TABLE"): tables.create_table,
    ("CREATE", "SEQUENCE"): sequences.create_sequence,
    ("CREATE", "USER"): accounts.create_user,
    ("CREATE", "ROLE"): accounts.create_role,
    ("CREATE", "VIEW"): objects.create_view,
    ("CREATE", "MATERIALIZED", "VIEW"): materialized_views.create_materialized_view,
    ("CREATE", "PUBLIC", "SYNONYM"): objects.create_synonym,
    ("CREATE", "SYNONYM"): objects.create_synonym,
    ("CREATE", "TRIGGER"): objects.create_trigger,
    **{("CREATE", *kind.split()): objects.unit(kind) for kind in UNITS},
    ("CREATE", "TYPE"): user_types.create_type,
    ("DROP", "TABLE"): tables.drop_table,
    ("DROP", "INDEX"): indexes.drop_index,
    ("ALTER", "SEQUENCE"): sequences.alter_sequence,
    ("DROP", "SEQUENCE"): sequences.drop_sequence,
    ("DROP", "USER"): accounts.drop_user,
    ("DROP", "MATERIALIZED", "VIEW"): materialized_views.drop_materialized_view,
    ("DROP", "PUBLIC", "SYNONYM"): objects.dropper("SYNONYM"),
    **{("DROP", *kind.split()): objects.dropper(kind) for kind in ("VIEW", "SYNONYM", "TRIGGER", *UNITS, "TYPE")},
    ("DROP", "CLUSTER"): tables.drop_cluster,
    ("FLASHBACK", "TABLE"): flashback.flashback_table,
    ("TRUNCATE", "TABLE"): tables.truncate_table,
    ("TRUNCATE", "CLUSTER"): tables.truncate_cluster,
    ("PURGE", "TABLE"): tables.purge_table,
    ("PURGE", "RECYCLEBIN"): tables.purge_recyclebin,
    ("COMMENT", "ON"): tables.comment,
    ("RENAME",): tables.rename_table,
    ("ALTER", "TABLE"): alter_table.alter_table,
    ("ALTER", "INDEX"): indexes.alter_index,
    ("ALTER", "TRIGGER"): objects.alter_trigger,
    ("ALTER", "TYPE"): alter_type.alter_type,
    **{("ALTER", kind): objects.recompile for kind in ("VIEW", "PROCEDURE", "FUNCTION", "PACKAGE")},
    ("ALTER", "USER"): accounts.alter_user,
    ("GRANT",): accounts.grant,
    ("REVOKE",): accounts.revoke,
    ("ALTER", "DATABASE"): system.alter_database,
    ("ALTER", "PLUGGABLE", "DATABASE"): pluggable.alter_pluggable_database,
    ("FLASHBACK", "PLUGGABLE", "DATABASE"): pluggable.flashback_pluggable_database,
    ("FLASHBACK", "DATABASE"): system.flashback_database,
}
# These statements do not commit.
SETTINGS: dict[tuple[str, ...], Statement] = {
    ("ALTER", "SESSION"): system.alter_session,
    ("ALTER", "SYSTEM"): system.alter_system,
}


# Errors of rows that a DDL finds after it has begun: of checks of a constraint or an index, and of a query.
_FOUND_IN_ROWS = frozenset({1, 1439, 1440, 1441, 1452, 1476, 1722, 2293, 2296, 2298, 2299, 2437, 12899, 14099, 14400, 14518})


def run_ddl(session: EngineSession, text: str) -> None:
    """Run a DDL statement under the database's lock. As in Oracle, one that fails has still committed the open transaction."""
    cursor = Cursor(text)
    statement, commits = _find(cursor)
    if not commits:
        statement(session, cursor)
        return
    session.require_writable()
    session.commit()
    if statement not in (system.alter_database, system.flashback_database):
        session.database.await_redo(session)
    try:
        statement(session, cursor)
    except OraError as error:
        if error.code in _FOUND_IN_ROWS:
            write_failed(session, text)
        raise
    redo_dictionary.write_changes(session)


def _find(cursor: Cursor) -> tuple[Statement, bool]:
    cursor.drop_words(1, _AFTER_CREATE)
    first_word = cursor.next.value
    for table, commits in ((STATEMENTS, True), (SETTINGS, False)):
        for words, statement in table.items():
            if words[0] == first_word and cursor.accept(*words):
                return statement, commits
    first = " ".join(cursor.ahead(i).value for i in range(2))
    raise OraError(3001, f"unimplemented feature: {first}")
