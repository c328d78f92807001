"""Columns that are younger than a row: what an UPDATE says of one that it did not change.

An UPDATE that sets to NULL what is NULL may have every column in SET, the key too (published of 26ai). A column that the row
does not store then has NULL there, where a SELECT shows the column's default. The guard column tells whether the row stores it:
an UPDATE of the column sets its bit in the guard, in the same SET. Where the guard is as before, NULL stays what it was.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from redolake.decode.datatypes import family_of
from redolake.decode.forms import Form, Verb
from redolake.decode.images import Image
from redolake.decode.redo_sql import Bools, Ints
from redolake.decode.resolve import GuardState, ResolvedRedo
from redolake.values.table import TableVersion


def young_columns(version: TableVersion) -> list[int]:
    """Return the indexes of the columns that a row may lack and a SELECT may show with a default: those behind the guard, and
    those that cannot be NULL. Without a guard, all rows have been written with the others."""
    guard = min((column.segment_id for column in version.ignored if column.kind == "guard"), default=None)
    return [
        index
        for index, column in enumerate(version.columns)
        if column.id not in version.key and (not column.nullable or (guard is not None and column.segment_id > guard))
    ]


def sets_all(version: TableVersion, is_set: Sequence[Bools]) -> Bools:
    """Return the UPDATEs that may be of that form: those with the key in SET, or where there is none, every column of which
    redo has values."""
    key = [index for index, column in enumerate(version.columns) if column.id in version.key]
    shown = [index for index, column in enumerate(version.columns) if family_of(column.type).is_decoded]
    found: Bools = np.logical_and.reduce([is_set[index] for index in key or shown or range(len(version.columns))])
    return found


def keep_defaults(redo: ResolvedRedo, version: TableVersion, images: Sequence[Image], errors: dict[int, str]) -> None:
    """Take out of SET the columns that the row does not store, and add an error where the guard does not show it."""
    young = young_columns(version)
    if not young:
        return
    is_whole = (redo.kind == Verb.UPDATE) & sets_all(version, [image.assigned >= 0 for image in images])
    if not is_whole.any():
        return
    bounds = list(redo.slices(len(version.columns)))
    for index in young:
        column, image, (start, _, end) = version.columns[index], images[index], bounds[index]
        form = redo.assignments.form[start:end]
        if not len(form):
            continue
        is_nulled = is_whole & _is_null(image.assigned, form, absent=False) & _is_null(image.located, form, absent=True)
        is_kept = is_nulled & ((redo.guards == GuardState.SAME) | (not column.nullable))
        image.assigned[is_kept] = -1
        for row in np.flatnonzero(is_nulled & ~is_kept & (redo.guards == GuardState.ABSENT)).tolist():
            what = "the UPDATE has the key in SET too, and no guard column: NULL may stand for the column's default"
            errors.setdefault(row, f"column {column.name}: {what}")


def _is_null(index: Ints, form: Ints, *, absent: bool) -> Bools:
    """Return the rows in which a clause has NULL for the column; with `absent`, or lacks it."""
    found: Bools = np.where(index < 0, absent, form[index] == Form.NULL)
    return found
