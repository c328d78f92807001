"""Columns of type ROWID and UROWID: addresses of rows, as text. An application stored them; they are not the row's own.

Releases were seen to write `Unsupported Type` in place of a UROWID. That is refused as a value; with
`unsupported_columns: reread` the changed rows are read again.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from redolake.decode.datatypes.family import Cast, Family, cast_distinct, cast_each, refuse_rule
from redolake.decode.forms import Form
from redolake.values.redo import Encoding
from redolake.values.table import OracleType, TypeRule

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_PHYSICAL = r"^[A-Za-z0-9+/]{18}$"
_LOGICAL = re.compile(r"\*[A-Za-z0-9+/]*", re.ASCII)  # of a row in an index-organized table, or in another database


def target(oracle_type: OracleType, rule: TypeRule) -> pa.DataType:
    if rule not in (None, "string"):
        raise refuse_rule(oracle_type, rule, "leave the rule out")
    return pa.string()


def cast(texts: pa.StringArray, target: pa.DataType, _rule: TypeRule = None) -> Cast:
    if pc.all(pc.match_substring_regex(texts, _PHYSICAL)).as_py() is not False:
        return Cast(texts)
    return cast_each(texts, _check, target)


def _check(text: str) -> str:
    if not (re.fullmatch(_PHYSICAL, text, re.ASCII) or _LOGICAL.fullmatch(text)):
        raise ValueError("is not a ROWID")
    return text


def internal(raw: pa.BinaryArray, target: pa.DataType, _encoding: Encoding, _rule: TypeRule = None) -> Cast:
    return cast_distinct(raw, rowid_text, lambda texts: cast(texts, target))


def rowid_text(raw: bytes) -> str:
    """Decode a ROWID of 10 bytes (data object, file in the upper 10 bits before the block, row) or a physical UROWID of 13
    bytes (1, data object, file, block, row)."""
    if len(raw) == 10:
        address = int.from_bytes(raw[4:8], "big")
        object_id, file, block, row = raw[:4], address >> 22, address & 0x3FFFFF, raw[8:]
    elif len(raw) == 13 and raw[0] == 1:
        object_id, file, block, row = raw[1:5], int.from_bytes(raw[5:7], "big"), int.from_bytes(raw[7:11], "big"), raw[11:]
    else:
        raise ValueError("is not a physical ROWID")
    parts = ((int.from_bytes(object_id, "big"), 6), (file, 3), (block, 6), (int.from_bytes(row, "big"), 3))
    return "".join(_DIGITS[value >> (6 * place) & 63] for value, digits in parts for place in reversed(range(digits)))


FAMILY = Family(frozenset({"ROWID", "UROWID"}), frozenset({Form.TEXT}), target, cast, internal)
