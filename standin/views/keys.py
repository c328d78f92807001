"""Dictionary views of constraints, indexes, and supplemental log groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from standin.model import PDB, Constraint, TableDef
from standin.views.registration import Row, ViewRow, dictionary_views, fixed_view, yes_no

if TYPE_CHECKING:
    from standin.engine.database.database import Database
    from standin.engine.sessions.session import EngineSession
    from standin.engine.storage.storage import Index

_KEYS = frozenset({"P", "U"})


def _not_null_checks(table: TableDef) -> Iterator[Constraint]:
    """Yield the check constraints by which Oracle stores NOT NULL; primary key columns have none."""
    key = {name for c in table.constraints if c.kind == "P" for name in c.columns}
    for column in table.columns:
        if not column.nullable and column.name not in key:
            name = f"SYS_C{table.object_id:06d}{column.segment_id:02d}"
            yield Constraint(name, "C", [column.name], check=f'"{column.name}" IS NOT NULL')


def _constraints(table: TableDef) -> Iterator[Constraint]:
    yield from table.constraints
    yield from _not_null_checks(table)


def constraints(database: Database) -> Iterator[ViewRow]:
    for t in database.state.tables.values():
        for c in _constraints(t):
            owner, name = (c.references or (None, None)) if c.kind == "R" else (None, None)
            index = c.index if c.kind in _KEYS and c.enabled else None
            yield ViewRow(
                t.con_id, t.owner, t,
                (
                    t.owner, c.name, c.kind, t.name, c.check, owner, name, c.on_delete if c.kind == "R" else None,
                    "ENABLED" if c.enabled else "DISABLED", "DEFERRABLE" if c.deferrable else "NOT DEFERRABLE",
                    "DEFERRED" if c.deferred else "IMMEDIATE",
                    "VALIDATED" if c.validated else "NOT VALIDATED", "USER NAME", None, t.last_ddl, t.owner if index else None,
                    index,
                ),
            )  # fmt: skip


def constraint_columns(database: Database) -> Iterator[ViewRow]:
    for t in database.state.tables.values():
        for c in _constraints(t):
            for position, column in enumerate(c.columns, 1):
                yield ViewRow(t.con_id, t.owner, t, (t.owner, c.name, t.name, column, None if c.kind == "C" else position))


def listed_indexes(database: Database) -> Iterator[tuple[TableDef, Index]]:
    """Yield the indexes of keys and of CREATE INDEX, without those that only the engine has."""
    for store in database.tables.stores.values():
        for index in store.indexes:
            if index.kind:
                yield store.definition, index


def indexes(database: Database) -> Iterator[ViewRow]:
    for t, index in listed_indexes(database):
        unique = "UNIQUE" if index.unique else "NONUNIQUE"
        values = (
            t.owner, index.name, index.kind, t.owner, t.name, "TABLE", unique, "DISABLED", "USERS",
            "VALID" if index.usable else "UNUSABLE", "NO", "N", "VISIBLE",
        )  # fmt: skip
        yield ViewRow(t.con_id, t.owner, t, values)


def index_columns(database: Database) -> Iterator[ViewRow]:
    for t, index in listed_indexes(database):
        lengths = {c.name: (c.type.length, c.type.chars) for c in t.columns}
        for position, column in enumerate(index.columns, 1):
            length, chars = lengths.get(column, (22, 0))
            values = (t.owner, index.name, t.owner, t.name, column, position, length, chars, "ASC")
            yield ViewRow(t.con_id, t.owner, t, values)


def log_groups(database: Database) -> Iterator[ViewRow]:
    for t in database.state.tables.values():
        for g in t.log_groups:
            generated = "GENERATED NAME" if g.name.startswith("SYS_C") else "USER NAME"
            always = "ALWAYS" if g.always else "CONDITIONAL"
            yield ViewRow(t.con_id, t.owner, t, (t.owner, g.name, t.name, g.kind, always, generated))


def table_comments(database: Database) -> Iterator[ViewRow]:
    for t in database.state.tables.values():
        yield ViewRow(t.con_id, t.owner, t, (t.owner, t.name, "TABLE", t.comments.get("") or None))


def column_comments(database: Database) -> Iterator[ViewRow]:
    for t in database.state.tables.values():
        for column in t.columns:
            yield ViewRow(t.con_id, t.owner, t, (t.owner, t.name, column.name, t.comments.get(column.name) or None))


def log_group_columns(database: Database) -> Iterator[ViewRow]:
    """Yield the columns of log groups; only user-defined groups have any."""
    for t in database.state.tables.values():
        for g in t.log_groups:
            for position, column in enumerate(g.columns, 1):
                yield ViewRow(t.con_id, t.owner, t, (t.owner, g.name, t.name, column, position, "LOG"))


def container_logging(session: EngineSession) -> Iterator[Row]:
    """Yield the settings of the session's container; a PDB shows only its own."""
    state = session.database.state
    logged = state.pdb_supplemental if state.is_cdb and session.container == PDB else state.supplemental
    yield (*(yes_no(kind in logged) for kind in ("MIN", "PK", "UI", "FK", "ALL")), "NO", "NO")


