"""Oracle's types: as DDL and CAST write them, as a client sees them described, and as Arrow columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from sqlglot import exp

from standin.composites import is_composite
from standin.engine.types.values import Instance, encode_timestamp, encode_zoned, number_text
from standin.interface import ColumnInfo, LargeBytes, OraError
from standin.intervals import DaySecond, YearMonth
from standin.model import SqlType, TableColumn
from standin.moment import Moment
from standin.octets import text_array
from standin.zones import Zoned

MAX_TEXT = 4000
MAX_EXTENDED = 32767  # MAX_STRING_SIZE = EXTENDED
_FIXED = {
    "DATE": SqlType("DATE", 7),
    "CLOB": SqlType("CLOB", MAX_TEXT),
    "NCLOB": SqlType("NCLOB", MAX_TEXT),
    "BLOB": SqlType("BLOB", MAX_TEXT),
    "BINARY_DOUBLE": SqlType("BINARY_DOUBLE", 8),
    "BINARY_FLOAT": SqlType("BINARY_FLOAT", 4),
    "INTEGER": SqlType("NUMBER", 22, 0, None, 0),
    "INT": SqlType("NUMBER", 22, 0, None, 0),
    "SMALLINT": SqlType("NUMBER", 22, 0, None, 0),
    "DOUBLE PRECISION": SqlType("FLOAT", 22, 0, 126),
    "REAL": SqlType("FLOAT", 22, 0, 63),
    "ROWID": SqlType("ROWID", 10),
    "BOOLEAN": SqlType("BOOLEAN", 1),
    "BOOL": SqlType("BOOLEAN", 1),
    "BFILE": SqlType("BFILE", 530),
    "JSON": SqlType("JSON", 8200),
    "VECTOR": SqlType("VECTOR", 8200),
    "XMLTYPE": SqlType("XMLTYPE", 2000),
    "LONG": SqlType("LONG", 0),
    "LONG RAW": SqlType("LONG RAW", 0),
}
_SYNONYMS = {
    "VARCHAR": "VARCHAR2",
    "CHARACTER": "CHAR",
    "CHARACTER VARYING": "VARCHAR2",
    "CHAR VARYING": "VARCHAR2",
    "NATIONAL CHARACTER": "NCHAR",
    "NATIONAL CHAR": "NCHAR",
    "NATIONAL CHARACTER VARYING": "NVARCHAR2",
    "NATIONAL CHAR VARYING": "NVARCHAR2",
    "NCHAR VARYING": "NVARCHAR2",
    "NUMERIC": "NUMBER",
    "DECIMAL": "NUMBER",
    "DEC": "NUMBER",
}

_SQLGLOT_NAMES = {
    "DECIMAL": "NUMBER",
    "VARCHAR": "VARCHAR2",
    "NVARCHAR": "NVARCHAR2",
    "DOUBLE": "BINARY_DOUBLE",
    "VARBINARY": "RAW",
    "BINARY": "RAW",
    "TEXT": "CLOB",
    "BIGINT": "INTEGER",
    "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE",
    "TIMESTAMPLTZ": "TIMESTAMP WITH LOCAL TIME ZONE",
    "NCHAR": "NCHAR",
    "FLOAT": "FLOAT",
}


def sql_type(name: str, sizes: Sequence[str], unit: str = "", longest: int = MAX_TEXT) -> SqlType:
    """Return the type of a name and its sizes, e.g. `NUMBER`, ["10", "2"]. `unit` is BYTE, CHAR or empty; `longest` is the
    most bytes of a VARCHAR2.

    Raise ORA-00902 for a type that is not modelled.
    """
    name = _SYNONYMS.get(name, name)
    if name in _FIXED:
        return _FIXED[name]
    first = None if not sizes or sizes[0] == "*" else int(sizes[0])
    if name == "NUMBER":
        return _number(sizes, first)
    if name == "FLOAT":
        return SqlType("FLOAT", 22, 0, first or 126)
    if name == "TIMESTAMP":
        return SqlType("TIMESTAMP", 7 if first == 0 else 11, 0, None, 6 if first is None else first)
    if name.startswith("TIMESTAMP WITH"):
        return SqlType(name, 11 if "LOCAL" in name else 13, 0, None, 6 if first is None else first)
    if name == "INTERVAL YEAR TO MONTH":
        return SqlType(name, 5, 0, 2 if first is None else first, 0)
    if name == "INTERVAL DAY TO SECOND":
        second = int(sizes[1]) if len(sizes) > 1 and sizes[1] != "*" else 6
        return SqlType(name, 11, 0, 2 if first is None else first, second)
    if name == "UROWID":
        return SqlType(name, first or 4000)
    if name == "RAW":
        return SqlType("RAW", first or 1)
    if name in ("NVARCHAR2", "NCHAR"):
        return SqlType(name, 2 * (first or 1), first or 1)
    if name in ("VARCHAR2", "CHAR"):
        return _text(name, first, unit, longest)
    raise OraError(902, f"invalid datatype: {name} is not modelled")


def _number(sizes: Sequence[str], precision: int | None) -> SqlType:
    if precision is not None and not 1 <= precision <= 38:
        raise OraError(1727, "numeric precision specifier is out of range (1 to 38)")
    if not sizes:
        return SqlType("NUMBER", 22, 0)
    return SqlType("NUMBER", 22, 0, precision, int(sizes[1]) if len(sizes) > 1 else 0)


def _text(name: str, size: int | None, unit: str, longest: int) -> SqlType:
    if size is None:
        if name == "VARCHAR2":
            raise OraError(906, "missing left parenthesis")
        size = 1
    limit = longest if name == "VARCHAR2" else 2000
    if not 1 <= size <= limit:
        raise OraError(910, "specified length too long for its datatype")
    return SqlType(name, min(longest, 4 * size) if unit == "CHAR" else size, size)


def column_type(kind: SqlType, *, extended: bool) -> SqlType:
    """Return the type as a column has it under MAX_STRING_SIZE = STANDARD or EXTENDED. Raise ORA-00910 for one too long."""
    standard = {"VARCHAR2": MAX_TEXT, "NVARCHAR2": MAX_TEXT, "RAW": 2000}.get(kind.name)
    if standard is None:
        return kind
    limit = MAX_EXTENDED if extended else standard
    declared = kind.length if kind.name != "VARCHAR2" else kind.chars
    if declared > limit:
        raise OraError(910, "specified length too long for its datatype")
    return replace(kind, length=min(kind.length, limit))


def type_of_cast(node: exp.DataType) -> SqlType:
    """Return the type of a CAST in a sqlglot tree."""
    if isinstance(node.this, exp.Interval):
        span = node.this.args["unit"]
        name = f"INTERVAL {_unit(span.this)} TO {_unit(span.expression)}"
        return sql_type(name, [_digits(span.this), _digits(span.expression)])
    name = str(node.this.value if hasattr(node.this, "value") else node.this).upper()
    if name == "USERDEFINED":
        name = str(node.args.get("kind")).upper()
    params = [p for p in node.expressions if isinstance(p, exp.DataTypeParam)]
    unit = next((str(p.args["expression"]).upper() for p in params if p.args.get("expression")), "")
    return sql_type(_SQLGLOT_NAMES.get(name, name), [str(p.this) for p in params], unit)


def _unit(node: exp.Expression) -> str:
    return str(node.this).upper()


def _digits(node: exp.Expression) -> str:
    return str(node.expressions[0].this) if node.expressions else "*"


def info_of_type(name: str, type_: SqlType, nullable: bool = True) -> ColumnInfo:
    if is_composite(type_):
        return info_of_shape(type_, name, nullable)
    if type_.name == "NUMBER":
        if type_.precision is None and type_.scale is None:
            return ColumnInfo(name, "NUMBER", nullable=nullable)
        return ColumnInfo(name, "NUMBER", 22, 0, 38 if type_.precision is None else type_.precision, type_.scale or 0, nullable)
    if type_.name == "FLOAT":
        return ColumnInfo(name, "NUMBER", 22, 0, type_.precision or 126, -127, nullable)
    if type_.name.startswith("TIMESTAMP"):
        size = 13 if type_.name == "TIMESTAMP WITH TIME ZONE" else 11
        return ColumnInfo(name, type_.name, size, 0, 0, 6 if type_.scale is None else type_.scale, nullable)
    if type_.name.startswith("INTERVAL"):
        return ColumnInfo(name, type_.name, type_.length, 0, type_.precision or 0, type_.scale or 0, nullable)
    return ColumnInfo(name, type_.name, max(1, type_.length), type_.chars, 0, 0, nullable)


def info_of_shape(shape: SqlType, name: str = "", nullable: bool = True) -> ColumnInfo:
    return ColumnInfo(name, shape.name, max(1, shape.length), 0, 0, 0, nullable, shape)


def type_of_info(info: ColumnInfo) -> SqlType:
    """Return the type of a column with an expression's values, as of CREATE TABLE AS SELECT and of virtual columns."""
    if info.shape is not None:
        return info.shape
    if info.type == "NUMBER":
        if info.precision == 0:
            return SqlType("NUMBER")
        return SqlType("NUMBER", 22, 0, info.precision, max(info.scale, 0))
    if info.type in ("VARCHAR2", "CHAR"):
        return SqlType(info.type, min(4000, info.size), min(4000, info.chars or info.size))
    if info.type in ("NVARCHAR2", "NCHAR"):
        return SqlType(info.type, info.size, info.chars)
    if info.type.startswith("TIMESTAMP"):
        return SqlType(info.type, 11, 0, None, info.scale)
    return SqlType(info.type, info.size, info.chars)


