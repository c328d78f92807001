"""NUMBER and FLOAT: integers, exact decimals, doubles that name the same number, or text.

FLOAT(p) is a decimal number too: p, in binary digits, only says how many digits Oracle keeps. Up to 15 of them survive a
double, so FLOAT(49) and less is a double. Other FLOATs are text unless a rule says `double` or a decimal. Every value is
checked: a double must have the Oracle value as its shortest text.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal, InvalidOperation, Overflow, Underflow

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from redolake.decode.datatypes.family import Cast, DoesNotFit, Family, cast_distinct, cast_each, refuse_rule
from redolake.decode.forms import Form
from redolake.errors import SchemaConflict
from redolake.values.redo import Encoding
from redolake.values.table import OracleType, TypeRule

MAX_DIGITS = 38  # of Spark's and Delta's decimal
DEFAULT_SCALE = 10  # of NUMBER without precision
INT_DIGITS, BIGINT_DIGITS = 9, 18  # every number of so many digits fits
DOUBLE_DIGITS = 15  # every decimal number of so many digits is the shortest text of one double
DECIMAL_RULE = re.compile(r"decimal\((\d{1,2}), ?(\d{1,2})\)")
_AS_TEXT = 'declare the column as "string"'
_RULES = f'write "integer", "double", "decimal(p,s)", a scale from 0 to {MAX_DIGITS}, or "string"'

_LITERAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[Ee][+-]?\d+)?", re.ASCII)
_WHOLE = r"^-?[0-9]+$"
_SHORT = rf"^-?(?:[0-9]{{1,{DOUBLE_DIGITS}}}|[0-9]{{0,7}}\.[0-9]{{1,7}})$"
_CANONICAL = r"^(?:0|-?[1-9][0-9]*|-?(?:[1-9][0-9]*)?\.[0-9]*[1-9])$"
_MOST_BYTES = 21  # of an internal NUMBER that has no end byte: the exponent and 20 pairs of digits
# Oracle's 1E+125 and 1E-130 with 40 digits, and doubles; the default of 28 digits would round. Larger values are no numbers.
_EXACT = Context(prec=400, Emin=-999, Emax=999, traps=[InvalidOperation, Overflow, Underflow])


def target(oracle_type: OracleType, rule: TypeRule) -> pa.DataType:
    if rule is not None:
        return _by_rule(oracle_type, rule)
    if oracle_type.name == "FLOAT":
        return pa.float64() if _digits_of_float(oracle_type) <= DOUBLE_DIGITS else pa.string()
    precision, scale = oracle_type.precision, oracle_type.scale
    if precision is None and scale is None:
        return pa.decimal128(MAX_DIGITS, DEFAULT_SCALE)
    # INTEGER has no precision but scale 0; a negative scale adds digits on the left, one above the precision on the right.
    scale = scale or 0
    precision = MAX_DIGITS if precision is None else precision
    precision, scale = (precision - scale, 0) if scale < 0 else (max(precision, scale), scale)
    if precision > MAX_DIGITS:
        raise SchemaConflict(f"{oracle_type} has {precision} digits, a decimal holds {MAX_DIGITS}", cure=_AS_TEXT)
    if scale == 0 and precision <= BIGINT_DIGITS:
        return pa.int32() if precision <= INT_DIGITS else pa.int64()
    return pa.decimal128(precision, scale)


def _digits_of_float(oracle_type: OracleType) -> int:
    """Return how many decimal digits a FLOAT(p) has at most: p * 0.30103, rounded up (SQL Reference, FLOAT)."""
    return -(-(oracle_type.precision or 126) * 30103 // 100_000)


def _by_rule(oracle_type: OracleType, rule: TypeRule) -> pa.DataType:
    is_free = oracle_type.name == "FLOAT" or (oracle_type.precision is None and oracle_type.scale is None)
    if rule == "string":
        return pa.string()
    if rule == "integer":
        return pa.int64()
    if rule == "double" and is_free:
        return pa.float64()
    if isinstance(rule, str) and (wanted := DECIMAL_RULE.fullmatch(rule)):
        precision, scale = int(wanted[1]), int(wanted[2])
        if 1 <= precision <= MAX_DIGITS and scale <= precision:
            return pa.decimal128(precision, scale)
    if is_free and isinstance(rule, int) and not isinstance(rule, bool) and 0 <= rule <= MAX_DIGITS:
        return pa.decimal128(MAX_DIGITS, rule)
    raise refuse_rule(oracle_type, rule, _RULES)


def cast(texts: pa.StringArray, target: pa.DataType, _rule: TypeRule = None) -> Cast:
    if target == pa.string():
        return _as_text(texts)
    if pa.types.is_integer(target):
        return _as_integers(texts, target)
    if target == pa.float64():
        return _as_doubles(texts)
    if _is_exact_in_arrow(texts, target.scale):
        try:
            return Cast(texts.cast(target))
        except pa.ArrowInvalid:
            pass  # one of them does not fit; cast_each finds which, and why
    return cast_each(texts, lambda text: _fit(text, target), target)


def _as_integers(texts: pa.StringArray, target: pa.DataType) -> Cast:
    if pc.all(pc.match_substring_regex(texts, _WHOLE)).as_py() is not False:  # Arrow would read 0x10 as 16
        try:
            return Cast(texts.cast(target))
        except pa.ArrowInvalid:
            pass  # one of them does not fit; cast_each finds which
    return cast_each(texts, lambda text: _whole(text, target.bit_width), target)


def _whole(text: str, bits: int) -> int:
    value = _decimal(text)
    if value.adjusted() > MAX_DIGITS or not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise DoesNotFit(f"has more digits than an integer of {bits} bits")
    if value != int(value):
        raise DoesNotFit("is not a whole number")
    return int(value)


def _as_doubles(texts: pa.StringArray) -> Cast:
    if pc.all(pc.match_substring_regex(texts, _SHORT)).as_py() is not False:
        return Cast(pc.add(texts.cast(pa.float64()), 0.0))  # no -0, which Oracle does not have
    return cast_each(texts, _double, pa.float64())


def _double(text: str) -> float:
    exact = _decimal(text)
    value = float(exact) if exact else 0.0
    if not np.isfinite(value) or Decimal(repr(value)) != exact:
        raise DoesNotFit("has more digits than a double")
    return value


def _is_exact_in_arrow(texts: pa.StringArray, scale: int) -> bool:
    """Return whether Arrow's cast is exact: it overflows silently above 128 bits, and rounds numbers with an exponent."""
    lengths = pc.binary_length(texts)
    longest = pc.max(lengths).as_py() or 0
    if longest + scale > MAX_DIGITS:
        point = pc.find_substring(texts, ".")
        whole = pc.max(pc.if_else(pc.less(point, 0), lengths, point)).as_py()
        if longest > MAX_DIGITS or whole + scale > MAX_DIGITS:
            return False
    return not any(pc.any(pc.match_substring(texts, mark)).as_py() for mark in "Ee")


