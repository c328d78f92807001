"""Dictionary views of tables, their columns and objects, and the recycle bin, under DBA_, CDB_, ALL_ and USER_."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from standin.composites import COLLECTIONS, XMLTYPE, oid_of
from standin.engine.expressions.known_types import SPATIAL
from standin.engine.expressions.metadata import type_text
from standin.engine.packages.type_shapes import shown_name
from standin.engine.plsql.package_types import all_package_types
from standin.model import PDB, ROOT, SqlType, TableColumn, TableDef
from standin.views.keys import listed_indexes
from standin.views.registration import ViewRow, dictionary_views, yes_no

if TYPE_CHECKING:
    from standin.engine.database.database import Database

AVERAGE_ROW = 40  # AVG_ROW_LEN where statistics were gathered: the bytes of rows are not counted
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
    is_timed = kind.name in _TIMED or kind.name.startswith("INTERVAL ")
    return type_text(kind).replace(" (", "(") if is_timed else kind.name


def tables(database: Database) -> Iterator[ViewRow]:
    for t in database.state.tables.values():
        if not t.is_object_table:
            yield _table(t, t.name, None, "IOT" if t.iot else None)
        if t.iot is not None and t.iot.overflow is not None:
            yield _table(t, t.iot.overflow, t.name, "IOT_OVERFLOW")
        for name in t.nested.values():
            yield _table(t, name, None, None, nested=True)


def _table(t: TableDef, name: str, iot_name: str | None, iot_type: str | None, *, nested: bool = False) -> ViewRow:
    """Return a row of DBA_TABLES. A partitioned table has no logging and compression of its own."""
    parted = t.partitioning is not None and iot_type != "IOT_OVERFLOW"
    logging = None if parted else "YES" if t.logging and not t.temporary else "NO"
    compression = None if parted else "ENABLED" if t.compress else "DISABLED"
    counted = None if nested or iot_type == "IOT_OVERFLOW" else t.counted_rows
    return ViewRow(
        t.con_id, t.owner, t,
        (
            t.owner, name, "USERS", t.cluster, iot_name, "VALID", logging, counted, iot_type, yes_no(parted),
            "Y" if t.temporary else "N", "N", yes_no(nested), "ENABLED" if t.row_movement else "DISABLED", "NO", "NO", "NO",
            yes_no(any(c.identity for c in t.columns)), "NO", "ENABLED" if t.logical_replication else "DISABLED",
            compression, None if parted else t.compress or None, "ENABLED" if t.table_lock else "DISABLED",
            None if counted is None else AVERAGE_ROW,
        ),
    )  # fmt: skip


def partitions(database: Database) -> Iterator[ViewRow]:
    for t in database.state.tables.values():
        for position, p in enumerate(t.partitioning.partitions if t.partitioning else (), 1):
            values = (
                t.owner, t.name, p.name, yes_no(p.parts), len(p.parts), ", ".join(p.bound) or None, position, yes_no(t.logging),
                "ENABLED" if t.compress else "DISABLED", t.compress or None, yes_no(p.interval),
            )  # fmt: skip
            yield ViewRow(t.con_id, t.owner, t, values)


def subpartitions(database: Database) -> Iterator[ViewRow]:
    for t in database.state.tables.values():
        for p in t.partitioning.partitions if t.partitioning else ():
            for position, part in enumerate(p.parts, 1):
                values = (
                    t.owner, t.name, p.name, part.name, ", ".join(part.bound) or None, position, yes_no(t.logging),
                    "ENABLED" if t.compress else "DISABLED", t.compress or None, yes_no(p.interval),
                )  # fmt: skip
                yield ViewRow(t.con_id, t.owner, t, values)


def partitioned_tables(database: Database) -> Iterator[ViewRow]:
    for t in database.state.tables.values():
        how = t.partitioning
        if how is not None:
            count = 1024 * 1024 - 1 if how.interval else len(how.partitions)
            values = (t.owner, t.name, how.kind, how.sub.kind if how.sub else "NONE", count, how.interval, how.reference)
            yield ViewRow(t.con_id, t.owner, t, values)


def _column_values(table: TableDef, column: TableColumn, column_id: int | None, position: int) -> tuple[object, ...]:
    kind = column.type
    is_text = kind.name in _CHARACTER
    national = kind.name.startswith("N")
    default = None if column.kind == "chain" else column.default
    scale = kind.scale if kind.name in ("NUMBER", *_TIMED) or kind.name.startswith("INTERVAL") else None
    return (
        table.owner, table.name, column.name, data_type(kind), "REF" if kind.kind == "REF" else None,
        kind.owner or ("SYS" if kind.name == "XMLTYPE" else None), kind.length, kind.precision, scale,
        "Y" if column.nullable else "N", column_id, len(default) if default else None, default,
        ("NCHAR_CS" if national else "CHAR_CS") if is_text else None, kind.length if is_text else None,
        (kind.chars or kind.length) if is_text else 0, _char_used(kind) if is_text else None, yes_no(column.hidden),
        yes_no(column.virtual is not None), column.segment_id or None, position, f'"{column.name}"',
        yes_no(column.kind == "user"), yes_no(column.default_on_null), yes_no(column.identity is not None),
    )  # fmt: skip


def _char_used(kind: SqlType) -> str:
    """Return C if the length was declared in characters (four bytes each), else B."""
    return "C" if kind.name.startswith("N") or (kind.chars and kind.chars != kind.length) else "B"


def columns(database: Database) -> Iterator[ViewRow]:
    for t in database.state.tables.values():
        shown = {column.name: number for number, column in enumerate(t.shown, 1)}
        for position, column in enumerate(t.columns, 1):
            number = shown.get(column.part_of or column.name)  # a hidden column has that of the column it stores
            yield ViewRow(t.con_id, t.owner, t, _column_values(t, column, number, position))


def user_columns(database: Database) -> Iterator[ViewRow]:
    """Yield the columns of the _TAB_COLUMNS views, which omit those that Oracle generated."""
    return (entry for entry in columns(database) if entry.values[22] == "YES")


def objects(database: Database) -> Iterator[ViewRow]:
    for t in database.state.tables.values():
        has_segment = t.partitioning is None and t.iot is None and not t.temporary
        yield _object(t, t.name, "TABLE", t.object_id, t.data_object_id if has_segment else None)
        if t.iot is not None and t.iot.overflow is not None:
            yield _object(t, t.iot.overflow, "TABLE", t.iot.overflow_id, t.iot.overflow_id)
        # The partitions of an index-organized table have their segments, and redo, under its index.
        name, kind = (t.name, "TABLE") if t.iot is None else (t.iot.top, "INDEX")
        for p in t.partitioning.partitions if t.partitioning else ():
            yield _object(t, name, f"{kind} PARTITION", p.object_id, None if p.parts else p.data_object_id, p.name)
            for part in p.parts:
                yield _object(t, name, f"{kind} SUBPARTITION", part.object_id, part.data_object_id, part.name)
    for t, index in listed_indexes(database):
        yield _object(t, index.name, "INDEX", index.object_id, index.object_id)
    for o in database.state.objects.values():
        at = o.created.strftime("%Y-%m-%d:%H:%M:%S")
        status = "VALID" if o.valid else "INVALID"
        values = (o.owner, o.name, None, o.object_id, None, o.kind, o.created, o.created, at, status, "N", "N", "N", "N")
        yield ViewRow(o.con_id, o.owner, None, values)


def _object(
    table: TableDef, name: str, kind: str, object_id: int, data_object_id: int | None, part: str | None = None
) -> ViewRow:
    """Return a row of DBA_OBJECTS. An index has the dates of its table."""
    changed = table.last_ddl.strftime("%Y-%m-%d:%H:%M:%S")
    values = (
        table.owner, name, part, object_id, data_object_id, kind, table.created, table.last_ddl, changed, "VALID",
        "Y" if table.temporary else "N", "N", "N", "N",
    )  # fmt: skip
    return ViewRow(table.con_id, table.owner, table, values)


def lobs(database: Database) -> Iterator[ViewRow]:
    for t in database.state.tables.values():
        for column in t.columns:
            if column.type.name in ("CLOB", "NCLOB", "BLOB"):
                words = t.lobs.get(column.name, frozenset[str]())
                is_basic = "BASICFILE" in words
                off = "NONE" if is_basic else "NO"
                yield ViewRow(
                    t.con_id, t.owner, t,
                    (
                        t.owner, t.name, column.name, yes_no("CACHE" in words), yes_no("NOLOGGING" not in words),
                        "YES" if "ENCRYPT" in words else off, "MEDIUM" if "COMPRESS" in words else off,
                        "LOB" if "DEDUPLICATE" in words else off, yes_no("DISABLE" not in words),
                        yes_no(t.partitioning is not None), yes_no(not is_basic),
                    ),
                )  # fmt: skip


def types(database: Database) -> Iterator[ViewRow]:
    """Yield the types of users. Those of MDSYS are in every container, for everybody."""
    for con_id, owner, kind in _types(database):
        typecode = "COLLECTION" if kind.kind in ("VARRAY", "TABLE") else "OBJECT"
        count = len(kind.parts) if typecode == "OBJECT" else 0
        values = (owner, kind.name, oid_of(kind), typecode, count, yes_no(kind.kind == "INCOMPLETE"))
        yield ViewRow(con_id, owner, None, values, True)
    for con_id in (ROOT, PDB):
        yield ViewRow(con_id, "SYS", None, ("SYS", "XMLTYPE", XMLTYPE, "XMLTYPE", 0, "NO"), True)


def package_types(database: Database) -> Iterator[ViewRow]:
    for con_id, kind in all_package_types(database):
        yield ViewRow(con_id, kind.owner, None, (kind.owner, kind.name, kind.package, oid_of(kind)))


def package_collections(database: Database) -> Iterator[ViewRow]:
    for con_id, kind in all_package_types(database):
        if kind.kind in COLLECTIONS:
            element = kind.parts[0][1]
            shown = {"VARRAY": "VARYING ARRAY", "TABLE": "TABLE"}.get(kind.kind, "PL/SQL INDEX TABLE")
            of = (element.owner or None, element.package or None, shown_name(element))
            yield ViewRow(con_id, kind.owner, None, (kind.owner, kind.name, kind.package, shown, kind.limit or None, *of))


def collections(database: Database) -> Iterator[ViewRow]:
    for con_id, owner, kind in _types(database):
        if kind.kind in ("VARRAY", "TABLE"):
            element = kind.parts[0][1]
            shown = "VARYING ARRAY" if kind.kind == "VARRAY" else "TABLE"
            values = (owner, kind.name, shown, kind.limit or None, *_part(element))
            yield ViewRow(con_id, owner, None, values, True)


def attributes(database: Database) -> Iterator[ViewRow]:
    for con_id, owner, kind in _types(database):
        if kind.kind == "OBJECT":
            for number, (name, part) in enumerate(kind.parts, 1):
                yield ViewRow(con_id, owner, None, (owner, kind.name, name, *_part(part), number), True)


def _part(kind: SqlType) -> tuple[Any, ...]:
    """Return owner, name, length, precision and scale of an attribute's or element's type."""
    sized = kind.chars or (kind.length if kind.name == "RAW" else None)
    return kind.owner or None, shown_name(kind), sized, kind.precision, kind.scale


def _types(database: Database) -> Iterator[tuple[int, str, SqlType]]:
    for found in database.state.objects.values():
        if found.structure is not None:
            yield found.con_id, found.owner, found.structure
    for con_id in (ROOT, PDB):
        for kind in SPATIAL.values():
            yield con_id, kind.owner, kind


def nested_tables(database: Database) -> Iterator[ViewRow]:
    for t in database.state.tables.values():
        for column, name in t.nested.items():
            yield ViewRow(t.con_id, t.owner, t, (t.owner, name, t.name, column))


def object_tables(database: Database) -> Iterator[ViewRow]:
    for t in database.state.tables.values():
        if t.is_object_table:
            yield ViewRow(t.con_id, t.owner, t, (t.owner, t.name))


def all_tables(database: Database) -> Iterator[ViewRow]:
    """Yield the relational and the object tables. The name of an object table's type is not kept."""
    for t in database.state.tables.values():
        of = "OBJECT" if t.is_object_table else None
        yield ViewRow(t.con_id, t.owner, t, (t.owner, t.name, "USERS", "VALID", t.counted_rows, of and t.owner, of))


