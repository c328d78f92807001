"""Read a column's type from a DDL text, in the form in which the dictionary will report it."""

from __future__ import annotations

from redolake.schema.ddl_statement import DdlStatement
from redolake.values.datatypes import NAMED_IN_DDL
from redolake.values.table import OracleType, string_type

# ANSI names that Oracle takes and stores as its own; INTEGER is NUMBER(*, 0).
INTEGERS = ("INTEGER", "INT", "SMALLINT")
DECIMALS = ("NUMBER", "DECIMAL", "NUMERIC", "DEC")
VARYING = {
    "VARCHAR2": "VARCHAR2",
    "VARCHAR": "VARCHAR2",
    "CHARACTER VARYING": "VARCHAR2",
    "CHAR VARYING": "VARCHAR2",
    "NVARCHAR2": "NVARCHAR2",
    "NATIONAL CHARACTER VARYING": "NVARCHAR2",
    "NATIONAL CHAR VARYING": "NVARCHAR2",
    "NCHAR VARYING": "NVARCHAR2",
}
FIXED = {
    "CHARACTER": "CHAR",
    "CHAR": "CHAR",
    "NATIONAL CHARACTER": "NCHAR",
    "NATIONAL CHAR": "NCHAR",
    "NCHAR": "NCHAR",
}
FLOATS = {"DOUBLE PRECISION": 126, "REAL": 63}


def read_type(statement: DdlStatement) -> OracleType:
    """Read a type. Raises SchemaConflict for an unsupported one (objects, XMLTYPE, LONG, VECTOR, user types)."""
    for read in (_number, _float, _text, _time, _interval, _plain):
        found = read(statement)
        if found is not None:
            return found
    raise statement.not_understood()


def _in_parentheses(statement: DdlStatement) -> int | None:
    if not statement.take("("):
        return None
    value = statement.whole_number()
    statement.need(")")
    return value


def _number(statement: DdlStatement) -> OracleType | None:
    if statement.take_any(*INTEGERS):
        return OracleType("NUMBER", precision=38, scale=0)
    word = statement.take_any(*DECIMALS)
    if word is None:
        return None
    if not statement.take("("):
        # DECIMAL alone is NUMBER(*, 0), NUMBER alone holds any number.
        return OracleType("NUMBER") if word == "NUMBER" else OracleType("NUMBER", precision=38, scale=0)
    star = statement.take("*")
    precision = 38 if star else statement.whole_number()
    scale: int | None = None
    if statement.take(","):
        sign = -1 if statement.take("-") else 1
        scale = sign * statement.whole_number()
    statement.need(")")
    if star and scale is None:
        return OracleType("NUMBER")
    return OracleType("NUMBER", precision=precision, scale=scale or 0)


def _float(statement: DdlStatement) -> OracleType | None:
    word = statement.take_any(*FLOATS)
    if word is not None:
        return OracleType("FLOAT", precision=FLOATS[word])
    if not statement.take("FLOAT"):
        return None
    bits = _in_parentheses(statement)
    return OracleType("FLOAT", precision=126 if bits is None else bits)


def _text(statement: DdlStatement) -> OracleType | None:
    varying = statement.take_any(*VARYING)
    fixed = None if varying else statement.take_any(*FIXED)
    if varying is None and fixed is None:
        if statement.take("RAW"):
            length = _in_parentheses(statement)
            if length is None:
                raise statement.not_understood()
            return string_type("RAW", length, length)
        return None
    length = 1
    if statement.take("("):
        length = statement.whole_number()
        statement.take_any("BYTE", "CHAR")
        statement.need(")")
    elif varying:
        raise statement.not_understood()
    return string_type(VARYING[varying] if varying else FIXED[str(fixed)], length, length)


def _time(statement: DdlStatement) -> OracleType | None:
    if not statement.take("TIMESTAMP"):
        return None
    digits = _in_parentheses(statement)
    zone = statement.take_any("WITH LOCAL TIME ZONE", "WITH TIME ZONE")
    return OracleType(f"TIMESTAMP {zone}" if zone else "TIMESTAMP", scale=6 if digits is None else digits)


def _interval(statement: DdlStatement) -> OracleType | None:
    if statement.take("INTERVAL", "YEAR"):
        years = _in_parentheses(statement)
        statement.need("TO", "MONTH")
        return OracleType("INTERVAL YEAR TO MONTH", precision=2 if years is None else years, scale=0)
    if statement.take("INTERVAL", "DAY"):
        days = _in_parentheses(statement)
        statement.need("TO", "SECOND")
        digits = _in_parentheses(statement)
        return OracleType(
            "INTERVAL DAY TO SECOND", precision=2 if days is None else days, scale=6 if digits is None else digits
        )
    return None


def _plain(statement: DdlStatement) -> OracleType | None:
    if statement.take("UROWID"):
        _in_parentheses(statement)
        return OracleType("UROWID")
    word = statement.take_any(*NAMED_IN_DDL)
    return None if word is None else OracleType(NAMED_IN_DDL[word])
