"""Types that packages declare, and %ROWTYPE of tables. They are read from the package's text whenever they are asked for.

A declaration with a type that is not modelled is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from standin.engine.database.database import Database
from standin.engine.expressions.known_types import SPATIAL
from standin.engine.text.definitions import data_type
from standin.engine.text.tokens import Cursor
from standin.interface import OraError
from standin.model import UNRESOLVED, SchemaObject, SqlType, TableDef

_INTEGERS = {name: SqlType(name, 4) for name in ("PLS_INTEGER", "BINARY_INTEGER")}


def all_package_types(database: Database) -> Iterator[tuple[int, SqlType]]:
    for found in database.state.objects.values():
        if found.kind == "PACKAGE":
            for kind in package_types(database, found):
                yield found.con_id, kind


def package_types(database: Database, package: SchemaObject) -> list[SqlType]:
    return list(_Declarations(database, package).read().values())


def row_type(table: TableDef) -> SqlType:
    parts = tuple((column.name, column.type) for column in table.shown)
    return SqlType(f"{table.name}%ROWTYPE", 1, owner=table.owner, kind="RECORD", parts=parts)


class _Declarations:
    def __init__(self, database: Database, package: SchemaObject) -> None:
        self._database, self._package = database, package
        self._known: dict[str, SqlType] = {}

    def read(self) -> dict[str, SqlType]:
        cursor = Cursor(self._package.text)
        while cursor.next.kind != "end":
            if not (cursor.is_next("TYPE") and cursor.ahead(2).value == "IS"):
                cursor.take()
                continue
            cursor.take()
            name = cursor.name()
            cursor.take()
            with suppress(OraError):
                self._declare(cursor, SqlType(name, 1, owner=self._package.owner, package=self._package.name))
        return self._known

    def _declare(self, cursor: Cursor, made: SqlType) -> None:
        if cursor.accept("RECORD"):
            fields = [Cursor(text) for text in cursor.expressions()]
            made = replace(made, kind="RECORD", parts=tuple((field.name(), self._type(field)) for field in fields))
        elif cursor.accept("TABLE", "OF"):
            element = self._type(cursor)
            cursor.accept("NOT", "NULL")
            kind = "INDEX BY" if cursor.accept("INDEX", "BY") else "TABLE"
            made = replace(made, kind=kind, parts=(("", element),))
        elif cursor.accept("VARRAY") or cursor.accept("VARYING", "ARRAY"):
            limit = int(cursor.parenthesised())
            cursor.expect("OF")
            made = replace(made, kind="VARRAY", parts=(("", self._type(cursor)),), limit=limit)
        else:  # REF CURSOR
            return
        self._known[made.name] = made

    def _type(self, cursor: Cursor) -> SqlType:
        kind = data_type(cursor)
        if cursor.accept("%", "ROWTYPE"):
            return row_type(self._table(kind.owner, kind.name))
        if cursor.accept("%", "TYPE"):
            column = self._table("", kind.owner).column(kind.name)
            if column is None:
                raise OraError(904, f'"{kind.name}": invalid identifier')
            return column.type
        return self._resolved(kind) if kind.kind == UNRESOLVED else kind

    def _table(self, owner: str, name: str) -> TableDef:
        store = self._database.tables.stores.get((self._package.con_id, owner or self._package.owner, name))
        if store is None:
            raise OraError(942, "table or view does not exist")
        return store.definition

    def _resolved(self, kind: SqlType) -> SqlType:
        own = _INTEGERS.get(kind.name) or self._known.get(kind.name)
        if own is not None and not kind.owner:
            return own
        found = self._database.state.objects.get((self._package.con_id, kind.owner or self._package.owner, kind.name))
        known = found.structure if found is not None else SPATIAL.get(kind.name)
        if known is None:
            raise OraError(902, "invalid datatype")
        return known
