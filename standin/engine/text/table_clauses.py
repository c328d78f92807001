"""The clauses after the columns of CREATE TABLE: organization, cluster, partitions, storage, AS SELECT."""

from __future__ import annotations

from dataclasses import dataclass, field

from standin.engine.text.storage_clauses import Storage, read_storage
from standin.engine.text.tokens import Cursor
from standin.interface import OraError
from standin.model import Partition, Partitioning

_LEAST_DAYS = 16  # for which the rows of an immutable table stay


@dataclass(slots=True)
class TableClauses:
    """`query` is the text after AS; `overflow` is set for an index-organized table with an overflow segment."""

    storage: Storage = field(default_factory=Storage)
    archival: bool = False
    index_organized: bool = False
    overflow: bool = False
    cluster: str | None = None
    partitioning: Partitioning | None = None
    query: str | None = None
    idle_days: int | None = None  # after which an immutable table may be dropped; None for never
    keeps_rows: bool = False  # ON COMMIT PRESERVE ROWS
    nested: dict[str, str] = field(default_factory=dict)  # tables that store nested tables, by column


def table_clauses(cursor: Cursor, *, immutable: bool = False, chained: bool = False) -> TableClauses:
    """Read to the statement's end. Raise ORA-03001 for a clause that is not modelled and may change how rows behave."""
    found = TableClauses()
    if immutable:
        immutable_clauses(cursor, found)
    if chained:
        cursor.expect("HASHING", "USING")
        cursor.name()
        cursor.expect("VERSION")
        cursor.name()
    while cursor.next.kind == "word":
        if read_storage(cursor, found.storage) or _organization(cursor, found):
            continue
        if cursor.accept("ROW", "ARCHIVAL"):
            found.archival = True
        elif cursor.accept("CLUSTER"):
            found.cluster = cursor.qualified()[1]
            cursor.names()
        elif cursor.accept("PARTITION", "BY"):
            found.partitioning = _partitioning(cursor)
        elif cursor.accept("NESTED", "TABLE"):
            _nested_table(cursor, found)
        elif cursor.accept("ON", "COMMIT"):
            found.keeps_rows = cursor.take().value == "PRESERVE"
            cursor.expect("ROWS")
        elif cursor.accept("AS"):
            found.query = cursor.text[cursor.next.start :]
            cursor.skip_rest()
        else:
            raise OraError(3001, f"unimplemented feature: {cursor.next.value} of a table")
    cursor.end()
    return found


def immutable_clauses(cursor: Cursor, found: TableClauses) -> None:
    """Read NO DROP [UNTIL n DAYS IDLE] NO DELETE [UNTIL n DAYS AFTER INSERT] [LOCKED]."""
    cursor.expect("NO", "DROP")
    if cursor.accept("UNTIL"):
        found.idle_days = int(cursor.take().value)
        cursor.expect("DAYS", "IDLE")
    cursor.expect("NO", "DELETE")
    if cursor.accept("UNTIL"):
        if int(cursor.take().value) < _LEAST_DAYS:
            raise OraError(5741, f"minimum retention time too low, should be at least {_LEAST_DAYS} days")
        cursor.expect("DAYS", "AFTER", "INSERT")
    cursor.accept("LOCKED")


def _organization(cursor: Cursor, found: TableClauses) -> bool:
    if cursor.accept("ORGANIZATION"):
        if cursor.accept("INDEX"):
            found.index_organized = True
        elif not cursor.accept("HEAP"):
            raise OraError(3001, f"unimplemented feature: ORGANIZATION {cursor.next.value}")
        return True
    if cursor.accept("INCLUDING") or cursor.accept("PCTTHRESHOLD"):
        cursor.take()
        return True
    if cursor.accept("OVERFLOW"):
        found.overflow = True
        return True
    return cursor.accept("NOMAPPING")