def info_of_column(column: TableColumn) -> ColumnInfo:
    return info_of_type(column.name, column.type, column.nullable)


def text_info(chars: int = MAX_TEXT) -> ColumnInfo:
    return ColumnInfo("", "VARCHAR2", min(MAX_TEXT, max(1, chars * 4)), min(MAX_TEXT, max(1, chars)), 0, 0)


NUMBER = ColumnInfo("", "NUMBER")
BINARY_DOUBLE = ColumnInfo("", "BINARY_DOUBLE", 8, 0, 0, 0)
DATE = ColumnInfo("", "DATE", 7, 0, 0, 0)
TIMESTAMP = ColumnInfo("", "TIMESTAMP", 11, 0, 0, 6)
TIMESTAMP_TZ = ColumnInfo("", "TIMESTAMP WITH TIME ZONE", 13, 0, 0, 6)
DAY_INTERVAL = ColumnInfo("", "INTERVAL DAY TO SECOND", 11, 0, 9, 9)
YEAR_INTERVAL = ColumnInfo("", "INTERVAL YEAR TO MONTH", 5, 0, 9, 0)
INTERVALS = {info.type: info for info in (DAY_INTERVAL, YEAR_INTERVAL)}
RAW = ColumnInfo("", "RAW", 2000, 0, 0, 0)
BINARY_DOUBLE = ColumnInfo("", "BINARY_DOUBLE", 8, 0, 0, 0)