def _fit(text: str, target: pa.DataType) -> Decimal:
    value = _decimal(text)
    digits, exponent = value.as_tuple().digits, int(value.as_tuple().exponent)
    if -exponent > target.scale:
        raise DoesNotFit(f"has more decimals than decimal({target.precision},{target.scale})")
    if value and len(digits) + exponent > target.precision - target.scale:
        raise DoesNotFit(f"has more digits than decimal({target.precision},{target.scale})")
    return _EXACT.quantize(value, Decimal(1).scaleb(-target.scale))


def _decimal(text: str) -> Decimal:
    if not _LITERAL.fullmatch(text):
        raise ValueError("is not a number")
    try:
        return Decimal(text).normalize(_EXACT)
    except ArithmeticError:
        raise ValueError("is a number beyond all that Oracle has") from None


def _as_text(texts: pa.StringArray) -> Cast:
    """Return one spelling per number, so that equal numbers compare equal: 0.05, never .05 or 5E-2."""
    if pc.all(pc.match_substring_regex(texts, _CANONICAL)).as_py() is False:
        return cast_each(texts, lambda text: _spell(_decimal(text)), pa.string())
    return Cast(pc.replace_substring_regex(texts, r"^(-?)\.", r"\10."))


def _spell(value: Decimal) -> str:
    return f"{value:f}" if value else "0"


def internal(raw: pa.BinaryArray, target: pa.DataType, _encoding: Encoding, _rule: TypeRule = None) -> Cast:
    return cast_distinct(raw, number_text, lambda texts: cast(texts, target))


def number_text(raw: bytes) -> str:
    """Decode Oracle's NUMBER: base 100, an exponent byte, then one byte per digit.

    Negative numbers are complemented, and end in 0x66 (102) if they are short.
    """
    if raw == b"\x80":
        return "0"
    if len(raw) < 2 or raw == b"\xff\x65":
        raise ValueError("is not a finite number")
    if raw[0] & 0x80:
        sign, exponent, digits = "", raw[0] - 0xC1, [byte - 1 for byte in raw[1:]]
    else:
        if raw[-1] != 102 and len(raw) < _MOST_BYTES:
            raise ValueError("is a negative number without its end byte")
        body = raw[1:-1] if raw[-1] == 102 else raw[1:]
        sign, exponent, digits = "-", 0x3E - raw[0], [101 - byte for byte in body]
    if not digits or not all(0 <= digit <= 99 for digit in digits):
        raise ValueError("is not a number in Oracle's format")
    return f"{sign}{int(''.join(f'{digit:02d}' for digit in digits))}E{2 * (exponent - len(digits) + 1)}"


FAMILY = Family(frozenset({"NUMBER", "FLOAT"}), frozenset({Form.TEXT, Form.NUMBER}), target, cast, internal)