def register() -> None:
    dictionary_views(
        "CONSTRAINTS",
        """OWNER VARCHAR2(128), CONSTRAINT_NAME VARCHAR2(128), CONSTRAINT_TYPE VARCHAR2(1), TABLE_NAME VARCHAR2(128),
        SEARCH_CONDITION LONG, R_OWNER VARCHAR2(128), R_CONSTRAINT_NAME VARCHAR2(128), DELETE_RULE VARCHAR2(9),
        STATUS VARCHAR2(8),
        DEFERRABLE VARCHAR2(14), DEFERRED VARCHAR2(9), VALIDATED VARCHAR2(13), GENERATED VARCHAR2(14), RELY VARCHAR2(4),
        LAST_CHANGE DATE, INDEX_OWNER VARCHAR2(128), INDEX_NAME VARCHAR2(128)""",
        constraints,
        user_has_owner=True,
    )
    dictionary_views(
        "CONS_COLUMNS",
        """OWNER VARCHAR2(128), CONSTRAINT_NAME VARCHAR2(128), TABLE_NAME VARCHAR2(128), COLUMN_NAME VARCHAR2(4000),
        POSITION NUMBER""",
        constraint_columns,
        user_has_owner=True,
    )
    dictionary_views(
        "INDEXES",
        """OWNER VARCHAR2(128), INDEX_NAME VARCHAR2(128), INDEX_TYPE VARCHAR2(27), TABLE_OWNER VARCHAR2(128),
        TABLE_NAME VARCHAR2(128), TABLE_TYPE VARCHAR2(11), UNIQUENESS VARCHAR2(9), COMPRESSION VARCHAR2(13),
        TABLESPACE_NAME VARCHAR2(30), STATUS VARCHAR2(8), PARTITIONED VARCHAR2(3), TEMPORARY VARCHAR2(1),
        VISIBILITY VARCHAR2(9)""",
        indexes,
    )
    dictionary_views(
        "IND_COLUMNS",
        """INDEX_OWNER VARCHAR2(128), INDEX_NAME VARCHAR2(128), TABLE_OWNER VARCHAR2(128), TABLE_NAME VARCHAR2(128),
        COLUMN_NAME VARCHAR2(4000), COLUMN_POSITION NUMBER, COLUMN_LENGTH NUMBER, CHAR_LENGTH NUMBER, DESCEND VARCHAR2(4)""",
        index_columns,
    )
    dictionary_views(
        "LOG_GROUPS",
        """OWNER VARCHAR2(128), LOG_GROUP_NAME VARCHAR2(128), TABLE_NAME VARCHAR2(128), LOG_GROUP_TYPE VARCHAR2(19),
        ALWAYS VARCHAR2(11), GENERATED VARCHAR2(14)""",
        log_groups,
        user_has_owner=True,
    )
    dictionary_views(
        "TAB_COMMENTS",
        "OWNER VARCHAR2(128), TABLE_NAME VARCHAR2(128), TABLE_TYPE VARCHAR2(11), COMMENTS VARCHAR2(4000)",
        table_comments,
    )
    dictionary_views(
        "COL_COMMENTS",
        "OWNER VARCHAR2(128), TABLE_NAME VARCHAR2(128), COLUMN_NAME VARCHAR2(128), COMMENTS VARCHAR2(4000)",
        column_comments,
    )
    dictionary_views(
        "LOG_GROUP_COLUMNS",
        """OWNER VARCHAR2(128), LOG_GROUP_NAME VARCHAR2(128), TABLE_NAME VARCHAR2(128), COLUMN_NAME VARCHAR2(4000),
        POSITION NUMBER, LOGGING_PROPERTY VARCHAR2(6)""",
        log_group_columns,
        user_has_owner=True,
    )
    fixed_view(
        "DBA_SUPPLEMENTAL_LOGGING",
        """MINIMAL VARCHAR2(3), PRIMARY_KEY VARCHAR2(3), UNIQUE_INDEX VARCHAR2(3), FOREIGN_KEY VARCHAR2(3),
        ALL_COLUMN VARCHAR2(3),
        PROCEDURAL VARCHAR2(3), SUBSET_REP VARCHAR2(3)""",
        container_logging,
    )
