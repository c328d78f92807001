"""The before and after values of one column in a batch. Each literal is cast once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from redolake.decode.datatypes import Cast, Family, Unfit, character, family_of, large_object, raw
from redolake.decode.forms import Clause, Form, Verb
from redolake.decode.redo_sql import Bools, Ints
from redolake.decode.resolve import ResolvedRedo
from redolake.values.datatypes import IN_DATABASE_SET
from redolake.values.empty import with_empty
from redolake.values.redo import Encoding
from redolake.values.table import REPLACE, Column, TypeRule
from redolake.values.valid_text import BY_SERVER, UNICODE, rows_replaced_by_server


@dataclass(frozen=True, slots=True)
class Image:
    """Per row and clause, the number of the column's assignment; -1 where the clause does not contain the column. `source` has
    the index of each assignment's value in `values`, -1 for NULL; `nulled` are the assignments that are NULL by rule."""

    values: pa.Array
    source: Ints
    inserted: Ints
    assigned: Ints
    located: Ints
    nulled: tuple[int, ...] = ()

    def before(self) -> pa.Array:
        """Return the values of WHERE."""
        return self._laid_out(self.located)

    def after(self, kind: Ints) -> pa.Array:
        """Return the values of VALUES or SET; a column that SET does not contain keeps its value of WHERE."""
        kept = np.where(kind == Verb.UPDATE, self.located, self.inserted)
        return self._laid_out(np.where(self.assigned >= 0, self.assigned, kept))

    def _laid_out(self, index: Ints) -> pa.Array:
        at = self.source[index] if len(self.source) else index
        absent: Bools = (index < 0) | (at < 0)
        return self.values.take(pa.array(at, mask=absent if absent.any() else None))

    def nulled_rows(self) -> Bools:
        """Return the rows in which VALUES or SET has a value that is NULL by rule."""
        found: Bools = np.isin(self.inserted, self.nulled) | np.isin(self.assigned, self.nulled)
        return found

    def missing_rows(self, kind: Ints) -> Bools:
        """Return the rows in which the column is absent from VALUES or WHERE."""
        is_located = (kind == Verb.UPDATE) | (kind == Verb.DELETE)
        absent: Bools = ((kind == Verb.INSERT) & (self.inserted < 0)) | (is_located & (self.located < 0))
        return absent


@dataclass(frozen=True, slots=True)
class Reading:
    """How a column's values are read: `rule` is that of the configuration, `target` what follows from it. `is_before_wanted`:
    the values of WHERE are returned, and not only those that stay."""

    column: Column
    target: pa.DataType
    rule: TypeRule
    encoding: Encoding
    is_before_wanted: bool = True
    is_assembled: bool = False  # a large object whose values are assembled: those in INSERT and UPDATE count too
    is_else_null: bool = False  # a value that does not fit is NULL

    @property
    def family(self) -> Family:
        return large_object.assembled_family(self.column.type) if self.is_assembled else family_of(self.column.type)


def image_of(redo: ResolvedRedo, reading: Reading, bounds: tuple[int, int, int], errors: dict[int, str]) -> Image:
    """Cast the column's assignments, and add the refused values to `errors`.

    `bounds` delimit the assignments in `redo`: literals, then internal bytes.
    """
    start, internal, end = bounds
    own = np.arange(end - start, dtype=np.int32)
    row, clauses = redo.assignments.row[start:end], redo.assignments.clause[start:end]
    indexes = np.full((len(Clause), len(redo.kind)), -1, np.int32)
    indexes[clauses, row] = own
    for twice in np.flatnonzero(indexes[clauses, row] != own).tolist():
        errors.setdefault(int(row[twice]), f"column {reading.column.name} occurs twice in {Clause(clauses[twice]).name}")

    family, source = reading.family, own
    index, nulled = _read(redo, reading, family, bounds, indexes[Clause.SET], errors), list[int]()
    if not family.is_decoded:
        values = pa.nulls(end - start, reading.target)
    elif family.cast is character.cast and internal == end and is_plain_text(redo, reading):
        values, source = redo.values, index  # the literals are the values: no copy of them is made
    elif internal < end:
        literals, unfit = _cast(redo, reading, index[: internal - start], row, errors, is_internal=False)
        internals, others = _cast(redo, reading, index[internal - start :], row[internal - start :], errors, is_internal=True)
        values, nulled = pa.concat_arrays([literals, internals]), [*unfit, *(internal - start + i for i in others)]
    else:
        values, nulled = _cast(redo, reading, index, row, errors, is_internal=False)
    if reading.is_assembled:
        form = redo.assignments.form[start:end]
        # XMLType(:1), a document in other rows, becomes IN_OTHER_ROWS.
        values = with_empty(values, pa.array((form == Form.EMPTY_LOB) | (form == Form.XML)))
    inserted, assigned, located = indexes
    return Image(values, source, inserted, assigned, located, tuple(nulled))


