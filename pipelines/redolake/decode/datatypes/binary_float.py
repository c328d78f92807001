"""BINARY_FLOAT and BINARY_DOUBLE: IEEE numbers with NaN and the infinities. Oracle has one NaN, and no -0.

Redo text has 9 and 17 digits, which determine the number.
"""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from redolake.decode.datatypes.family import Cast, Family, cast_each, refuse_rule
from redolake.decode.forms import Form
from redolake.values.redo import Encoding
from redolake.values.table import OracleType, TypeRule

_TYPES = {"BINARY_FLOAT": pa.float32(), "BINARY_DOUBLE": pa.float64()}
_FINITE = r"^-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[Ee][+-]?[0-9]+)?$"
_NOT_ZERO = r"^-?[0.]*[1-9]"
_SPECIAL = re.compile(r"(?P<sign>[+-]?)(?:BINARY_(?:FLOAT|DOUBLE)_)?(?:(?P<nan>NAN)|INF(?:INITY)?)", re.IGNORECASE)


def target(oracle_type: OracleType, rule: TypeRule) -> pa.DataType:
    if rule is not None:
        raise refuse_rule(oracle_type, rule, "leave the rule out")
    return _TYPES[oracle_type.name]


def cast(texts: pa.StringArray, target: pa.DataType, _rule: TypeRule = None) -> Cast:
    if pc.all(pc.match_substring_regex(texts, _FINITE)).as_py() is not False:
        values = pc.add(texts.cast(target), pa.scalar(0, target))  # -0 becomes 0
        vanished = pc.and_(pc.equal(values, pa.scalar(0, target)), pc.match_substring_regex(texts, _NOT_ZERO))
        if not pc.any(pc.or_(pc.invert(pc.is_finite(values)), vanished)).as_py():
            return Cast(values)
    return cast_each(texts, partial(_number, target=target), target)


def _number(text: str, target: pa.DataType) -> float:
    if special := _SPECIAL.fullmatch(text):
        return float("nan") if special["nan"] else float(f"{special['sign']}inf")
    if not re.fullmatch(_FINITE, text, re.ASCII):
        raise ValueError("is not a number")
    value = float(pa.scalar(text).cast(target).as_py())
    if not np.isfinite(value) or (value == 0 and re.match(_NOT_ZERO, text)):
        raise ValueError(f"is beyond the range of a {target}")
    return value + 0.0


def internal(raw: pa.BinaryArray, target: pa.DataType, _encoding: Encoding, _rule: TypeRule = None) -> Cast:
    """Decode IEEE numbers, big endian, that sort as bytes: the first bit set, or all bits inverted if negative."""
    width = target.bit_width // 8
    wrong = pc.not_equal(pc.binary_length(raw), width).fill_null(False)
    refused = {int(i): f"is not {width} bytes" for i in np.flatnonzero(wrong.to_numpy(zero_copy_only=False))}
    known = pc.if_else(pc.or_(wrong, raw.is_null()), pa.scalar(None, pa.binary()), raw)
    data = b"".join(known.fill_null(bytes([0x80]) + bytes(width - 1)).to_pylist())
    bits = np.frombuffer(data, f">u{width}").astype(f"u{width}")
    top = bits.dtype.type(1 << (8 * width - 1))
    values = np.where(bits & top, bits ^ top, ~bits).view(f"f{width}") + bits.dtype.type(0).view(f"f{width}")
    values[np.isnan(values)] = np.nan
    return Cast(pa.array(values, target, mask=known.is_null().to_numpy(zero_copy_only=False)), refused)


FAMILY = Family(frozenset(_TYPES), frozenset({Form.TEXT, Form.NUMBER}), target, cast, internal)
