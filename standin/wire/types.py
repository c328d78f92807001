"""Oracle's type codes on the wire, and the description of columns and binds with them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from standin.interface import ColumnInfo, OraError
from standin.model import SqlType


class WireType(IntEnum):
    VARCHAR = 1
    NUMBER = 2
    INTEGER = 3
    LONG = 8
    ROWID = 11
    DATE = 12
    RAW = 23
    LONG_RAW = 24
    CHAR = 96
    BINARY_FLOAT = 100
    BINARY_DOUBLE = 101
    CURSOR = 102
    OBJECT = 109
    CLOB = 112
    BLOB = 113
    BFILE = 114
    TIMESTAMP = 180
    TIMESTAMP_TZ = 181
    INTERVAL_YM = 182
    INTERVAL_DS = 183
    UROWID = 208
    TIMESTAMP_LTZ = 231
    BOOLEAN = 252


TEXTS = frozenset({WireType.VARCHAR, WireType.CHAR, WireType.LONG, WireType.ROWID, WireType.UROWID})
NUMBERS = frozenset({WireType.NUMBER, WireType.INTEGER})
MOMENTS = frozenset({WireType.DATE, WireType.TIMESTAMP, WireType.TIMESTAMP_TZ, WireType.TIMESTAMP_LTZ})
FLOATS = frozenset({WireType.BINARY_DOUBLE, WireType.BINARY_FLOAT})
LOBS = frozenset({WireType.CLOB, WireType.BLOB})
INTERVALS = frozenset({WireType.INTERVAL_DS, WireType.INTERVAL_YM})
LONGS = frozenset({WireType.LONG, WireType.LONG_RAW})
SCALED = frozenset({WireType.NUMBER, WireType.TIMESTAMP, WireType.TIMESTAMP_TZ, WireType.TIMESTAMP_LTZ, WireType.INTERVAL_DS})

IMPLICIT, NATIONAL = 1, 2  # character set forms: CHAR and NCHAR
UTF8, UTF16 = 873, 2000  # Oracle's ids of AL32UTF8 and AL16UTF16
UNLIMITED_SCALE = -127


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column type in a describe. `buffer` is the client's buffer size for types with a fixed one."""

    type: WireType
    buffer: int = 0  # 0: the size of the column
    form: int = 0
    scale: int | None = 0  # None: the scale of the column

    @property
    def is_unsized(self) -> bool:
        """Whether a column of the type has no size that a client could use."""
        return self.type in LOBS or self.type in LONGS

    @property
    def charset(self) -> int:
        return {IMPLICIT: UTF8, NATIONAL: UTF16}.get(self.form, 0)


_COLUMN_TYPES = {
    "NUMBER": ColumnType(WireType.NUMBER, 22, scale=None),
    "FLOAT": ColumnType(WireType.NUMBER, 22, scale=None),
    "VARCHAR2": ColumnType(WireType.VARCHAR, form=IMPLICIT),
    "NVARCHAR2": ColumnType(WireType.VARCHAR, form=NATIONAL),
    "CHAR": ColumnType(WireType.CHAR, form=IMPLICIT),
    "NCHAR": ColumnType(WireType.CHAR, form=NATIONAL),
    "ROWID": ColumnType(WireType.VARCHAR, 18, IMPLICIT),  # as text: a client needs no more
    "UROWID": ColumnType(WireType.VARCHAR, form=IMPLICIT),
    "CURSOR": ColumnType(WireType.CURSOR, 4),
    "DATE": ColumnType(WireType.DATE, 7),
    "TIMESTAMP": ColumnType(WireType.TIMESTAMP, 11, scale=None),
    "TIMESTAMP WITH TIME ZONE": ColumnType(WireType.TIMESTAMP_TZ, 13, scale=None),
    "TIMESTAMP WITH LOCAL TIME ZONE": ColumnType(WireType.TIMESTAMP_LTZ, 11, scale=None),
    "INTERVAL YEAR TO MONTH": ColumnType(WireType.INTERVAL_YM, 5, scale=None),
    "INTERVAL DAY TO SECOND": ColumnType(WireType.INTERVAL_DS, 11, scale=None),
    "RAW": ColumnType(WireType.RAW),
    "LONG": ColumnType(WireType.LONG, form=IMPLICIT),
    "LONG RAW": ColumnType(WireType.LONG_RAW),
    "BINARY_DOUBLE": ColumnType(WireType.BINARY_DOUBLE, 8),
    "BINARY_FLOAT": ColumnType(WireType.BINARY_FLOAT, 4),
    "CLOB": ColumnType(WireType.CLOB, 4000, IMPLICIT),
    "NCLOB": ColumnType(WireType.CLOB, 4000, NATIONAL),
    "BLOB": ColumnType(WireType.BLOB, 4000),
    "BFILE": ColumnType(WireType.BFILE, 530),
    "BOOLEAN": ColumnType(WireType.BOOLEAN, 1),
    "XMLTYPE": ColumnType(WireType.OBJECT, 2000),
}


def column_type(column: ColumnInfo) -> ColumnType:
    """Return the wire type of a column. Raises ORA-03115 for an unknown type."""
    known = _COLUMN_TYPES.get(column.type) if column.shape is None else _COLUMN_TYPES["XMLTYPE"]
    if known is None:
        raise OraError(3115, f"unsupported network datatype or representation: {column.type} of column {column.name}")
    return known


@dataclass(frozen=True, slots=True)
class BindType:
    """The type of a bind, or of a column that the client defines."""

    type: int
    size: int
    form: int
    is_array: bool = False
    oid: bytes = b""  # of an object type

    @property
    def encoding(self) -> str:
        return "utf-16-be" if self.form == NATIONAL else "utf-8"


def type_of_part(kind: SqlType) -> BindType:
    """Return the type with which an attribute or element is in an image. Raises ORA-03115 for an unknown type."""
    known = _COLUMN_TYPES.get(kind.name)
    if known is None:
        raise OraError(3115, f"unsupported network datatype or representation: {kind.name} in an object")
    return BindType(known.type, kind.length, known.form)
