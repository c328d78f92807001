"""Read captured tables from the dictionary, consistently: no DDL can fall between the views that are read."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

from redolake.errors import SourceBusy, Terminal
from redolake.host.statements import statement
from redolake.source.facts import read_current_scn
from redolake.source.oracle import Source
from redolake.values.datatypes import TEXTS
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.ora_codes import NO_SUCH_COLUMN
from redolake.values.scn import Scn
from redolake.values.table import NOT_RENAMED, OracleType, Part, Renamed, TableId, UniqueIndex, string_type

MAX_READINGS = 5
BIND_LISTS = (1, 10, 100, 500)  # lengths of the lists of table names in a query
PARTS = (
    "table_object", "table_kind", "table_replication", "table_columns", "table_user_types",
    "table_unique_indexes", "table_key", "table_log_groups",
    "table_parts", "table_columnar",
    "table_comments", "column_comments", "table_parents",
)  # fmt: skip
ORACLES_OWN = ("SYS", "PUBLIC", "MDSYS")  # owners of types that no application alters
IN_BYTES = frozenset({"RAW"})
SIZED = re.compile(r"\((\d+)\)")

Between = TypeVar("Between")


@dataclass(frozen=True, slots=True)
class _TableRows:
    """One table's rows in the dictionary views. LAST_DDL_TIME is one of them, so any DDL makes two readings differ."""

    object: list[Any]
    kind: list[Any]
    replication: list[Any]
    columns: list[Any]
    user_types: list[Any]
    indexes: list[Any]
    key: list[Any]
    log_groups: list[Any]
    parts: list[Any]
    columnar: list[Any]
    comments: list[Any]
    column_comments: list[Any]
    parents: list[Any]  # and theirs
    type_parts: list[tuple[TableId, Any]] = field(default_factory=list)  # of the users' types of its columns, and of theirs


_Reading = dict[TableId, _TableRows | None]


def read_tables(
    source: Source, ids: Iterable[TableId], container: str | None = None, renamed: Renamed = NOT_RENAMED
) -> dict[TableId, DictionaryTable]:
    """Return the tables of `ids` that exist and are visible to the user, each as of an SCN between two equal readings.

    Those in `renamed` are read under that name. A table that a DDL changes in between is read again, without the others.
    Raises SourceBusy while the DDL continues.
    """
    source.use_container(container)
    found: dict[TableId, DictionaryTable] = {}
    wanted = tuple(ids)
    before = _read_all(source, [renamed.get(table, table) for table in wanted], None)
    for _ in range(MAX_READINGS):
        scn = read_current_scn(source)
        after = _read_all(source, tuple(before), None)
        found |= _tables({table: rows for table, rows in after.items() if before[table] == rows}, scn)
        before = {table: rows for table, rows in after.items() if before[table] != rows}
        if not before:
            return _under_first_names(found, wanted, renamed)
    raise _busy(before)


def _renamed_tables(reading: _Reading, wanted: Iterable[TableId], renamed: Renamed, scn: Scn) -> dict[TableId, DictionaryTable]:
    return _under_first_names(_tables(reading, scn), wanted, renamed)


def _under_first_names(
    found: Mapping[TableId, DictionaryTable], wanted: Iterable[TableId], renamed: Renamed
) -> dict[TableId, DictionaryTable]:
    here = {table: found[name] for table in wanted if (name := renamed.get(table, table)) in found}
    return {
        table: replace(one, table=table, renamed_to=renamed[table]) if table in renamed else one for table, one in here.items()
    }


def read_tables_around(
    source: Source,
    ids: Sequence[TableId],
    between: Callable[[Source], Between],
    container: str | None = None,
    renamed: Renamed = NOT_RENAMED,
) -> tuple[Between, Callable[[Scn], dict[TableId, DictionaryTable]], datetime | None]:
    """Read the tables before and after `between`, until both readings are equal.

    Return the result of `between`, a function that gives the tables as of an SCN read by it, and the newest LAST_DDL_TIME.
    `between` may switch to another container. Raises SourceBusy while DDL continues.
    """
    names = [renamed.get(table, table) for table in ids]
    before = _read_all(source, names, container)
    for _ in range(MAX_READINGS):
        result = between(source)
        after = _read_all(source, names, container)
        if before == after:
            ddl_times = [rows.object[0].last_ddl_time for rows in after.values() if rows is not None]
            return result, partial(_renamed_tables, after, ids, renamed), max(ddl_times, default=None)
        before = after
    raise _busy(ids)


def _busy(ids: Iterable[TableId]) -> SourceBusy:
    names = ", ".join(str(table) for table in ids)
    return SourceBusy("DDL keeps changing a captured table", cure="wait for the DDL to end; the step is retried", table=names)


def query_tables(source: Source, statement_name: str, ids: Sequence[TableId]) -> dict[TableId, list[Any]]:
    """Run a statement that has `:owner` and `:names` for all tables; return its rows by table."""
    found: dict[TableId, list[Any]] = {}
    for owner, names in _batches(ids):
        rows = _rows_by_table(source, statement_name, owner, names)
        found |= {TableId(owner, name): rows[name] for name in names}
    return found


