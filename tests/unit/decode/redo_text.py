"""Write values as redo SQL and as internal bytes, as LogMiner does. It shares no code with the decoder under test."""

from datetime import datetime
from decimal import Decimal

import pyarrow as pa

from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion

TYPES = {
    "NUMBER": OracleType("NUMBER", 22),
    "NUMBER(10,2)": OracleType("NUMBER", 22, 10, 2),
    "VARCHAR2": OracleType("VARCHAR2", 4000),
    "CHAR": OracleType("CHAR", 10),
    "DATE": OracleType("DATE", 7),
    "TIMESTAMP": OracleType("TIMESTAMP", 11, None, 6),
    "RAW": OracleType("RAW", 16),
    "CLOB": OracleType("CLOB"),
    "NCLOB": OracleType("NCLOB"),
    "BLOB": OracleType("BLOB"),
    "XMLTYPE": OracleType("XMLTYPE"),
    "BOOLEAN": OracleType("BOOLEAN", 1),
    "UROWID": OracleType("UROWID", 4000),
}


def table(**columns):
    """Return a table S.T with columns by name and type. Ids begin at 11, to differ from segment ids, which begin at 1."""
    made = [Column(11 + i, name, TYPES[kind], 1 + i) for i, (name, kind) in enumerate(columns.items())]
    return version(made)


def version(columns):
    return TableVersion(TableId("S", "T"), Scn(100), 1, 1, tuple(columns), (columns[0].id,), 11 + len(columns))


def redo_batch(*rows, **more):
    """Return a batch of rows (operation code, text) or (operation code, text, status, rollback)."""
    full = [(*row, *(0, 0)[len(row) - 2 :]) for row in rows]
    return pa.RecordBatch.from_pydict(
        {
            **{name: pa.array(values) for name, values in more.items()},
            "sql_redo": pa.array([row[1] for row in full], pa.string()),
            "status": pa.array([row[2] for row in full], pa.int32()),
            "info": pa.array(["Dictionary Version Mismatch" if row[2] == 2 else None for row in full], pa.string()),
            "operation_code": pa.array([row[0] for row in full], pa.int32()),
            "rollback": pa.array([row[3] for row in full], pa.int8()),
        }
    )


def literal(value):
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        text = value.strftime("%Y").rjust(4, "0") + value.strftime("-%m-%d %H:%M:%S")
        return f"TO_DATE('{text}', 'YYYY-MM-DD HH24:MI:SS')"
    if isinstance(value, Decimal):
        return f"'{number(value)}'"
    if isinstance(value, bytes):
        return f"HEXTORAW('{value.hex()}')"
    return "'" + value.replace("'", "''") + "'"


def timestamp(value):
    return "NULL" if value is None else f"TO_TIMESTAMP('{value.isoformat(' ', 'microseconds')}000')"


def number(value):
    """Write a number without a zero before the point or at the end."""
    text = f"{value:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    return sign + (text[1:] if text.startswith("0.") else text)


def insert(names, literals, head='"S"."T"', end=";"):
    listed = ",".join(f'"{name}"' for name in names)
    return f"insert into {head}({listed}) values ({','.join(literals)}){end}"


def conditions(names, literals, rowid=None):
    terms = [f'"{n}" IS NULL' if v == "NULL" else f'"{n}" = {v}' for n, v in zip(names, literals, strict=True)]
    return " and ".join(terms + ([f"ROWID = '{rowid}'"] if rowid else []))


def update(assigned, where, head='"S"."T"', end=";"):
    listed = ", ".join(f'"{name}" = {value}' for name, value in assigned.items())
    return f"update {head} set {listed}" + (f" where {where}" if where else "") + end


def delete(where, head='"S"."T"', end=";"):
    return f"delete from {head}" + (f" where {where}" if where else "") + end


def number_bytes(value):
    """Encode in base 100 with an exponent of 0xC1; negative numbers are complemented, and end in 102 below 20 digits."""
    if value == 0:
        return b"\x80"
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    if exponent % 2:
        text, exponent = text + "0", exponent - 1
    text = text.rjust(len(text) + len(text) % 2, "0")
    pairs = [int(text[i : i + 2]) for i in range(0, len(text), 2)]
    power = exponent // 2 + len(pairs) - 1
    while pairs[-1] == 0:
        pairs.pop()
    if sign:
        return bytes([0x3E - power, *(101 - p for p in pairs)]) + (b"\x66" if len(pairs) < 20 else b"")
    return bytes([0xC1 + power, *(p + 1 for p in pairs)])


def datetime_bytes(value):
    century, year = divmod(value.year, 100)
    seven = bytes([century + 100, year + 100, value.month, value.day, value.hour + 1, value.minute + 1, value.second + 1])
    return seven + (value.microsecond * 1000).to_bytes(4, "big") if value.microsecond else seven


def internal(value):
    """Return the bytes of a value, as generic rows contain them."""
    if value is None:
        return "NULL"
    if isinstance(value, Decimal):
        raw = number_bytes(value)
    elif isinstance(value, datetime):
        raw = datetime_bytes(value)
    else:
        raw = value if isinstance(value, bytes) else value.encode()
    return f"HEXTORAW('{raw.hex()}')"
