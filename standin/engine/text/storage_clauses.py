"""The clauses of DDL that decide only where and how rows are stored. Most have no effect here and are read over.

What a view shows of them is kept: compression, logging and row movement. Clauses that change how rows behave are in
`table_clauses`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from standin.engine.text.tokens import Cursor

_WITH_VALUE = frozenset({"TABLESPACE", "PCTFREE", "PCTUSED", "INITRANS", "MAXTRANS"})
_ALONE = frozenset(
    {
        "CACHE", "NOCACHE", "MONITORING", "NOMONITORING", "NOPARALLEL", "ROWDEPENDENCIES", "NOROWDEPENDENCIES", "NOCOMPRESS",
        "LOGGING", "NOLOGGING", "FILESYSTEM_LIKE_LOGGING", "INMEMORY", "ONLINE",
    }
)  # fmt: skip


_NEXT_CLAUSES = _WITH_VALUE | _ALONE | {"LOB", "VARRAY", "NESTED", "XMLTYPE", "COLUMN", "PARTITION", "STORAGE", "SEGMENT"}


@dataclass(slots=True)
class Storage:
    """`compress` is COMPRESS_FOR as DBA_TABLES shows it, e.g. BASIC, ADVANCED, QUERY HIGH; empty without compression."""

    compress: str = ""
    logging: bool = True
    row_movement: bool = False
    lobs: dict[str, frozenset[str]] = field(default_factory=dict)  # the words of each LOB's parameters, by column


def skip_storage(cursor: Cursor) -> None:
    while read_storage(cursor, Storage()):
        pass


def read_storage(cursor: Cursor, storage: Storage) -> bool:
    """Read one clause, and return whether there was one."""
    if cursor.next.kind != "word":
        return False
    return _segment(cursor, storage) or _kept(cursor, storage)


def _segment(cursor: Cursor, storage: Storage) -> bool:
    """Read a clause about segments; views show only that of LOBs."""
    if cursor.next.value in _WITH_VALUE:
        cursor.take()
        cursor.take()
    elif cursor.accept("SEGMENT", "CREATION"):
        cursor.take()
    elif cursor.accept("COMPUTE", "STATISTICS"):  # of an index; Oracle ignores it
        pass
    elif cursor.accept("STORAGE") or cursor.accept("RESULT_CACHE"):
        cursor.parenthesised()
    elif cursor.accept("PARALLEL"):
        _parallel(cursor)
    elif cursor.next.value == "LOB" and cursor.ahead(1).value == "(":
        _lob_storage(cursor, storage)
    elif cursor.next.value in ("VARRAY", "XMLTYPE", "COLUMN") and cursor.ahead(1).value != "STORE":
        _column_storage(cursor)
    else:
        return cursor.accept("NO", "INMEMORY")
    return True


def _kept(cursor: Cursor, storage: Storage) -> bool:
    word = cursor.next.value
    if word in _ALONE:
        cursor.take()
        if word.endswith("LOGGING"):
            storage.logging = word != "NOLOGGING"
        elif word == "NOCOMPRESS":
            storage.compress = ""
    elif word in ("COMPRESS", "ROW", "COLUMN"):
        return _compression(cursor, storage)
    elif cursor.is_next("ENABLE", "ROW", "MOVEMENT") or cursor.is_next("DISABLE", "ROW", "MOVEMENT"):
        storage.row_movement = cursor.take().value == "ENABLE"
        cursor.expect("ROW", "MOVEMENT")
    else:
        return False
    return True


def _parallel(cursor: Cursor) -> None:
    if cursor.is_next("("):
        cursor.parenthesised()
    elif cursor.next.kind == "number":
        cursor.take()


def _compression(cursor: Cursor, storage: Storage) -> bool:
    """Read COMPRESS [n | BASIC | FOR ..] and ROW or COLUMN STORE COMPRESS ..; n is a prefix of an index's key."""
    if cursor.accept("ROW", "STORE", "COMPRESS"):
        storage.compress = "ADVANCED" if cursor.accept("ADVANCED") else "BASIC"
        cursor.accept("BASIC")
        return True
    if cursor.accept("COLUMN", "STORE", "COMPRESS"):
        storage.compress = _columnar(cursor) if cursor.accept("FOR") else "QUERY HIGH"
        return True
    if not cursor.accept("COMPRESS"):
        return False
    storage.compress = "BASIC"
    if cursor.next.kind == "number":
        cursor.take()
    elif cursor.accept("ADVANCED"):  # of an index
        cursor.accept("LOW") or cursor.accept("HIGH")
    elif cursor.accept("FOR"):
        if cursor.accept("ALL", "OPERATIONS") or cursor.accept("OLTP"):
            storage.compress = "ADVANCED"
        elif not cursor.accept("DIRECT_LOAD", "OPERATIONS"):
            storage.compress = _columnar(cursor)
    else:
        cursor.accept("BASIC")
    return True


def _columnar(cursor: Cursor) -> str:
    """Read QUERY or ARCHIVE [LOW | HIGH]: hybrid columnar compression."""
    level = cursor.take().value
    return f"{level} {cursor.take().value}" if cursor.next.value in ("LOW", "HIGH") else f"{level} HIGH"


def _lob_storage(cursor: Cursor, storage: Storage) -> None:
    """Read LOB (columns) STORE AS [SECUREFILE | BASICFILE] [segment] [(parameters)]."""
    cursor.expect("LOB")
    columns, words = cursor.names(), []
    cursor.expect("STORE", "AS")
    while cursor.next.kind in ("word", "quoted") and cursor.next.value not in ("LOB", "PARTITION", "TABLESPACE", "PCTFREE"):
        words.append(cursor.take().value)
    if cursor.is_next("("):
        words += re.findall(r"\w+", cursor.parenthesised().upper())
    storage.lobs |= dict.fromkeys(columns, frozenset(words))


def _column_storage(cursor: Cursor) -> None:
    """Read VARRAY, COLUMN or XMLTYPE [COLUMN] column {STORE AS .. | [NOT] SUBSTITUTABLE AT ALL LEVELS}."""
    cursor.take()
    cursor.accept("COLUMN")
    cursor.name()
    if cursor.accept("NOT", "SUBSTITUTABLE") or cursor.accept("SUBSTITUTABLE"):
        cursor.expect("AT", "ALL", "LEVELS")
        return
    cursor.expect("STORE", "AS")
    if cursor.accept("OBJECT", "RELATIONAL"):
        return
    while cursor.next.value in ("SECUREFILE", "BASICFILE", "BINARY", "XML", "CLOB", "LOB"):
        cursor.take()
    if cursor.next.kind in ("word", "quoted") and cursor.next.value not in _NEXT_CLAUSES:
        cursor.take()
    if cursor.is_next("("):
        cursor.parenthesised()