def is_plain_text(redo: ResolvedRedo, reading: Reading) -> bool:
    """Return whether the column's literals are its values as they stand."""
    return not (reading.is_assembled or redo.may_have_marks or reading.target != pa.string() or may_be_replaced(reading))


def may_be_replaced(reading: Reading) -> bool:
    """Return whether U+FFFD in a value shows that the server could not convert it."""
    is_converted = reading.column.type.name in IN_DATABASE_SET and reading.encoding.text not in UNICODE
    return is_converted and reading.rule != REPLACE


def _cast(
    redo: ResolvedRedo, reading: Reading, index: Ints, row: Ints, errors: dict[int, str], *, is_internal: bool
) -> tuple[pa.Array, list[int]]:
    """Cast the values with these indexes: literals, or internal bytes. Return which of them are NULL by rule too."""
    column, family, absent = reading.column, reading.family, index < 0
    texts = redo.values.take(pa.array(index, mask=absent if absent.any() else None))
    cast = _cast_internal(family, texts, reading) if is_internal else family.cast(texts, reading.target, reading.rule)
    by_server = rows_replaced_by_server(texts) if may_be_replaced(reading) and not is_internal else ()
    nulled = [i for i, reason in cast.refused.items() if reading.is_else_null and isinstance(reason, Unfit)]
    refused = {i: reason for i, reason in cast.refused.items() if i not in nulled} if nulled else cast.refused
    for i, reason in {**refused, **dict.fromkeys(by_server, BY_SERVER)}.items():
        errors.setdefault(int(row[i]), f"column {column.name}: the value {reason}")
    return cast.values, nulled


def _read(
    redo: ResolvedRedo, reading: Reading, family: Family, bounds: tuple[int, int, int], assigned: Ints, errors: dict[int, str]
) -> Ints:
    """Return where the values of the assignments are, -1 for NULL and for what nobody reads. A form that the type does not have
    is an error."""
    if not family.is_decoded:
        return np.empty(0, np.int32)
    start, internal, end = bounds
    row, form, value, clause = (getattr(redo.assignments, f)[start:end] for f in ("row", "form", "value", "clause"))
    allowed = np.zeros((2, len(Form)), np.bool_)
    allowed[0, [Form.NULL, *family.forms]] = True
    allowed[1, [Form.NULL, Form.HEX]] = True
    is_allowed = allowed[(np.arange(start, end) >= internal).astype(np.int8), form]
    for i in np.flatnonzero(~is_allowed).tolist():
        errors.setdefault(int(row[i]), f"column {reading.column.name}: {reading.column.type} written as {Form(form[i]).name}")
    if not reading.is_before_wanted:
        is_kept = (redo.kind == Verb.UPDATE) & (assigned < 0)
        is_allowed &= (clause != Clause.WHERE) | is_kept[row]
    found: Ints = np.where(is_allowed, value, np.int32(-1))
    return found


def _cast_internal(family: Family, digits: pa.StringArray, reading: Reading) -> Cast:
    octets = raw.cast(digits, pa.binary())
    cast = family.internal(octets.values, reading.target, reading.encoding, reading.rule)
    return Cast(cast.values, {**cast.refused, **octets.refused})