def _batches(ids: Sequence[TableId]) -> Iterator[tuple[str, list[str]]]:
    """Yield owners, each with up to `BIND_LISTS[-1]` names of its tables."""
    for owner in sorted({table.owner for table in ids}):
        names = [table.name for table in ids if table.owner == owner]
        for start in range(0, len(names), BIND_LISTS[-1]):
            yield owner, names[start : start + BIND_LISTS[-1]]


def _read_all(source: Source, ids: Sequence[TableId], container: str | None) -> _Reading:
    if container is not None:
        source.use_container(container)
    found: _Reading = dict.fromkeys(ids)
    for owner, names in _batches(ids):
        found |= _read_rows(source, owner, names)
    _add_ancestors(source, found)
    _add_type_parts(source, found)
    return found


def _add_ancestors(source: Source, reading: _Reading) -> None:
    """Extend the parents of each table by theirs. Those that are not captured are read here, as far as the user sees them."""
    direct = {table: rows.parents for table, rows in reading.items() if rows is not None}
    while missing := {TableId(r.parent_owner, r.parent_name) for rows in direct.values() for r in rows if r.parent_name} - {
        *direct
    }:
        direct |= query_tables(source, "table_parents", sorted(missing))
    for parents in [rows.parents for rows in reading.values() if rows is not None]:
        seen = set[TableId]()
        for row in parents:  # which grows
            parent = TableId(row.parent_owner, row.parent_name) if row.parent_name else None
            if parent is not None and parent not in seen:
                seen.add(parent)
                parents.extend(direct[parent])


def _add_type_parts(source: Source, reading: _Reading) -> None:
    """Add what the users' types of each table consist of. ALTER TYPE changes no row of ALL_TAB_COLS that names one."""
    known: dict[TableId, list[Any]] = {}
    tables = {table: rows for table, rows in reading.items() if rows is not None and rows.user_types}
    named = {one for rows in tables.values() for one in _types_of(rows.user_types, "data_type_owner", "data_type")}
    while missing := named - known.keys():
        known |= query_tables(source, "type_parts", sorted(missing))
        named = {one for parts in known.values() for one in _types_of(parts, "type_owner", "part_type")}
    for rows in tables.values():
        rows.type_parts.extend((one, part) for one, parts in known.items() for part in parts)


def _types_of(rows: Iterable[Any], owner: str, name: str) -> Iterator[TableId]:
    """Yield the types that rows name, without those of Oracle's own."""
    for row in rows:
        if getattr(row, owner) not in (None, *ORACLES_OWN):
            yield TableId(getattr(row, owner), getattr(row, name))


def definition(row: Any, type_parts: Sequence[tuple[TableId, Any]]) -> str:
    """Return a hash of what the type of a column consists of; empty for a type of Oracle's own."""
    consists_of = list(_types_of([row], "data_type_owner", "data_type"))
    lines = []
    for one in consists_of:  # which grows
        parts = [part for owner, part in type_parts if owner == one]
        lines += [f"{one} {tuple(part)}" for part in parts]
        consists_of += [inner for inner in _types_of(parts, "type_owner", "part_type") if inner not in consists_of]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16] if lines else ""


def _read_rows(source: Source, owner: str, names: Sequence[str]) -> _Reading:
    """Read up to `BIND_LISTS[-1]` tables of one owner, with the same number of queries as for one."""
    parts = {name: _part(source, name, owner, names) for name in PARTS}
    return {
        TableId(owner, table): _TableRows(*(parts[name][table] for name in PARTS))
        if parts["table_object"][table] and parts["table_kind"][table]
        else None
        for table in names
    }


def _part(source: Source, name: str, owner: str, names: Sequence[str]) -> dict[str, list[Any]]:
    """Read one part; releases before 19c have neither LOGICAL_REPLICATION nor HYBRID, so there it can't be disabled."""
    try:
        return _rows_by_table(source, name, owner, names)
    except Terminal as error:
        if name != "table_replication" or error.ora_code != NO_SUCH_COLUMN:
            raise
        return {table: [] for table in names}


def _rows_by_table(source: Source, statement_name: str, owner: str, names: Sequence[str]) -> dict[str, list[Any]]:
    """Run a statement with a list of binds of a fixed length, filled up with the last name, so that statements stay few."""
    length = next(size for size in BIND_LISTS if size >= len(names))
    padded = [*names, *[names[-1]] * (length - len(names))]
    binds = {f"name{number}": name for number, name in enumerate(padded)}
    sql = statement(statement_name).replace(":names", ", ".join(f":{name}" for name in binds))
    found: dict[str, list[Any]] = {name: [] for name in names}
    for row in source.query_text(sql, {"owner": owner, **binds}, statement_name):
        found[row.table_name].append(row)
    return found


