"""Fold Debezium's events into the rows of each table, and read the same rows from the source, in one form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import oracledb

from tests.witness.debezium import Event

Rows = dict[str, dict[tuple[Any, ...], dict[str, Any]]]  # by table and key
UNAVAILABLE = "__debezium_unavailable_value"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def folded(events: Iterable[Event], columns: Mapping[str, Sequence[str]]) -> Rows:
    """Return the rows after all events; `columns` are the NUMBERs of each table. An event about a row that is not as it says is
    an error."""
    rows: Rows = {}
    for event in events:
        table, numbers = rows.setdefault(event.table, {}), columns[event.table]
        if event.op == "t":
            table.clear()
            continue
        key = tuple(_typed(event.key, numbers).values())
        if event.op == "d":
            assert table.pop(key, None) is not None, f"a row of {event.table} that is not there is deleted: {event}"
            continue
        after = event.after or {}
        if event.op == "u":
            assert key in table, f"a row of {event.table} that is not there is changed: {event}"
            after = {name: table[key].get(name) if value == UNAVAILABLE else value for name, value in after.items()}
        else:
            assert key not in table, f"a row of {event.table} is there twice: {event}"
        table[key] = _typed(after, numbers)
    return {name: table for name, table in rows.items() if table}


def typed(rows: Rows, columns: Mapping[str, Sequence[str]]) -> Rows:
    """Return rows with their NUMBERs as Decimals, in the keys too."""
    found: Rows = {}
    for table, by_key in rows.items():
        for key, row in by_key.items():
            names = [next(n for n, v in row.items() if v is part) for part in key]
            shown = _typed(row, columns[table])
            found.setdefault(table, {})[tuple(shown[name] for name in names)] = shown
    return found


def _typed(row: Mapping[str, Any], numbers: Sequence[str]) -> dict[str, Any]:
    return {n: Decimal(v) if n in numbers and v is not None else v for n, v in row.items()}


def number_columns(connection: oracledb.Connection, tables: Iterable[str]) -> dict[str, list[str]]:
    with connection.cursor() as cursor:
        query = "SELECT column_name FROM user_tab_columns WHERE table_name = :1 AND data_type IN ('NUMBER', 'FLOAT')"
        return {table: [name for (name,) in cursor.execute(query, [table])] for table in tables}


def key_columns(connection: oracledb.Connection, tables: Iterable[str]) -> dict[str, list[str]]:
    with connection.cursor() as cursor:
        return {table: [name for (name,) in cursor.execute(_KEY, [table])] for table in tables}


def source_rows(connection: oracledb.Connection, tables: Iterable[str]) -> Rows:
    """Return the rows of SHOP's tables as Debezium writes values: RAW as hexadecimal text, times as distances from 1970."""
    found: Rows = {}
    for table, keys in key_columns(connection, tables).items():
        with connection.cursor() as cursor:
            cursor.outputtypehandler = _exact
            cursor.execute(f'SELECT * FROM "{table}"')
            names = [column.name for column in cursor.description]
            kinds = [column.type_code for column in cursor.description]
            rows = [{n: _shown(v, k) for n, v, k in zip(names, values, kinds, strict=True)} for values in cursor.fetchall()]
        if rows:
            found[table] = {tuple(row[name] for name in keys): row for row in rows}
    return found


_KEY = """SELECT c.column_name FROM user_constraints k JOIN user_cons_columns c ON c.constraint_name = k.constraint_name
    WHERE k.constraint_type = 'P' AND k.table_name = :1 ORDER BY c.position"""


def _exact(cursor: Any, column: Any) -> Any:
    if column.type_code == oracledb.DB_TYPE_NUMBER:
        return cursor.var(Decimal, arraysize=cursor.arraysize)
    if column.type_code == oracledb.DB_TYPE_CLOB:
        return cursor.var(oracledb.DB_TYPE_LONG, arraysize=cursor.arraysize)
    if column.type_code == oracledb.DB_TYPE_BLOB:
        return cursor.var(oracledb.DB_TYPE_LONG_RAW, arraysize=cursor.arraysize)
    return None


def _shown(value: Any, kind: Any) -> Any:
    if isinstance(value, datetime):
        return _milliseconds(value) if kind == oracledb.DB_TYPE_DATE else _microseconds(value)
    return value.hex() if isinstance(value, bytes) else value


def as_debezium_shows(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the shop in Delta in the same form; its DATEs are those columns."""
    dates = ("SINCE", "DUE", "PAID_AT")
    return {
        name: _milliseconds(value) if name in dates and value is not None else _shown(value, None)
        for name, value in row.items()
    }


def _milliseconds(value: datetime) -> int:
    return _microseconds(value) // 1000


def _microseconds(value: datetime) -> int:
    since = value.replace(tzinfo=UTC) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
