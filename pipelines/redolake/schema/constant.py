"""The DEFAULT of an added column: a constant in neutral text, which older rows then have, or a refusal.

Neutral text by type: plain decimals, the characters themselves, `YYYY-MM-DD HH:MM:SS[.f]`, `true`/`false`, capital hexadecimal
digits for RAW; None is NULL.
A default that Oracle computes (SYSDATE, a sequence, a function) is refused, as its value is known to Oracle only.
"""

from __future__ import annotations

import re
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import Literal, NamedTuple

from redolake.schema.ddl_statement import DdlStatement
from redolake.values.datatypes import DATES
from redolake.values.table import OracleType

CHARACTERS = frozenset({"VARCHAR2", "NVARCHAR2", "CLOB", "NCLOB"})
PADDED = frozenset({"CHAR", "NCHAR"})
NUMBERS = frozenset({"NUMBER", "FLOAT", "BINARY_FLOAT", "BINARY_DOUBLE"})
MOST_DIGITS = 38
LARGEST_EXPONENT = 130  # of NUMBER: 1E-130 to 9.99..E125


class Constant(NamedTuple):
    """A constant in a DDL text, before it is fitted to a type."""

    kind: Literal["null", "number", "text", "date", "timestamp", "boolean", "bytes"]
    text: str = ""


def read_default(statement: DdlStatement, column: str, type_: OracleType) -> str | None:
    """Read the constant after DEFAULT and fit it to the column's type, as Oracle would. Raises SchemaConflict otherwise."""
    literal = _literal(statement)
    why = f"DEFAULT of {column} is not a supported constant for {type_}"
    if literal is None:
        raise statement.refuse(why)
    if literal.kind == "null" or (literal.kind in ("text", "bytes") and literal.text == ""):  # Oracle: '' is NULL
        return None
    fitted = _fit(literal, type_)
    if fitted is None:
        raise statement.refuse(why)
    return fitted


def _literal(statement: DdlStatement) -> Constant | None:
    if statement.take("("):
        inner = _literal(statement)
        return inner if inner is not None and statement.take(")") else None
    word = statement.take_any("NULL", "TRUE", "FALSE", "DATE", "TIMESTAMP", "HEXTORAW (")
    if word == "NULL":
        return Constant("null")
    if word in ("TRUE", "FALSE"):
        return Constant("boolean", word.lower())
    if word == "HEXTORAW (":
        text = statement.text()
        return None if text is None or not statement.take(")") else Constant("bytes", text)
    if word is not None:
        text = statement.text()
        return None if text is None else Constant("date" if word == "DATE" else "timestamp", text)
    text = statement.text()
    if text is not None:
        return Constant("text", text)
    sign = "-" if statement.take("-") else ""
    if not sign:
        statement.take("+")
    number = statement.number()
    return None if number is None else Constant("number", sign + number)


def _fit(literal: Constant, type_: OracleType) -> str | None:
    if type_.name in CHARACTERS or type_.name in PADDED:
        return _characters(literal, type_)
    if type_.name in NUMBERS:
        return _number(literal, type_)
    if type_.name in DATES:
        return _moment(literal, type_)
    if type_.name == "BOOLEAN":
        return _boolean(literal)
    if type_.name == "RAW":
        return _bytes(literal, type_)
    return None


TRUE, FALSE = frozenset({"true", "t", "yes", "y", "on", "1"}), frozenset({"false", "f", "no", "n", "off", "0"})


def _boolean(literal: Constant) -> str | None:
    """Return `true` or `false`. Oracle converts texts and numbers; every number but 0 is true."""
    text = literal.text.strip().lower()
    if literal.kind == "number":
        return "false" if not float(text) else "true"
    if literal.kind in ("boolean", "text") and text in TRUE | FALSE:
        return "true" if text in TRUE else "false"
    return None


def _bytes(literal: Constant, type_: OracleType) -> str | None:
    """Return capital digits, two to a byte. Oracle converts a text to RAW as HEXTORAW does."""
    is_hex = literal.kind in ("text", "bytes") and re.fullmatch(r"(?:[0-9A-Fa-f]{2})+", literal.text)
    return literal.text.upper() if is_hex and len(literal.text) // 2 <= (type_.length or 0) else None


def _characters(literal: Constant, type_: OracleType) -> str | None:
    text = literal.text
    if literal.kind == "number":
        # Oracle converts it with TO_CHAR, which keeps the text of whole numbers only.
        if not re.fullmatch(r"-?(0|[1-9]\d{0,37})", text) or text == "-0":
            return None
    elif literal.kind != "text":
        return None
    if type_.name in PADDED:
        # CHAR(n BYTE) pads by bytes, so the number of blanks is known for single-byte text only.
        return text.ljust(type_.length or 1) if text.isascii() else None
    return text


def _number(literal: Constant, type_: OracleType) -> str | None:
    if literal.kind not in ("number", "text"):
        return None
    if literal.kind == "text" and not re.fullmatch(r"-?\d+", literal.text):
        return None  # the decimal separator depends on the session's NLS_NUMERIC_CHARACTERS
    try:
        value = Decimal(literal.text)
    except InvalidOperation:
        return None
    if abs(value.adjusted()) > LARGEST_EXPONENT:
        return None
    with localcontext() as context:
        context.prec = 400
        if type_.precision is not None and type_.name == "NUMBER":
            scale = type_.scale or 0
            value = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
            if abs(value) >= Decimal(10) ** (type_.precision - scale):
                return None
        value = value.normalize() if value else Decimal(0)
    digits = len(value.as_tuple().digits)
    most = int((type_.precision or 126) * 0.30103) + 1 if type_.name == "FLOAT" else MOST_DIGITS
    if digits > most:
        return None
    return format(value, "f")


def _moment(literal: Constant, type_: OracleType) -> str | None:
    if literal.kind == "date" and re.fullmatch(r"\d{4}-\d\d-\d\d", literal.text):
        text, fraction = f"{literal.text} 00:00:00", ""
    elif literal.kind == "timestamp" and re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,9})?", literal.text):
        text, _, fraction = literal.text.partition(".")
    else:
        return None
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return None
    fraction = fraction.rstrip("0")
    most = 0 if type_.name == "DATE" else (6 if type_.scale is None else min(6, type_.scale))
    if len(fraction) > most:
        return None  # Oracle rounds it, or Spark would cut it
    return f"{text}.{fraction}" if fraction else text