def _tables(reading: _Reading, scn: Scn) -> dict[TableId, DictionaryTable]:
    return {table: _table(table, rows, scn) for table, rows in reading.items() if rows is not None}


def _table(table: TableId, rows: _TableRows, scn: Scn) -> DictionaryTable:
    kind, of_object = rows.kind[0], rows.object[0]
    comments = {row.column_name: row.comments for row in rows.column_comments}
    of_users = {row.column_name: user_type(row) for row in rows.user_types}
    return DictionaryTable(
        table=table,
        object_id=int(of_object.object_id),
        # A partitioned, temporary or external table has no segment of its own.
        data_object_id=int(of_object.data_object_id or of_object.object_id),
        columns=tuple(_column(row, comments.get(row.column_name, ""), of_users.get(row.column_name)) for row in rows.columns),
        key=tuple(row.column_name for row in rows.key),
        log_groups=frozenset(row.log_group_type for row in rows.log_groups),
        scn_before=scn,
        scn_after=scn,
        partitioned=kind.partitioned == "YES",
        iot=kind.iot_type is not None,
        temporary=kind.temporary == "Y",
        unique=_unique(rows.indexes),
        clustered=kind.cluster_name is not None,
        external=kind.external == "YES",
        logging=kind.logging != "NO",
        hybrid=any(row.hybrid == "YES" for row in rows.replication),
        logical_replication=all(row.logical_replication != "DISABLED" for row in rows.replication),
        parts=tuple(Part(int(row.object_id), _number(row.data_object_id) or 0) for row in rows.parts),
        columnar=bool(rows.columnar),
        parents=tuple(sorted({TableId(r.parent_owner, r.parent_name) for r in rows.parents if r.parent_name} - {table})),
        sees_parents=all(row.parent_name is not None for row in rows.parents),
        key_constraint=rows.key[0].constraint_name if rows.key else None,
        comment=rows.comments[0].comments if rows.comments else "",
        definitions=tuple((row.column_name, text) for row in rows.user_types if (text := definition(row, rows.type_parts))),
    )


def _unique(rows: list[Any]) -> tuple[UniqueIndex, ...]:
    """Group rows, one per column and sorted by index, into indexes."""
    return tuple(
        UniqueIndex(name, _number(object_id), tuple(row.column_name for row in columns))
        for (name, object_id), columns in groupby(rows, key=lambda row: (row.index_name, row.object_id))
    )


def _column(row: Any, comment: str, of_user: OracleType | None) -> DictionaryColumn:
    return DictionaryColumn(
        name=row.column_name,
        type=of_user or oracle_type(row.data_type, row.data_length, row.char_length, row.data_precision, row.data_scale),
        segment_id=_number(row.segment_column_id),
        column_id=_number(row.column_id),
        nullable=row.nullable == "Y",
        hidden=row.hidden_column == "YES",
        virtual=row.virtual_column == "YES",
        has_default=bool(row.default_length),
        user_generated=row.user_generated == "YES",
        bytes=_number(row.data_length),
        comment=comment,
    )


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def user_type(row: Any) -> OracleType | None:
    """Return the kind of a user's type; None for an opaque type of Oracle's own, such as XMLTYPE."""
    collections = {"VARYING ARRAY": "VARRAY", "TABLE": "NESTED TABLE"}
    if row.data_type_mod == "REF":
        return OracleType("REF")
    if row.is_nested == "YES":  # itself, or an attribute of it
        return OracleType("NESTED TABLE")
    if row.typecode is None:
        return None if row.data_type_owner in ("SYS", "PUBLIC") else OracleType(f"{row.data_type_owner}.{row.data_type}")
    kind = {"OBJECT": "OBJECT", "COLLECTION": collections.get(row.coll_type)}.get(row.typecode)
    return None if kind is None else OracleType(kind)


def oracle_type(
    data_type: str, data_length: int | None, char_length: int | None, precision: int | None, scale: int | None
) -> OracleType:
    """Return DATA_TYPE without its parentheses, with the length, precision and scale from ALL_TAB_COLS.

    TIMESTAMP(p) and the intervals carry their digits in DATA_TYPE itself; NUMBER(*, s) has a scale but no precision.
    """
    name = SIZED.sub("", data_type)
    if name in TEXTS:
        return string_type(name, _number(char_length), _number(data_length))
    if name in IN_BYTES:
        return string_type(name, _number(data_length), _number(data_length))
    if name == "NUMBER":
        if precision is None and scale is None:
            return OracleType(name)
        return OracleType(name, precision=38 if precision is None else int(precision), scale=int(scale or 0))
    if name == "FLOAT":
        return OracleType(name, precision=_number(precision))
    digits = SIZED.findall(data_type)
    if name.startswith("INTERVAL"):
        return OracleType(name, precision=_number(precision), scale=int(digits[-1]) if "SECOND" in name and digits else None)
    return OracleType(name, scale=int(digits[0]) if digits else None)
