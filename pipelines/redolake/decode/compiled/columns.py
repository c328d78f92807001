"""Make Arrow columns of located literals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from redolake.decode.compiled import values
from redolake.decode.compiled.jit import Ints, Octets
from redolake.decode.compiled.locate import Located
from redolake.decode.datatypes import character, datetime, family_of, number
from redolake.decode.images import Reading

Bools = npt.NDArray[np.bool_]


def typed_columns(located: Located, readings: Sequence[Reading], refused: Octets) -> list[pa.Array]:
    """Return the columns of values, and add the rows with a literal that is not understood to `refused`."""
    readers = np.array([_reader(reading) for reading in readings], np.int64)
    shape = located.literals.starts.shape
    read = values.Values(np.zeros(shape, np.int64), np.zeros(shape, np.int64))
    values.read_values(located.data, located.literals, readers, read, refused)
    slots = [slot for slot, reader in enumerate(readers[:, 0]) if reader == values.TEXT]
    texts = dict(zip(slots, _texts(located, np.array(slots, np.int32)), strict=True))
    return [
        _cast(texts[slot], reading, refused) if slot in texts else _array_of(located, slot, reading, read)
        for slot, reading in enumerate(readings)
    ]


def _reader(reading: Reading) -> tuple[int, int, int]:
    """Return how the column's literals are read, and the reader's parameters."""
    cast, target = family_of(reading.column.type).cast, reading.target
    if cast is datetime.cast and target == datetime.TYPE:
        return values.MOMENT, reading.rule == "truncate", 0
    if cast is number.cast and pa.types.is_integer(target):
        return values.INTEGER, 2 ** (target.bit_width - 1) - 1, 0
    if cast is number.cast and pa.types.is_decimal(target):
        return values.DECIMAL, target.precision, target.scale
    if cast is number.cast and target == pa.float64():
        return values.DOUBLE, 0, 0
    return values.TEXT, 0, 0


def _array_of(located: Located, slot: int, reading: Reading, read: values.Values) -> pa.Array:
    target, lower = reading.target, read.lower[slot]
    if pa.types.is_decimal(target):
        lower = np.stack([lower, read.upper[slot]], axis=1)
    return _array(target, located.literals.starts[slot] >= 0, lower.astype(np.int32) if target == pa.int32() else lower)


def _texts(located: Located, slots: Ints) -> list[pa.Array]:
    """Return columns of texts, all in one buffer."""
    literals, rows = located.literals, len(located.outcome)
    ends, offsets = np.zeros(len(slots) + 1, np.int64), np.zeros((len(slots), rows + 1), np.int32)
    values.count_octets(literals, slots, ends[1:])
    out = np.empty(ends[-1], np.uint8)
    values.copy_texts(located.data, literals, slots, ends, offsets, out)
    return [
        _array(pa.string(), literals.starts[slot] >= 0, offsets[i], out[ends[i] : ends[i + 1]])
        for i, slot in enumerate(slots.tolist())
    ]


def _cast(texts: pa.StringArray, reading: Reading, refused: Octets) -> pa.Array:
    family = family_of(reading.column.type)
    if not family.is_decoded:
        return pa.nulls(len(texts), reading.target)
    if family.cast is character.cast and reading.target == pa.string():
        return texts
    cast = family.cast(texts, reading.target, reading.rule)
    refused[list(cast.refused)] = 1
    return cast.values


def _array(target: pa.DataType, valid: Bools, *buffers: npt.NDArray[np.generic]) -> pa.Array:
    nulls = len(valid) - int(np.count_nonzero(valid))
    mask = pa.py_buffer(np.packbits(valid, bitorder="little")) if nulls else None
    return pa.Array.from_buffers(target, len(valid), [mask, *map(pa.py_buffer, buffers)], null_count=nulls)
