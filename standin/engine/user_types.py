"""Types of users: object types, VARRAYs and nested tables, and those of MDSYS. `instances` makes their values.

Methods are read over, and so is what a subtype overrides. Instances of subtypes and REFs are not modelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from standin.engine.ddl_objects import store_object
from standin.engine.definitions import data_type
from standin.engine.functions import FUNCTIONS
from standin.engine.parse import identifier
from standin.engine.session import EngineSession
from standin.engine.tokens import Cursor
from standin.interface import OraError
from standin.model import UNRESOLVED, SchemaObject, SqlType, TableColumn, TableDef

_METHODS = frozenset(
    {"MEMBER", "STATIC", "CONSTRUCTOR", "MAP", "ORDER", "OVERRIDING", "NOT", "FINAL", "INSTANTIABLE", "PRAGMA"}
)
_NUMBER = SqlType("NUMBER")
_POINT = SqlType("SDO_POINT_TYPE", 67, owner="MDSYS", kind="OBJECT", parts=(("X", _NUMBER), ("Y", _NUMBER), ("Z", _NUMBER)))
_ELEMENTS = SqlType("SDO_ELEM_INFO_ARRAY", 3000, owner="MDSYS", kind="VARRAY", parts=(("", _NUMBER),), limit=1048576)
_ORDINATES = SqlType("SDO_ORDINATE_ARRAY", 3000, owner="MDSYS", kind="VARRAY", parts=(("", _NUMBER),), limit=1048576)
_GEOMETRY = SqlType(
    "SDO_GEOMETRY",
    1,
    owner="MDSYS",
    kind="OBJECT",
    parts=(
        ("SDO_GTYPE", _NUMBER),
        ("SDO_SRID", _NUMBER),
        ("SDO_POINT", _POINT),
        ("SDO_ELEM_INFO", _ELEMENTS),
        ("SDO_ORDINATES", _ORDINATES),
    ),
)
SPATIAL = {kind.name: kind for kind in (_POINT, _ELEMENTS, _ORDINATES, _GEOMETRY)}


def found_type(session: EngineSession, owner: str | None, name: str) -> SqlType | None:
    known = session.database.state.objects.get((session.container, owner or session.schema, name))
    if known is not None and known.structure is not None:
        return known.structure
    return SPATIAL.get(name) if owner in (None, "MDSYS") else None


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
    made = SqlType(name, 1, owner=owner, kind="INCOMPLETE")
    if cursor.accept("UNDER"):
        above = found_type(session, *cursor.qualified())
        if above is None:
            raise OraError(4043, "object does not exist")
        made = replace(made, kind="OBJECT", parts=(*above.parts, *attributes(session, cursor)))
    elif cursor.accept("AS") or cursor.accept("IS"):
        made = _body(session, cursor, made)
    cursor.skip_rest()
    found = SchemaObject("TYPE", owner, name, session.container, 0, cursor.text, structure=made)
    old = session.database.state.objects.get((session.container, owner, name))
    replaces = old is not None and old.structure is not None and old.structure.kind == "INCOMPLETE"
    store_object(session, cursor, found, replaces=replaces)


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
    return resolved(session, data_type(cursor))


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


def with_constructors(session: EngineSession, tree: exp.Expression) -> exp.Expression:
    """Return the statement's tree with each call of a constructor marked with its type."""
    calls = [node for node in tree.find_all(exp.Anonymous) if str(node.this).upper() not in FUNCTIONS]
    if not any(_constructed(session, node) for node in calls):
        return tree
    tree = tree.copy()  # the next one who parses the text gets the tree too
    for node in list(tree.find_all(exp.Anonymous)):
        kind = _constructed(session, node)
        if kind is not None:
            node.meta["constructs"] = kind
            if isinstance(node.parent, exp.Dot):  # OWNER.TYPE(..)
                node.parent.replace(node)
    return tree


def _constructed(session: EngineSession, node: exp.Anonymous) -> SqlType | None:
    owner = identifier(node.parent.this) if isinstance(node.parent, exp.Dot) and node.parent.expression is node else None
    name = str(node.this)
    return found_type(session, owner, name if node.args.get("quoted") else name.upper())
