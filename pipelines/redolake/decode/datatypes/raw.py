"""RAW: bytes, written in hexadecimal digits of either case."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from redolake.decode.datatypes.family import Cast, Family, cast_each, refuse_rule
from redolake.decode.forms import Form
from redolake.values.redo import Encoding
from redolake.values.table import OracleType, TypeRule

_BAD = 255
NIBBLES = np.full(256, _BAD, np.uint8)
for _digit in "0123456789abcdefABCDEF":
    NIBBLES[ord(_digit)] = int(_digit, 16)


def target(oracle_type: OracleType, rule: TypeRule) -> pa.DataType:
    if rule is not None:
        raise refuse_rule(oracle_type, rule, "leave the rule out")
    return pa.binary()


def cast(texts: pa.StringArray, _target: pa.DataType, _rule: TypeRule = None) -> Cast:
    packed = texts if texts.offset == 0 else pa.concat_arrays([texts])  # a slice shares its parent's bitmap
    offsets = np.frombuffer(packed.buffers()[1], np.int32)[packed.offset : packed.offset + len(packed) + 1]
    digits = np.frombuffer(packed.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    nibbles = NIBBLES[digits]
    relative = offsets - offsets[0]
    if (relative & 1).any() or (nibbles == _BAD).any():
        return cast_each(packed, _unhex, pa.binary())
    octets = (nibbles[0::2] << 4) | nibbles[1::2]
    halves = (relative >> 1).astype(np.int32)
    valid = pa.array(packed.is_valid()).buffers()[1] if packed.null_count else None
    return Cast(pa.Array.from_buffers(pa.binary(), len(packed), [valid, pa.py_buffer(halves), pa.py_buffer(octets)]))


def _unhex(text: str) -> bytes:
    if len(text) % 2 or any(c not in "0123456789abcdefABCDEF" for c in text):
        raise ValueError("is not in hexadecimal digits")
    return bytes.fromhex(text)


def internal(raw: pa.BinaryArray, _target: pa.DataType, _encoding: Encoding, _rule: TypeRule = None) -> Cast:
    return Cast(raw)


FAMILY = Family(frozenset({"RAW"}), frozenset({Form.HEX}), target, cast, internal)
