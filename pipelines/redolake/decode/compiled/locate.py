"""Find the literals of a batch, column by column."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from redolake.decode.changes import is_in
from redolake.decode.compiled import statements
from redolake.decode.compiled.jit import Ints, Octets
from redolake.decode.compiled.known import known_separators
from redolake.decode.datatypes import family_of
from redolake.decode.forms import CONSTANTS, Form
from redolake.decode.resolve import columns_of, ints
from redolake.values.logminer import LARGE_OBJECT_CHANGES
from redolake.values.table import TableId, TableVersion

_UNKNOWN_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Located:
    """Where the literals of each column are in `data`. `table_of` indexes `tables`."""

    data: Octets
    outcome: npt.NDArray[np.int8]
    table_of: Ints
    tables: Sequence[TableId]
    literals: statements.Literals


def locate(
    batch: pa.RecordBatch,
    version: TableVersion,
    names: Mapping[str, int] | None = None,
    *,
    single_quotes: bool = False,
    before: Collection[int] | None = None,
) -> Located:
    """Find the literals of the version's columns in each row that the kernels understand."""
    sql, count, width = batch.column("sql_redo").cast(pa.string()), batch.num_rows, len(version.columns)
    text = _text(sql.buffers()[2])
    operations, is_undo = ints(batch, "operation_code").astype(np.int32), ints(batch, "rollback") == 1
    is_open = (ints(batch, "status") == 0) | is_undo
    is_open &= sql.is_valid().to_numpy(zero_copy_only=False) & ~np.isin(operations, LARGE_OBJECT_CHANGES)
    rows = statements.Rows(
        _frozen(sql.buffers()[1], np.int32)[sql.offset : sql.offset + count + 1],
        is_undo,
        operations,
        np.where(is_open, np.int8(statements.UNKNOWN_SEPARATOR), np.int8(statements.REFUSED)),
        np.full(count, -1, np.int32),
    )
    wanted = np.array([is_in(before, column.id) for column in version.columns], np.bool_)
    before_of = np.where(wanted, width - 1 + np.cumsum(wanted), -1).astype(np.int32)
    segment_order = np.argsort([column.segment_id for column in version.columns], kind="stable").astype(np.int32)
    slots = (width + np.count_nonzero(wanted), count)
    starts, lengths = np.full(slots, statements.ABSENT, np.int32), np.empty(slots, np.int32)
    literals = statements.Literals(starts, lengths, np.zeros((count, width), np.uint8))
    meanings, unknown = _meanings(version), np.empty((_UNKNOWN_AT_ONCE, 2), np.int32)
    known = known_separators()
    while len(open_rows := np.flatnonzero(rows.outcome == statements.UNKNOWN_SEPARATOR).astype(np.int32)):
        named, _, _ = columns_of(known.vocabulary.names, version, names)
        layout = statements.Layout(named, meanings, before_of, segment_order)
        found = statements.read_rows(text, open_rows, rows, known.arrays(), layout, literals, single_quotes, unknown)
        if found:
            known.learn(bytes(text.data[start:end]).decode() for start, end in unknown[:found].tolist())
    return Located(text.data, rows.outcome, rows.table_of, known.vocabulary.tables, literals)


def _text(buffer: pa.Buffer | None) -> statements.Text:
    if buffer is None or buffer.address % 8:
        buffer = pa.py_buffer(buffer.to_pybytes() if buffer else b"\0")
    data = _frozen(buffer, np.uint8)
    return statements.Text(data, data[: len(data) // 8 * 8].view(np.uint64))


def _frozen(buffer: pa.Buffer, of: type[np.generic]) -> npt.NDArray[Any]:
    """Return the buffer as an array that may not be written: numba compiles once more for one that may."""
    array = np.frombuffer(buffer, of)
    array.flags.writeable = False
    return array


def _meanings(version: TableVersion) -> npt.NDArray[np.int8]:
    """Return per column and form whether a value follows."""
    meanings = np.full((len(version.columns), len(Form)), statements.BAD_FORM, np.int8)
    for row, column in zip(meanings, version.columns, strict=True):
        family = family_of(column.type)
        if not family.is_decoded:
            row[:] = statements.NULL
        for form in (Form.NULL, *family.forms):
            is_value = family.is_decoded and form not in CONSTANTS.values()
            row[form] = statements.VALUE if is_value else statements.NULL
    return meanings
