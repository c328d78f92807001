"""DDL: finds the statement's implementation and makes its implicit commit. An unknown statement raises ORA-03001."""

from __future__ import annotations

from collections.abc import Callable

from standin.engine import (
    accounts,
    alter_type,
    ddl_alter,
    ddl_indexes,
    ddl_objects,
    ddl_pluggable,
    ddl_sequences,
    ddl_system,
    ddl_tables,
    materialized_views,
    redo_dictionary,
    user_types,
)
from standin.engine.session import EngineSession
from standin.engine.tokens import Cursor
from standin.interface import OraError

_AFTER_CREATE = (("OR", "REPLACE"), ("NO", "FORCE"), ("FORCE",), ("EDITIONABLE",), ("NONEDITIONABLE",))
Statement = Callable[[EngineSession, Cursor], None]

# Stored, and not executed.
UNITS = ("PACKAGE BODY", "TYPE BODY", "PACKAGE", "PROCEDURE", "FUNCTION", "DIMENSION", "CLUSTER")
# By first words, longest first, without OR REPLACE and the like. These statements commit before and after themselves.
STATEMENTS: dict[tuple[str, ...], Statement] = {
    ("CREATE", "UNIQUE", "INDEX"): ddl_indexes.create_index,
    ("CREATE", "BITMAP", "INDEX"): ddl_indexes.create_index,
    ("CREATE", "INDEX"): ddl_indexes.create_index,
    ("CREATE", "GLOBAL", "TEMPORARY", "TABLE"): ddl_tables.create_table,
    ("CREATE", "TABLE"): ddl_tables.create_table,
    ("CREATE", "SEQUENCE"): ddl_sequences.create_sequence,
    ("CREATE", "USER"): accounts.create_user,
    ("CREATE", "ROLE"): accounts.create_role,
    ("CREATE", "VIEW"): ddl_objects.create_view,
    ("CREATE", "MATERIALIZED", "VIEW"): materialized_views.create_materialized_view,
    ("CREATE", "PUBLIC", "SYNONYM"): ddl_objects.create_synonym,
    ("CREATE", "SYNONYM"): ddl_objects.create_synonym,
    ("CREATE", "TRIGGER"): ddl_objects.create_trigger,
    **{("CREATE", *kind.split()): ddl_objects.unit(kind) for kind in UNITS},
    ("CREATE", "TYPE"): user_types.create_type,
    ("DROP", "TABLE"): ddl_tables.drop_table,
    ("DROP", "INDEX"): ddl_indexes.drop_index,
    ("ALTER", "SEQUENCE"): ddl_sequences.alter_sequence,
    ("DROP", "SEQUENCE"): ddl_sequences.drop_sequence,
    ("DROP", "USER"): accounts.drop_user,
    ("DROP", "MATERIALIZED", "VIEW"): materialized_views.drop_materialized_view,
    ("DROP", "PUBLIC", "SYNONYM"): ddl_objects.dropper("SYNONYM"),
    **{("DROP", *kind.split()): ddl_objects.dropper(kind) for kind in ("VIEW", "SYNONYM", "TRIGGER", *UNITS, "TYPE")},
    ("DROP", "CLUSTER"): ddl_tables.drop_cluster,
    ("FLASHBACK", "TABLE"): ddl_tables.flashback_table,
    ("TRUNCATE", "TABLE"): ddl_tables.truncate_table,
    ("TRUNCATE", "CLUSTER"): ddl_tables.truncate_cluster,
    ("PURGE", "TABLE"): ddl_tables.purge_table,
    ("PURGE", "RECYCLEBIN"): ddl_tables.purge_recyclebin,
    ("COMMENT", "ON"): ddl_tables.comment,
    ("RENAME",): ddl_tables.rename_table,
    ("ALTER", "TABLE"): ddl_alter.alter_table,
    ("ALTER", "INDEX"): ddl_indexes.alter_index,
    ("ALTER", "TRIGGER"): ddl_objects.alter_trigger,
    ("ALTER", "TYPE"): alter_type.alter_type,
    **{("ALTER", kind): ddl_objects.recompile for kind in ("VIEW", "PROCEDURE", "FUNCTION", "PACKAGE")},
    ("ALTER", "USER"): accounts.alter_user,
    ("GRANT",): accounts.grant,
    ("REVOKE",): accounts.revoke,
    ("ALTER", "DATABASE"): ddl_system.alter_database,
    ("ALTER", "PLUGGABLE", "DATABASE"): ddl_pluggable.alter_pluggable_database,
    ("FLASHBACK", "PLUGGABLE", "DATABASE"): ddl_pluggable.flashback_pluggable_database,
    ("FLASHBACK", "DATABASE"): ddl_system.flashback_database,
}
# These statements do not commit.
SETTINGS: dict[tuple[str, ...], Statement] = {
    ("ALTER", "SESSION"): ddl_system.alter_session,
    ("ALTER", "SYSTEM"): ddl_system.alter_system,
}


def run_ddl(session: EngineSession, text: str) -> None:
    """Run a DDL statement under the database's lock. As in Oracle, one that fails has still committed the open transaction."""
    cursor = Cursor(text)
    statement, commits = _find(cursor)
    if not commits:
        statement(session, cursor)
        return
    session.commit()
    if statement not in (ddl_system.alter_database, ddl_system.flashback_database):
        session.database.await_redo(session)
    statement(session, cursor)
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
