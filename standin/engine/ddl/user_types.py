"""CREATE TYPE: object types, VARRAYs and nested tables. `instances` makes their values.

Methods are read over, and so is what a subtype overrides. Instances of subtypes and REFs are not modelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from standin.engine.ddl.objects import store_object
from standin.engine.expressions.known_types import found_type
from standin.engine.sessions.session import EngineSession
from standin.engine.text.definitions import data_type
from standin.engine.text.tokens import Cursor
from standin.interface import OraError
from standin.model import UNRESOLVED, SchemaObject, SqlType, TableColumn, TableDef

_METHODS = frozenset(
    {"MEMBER", "STATIC", "CONSTRUCTOR", "MAP", "ORDER", "OVERRIDING", "NOT", "FINAL", "INSTANTIABLE", "PRAGMA"}
)

_ORACLES = frozenset({"SYS", "MDSYS", "XDB", "CTXSYS", "ORDSYS"})
_SUPPLIED = frozenset({"ANYDATA", "ANYTYPE", "ANYDATASET", "URITYPE", "HTTPURITYPE", "DBURITYPE", "XDBURITYPE"})


def resolved(session: EngineSession, kind: SqlType) -> SqlType:
    """Return the type that a name means. Raise ORA-00902 for one that is not there."""
    if kind.kind not in (UNRESOLVED, "REF"):
        return kind
    found = found_type(session, kind.owner or None, kind.name)
    if found is not None and kind.kind == "REF":
        return replace(kind, owner=found.owner)
    if found is None:
        raise OraError(902, f"invalid datatype: {kind.name} is not modelled")
    return found


def create_type(session: EngineSession, cursor: Cursor) -> None:
    owner, name = cursor.qualified()
    owner = owner or session.schema
    cursor.accept("FORCE")
    if cursor.accept("OID"):
        cursor.take()
    try:
        made = _made(session, cursor, SqlType(name, 1, owner=owner, kind="INCOMPLETE"))
    except OraError as error:
        if error.code != 902:
            raise
        made = None  # it is stored all the same, and nothing can use it
    cursor.skip_rest()
    found = SchemaObject("TYPE", owner, name, session.container, 0, cursor.text, structure=made, valid=made is not None)
    old = session.database.state.objects.get((session.container, owner, name))
    replaces = old is not None and old.structure is not None and old.structure.kind == "INCOMPLETE"
    store_object(session, cursor, found, replaces=replaces)


def _made(session: EngineSession, cursor: Cursor, made: SqlType) -> SqlType:
    if cursor.accept("UNDER"):
        above = found_type(session, *cursor.qualified())
        if above is None:
            raise OraError(4043, "object does not exist")
        return replace(made, kind="OBJECT", parts=(*above.parts, *attributes(session, cursor)))
    return _body(session, cursor, made) if cursor.accept("AS") or cursor.accept("IS") else made


def _body(session: EngineSession, cursor: Cursor, made: SqlType) -> SqlType:
    if cursor.accept("OBJECT"):
        return replace(made, kind="OBJECT", parts=attributes(session, cursor))
    if cursor.accept("TABLE", "OF"):
        return replace(made, length=16, kind="TABLE", parts=(("", _part(session, cursor)),))
    if not (cursor.accept("VARRAY") or cursor.accept("VARYING", "ARRAY")):
        raise OraError(3001, f"unimplemented feature: a type AS {cursor.next.value}")
    limit = int(cursor.parenthesised())
    cursor.expect("OF")
    return replace(made, length=3000, kind="VARRAY", parts=(("", _part(session, cursor)),), limit=limit)


def attributes(session: EngineSession, cursor: Cursor) -> tuple[tuple[str, SqlType], ...]:
    found = []
    for text in cursor.expressions():
        attribute = Cursor(text)
        if attribute.next.value not in _METHODS:
            found.append((attribute.name(), _part(session, attribute)))
    return tuple(found)


def _part(session: EngineSession, cursor: Cursor) -> SqlType:
    """Read the type of an attribute or element. The target of a REF may be incomplete."""
    kind = data_type(cursor)
    if kind.owner in _ORACLES - {"MDSYS"} or kind.name in _SUPPLIED:
        raise OraError(3001, f"unimplemented feature: {kind.name} in a type")
    return resolved(session, kind)


def storage_columns(table: TableDef, column: TableColumn) -> list[TableColumn]:
    """Return the hidden columns that store an object column: one per attribute, those of attributes inside it too."""
    if column.type.kind != "OBJECT":
        return []
    number, segment = len(table.columns), table.next_segment_id
    leaves = list(_leaves(column.type))
    return [
        TableColumn(f"SYS_NC{number + n:05d}$", kind, segment + n - 1, hidden=True, kind="attribute", part_of=column.name)
        for n, kind in enumerate(leaves, 1)
    ]


def _leaves(kind: SqlType) -> Sequence[SqlType]:
    if kind.kind != "OBJECT":
        return [kind]
    return [leaf for _, part in kind.parts for leaf in _leaves(part)]