def materialized_views(database: Database) -> Iterator[ViewRow]:
    for found in database.state.objects.values():
        if found.kind == "MATERIALIZED VIEW":
            table = database.state.tables.get((found.con_id, found.owner, found.name))
            yield ViewRow(found.con_id, found.owner, table, (found.owner, found.name, found.name))


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
        DROPPED VARCHAR2(3), EXTERNAL VARCHAR2(3), HYBRID VARCHAR2(3), HAS_IDENTITY VARCHAR2(3), CONTAINER_DATA VARCHAR2(3),
        LOGICAL_REPLICATION VARCHAR2(8), COMPRESSION VARCHAR2(8), COMPRESS_FOR VARCHAR2(30), TABLE_LOCK VARCHAR2(8),
        AVG_ROW_LEN NUMBER""",
        tables,
    )
    dictionary_views(
        "PART_TABLES",
        """OWNER VARCHAR2(128), TABLE_NAME VARCHAR2(128), PARTITIONING_TYPE VARCHAR2(9), SUBPARTITIONING_TYPE VARCHAR2(9),
        PARTITION_COUNT NUMBER, INTERVAL VARCHAR2(1000), REF_PTN_CONSTRAINT_NAME VARCHAR2(128)""",
        partitioned_tables,
    )
    dictionary_views(
        "TAB_PARTITIONS",
        """TABLE_OWNER VARCHAR2(128), TABLE_NAME VARCHAR2(128), PARTITION_NAME VARCHAR2(128), COMPOSITE VARCHAR2(3),
        SUBPARTITION_COUNT NUMBER, HIGH_VALUE LONG, PARTITION_POSITION NUMBER, LOGGING VARCHAR2(7), COMPRESSION VARCHAR2(8),
        COMPRESS_FOR VARCHAR2(30), INTERVAL VARCHAR2(3)""",
        partitions,
    )
    dictionary_views(
        "TAB_SUBPARTITIONS",
        """TABLE_OWNER VARCHAR2(128), TABLE_NAME VARCHAR2(128), PARTITION_NAME VARCHAR2(128), SUBPARTITION_NAME VARCHAR2(128),
        HIGH_VALUE LONG, SUBPARTITION_POSITION NUMBER, LOGGING VARCHAR2(3), COMPRESSION VARCHAR2(8),
        COMPRESS_FOR VARCHAR2(30), INTERVAL VARCHAR2(3)""",
        subpartitions,
    )
    dictionary_views(
        "LOBS",
        """OWNER VARCHAR2(128), TABLE_NAME VARCHAR2(128), COLUMN_NAME VARCHAR2(4000), CACHE VARCHAR2(10), LOGGING VARCHAR2(7),
        ENCRYPT VARCHAR2(4), COMPRESSION VARCHAR2(6), DEDUPLICATION VARCHAR2(15), IN_ROW VARCHAR2(3), PARTITIONED VARCHAR2(3),
        SECUREFILE VARCHAR2(3)""",
        lobs,
    )
    dictionary_views(
        "TYPES",
        """OWNER VARCHAR2(128), TYPE_NAME VARCHAR2(128), TYPE_OID RAW(16), TYPECODE VARCHAR2(128),
        ATTRIBUTES NUMBER, INCOMPLETE VARCHAR2(3)""",
        types,
    )
    plsql_types = "OWNER VARCHAR2(128), TYPE_NAME VARCHAR2(128), PACKAGE_NAME VARCHAR2(128), TYPE_OID RAW(16)"
    dictionary_views("PLSQL_TYPES", plsql_types, package_types)
    dictionary_views(
        "PLSQL_COLL_TYPES",
        """OWNER VARCHAR2(128), TYPE_NAME VARCHAR2(128), PACKAGE_NAME VARCHAR2(128), COLL_TYPE VARCHAR2(128),
        UPPER_BOUND NUMBER, ELEM_TYPE_OWNER VARCHAR2(128), ELEM_TYPE_PACKAGE VARCHAR2(128), ELEM_TYPE_NAME VARCHAR2(128)""",
        package_collections,
    )
    dictionary_views(
        "COLL_TYPES",
        """OWNER VARCHAR2(128), TYPE_NAME VARCHAR2(128), COLL_TYPE VARCHAR2(128), UPPER_BOUND NUMBER,
        ELEM_TYPE_OWNER VARCHAR2(128), ELEM_TYPE_NAME VARCHAR2(128), LENGTH NUMBER, PRECISION NUMBER, SCALE NUMBER""",
        collections,
    )
    dictionary_views(
        "TYPE_ATTRS",
        """OWNER VARCHAR2(128), TYPE_NAME VARCHAR2(128), ATTR_NAME VARCHAR2(128), ATTR_TYPE_OWNER VARCHAR2(128),
        ATTR_TYPE_NAME VARCHAR2(128), LENGTH NUMBER, PRECISION NUMBER, SCALE NUMBER, ATTR_NO NUMBER""",
        attributes,
    )
    dictionary_views(
        "NESTED_TABLES",
        """OWNER VARCHAR2(128), TABLE_NAME VARCHAR2(128), PARENT_TABLE_NAME VARCHAR2(128),
        PARENT_TABLE_COLUMN VARCHAR2(4000)""",
        nested_tables,
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
        "ALL_TABLES",
        """OWNER VARCHAR2(128), TABLE_NAME VARCHAR2(128), TABLESPACE_NAME VARCHAR2(30), STATUS VARCHAR2(8), NUM_ROWS NUMBER,
        TABLE_TYPE_OWNER VARCHAR2(128), TABLE_TYPE VARCHAR2(128)""",
        all_tables,
    )
    dictionary_views("OBJECT_TABLES", "OWNER VARCHAR2(128), TABLE_NAME VARCHAR2(128)", object_tables)
    mviews = "OWNER VARCHAR2(128), MVIEW_NAME VARCHAR2(128), CONTAINER_NAME VARCHAR2(128)"
    dictionary_views("MVIEWS", mviews, materialized_views)
    # No statement creates these yet. MVIEW_LOGS has LOG_OWNER in the place of OWNER.
    logs = "LOG_OWNER VARCHAR2(128), MASTER VARCHAR2(128), LOG_TABLE VARCHAR2(128)"
    dictionary_views("MVIEW_LOGS", logs, lambda _: ())
    dictionary_views("QUEUE_TABLES", "OWNER VARCHAR2(128), QUEUE_TABLE VARCHAR2(128)", lambda _: ())
    dictionary_views(
        "RECYCLEBIN",
        """OWNER VARCHAR2(128), OBJECT_NAME VARCHAR2(128), ORIGINAL_NAME VARCHAR2(128), OPERATION VARCHAR2(9),
        TYPE VARCHAR2(25),
        TS_NAME VARCHAR2(30), DROPTIME VARCHAR2(19), DROPSCN NUMBER, CAN_UNDROP VARCHAR2(3), CAN_PURGE VARCHAR2(3),
        BASE_OBJECT NUMBER, PURGE_OBJECT NUMBER""",
        recycle_bin,
        only=("DBA", "CDB", "USER"),
    )
