"""ALTER TABLE on partitions: ADD, DROP, TRUNCATE, MOVE, SPLIT, MERGE, COALESCE, RENAME, EXCHANGE, SET INTERVAL.

Their redo is of blocks and of the dictionary, so LogMiner shows the DDL alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from standin.engine.ddl.partitions import OTHERS, listed, numbered, numbered_as, partition_for, partition_of, types_of
from standin.engine.ddl.redo import lock_exclusively
from standin.engine.sessions.names import table_named
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.layout import Row
from standin.engine.storage.segment import Version
from standin.engine.storage.storage import TableStore
from standin.engine.text.storage_clauses import Storage, read_storage
from standin.engine.text.table_clauses import partition_clause
from standin.engine.text.tokens import Cursor
from standin.interface import OraError
from standin.model import Partition, Partitioning


def change_partition(session: EngineSession, store: TableStore, cursor: Cursor) -> bool:
    """Run one clause, and return whether there was one. The past of the table is no longer readable then."""
    if not _changed(session, store, cursor):
        return False
    _refresh(session, store)
    return True


def _refresh(session: EngineSession, store: TableStore) -> None:
    session.database.tables.refresh(store)
    store.structure_scn = session.database.clock.scn + 1  # the DDL itself comes after the SCN at which the rows still were


def _by_reference(
    session: EngineSession, store: TableStore, names: set[str]
) -> Iterator[tuple[TableStore, Partitioning, list[Partition]]]:
    """Yield the tables that are partitioned by reference to the table, with their partitions that belong to the named ones. The
    redo of a DDL of the table has no statement of theirs."""
    for child, key in session.database.tables.children_of(store):
        how = child.definition.partitioning
        if how is not None and how.reference == key.name and (parts := [p for p in how.partitions if p.parent in names]):
            yield child, how, parts


def _changed(session: EngineSession, store: TableStore, cursor: Cursor) -> bool:
    if _merge(session, store, cursor):
        return True
    how = store.definition.partitioning
    if cursor.accept("SET", "INTERVAL"):
        _require(how).interval = cursor.parenthesised() or None
        return True
    if not any(cursor.is_next(verb, "PARTITION") or cursor.is_next(verb, "SUBPARTITION") for verb in ("ADD", *_VERBS)):
        return False
    how = _require(how)
    verb = cursor.take().value
    if verb == "ADD":
        _add(session, store, how, cursor)
    else:
        is_sub = cursor.take().value == "SUBPARTITION"
        _VERBS[verb](session, store, how, cursor, is_sub)
    _skip_options(cursor)
    return True


def _require(how: Partitioning | None) -> Partitioning:
    if how is None:
        raise OraError(14501, "object is not partitioned")
    return how


def _skip_options(cursor: Cursor) -> None:
    while (
        read_storage(cursor, Storage())
        or cursor.accept("UPDATE", "GLOBAL", "INDEXES")
        or cursor.accept("UPDATE", "INDEXES")
        or cursor.accept("DROP", "STORAGE")
        or cursor.accept("REUSE", "STORAGE")
    ):
        pass


def _add(session: EngineSession, store: TableStore, how: Partitioning, cursor: Cursor) -> None:
    if how.interval is not None:
        raise OraError(14760, "ADD PARTITION is not permitted on Interval partitioned objects")
    if how.kind == "HASH" and how.sub is None:
        cursor.expect("PARTITION")
        name = cursor.name() if cursor.next.kind in ("word", "quoted") and cursor.next.value not in _OF_ADDED else ""
        made = numbered(session, Partition(name, 0, 0), how)
        how.partitions.append(made)
        _move_between(session, store, how)
        return
    if how.kind == "HASH" or how.reference is not None:
        raise OraError(3001, f"unimplemented feature: ADD PARTITION to a table partitioned by {how.kind}")
    added = partition_clause(cursor, how)
    if how.kind == "RANGE" and how.partitions and any(text.upper() == "MAXVALUE" for text in how.partitions[-1].bound):
        raise OraError(14074, "partition bound must collate higher than that of the last partition")
    how.partitions.append(numbered(session, added, how))


def taken_partition(session: EngineSession, store: TableStore, how: Partitioning, cursor: Cursor, *, is_sub: bool) -> Partition:
    """Read a partition by its name, or by FOR (..)."""
    if cursor.accept("FOR"):
        return partition_for(session, store, how, list(cursor.expressions()), is_sub=is_sub)
    name = cursor.name()
    all_ = how.leaves if is_sub else how.partitions
    found = next((p for p in all_ if p.name == name), None)
    if found is None:
        raise OraError(2149, "Specified partition does not exist")
    return found


_OF_ADDED = ("TABLESPACE", "UPDATE", "INDEXING", "READ", "PARALLEL", "NOPARALLEL")


def _coalesce(session: EngineSession, store: TableStore, how: Partitioning, cursor: Cursor, is_sub: bool) -> None:
    """COALESCE PARTITION: the last one of a hash ends, and its rows go to one that stays."""
    if is_sub or how.kind != "HASH" or how.sub is not None:
        raise OraError(14259, "table is not partitioned by Hash method")
    if len(how.partitions) == 1:
        raise OraError(14285, "cannot COALESCE the only partition of this hash partitioned table or index")
    how.partitions.pop()
    _move_between(session, store, how)


def _move_between(session: EngineSession, store: TableStore, how: Partitioning) -> None:
    """Move the rows to which another partition of a hash belongs now. They have new ROWIDs."""
    if any(_by_reference(session, store, {partition.name for partition in how.partitions})):
        raise OraError(3001, "unimplemented feature: partitions of a hash to which others are partitioned by reference")
    for row in list(store.part_of):
        place = place_of(session, store, row) if row in store.rows and store.rows[row][-1].values is not None else None
        if place is not None and place is not store.part_of[row]:
            store.part_of[row] = place
            renumber(session, store, [row])


def renumber(session: EngineSession, store: TableStore, rows: Iterable[int]) -> None:
    for row in rows:
        versions, part = store.rows.pop(row), store.part_of.pop(row, None)
        if versions[-1].values is None:
            continue
        new, store.next_row = store.next_row, store.next_row + 1
        store.rows[new] = [versions[-1]]
        if part is not None:
            store.part_of[new] = part
    store.freed.clear()
    for index in store.indexes:
        store.reindex(index)
    store.structure_scn = session.database.clock.scn


def place_of(session: EngineSession, store: TableStore, row: int) -> Partition | None:
    values = store.rows[row][-1].values
    assert values is not None
    try:
        return partition_of(session, store, store.padded(values))
    except OraError:
        return None


def rows_of(store: TableStore, partition: Partition) -> list[int]:
    leaves = partition.parts or [partition]
    return [row for row, part in store.part_of.items() if row in store.rows and any(part is leaf for leaf in leaves)]


def _remove_rows(store: TableStore, partition: Partition) -> None:
    for row in rows_of(store, partition):
        for version in store.rows.get(row, ()):
            if version.values is not None:
                for index in store.indexes:
                    index.remove(store.padded(version.values), row)
        store.rows.pop(row, None)
        del store.part_of[row]


def _drop(session: EngineSession, store: TableStore, how: Partitioning, cursor: Cursor, is_sub: bool) -> None:
    if is_sub:
        raise OraError(3001, "unimplemented feature: DROP SUBPARTITION")
    if len(how.partitions) == 1:
        raise OraError(14083, "cannot drop the only partition of a partitioned table")
    _drop_with_children(session, store, taken_partition(session, store, how, cursor, is_sub=False))


def _drop_with_children(session: EngineSession, store: TableStore, dropped: Partition) -> None:
    """Drop the partition and those of tables that are partitioned by reference to it."""
    for child, _, parts in _by_reference(session, store, {dropped.name}):
        for part in parts:
            _drop_with_children(session, child, part)
        _refresh(session, child)
    _remove_rows(store, dropped)
    _require(store.definition.partitioning).partitions.remove(dropped)


def _truncate(session: EngineSession, store: TableStore, how: Partitioning, cursor: Cursor, is_sub: bool) -> None:
    found = taken_partition(session, store, how, cursor, is_sub=is_sub)
    _remove_rows(store, found)
    for leaf in found.parts or [found]:
        leaf.data_object_id = session.database.next_object_id()


def _move(session: EngineSession, store: TableStore, how: Partitioning, cursor: Cursor, is_sub: bool) -> None:
    found = taken_partition(session, store, how, cursor, is_sub=is_sub)
    keeps = False
    while (
        (words := cursor.accept("ONLINE") or cursor.accept("UPDATE", "GLOBAL", "INDEXES") or cursor.accept("UPDATE", "INDEXES"))
        or read_storage(cursor, Storage())
    ):  # fmt: skip
        keeps = keeps or bool(words)
    has_rows = any(store.rows[row][-1].values is not None for row in rows_of(store, found))
    for index in store.indexes:  # a local one too, of which Oracle's partition alone is UNUSABLE
        index.usable = index.usable and (keeps or not has_rows or not index.kind)
    for leaf in found.parts or [found]:
        leaf.data_object_id = session.database.next_object_id()


def _rename(session: EngineSession, store: TableStore, how: Partitioning, cursor: Cursor, is_sub: bool) -> None:
    found = taken_partition(session, store, how, cursor, is_sub=is_sub)
    cursor.expect("TO")
    found.name = cursor.name()


def _split(session: EngineSession, store: TableStore, how: Partitioning, cursor: Cursor, is_sub: bool) -> None:
    """SPLIT [SUB]PARTITION p {AT (..) | VALUES (..)} [INTO (PARTITION a, PARTITION b)], or INTO with bounds."""
    found = taken_partition(session, store, how, cursor, is_sub=is_sub)
    level = _level(how, is_sub=is_sub)
    if level.kind == "HASH":
        raise OraError(14255, "table is not partitioned by Range, List, Composite Range or Composite List method")
    cut = tuple(cursor.expressions()) if cursor.accept("AT" if level.kind == "RANGE" else "VALUES") else ()
    new = [Partition("", 0, 0), Partition("", 0, 0)]
    if cursor.accept("INTO"):
        new = _halves(cursor, "SUBPARTITION" if is_sub else "PARTITION")
    if cut:
        new[0].bound = cut
    if len(new) < 2 or any(not part.bound for part in new[:-1]) or (cut and len(new) > 2):
        raise OraError(3001, "unimplemented feature: this form of SPLIT")
    new[-1].bound = found.bound if level.kind == "RANGE" else _rest(session, store, level, found, new[:-1])
    for part in new:
        part.parts = [Partition("", 0, 0, leaf.bound) for leaf in found.parts]
    _replace(session, store, how, [found], new)


def _level(how: Partitioning, *, is_sub: bool) -> Partitioning:
    if is_sub and how.sub is None:
        raise OraError(14253, "table is not partitioned by Composite Range method")
    found = how.sub if is_sub else how
    assert found is not None
    return found


def _halves(cursor: Cursor, word: str) -> list[Partition]:
    cursor.expect("(")
    found = list[Partition]()
    while not found or cursor.accept(","):
        cursor.expect(word)
        part = Partition("", 0, 0)
        if cursor.next.kind in ("word", "quoted") and cursor.next.value not in ("TABLESPACE", "VALUES"):
            part.name = cursor.name()
        if cursor.accept("VALUES", "LESS", "THAN") or cursor.accept("VALUES"):
            part.bound = tuple(cursor.expressions())
        while read_storage(cursor, Storage()):
            pass
        found.append(part)
    cursor.expect(")")
    return found


def _rest(
    session: EngineSession, store: TableStore, how: Partitioning, found: Partition, named: list[Partition]
) -> tuple[str, ...]:
    """Return the values of a list that the named halves leave to the last one."""
    if found.bound == OTHERS:
        return OTHERS
    types = types_of(store, how)
    taken = {listed(session, text, types) for part in named for text in part.bound}
    if not taken <= {listed(session, text, types) for text in found.bound}:
        raise OraError(14313, "Value does not exist in partition")
    rest = tuple(text for text in found.bound if listed(session, text, types) not in taken)
    if not rest:
        raise OraError(14314, "resulting List partition(s) must contain at least 1 value")
    return rest


def _merge(session: EngineSession, store: TableStore, cursor: Cursor) -> bool:
    """MERGE [SUB]PARTITIONS a, b INTO [SUB]PARTITION c [SUBPARTITIONS n]."""
    is_sub = cursor.is_next("MERGE", "SUBPARTITIONS")
    if not cursor.accept("MERGE", "PARTITIONS") and not cursor.accept("MERGE", "SUBPARTITIONS"):
        return False
    how = _require(store.definition.partitioning)
    level = _level(how, is_sub=is_sub)
    if level.kind == "HASH":
        raise OraError(14255, "table is not partitioned by Range, List, Composite Range or Composite List method")
    merged = [taken_partition(session, store, how, cursor, is_sub=is_sub)]
    while cursor.accept(","):
        merged.append(taken_partition(session, store, how, cursor, is_sub=is_sub))
    if not any(all(any(one is part for part in parts) for one in merged) for parts in _containers(how, is_sub=is_sub)):
        raise OraError(14638, "cannot MERGE subpartitions in different Range Composite partitions")
    made = Partition("", 0, 0)
    if level.kind == "RANGE":
        made.bound = max(merged, key=(how.leaves if is_sub else how.partitions).index).bound
    else:
        made.bound = OTHERS if any(p.bound == OTHERS for p in merged) else tuple(text for p in merged for text in p.bound)
    if cursor.accept("INTO", "SUBPARTITION" if is_sub else "PARTITION"):
        made.name = cursor.name()
    _read_subpartitions(how, cursor, made, merged)
    _replace(session, store, how, merged, [made])
    _skip_options(cursor)
    return True


def _read_subpartitions(how: Partitioning, cursor: Cursor, made: Partition, merged: list[Partition]) -> None:
    """Give the partition the hash subpartitions that the statement or the table has, else as many as were merged. Of lists and
    ranges those of the template, else one for all values."""
    if how.sub is None or not merged[0].parts:
        return
    count = int(cursor.take().value) if cursor.accept("SUBPARTITIONS") else 0
    if how.sub.kind == "HASH" and not how.sub.partitions:
        count = count or max(len(part.parts) for part in merged)
    made.parts = [Partition("", 0, 0) for _ in range(count)]


def _containers(how: Partitioning, *, is_sub: bool) -> list[list[Partition]]:
    return [part.parts for part in how.partitions] if is_sub else [how.partitions]


def _exchange(session: EngineSession, store: TableStore, how: Partitioning, cursor: Cursor, is_sub: bool) -> None:
    """EXCHANGE PARTITION p WITH TABLE t: each gets the other's segment with its rows. Key values are not compared."""
    leaf = taken_partition(session, store, how, cursor, is_sub=is_sub)
    if leaf.parts:
        raise OraError(14291, "cannot EXCHANGE a composite partition with a non-partitioned table")
    cursor.expect("WITH")
    cursor.expect("TABLE")
    owner, name = cursor.qualified()
    other = table_named(session, owner or session.schema, name)
    if other.definition.partitioning is not None:
        raise OraError(14095, "ALTER TABLE EXCHANGE requires an unpartitioned, nonclustered table")
    lock_exclusively(session, other)
    while any(cursor.accept(word, what) for word in ("INCLUDING", "EXCLUDING", "WITH", "WITHOUT") for what in _OPTIONS):
        pass
    mine, theirs = _values(store, rows_of(store, leaf)), _values(other, list(other.rows))
    _remove_rows(store, leaf)
    for row in list(other.rows):
        for values in (v.values for v in other.rows.pop(row) if v.values is not None):
            for index in other.indexes:
                index.remove(other.padded(values), row)
    scn = session.database.clock.scn
    for values in theirs:
        store.part_of[_add_row(store, values, scn)] = leaf
    for values in mine:
        _add_row(other, values, scn)
    table = other.definition
    leaf.data_object_id, table.data_object_id = table.data_object_id, leaf.data_object_id
    table.last_ddl = session.database.ddl_time()
    other.structure_scn = scn + 1
    session.database.tables.refresh(other)


