"""DBMS_PICKLER.GET_TYPE_SHAPE, by which a client asks for the parts of a type: of a user, of a package, or %ROWTYPE.

The shape has a code for each attribute: its type with sizes. Objects inside an object are written out; a collection has one
attribute, with the place of its element's type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from standin.composites import COLLECTIONS, oid_of
from standin.engine.expressions.known_types import found_type
from standin.engine.plsql.package_types import package_types, row_type
from standin.engine.sessions.names import table_named
from standin.engine.sessions.privileges import executes, may, may_use_type
from standin.engine.sessions.procedures import FUNCTION_VALUE, Parameter, procedures
from standin.engine.sessions.session import EngineSession
from standin.engine.text.tokens import Cursor
from standin.interface import ColumnInfo, OraError, Rows
from standin.model import SqlType

_XMLTYPE = SqlType("XMLTYPE", 2000, owner="SYS", kind="OPAQUE")
_VERSION, _BEGIN, _END = b"\x26\x01", b"\x29", b"\x2a"
_HEADER = 18  # bytes in front of the attributes
_EMBEDDED, _EMBEDDED_END, _NAMED, _COLLECTION = b"\x27", b"\x28", b"\x1b", b"\x1c"
_NAMED_COLLECTION, _NAMED_OPAQUE, _NAMED_OBJECT = 251, 58, 250
_COLLECTIONS = {"INDEX BY": 1, "TABLE": 2, "VARRAY": 3}
_TEXTS = {"VARCHAR2": 7, "NVARCHAR2": 7, "CHAR": 1, "NCHAR": 1}
_MOMENTS = {"TIMESTAMP": 21, "TIMESTAMP WITH TIME ZONE": 23, "TIMESTAMP WITH LOCAL TIME ZONE": 33}
_PLAIN = {"DATE": 2, "BOOLEAN": 8, "CLOB": 29, "NCLOB": 29, "BLOB": 30, "BINARY_FLOAT": 37, "BINARY_DOUBLE": 45}
_UTF8, _UTF16 = (873).to_bytes(2, "big"), (2000).to_bytes(2, "big")
_SHOWN = {
    "BOOLEAN": "PL/SQL BOOLEAN",
    "PLS_INTEGER": "PL/SQL PLS INTEGER",
    "BINARY_INTEGER": "PL/SQL BINARY INTEGER",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP WITH TZ",
    "TIMESTAMP WITH LOCAL TIME ZONE": "TIMESTAMP WITH LOCAL TZ",
}
_TEXT_COLUMNS = (
    "ATTR_NAME", "ATTR_NO", "ATTR_TYPE_NAME", "ATTR_TYPE_OWNER", "ATTR_TYPE_PACKAGE", "ATTR_TYPE_OID", "ATTR_INSTANTIABLE",
    "SUPER_TYPE_OWNER", "SUPER_TYPE_NAME",
)  # fmt: skip
_COLUMNS = (
    ColumnInfo("VERSION", "NUMBER"),
    *(
        ColumnInfo(name, "NUMBER")
        if name == "ATTR_NO"
        else ColumnInfo(name, "RAW", 16, 0, 0, 0)
        if name == "ATTR_TYPE_OID"
        else ColumnInfo(name, "VARCHAR2", 128, 128, 0, 0)
        for name in _TEXT_COLUMNS
    ),
)


def get_type_shape(session: EngineSession, full_name: str | None, **_: Any) -> Mapping[str, Any]:
    with session.database.lock:
        found = _named(session, full_name or "")
    outs = dict.fromkeys(("oid", "version", "tds", "instantiable", "supertype_owner", "supertype_name"))
    if found is None:
        return {FUNCTION_VALUE: 1, "full_name": full_name, **outs, "attrs_rc": _rows([]), "subtypes_rc": _rows([])}
    shown = ".".join(name for name in (found.owner, found.package, found.name) if name)
    outs |= {"oid": oid_of(found), "version": 1, "tds": type_shape(found)}
    attributes = [] if found.kind in COLLECTIONS else list(found.parts)
    return {
        FUNCTION_VALUE: 0, "full_name": shown, **outs, "attrs_rc": _rows(attributes), "subtypes_rc": _rows([]),
    }  # fmt: skip


def _named(session: EngineSession, full_name: str) -> SqlType | None:
    """Return the type that a name means to the session, None for one that is not there or that it may not use."""
    cursor = Cursor(full_name)
    names = []
    while cursor.next.kind in ("word", "quoted"):
        names.append(cursor.name())
        cursor.accept(".")
    is_row = cursor.accept("%", "ROWTYPE")
    if cursor.next.kind != "end" or not 1 <= len(names) <= 3:
        return None
    if names[-1] == "XMLTYPE" and names[:-1] in ([], ["SYS"]):
        return _XMLTYPE
    if is_row:
        return _row(session, names)
    plain = _of_user(session, names) if len(names) < 3 else None
    return plain or _of_package(session, names)


def _of_user(session: EngineSession, names: list[str]) -> SqlType | None:
    found = found_type(session, names[0] if len(names) == 2 else None, names[-1])
    return found if found is not None and may_use_type(session.account, found.owner, found.name) else None


def _of_package(session: EngineSession, names: list[str]) -> SqlType | None:
    owner = names[0] if len(names) == 3 else session.schema
    package = names[-2] if len(names) > 1 else ""
    found = session.database.state.objects.get((session.container, owner, package))
    if found is None or found.kind != "PACKAGE":
        return None
    if owner != session.user and not executes(session.account, f"{owner}.{package}"):
        return None
    return next((kind for kind in package_types(session.database, found) if kind.name == names[-1]), None)


def _row(session: EngineSession, names: list[str]) -> SqlType | None:
    try:
        table = table_named(session, names[0] if len(names) == 2 else session.schema, names[-1]).definition
    except OraError:
        return None
    return row_type(table) if may(session.account, "SELECT", table) else None


def _rows(attributes: list[tuple[str, SqlType]]) -> Rows:
    if not attributes:
        return Rows(_COLUMNS, iter(()))
    values = [_attribute(number, name, kind) for number, (name, kind) in enumerate(attributes, 1)]
    arrays = [pa.array(column, _arrow(info)) for info, column in zip(_COLUMNS, zip(*values, strict=True), strict=True)]
    return Rows(_COLUMNS, iter([pa.RecordBatch.from_arrays(arrays, names=[info.name for info in _COLUMNS])]))


def _arrow(info: ColumnInfo) -> pa.DataType:
    return {"NUMBER": pa.int64(), "RAW": pa.binary()}.get(info.type, pa.string())


def _attribute(number: int, name: str, kind: SqlType) -> tuple[Any, ...]:
    if kind.kind or kind.name == "XMLTYPE":
        named = kind if kind.kind else _XMLTYPE
        return 1, name, number, named.name, named.owner, named.package or None, oid_of(named), "YES", None, None
    return 1, name, number, shown_name(kind), None, None, None, "YES", None, None


def shown_name(kind: SqlType) -> str:
    """Return the name of a type as dictionary views of types show it: as it was written."""
    if kind.name == "NUMBER" and kind.precision is None and kind.scale == 0:
        return "INTEGER"
    if kind.name == "FLOAT":
        return {63: "REAL"}.get(kind.precision or 126, "FLOAT")
    return _SHOWN.get(kind.name, kind.name)


def type_shape(kind: SqlType) -> bytes:
    tail = attributes = b""
    count = 0
    if kind.kind in COLLECTIONS:
        place, tail = _HEADER + 11, _code(kind.parts[0][1])
        attributes = _COLLECTION + place.to_bytes(4, "big") + kind.limit.to_bytes(4, "big") + bytes((_COLLECTIONS[kind.kind],))
        count = 1
    elif not kind.name.endswith("%ROWTYPE"):  # of which clients ask for the columns instead
        attributes, count = b"".join(_code(part) for _, part in kind.parts), len(kind.parts)
    index = _HEADER + len(attributes) + 1 + len(tail)
    head = _VERSION + b"\x00\x01" + count.to_bytes(2, "big") + b"\x00" + _BEGIN + b"\x00\x00" + index.to_bytes(4, "big")
    whole = head + attributes + _END + tail
    return (4 + len(whole)).to_bytes(4, "big") + whole


def _code(kind: SqlType) -> bytes:
    if kind.kind == "OBJECT":
        return _EMBEDDED + b"".join(_code(part) for _, part in kind.parts) + _EMBEDDED_END
    if kind.kind == "RECORD":
        return _NAMED + bytes(4) + bytes((_NAMED_OBJECT,))
    if kind.kind in COLLECTIONS:
        return _NAMED + bytes(4) + bytes((_NAMED_COLLECTION,))
    if kind.name == "XMLTYPE":
        return _NAMED + bytes(4) + bytes((_NAMED_OPAQUE,))
    if kind.name in _TEXTS:
        form, charset = (2, _UTF16) if kind.name.startswith("N") else (1, _UTF8)
        return bytes((_TEXTS[kind.name],)) + kind.length.to_bytes(2, "big") + bytes((form,)) + charset
    if kind.name == "RAW":
        return bytes((19,)) + kind.length.to_bytes(2, "big")
    if kind.name == "FLOAT":
        return bytes((5, kind.precision or 126))
    if kind.name in _MOMENTS:
        return bytes((_MOMENTS[kind.name], 6 if kind.scale is None else kind.scale))
    if kind.name in ("NUMBER", "PLS_INTEGER", "BINARY_INTEGER"):
        unlimited = kind.name == "NUMBER" and kind.precision is None and kind.scale is None
        scale = -127 if unlimited else kind.scale or 0
        return bytes((6, kind.precision or 0, scale & 0xFF))
    if kind.name not in _PLAIN:
        raise OraError(3001, f"unimplemented feature: the shape of {kind.name}")
    return bytes((_PLAIN[kind.name],))


def register() -> None:
    outs = ("oid", "version", "tds", "instantiable", "supertype_owner", "supertype_name", "attrs_rc", "subtypes_rc")
    parameters = [Parameter("full_name", direction="IN OUT"), *(Parameter(name, direction="OUT") for name in outs)]
    procedures.register("DBMS_PICKLER.GET_TYPE_SHAPE", get_type_shape, parameters, public=True)
