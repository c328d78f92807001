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
from pipelines.table import Column


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


def image_of(
    redo: ResolvedRedo, column: Column, target: pa.DataType, bounds: tuple[int, int, int], charset: str, errors: dict[int, str]
) -> Image:
    """Cast the column's assignments, and add the refused values to `errors`.

    `bounds` delimit the assignments in `redo`: literals, then internal bytes.
    """
    start, internal, end = bounds
    literals = _cast(redo, column, target, start, internal, None, errors)
    if internal < end:
        values = pa.concat_arrays([literals, _cast(redo, column, target, internal, end, charset, errors)])
    else:
        values = literals
    row, clauses = redo.assignments.row[start:end], redo.assignments.clause[start:end]
    indexes = []
    for clause in Clause:
        index = np.full(len(redo.kind), -1, np.int32)
        own = np.flatnonzero(clauses == clause).astype(np.int32)
        index[row[own]] = own
        for twice in own[index[row[own]] != own].tolist():
            errors.setdefault(int(row[twice]), f"column {column.name} occurs twice in {clause.name}")
        indexes.append(index)
    return Image(values, *indexes)


def _cast(
    redo: ResolvedRedo, column: Column, target: pa.DataType, start: int, end: int, charset: str | None, errors: dict[int, str]
) -> pa.Array:
    """Cast the values of the assignments [start, end). With a character set, they are internal bytes."""
    family = family_of(column.type)
    row, form, value = (getattr(redo.assignments, f)[start:end] for f in ("row", "form", "value"))
    allowed = np.zeros(len(Form), np.bool_)
    allowed[[Form.NULL, *(family.forms if charset is None else (Form.HEX,))]] = True
    for i in np.flatnonzero(~allowed[form]).tolist():
        errors.setdefault(int(row[i]), f"column {column.name}: {column.type} written as {Form(form[i]).name}")
    absent = (value < 0) | ~allowed[form]
    texts = redo.values.take(pa.array(value, mask=absent if absent.any() else None))
    if pc.any(pc.equal(pc.binary_length(texts), 0)).as_py():
        texts = pc.if_else(pc.equal(pc.binary_length(texts), 0), pa.scalar(None, pa.string()), texts)  # Oracle's '' is NULL
    cast = family.cast(texts, target) if charset is None else _cast_internal(family, texts, target, charset)
    for i, reason in cast.refused.items():
        errors.setdefault(int(row[i]), f"column {column.name}: the value {reason}")
    return cast.values


def _cast_internal(family: Family, digits: pa.StringArray, target: pa.DataType, charset: str) -> Cast:
    octets = raw.cast(digits, pa.binary())
    cast = family.internal(octets.values, target, charset)
    return Cast(cast.values, {**cast.refused, **octets.refused})


def _laid_out(values: pa.Array, index: Ints) -> pa.Array:
    return values.take(pa.array(index, mask=index < 0))
