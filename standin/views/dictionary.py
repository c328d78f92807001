"""Dictionary views of tables, their columns and objects, and the recycle bin, under DBA_, CDB_, ALL_ and USER_."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from standin.model import SqlType, TableColumn, TableDef
from standin.views.keys import listed_indexes
from standin.views.registration import ViewRow, dictionary_views, yes_no

if TYPE_CHECKING:
    from standin.engine.database import Database

_TIMED = ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH LOCAL TIME ZONE")
_CHARACTER = frozenset({"VARCHAR2", "CHAR", "NVARCHAR2", "NCHAR"})
_COLUMN_COLUMNS = """OWNER VARCHAR2(128), TABLE_NAME VARCHAR2(128), COLUMN_NAME VARCHAR2(128), DATA_TYPE VARCHAR2(128),
    DATA_TYPE_MOD VARCHAR2(3), DATA_TYPE_OWNER VARCHAR2(128), DATA_LENGTH NUMBER, DATA_PRECISION NUMBER, DATA_SCALE NUMBER,
    NULLABLE VARCHAR2(1), COLUMN_ID NUMBER, DEFAULT_LENGTH NUMBER, DATA_DEFAULT LONG, CHARACTER_SET_NAME VARCHAR2(44),
    CHAR_COL_DECL_LENGTH NUMBER, CHAR_LENGTH NUMBER, CHAR_USED VARCHAR2(1), HIDDEN_COLUMN VARCHAR2(3),
    VIRTUAL_COLUMN VARCHAR2(3), SEGMENT_COLUMN_ID NUMBER, INTERNAL_COLUMN_ID NUMBER, QUALIFIED_COL_NAME VARCHAR2(4000),
    USER_GENERATED VARCHAR2(3), DEFAULT_ON_NULL VARCHAR2(3), IDENTITY_COLUMN VARCHAR2(3)"""


def data_type(kind: SqlType) -> str:
    """Return DATA_TYPE; for datetimes it contains the precision, as in TIMESTAMP(6) WITH TIME ZONE."""
    if kind.name in _TIMED:
        head, _, tail = kind.name.partition(" ")
        return f"{head}({6 if kind.scale is None else kind.scale})" + (f" {tail}" if tail else "")
    return kind.name


def tables(database: Database) -> Iterator[ViewRow]:
    for t in database.state.tables.values():
        yield ViewRow(
            t.con_id, t.owner, t,
            (
                t.owner, t.name, "USERS", None, None, "VALID", "YES", None, None, "NO", "N", "N", "NO", "DISABLED", "NO", "NO",
                yes_no(any(c.identity for c in t.columns)), "NO", "ENABLED" if t.logical_replication else "DISABLED",
            ),
        )  # fmt: skip


def _column_values(table: TableDef, column: TableColumn, column_id: int | None, position: int) -> tuple[object, ...]:
    kind = column.type
    is_text = kind.name in _CHARACTER
    national = kind.name.startswith("N")
    scale = None if kind.name not in ("NUMBER", *_TIMED) else kind.scale
    return (
        table.owner, table.name, column.name, data_type(kind), None, None, kind.length, kind.precision, scale,
        "Y" if column.nullable else "N", column_id, len(column.default) if column.default else None, column.default,
        ("NCHAR_CS" if national else "CHAR_CS") if is_text else None, kind.length if is_text else None,
        (kind.chars or kind.length) if is_text else 0, _char_used(kind) if is_text else None, yes_no(column.hidden),
        yes_no(column.virtual is not None), column.segment_id or None, position, f'"{column.name}"',
        yes_no(column.kind == "user"), yes_no(column.identity == "BY DEFAULT ON NULL"), yes_no(column.identity is not None),
    )  # fmt: skip


def _char_used(kind: SqlType) -> str:
    """Return C if the length was declared in characters (four bytes each), else B."""
    return "C" if kind.name.startswith("N") or (kind.chars and kind.chars != kind.length) else "B"


def columns(database: Database) -> Iterator[ViewRow]:
    for t in database.state.tables.values():
        shown = {column.name: number for number, column in enumerate(t.shown, 1)}
        for position, column in enumerate(t.columns, 1):
            yield ViewRow(t.con_id, t.owner, t, _column_values(t, column, shown.get(column.name), position))


def user_columns(database: Database) -> Iterator[ViewRow]:
    """Yield the columns of the _TAB_COLUMNS views, which omit those that Oracle generated."""
    return (entry for entry in columns(database) if entry.values[22] == "YES")


def objects(database: Database) -> Iterator[ViewRow]:
    for t in database.state.tables.values():
        yield _object(t, t.name, "TABLE", t.object_id, t.data_object_id)
    for t, index in listed_indexes(database):
        yield _object(t, index.name, "INDEX", index.object_id, index.object_id)


def _object(table: TableDef, name: str, kind: str, object_id: int, data_object_id: int) -> ViewRow:
    """Return a row of DBA_OBJECTS. An index has the dates of its table."""
    changed = table.last_ddl.strftime("%Y-%m-%d:%H:%M:%S")
    values = (
        table.owner, name, None, object_id, data_object_id, kind, table.created, table.last_ddl, changed, "VALID",
        "N", "N", "N", "N",
    )  # fmt: skip
    return ViewRow(table.con_id, table.owner, table, values)


def recycle_bin(database: Database) -> Iterator[ViewRow]:
    for t in database.state.dropped.values():
        dropped_at = t.last_ddl.strftime("%Y-%m-%d:%H:%M:%S")
        yield ViewRow(
            t.con_id, t.owner, None,
            (t.owner, t.recycled_name, t.name, "DROP", "TABLE", "USERS", dropped_at, None, "YES", "YES", t.object_id,
            t.object_id),
        )  # fmt: skip


def register() -> None:
    dictionary_views(
        "TABLES",
        """OWNER VARCHAR2(128), TABLE_NAME VARCHAR2(128), TABLESPACE_NAME VARCHAR2(30), CLUSTER_NAME VARCHAR2(128),
        IOT_NAME VARCHAR2(128), STATUS VARCHAR2(8), LOGGING VARCHAR2(3), NUM_ROWS NUMBER, IOT_TYPE VARCHAR2(12),
        PARTITIONED VARCHAR2(3), TEMPORARY VARCHAR2(1), SECONDARY VARCHAR2(1), NESTED VARCHAR2(3), ROW_MOVEMENT VARCHAR2(8),
        DROPPED VARCHAR2(3), EXTERNAL VARCHAR2(3), HAS_IDENTITY VARCHAR2(3), CONTAINER_DATA VARCHAR2(3),
        LOGICAL_REPLICATION VARCHAR2(8)""",
        tables,
    )
    dictionary_views("TAB_COLS", _COLUMN_COLUMNS, columns)
    dictionary_views("TAB_COLUMNS", _COLUMN_COLUMNS, user_columns)
    dictionary_views(
        "OBJECTS",
        """OWNER VARCHAR2(128), OBJECT_NAME VARCHAR2(128), SUBOBJECT_NAME VARCHAR2(128), OBJECT_ID NUMBER,
        DATA_OBJECT_ID NUMBER,
        OBJECT_TYPE VARCHAR2(23), CREATED DATE, LAST_DDL_TIME DATE, TIMESTAMP VARCHAR2(19), STATUS VARCHAR2(7),
        TEMPORARY VARCHAR2(1), GENERATED VARCHAR2(1), SECONDARY VARCHAR2(1), ORACLE_MAINTAINED VARCHAR2(1)""",
        objects,
    )
    dictionary_views(
        "RECYCLEBIN",
        """OWNER VARCHAR2(128), OBJECT_NAME VARCHAR2(128), ORIGINAL_NAME VARCHAR2(128), OPERATION VARCHAR2(9),
        TYPE VARCHAR2(25),
        TS_NAME VARCHAR2(30), DROPTIME VARCHAR2(19), DROPSCN NUMBER, CAN_UNDROP VARCHAR2(3), CAN_PURGE VARCHAR2(3),
        BASE_OBJECT NUMBER, PURGE_OBJECT NUMBER""",
        recycle_bin,
        only=("DBA", "CDB", "USER"),
    )
