"""ALTER TABLE as nightly maintenance writes it: list values, local indexes, SHRINK SPACE, READ ONLY, extents, and properties.

They change no value; some rows get other ROWIDs. LogMiner shows the DDL alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from standin.engine.ddl.alter_partitions import place_of, renumber, rows_of, taken_partition
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.storage import TableStore
from standin.engine.text.storage_clauses import Storage, read_storage
from standin.engine.text.tokens import Cursor
from standin.interface import OraError
from standin.model import Partition, Partitioning

# Properties that nothing here depends on.
_PLAIN = (
    ("NO", "FLASHBACK", "ARCHIVE"), ("DROP", "CLUSTERING"), ("DEALLOCATE", "UNUSED"), ("MINIMIZE", "RECORDS_PER_BLOCK"),
    ("NOMINIMIZE", "RECORDS_PER_BLOCK"), ("NO", "CELLMEMORY"), ("READ", "WRITE"),
)  # fmt: skip
_TO_THE_END = (("ADD", "CLUSTERING"), ("MODIFY", "CLUSTERING"), ("MODIFY", "DEFAULT", "ATTRIBUTES"), ("ALLOCATE", "EXTENT"))
_NAMED = (("DEFAULT", "COLLATION"),)
_OF_PARTITION = (
    ("REBUILD", "UNUSABLE", "LOCAL", "INDEXES"), ("UNUSABLE", "LOCAL", "INDEXES"), ("READ", "ONLY"), ("READ", "WRITE"),
    ("INDEXING", "ON"), ("INDEXING", "OFF"), ("DEALLOCATE", "UNUSED"), ("ALLOCATE", "EXTENT"),
)  # fmt: skip


def maintain(session: EngineSession, store: TableStore, cursor: Cursor) -> bool:
    """Run one clause, and return whether there was one."""
    if any(cursor.accept(*words) for words in _PLAIN):
        return True
    if any(cursor.accept(*words) for words in _TO_THE_END):
        cursor.skip_rest()
        return True
    if any(cursor.accept(*words) for words in _NAMED):
        cursor.name()
        return True
    if cursor.accept("FLASHBACK", "ARCHIVE"):
        if cursor.next.kind != "end":
            cursor.name()
        return True
    if cursor.accept("SHRINK", "SPACE"):
        _shrink(session, store, cursor, list(store.rows))
        return True
    for word in ("PARTITION", "SUBPARTITION"):
        if cursor.accept("MODIFY", word):
            _modify(session, store, cursor, is_sub=word == "SUBPARTITION")
            return True
    return False


def _shrink(session: EngineSession, store: TableStore, cursor: Cursor, rows: Iterable[int]) -> None:
    """Give the rows new ROWIDs in their segment; CHECK only says whether that could be done."""
    if not store.definition.row_movement and store.definition.iot is None:
        raise OraError(10636, "ROW MOVEMENT is not enabled")
    if cursor.accept("CHECK"):
        raise OraError(10655, "Segment can be shrunk")
    while cursor.accept("COMPACT") or cursor.accept("CASCADE"):
        pass
    order = session.database.options.moved_rows
    if order == "none" or store.definition.iot is not None:
        renumber(session, store, rows)
        return
    changes, tx = session.database.rows, session.database.transactions.of(session)
    for row in list(rows):
        values, part = store.rows[row][-1].values, store.part_of.get(row)
        if values is None:
            continue
        if order == "insert first":
            changes.insert(tx, store, store.padded(values), part)
        changes.delete(tx, store, row, values)
        if order == "delete first":
            changes.insert(tx, store, store.padded(values), part)


def _modify(session: EngineSession, store: TableStore, cursor: Cursor, *, is_sub: bool) -> None:
    how = store.definition.partitioning
    if how is None:
        raise OraError(14501, "object is not partitioned")
    found = taken_partition(session, store, how, cursor, is_sub=is_sub)
    if cursor.accept("ADD", "VALUES"):
        found.bound = (*found.bound, *cursor.expressions())
    elif cursor.accept("DROP", "VALUES"):
        _drop_values(session, store, found, cursor.expressions())
    elif cursor.accept("SHRINK", "SPACE"):
        _shrink(session, store, cursor, rows_of(store, found))
    elif cursor.accept("ADD", "SUBPARTITION"):
        _rehash(session, store, how, found, added=cursor)
    elif cursor.accept("COALESCE", "SUBPARTITION"):
        _rehash(session, store, how, found, added=None)
    else:
        while any(cursor.accept(*words) for words in _OF_PARTITION) or read_storage(cursor, Storage()):
            pass
    while cursor.accept("UPDATE", "INDEXES") or cursor.accept("UPDATE", "GLOBAL", "INDEXES"):
        pass
    session.database.tables.refresh(store)


def _drop_values(session: EngineSession, store: TableStore, found: Partition, gone: list[str]) -> None:
    before = found.bound
    found.bound = tuple(text for text in before if text not in gone)
    for row in rows_of(store, found):
        values = store.rows[row][-1].values
        if values is not None and place_of(session, store, row) is not found:
            found.bound = before
            raise OraError(14518, "partition contains rows corresponding to values being dropped")


def _rehash(session: EngineSession, store: TableStore, how: Partitioning, found: Partition, added: Cursor | None) -> None:
    """Add a subpartition to a hash, or remove its last one. Rows that belong elsewhere then have new ROWIDs."""
    if how.sub is None or how.sub.kind != "HASH":
        raise OraError(14257, "cannot move partition other than a Range, List, System, or Hash partition")
    if added is not None:
        new = session.database.next_object_id()
        name = added.name() if added.next.kind in ("word", "quoted") else f"SYS_SUBP{new}"
        found.parts.append(Partition(name, new, new))
    elif len(found.parts) == 1:
        raise OraError(14285, "cannot COALESCE the only partition of this hash partitioned table or index")
    rows = [row for row, part in store.part_of.items() if any(part is leaf for leaf in found.parts)]
    if added is None:
        found.parts.pop()
    for row in rows:
        if store.rows[row][-1].values is None:
            continue
        place = place_of(session, store, row)
        if place is not store.part_of[row] and place is not None:
            store.part_of[row] = place
            renumber(session, store, [row])