def arrow_type(info: ColumnInfo) -> pa.DataType:
    if info.type == "NUMBER":
        if info.precision == 0 or info.scale < 0 or info.scale > info.precision:
            return pa.string()
        return pa.int64() if info.scale == 0 and info.precision <= 18 else pa.decimal128(info.precision, info.scale)
    if info.type == "DATE":
        return pa.timestamp("s")
    if info.type.startswith("TIMESTAMP"):
        return pa.timestamp("us")
    if info.type in ("RAW", "BLOB", "LONG RAW"):
        return pa.binary()
    if info.type in ("BINARY_DOUBLE", "BINARY_FLOAT"):
        return pa.float64()
    if info.type.startswith("INTERVAL"):
        return pa.binary()
    return pa.bool_() if info.type == "BOOLEAN" else pa.string()


def arrow_column(info: ColumnInfo, values: Sequence[Any]) -> pa.Array:
    """Return one column as Arrow. NUMBER without precision becomes decimal text, so that nothing is rounded; dates become
    Oracle's bytes where one of them is none of Python's."""
    type_ = arrow_type(info)
    if info.type == "NUMBER":
        if pa.types.is_string(type_):
            return pa.array([None if v is None else number_text(v) for v in values], type_)
        if pa.types.is_decimal(type_):
            return pa.array([None if v is None else Decimal(v) for v in values], type_)
        return pa.array(values, type_)
    if info.type.startswith("INTERVAL"):
        return pa.array([v if v is None else v.encode() for v in values], type_)
    if pa.types.is_string(type_):
        texts = [v if v is None or v.__class__ is str else _text_of(v) for v in values]
        return text_array(texts, national=info.type.startswith("N"))
    if pa.types.is_timestamp(type_) and any(isinstance(v, Zoned) for v in values):
        local = "LOCAL" in info.type
        return pa.array([v if v is None else _zoned_bytes(v, local) for v in values], pa.binary())
    if pa.types.is_timestamp(type_) and any(isinstance(v, Moment) for v in values):
        return pa.array([None if v is None else encode_timestamp(v) for v in values], pa.binary())
    return pa.array(values, type_)


def _zoned_bytes(value: Any, local: bool) -> bytes:
    """Return the bytes that a client gets. Local time is sent as UTC, whatever the session's zone is."""
    return encode_timestamp(value.utc) if local and isinstance(value, Zoned) else encode_zoned(value)


def _text_of(value: Any) -> str:
    if isinstance(value, int | Decimal | float):
        return number_text(value)
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def info_of_value(value: Any) -> ColumnInfo:
    """Return the type that a bind alone has as a column."""
    if isinstance(value, Instance):
        return info_of_shape(value.kind)
    if isinstance(value, bool):
        return ColumnInfo("", "BOOLEAN", 1, 0, 0, 0)
    if isinstance(value, float):  # a NUMBER is an int or a Decimal
        return BINARY_DOUBLE
    if isinstance(value, int | Decimal):
        return NUMBER
    if isinstance(value, LargeBytes):
        return ColumnInfo("", "BLOB", MAX_TEXT, 0, 0, 0)
    if isinstance(value, bytes):
        return ColumnInfo("", "RAW", max(1, len(value)), 0, 0, 0)
    if isinstance(value, datetime):
        return TIMESTAMP if value.microsecond else DATE
    if isinstance(value, Zoned):
        return TIMESTAMP_TZ
    if isinstance(value, DaySecond):
        return DAY_INTERVAL
    if isinstance(value, YearMonth):
        return YEAR_INTERVAL
    return text_info()