_OPTIONS = ("INDEXES", "VALIDATION")


def _values(store: TableStore, rows: Sequence[int]) -> list[Row]:
    """Return the present values of rows, all of which are committed."""
    newest = (next((v.values for v in reversed(store.rows[row])), None) for row in rows)
    return [store.padded(values) for values in newest if values is not None]


def _add_row(store: TableStore, values: Row, scn: int) -> int:
    row, store.next_row = store.next_row, store.next_row + 1
    store.rows[row] = [Version(scn, values, None)]
    for index in store.indexes:
        index.add(values, row)
    return row


def _leaves(partitions: Iterable[Partition]) -> list[Partition]:
    return [leaf for partition in partitions for leaf in partition.parts or [partition]]


def _replace(session: EngineSession, store: TableStore, how: Partitioning, old: list[Partition], new: list[Partition]) -> None:
    """Put the rows of some partitions into new ones, where they have new ROWIDs, and so those of tables that are partitioned by
    reference to it. All are partitions, or all subpartitions of one."""
    is_sub = all(one is not old[0] for one in how.partitions)
    siblings = next(parts for parts in _containers(how, is_sub=is_sub) if any(one is old[0] for one in parts))
    place = min(at for at, one in enumerate(siblings) if any(one is part for part in old))
    rows = [row for partition in old for row in rows_of(store, partition)]
    stay = [one for one in siblings if all(one is not part for part in old)]
    if {one.name for one in stay} & {one.name for one in new if one.name}:
        raise OraError(14013, "duplicate partition name")
    siblings[:] = [*stay[:place], *(numbered_as(session, one, how, is_sub=is_sub) for one in new), *stay[place:]]
    for row in rows:
        values = next((v.values for v in reversed(store.rows.get(row, ())) if v.values is not None), None)
        part = None if values is None else partition_of(session, store, store.padded(values))
        store.part_of[row] = part or _leaves(new)[0]
    _keep_ids(session, store, rows, old, new)
    for child, theirs, parts in _by_reference(session, store, {leaf.name for leaf in _leaves(old)}):
        _replace(session, child, theirs, parts, [Partition(made.name, 0, 0, parent=made.name) for made in _leaves(new)])
        _refresh(session, child)


def _keep_ids(
    session: EngineSession, store: TableStore, rows: Sequence[int], old: list[Partition], new: list[Partition]
) -> None:
    """Let a partition keep the object number of the one whose name it has, by a reading of `partition_ids`. The one part of a
    SPLIT that has rows keeps its segment too."""
    options = session.database.options
    if options.partition_ids == "name":
        numbers = {leaf.name: leaf.object_id for leaf in _leaves(old)}
        for leaf in _leaves(new):
            leaf.object_id = numbers.get(leaf.name, leaf.object_id)
    filled = [one for one in new if any(store.part_of[row] is leaf for row in rows for leaf in one.parts or [one])]
    if len(old) != 1 or len(filled) != 1 or options.fast_split == "none":
        return
    for leaf, before in zip(_leaves(filled), _leaves(old), strict=True):
        leaf.data_object_id = before.data_object_id
        if options.fast_split == "object":
            leaf.object_id = before.object_id


_VERBS = {
    "COALESCE": _coalesce,
    "DROP": _drop,
    "TRUNCATE": _truncate,
    "MOVE": _move,
    "RENAME": _rename,
    "SPLIT": _split,
    "EXCHANGE": _exchange,
}