def _nested_table(cursor: Cursor, found: TableClauses) -> None:
    """Read the rest of NESTED TABLE column STORE AS table. An attribute is named as PARENT_TABLE_COLUMN shows it."""
    column = cursor.name()
    if column == "TREAT":  # (OBJECT_VALUE AS subtype)
        cursor.parenthesised()
    while cursor.accept("."):
        column = f'{column}"."{cursor.name()}'
    cursor.expect("STORE", "AS")
    found.nested[f'"{column}"' if "." in column else column] = cursor.name()
    if cursor.is_next("("):
        cursor.parenthesised()
    if cursor.accept("RETURN"):
        cursor.accept("AS")
        cursor.take()


def _partitioning(cursor: Cursor) -> Partitioning:
    kind = cursor.take().value
    if kind == "REFERENCE":
        (constraint,) = cursor.names()
        found = Partitioning(kind, [], reference=constraint)
        if cursor.is_next("("):
            found.partitions = _partitions(cursor, found)
        return found
    if kind not in ("RANGE", "LIST", "HASH"):
        raise OraError(3001, f"unimplemented feature: PARTITION BY {kind}")
    found = Partitioning(kind, cursor.names())
    if cursor.accept("INTERVAL"):
        found.interval = cursor.parenthesised()
        _store_in(cursor)
    found.automatic = cursor.accept("AUTOMATIC")
    if cursor.accept("SUBPARTITION", "BY"):
        found.sub = _subpartitioning(cursor)
    if cursor.accept("PARTITIONS"):
        found.partitions = [Partition("", 0, 0) for _ in range(int(cursor.take().value))]
        _store_in(cursor)
    elif cursor.is_next("("):
        found.partitions = _partitions(cursor, found)
    else:
        raise OraError(14020, "this physical attribute may not be specified for a table partition")
    return found


def _subpartitioning(cursor: Cursor) -> Partitioning:
    kind = cursor.take().value
    if kind not in ("RANGE", "LIST", "HASH"):
        raise OraError(3001, f"unimplemented feature: SUBPARTITION BY {kind}")
    found = Partitioning(kind, cursor.names())
    if cursor.accept("SUBPARTITIONS"):
        found.partitions = [Partition("", 0, 0) for _ in range(int(cursor.take().value))]
        _store_in(cursor)
    if cursor.accept("SUBPARTITION", "TEMPLATE"):
        if cursor.is_next("("):
            found.partitions = _partitions(cursor, found, "SUBPARTITION")
        else:
            found.partitions = [Partition("", 0, 0) for _ in range(int(cursor.take().value))]
    return found


def _store_in(cursor: Cursor) -> None:
    if cursor.accept("STORE", "IN"):
        cursor.names()


def _partitions(cursor: Cursor, of: Partitioning, word: str = "PARTITION") -> list[Partition]:
    cursor.expect("(")
    found = [partition_clause(cursor, of, word)]
    while cursor.accept(","):
        found.append(partition_clause(cursor, of, word))
    cursor.expect(")")
    return found


def partition_clause(cursor: Cursor, of: Partitioning, word: str = "PARTITION") -> Partition:
    """Read PARTITION [name] [VALUES ..] [storage] [subpartitions]. The ids are given later."""
    cursor.expect(word)
    name = ""
    if cursor.next.kind in ("word", "quoted") and cursor.next.value not in ("VALUES", "TABLESPACE"):
        name = cursor.name()
    found = Partition(name, 0, 0)
    if cursor.accept("VALUES", "LESS", "THAN") or cursor.accept("VALUES"):
        found.bound = tuple(cursor.expressions())
    elif of.kind in ("RANGE", "LIST"):
        raise OraError(14004, "missing PARTITION keyword")
    while read_storage(cursor, Storage()) or cursor.accept("OVERFLOW"):
        pass
    if of.sub is not None:
        if cursor.accept("SUBPARTITIONS"):
            found.parts = [Partition("", 0, 0) for _ in range(int(cursor.take().value))]
            _store_in(cursor)
        elif cursor.is_next("("):
            found.parts = _partitions(cursor, of.sub, "SUBPARTITION")
    return found
