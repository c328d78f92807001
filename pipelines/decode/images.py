"""The before and after values of one column in a batch. Each literal is cast once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.decode.datatypes import Cast, Family, family_of, raw
from pipelines.decode.forms import Clause, Form, Verb
from pipelines.decode.redo_sql import Bools, Ints
from pipelines.decode.resolve import ResolvedRedo
from pipelines.redo import Encoding
from pipelines.table import Column, TypeRule


@dataclass(frozen=True, slots=True)
class Image:
    """Per row and clause, the index of the column's value in `values`; -1 where the clause does not contain the column."""

    values: pa.Array
    inserted: Ints
    assigned: Ints
    located: Ints

    def before(self) -> pa.Array:
        """Return the values of WHERE."""
        return _laid_out(self.values, self.located)

    def after(self, kind: Ints) -> pa.Array:
        """Return the values of VALUES or SET; a column that SET does not contain keeps its value of WHERE."""
        kept = np.where(kind == Verb.UPDATE, self.located, self.inserted)
        return _laid_out(self.values, np.where(self.assigned >= 0, self.assigned, kept))

    def missing(self, kind: Ints) -> Bools:
        """Return the rows in which the column is absent from VALUES or WHERE."""
        is_located = (kind == Verb.UPDATE) | (kind == Verb.DELETE)
        absent: Bools = ((kind == Verb.INSERT) & (self.inserted < 0)) | (is_located & (self.located < 0))
        return absent


@dataclass(frozen=True, slots=True)
class Reading:
    """How a column's values are read: `rule` is that of the configuration, `target` what follows from it."""

    column: Column
    target: pa.DataType
    rule: TypeRule
    encoding: Encoding


def image_of(redo: ResolvedRedo, reading: Reading, bounds: tuple[int, int, int], errors: dict[int, str]) -> Image:
    """Cast the column's assignments, and add the refused values to `errors`.

    `bounds` delimit the assignments in `redo`: literals, then internal bytes.
    """
    start, internal, end = bounds
    if not family_of(reading.column.type).is_decoded:
        values = pa.nulls(end - start, reading.target)
    elif internal < end:
        literals = _cast(redo, reading, start, internal, errors, is_internal=False)
        values = pa.concat_arrays([literals, _cast(redo, reading, internal, end, errors, is_internal=True)])
    else:
        values = _cast(redo, reading, start, internal, errors, is_internal=False)
    row, clauses = redo.assignments.row[start:end], redo.assignments.clause[start:end]
    indexes = []
    for clause in Clause:
        index = np.full(len(redo.kind), -1, np.int32)
        own = np.flatnonzero(clauses == clause).astype(np.int32)
        index[row[own]] = own
        for twice in own[index[row[own]] != own].tolist():
            errors.setdefault(int(row[twice]), f"column {reading.column.name} occurs twice in {clause.name}")
        indexes.append(index)
    return Image(values, *indexes)


def _cast(redo: ResolvedRedo, reading: Reading, start: int, end: int, errors: dict[int, str], *, is_internal: bool) -> pa.Array:
    """Cast the values of the assignments [start, end): literals, or internal bytes."""
    column = reading.column
    family = family_of(column.type)
    row, form, value = (getattr(redo.assignments, f)[start:end] for f in ("row", "form", "value"))
    allowed = np.zeros(len(Form), np.bool_)
    allowed[[Form.NULL, *((Form.HEX,) if is_internal else family.forms)]] = True
    for i in np.flatnonzero(~allowed[form]).tolist():
        errors.setdefault(int(row[i]), f"column {column.name}: {column.type} written as {Form(form[i]).name}")
    absent = (value < 0) | ~allowed[form]
    texts = redo.values.take(pa.array(value, mask=absent if absent.any() else None))
    if pc.any(pc.equal(pc.binary_length(texts), 0)).as_py():
        texts = pc.if_else(pc.equal(pc.binary_length(texts), 0), pa.scalar(None, pa.string()), texts)  # Oracle's '' is NULL
    cast = _cast_internal(family, texts, reading) if is_internal else family.cast(texts, reading.target, reading.rule)
    for i, reason in cast.refused.items():
        errors.setdefault(int(row[i]), f"column {column.name}: the value {reason}")
    return cast.values


def _cast_internal(family: Family, digits: pa.StringArray, reading: Reading) -> Cast:
    octets = raw.cast(digits, pa.binary())
    cast = family.internal(octets.values, reading.target, reading.encoding, reading.rule)
    return Cast(cast.values, {**cast.refused, **octets.refused})


def _laid_out(values: pa.Array, index: Ints) -> pa.Array:
    return values.take(pa.array(index, mask=index < 0))
