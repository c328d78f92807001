"""DBMS_PICKLER.GET_TYPE_SHAPE, by which a client asks for the parts of an object type: only of XMLTYPE, which has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from standin.engine.plsql import FUNCTION_VALUE, Parameter, procedures
from standin.engine.session import EngineSession
from standin.interface import ColumnInfo, OraError, Rows

XMLTYPE = bytes.fromhex("00000000000000000000000000020100")  # the OID of SYS.XMLTYPE in every database
# The end, version, two bytes of flags, no attributes, flags; the type's begin, a zero, the place of its index, its end.
_SHAPE = b"\x26\x01\x00\x01\x00\x00\x00\x29\x00\x00" + (19).to_bytes(4, "big") + b"\x2a"
_SHAPE = (4 + len(_SHAPE)).to_bytes(4, "big") + _SHAPE
_ATTRIBUTES = (
    "VERSION", "ATTR_NAME", "ATTR_NO", "ATTR_TYPE_NAME", "ATTR_TYPE_OWNER", "ATTR_TYPE_PACKAGE", "ATTR_TYPE_OID",
    "ATTR_INSTANTIABLE", "SUPER_TYPE_OWNER", "SUPER_TYPE_NAME",
)  # fmt: skip


def get_type_shape(session: EngineSession, full_name: str, **_: Any) -> Mapping[str, Any]:
    if full_name.replace('"', "").upper() not in ("SYS.XMLTYPE", "XMLTYPE"):
        raise OraError(3001, f"unimplemented feature: DBMS_PICKLER.GET_TYPE_SHAPE of {full_name}")
    columns = tuple(ColumnInfo(name, "VARCHAR2", 128, 128, 0, 0) for name in _ATTRIBUTES)
    cursors = {name: Rows(columns, iter(())) for name in ("attrs_rc", "subtypes_rc")}
    unknown = dict.fromkeys(("instantiable", "supertype_owner", "supertype_name"))
    return {FUNCTION_VALUE: 0, "oid": XMLTYPE, "version": 1, "tds": _SHAPE, **unknown, **cursors}


def register() -> None:
    outs = ("oid", "version", "tds", "instantiable", "supertype_owner", "supertype_name", "attrs_rc", "subtypes_rc")
    parameters = [Parameter("full_name"), *(Parameter(name, direction="OUT") for name in outs)]
    procedures.register("DBMS_PICKLER.GET_TYPE_SHAPE", get_type_shape, parameters, public=True)
