"""Decode redo rows as `decode_changes` does, by compiled loops over the Arrow buffers.

The vocabulary and the grammar are the same. Rows that the kernels refuse are decoded by `decode_changes`: all rows with an
error, an unknown name, UNISTR, internal bytes, or a value written in another form than usual.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from redolake.decode.changes import (
    DEFAULT_ENCODING,
    Types,
    changes_schema,
    decode_changes,
    is_in,
    readings_of,
    with_valid_text,
)
from redolake.decode.compiled import statements
from redolake.decode.compiled.columns import typed_columns
from redolake.decode.compiled.jit import Octets
from redolake.decode.compiled.locate import Located, locate
from redolake.decode.forms import Verb
from redolake.decode.images import may_be_replaced
from redolake.decode.resolve import ints
from redolake.decode.young_columns import sets_all, young_columns
from redolake.values.delivery import PLAIN, Delivery
from redolake.values.null_rule import has_nulls
from redolake.values.redo import Encoding
from redolake.values.table import TableVersion
from redolake.values.valid_text import marked_rows, rows_replaced_by_server


def decode_compiled(
    batch: pa.RecordBatch,
    version: TableVersion,
    types: Types,
    *,
    names: Mapping[str, int] | None = None,
    encoding: Encoding = DEFAULT_ENCODING,
    show_row_data: bool = False,
    single_quotes: bool = False,
    before: Collection[int] | None = None,
    delivery: Delivery = PLAIN,
) -> pa.RecordBatch:
    """Return what `decode_changes` returns. The loops read no large objects: `delivery` is none that assembles them."""
    batch = with_valid_text(batch)
    readings = readings_of(version, types, encoding, before, delivery)
    located = locate(batch, version, names, single_quotes=single_quotes, before=before)
    refused = (located.outcome != statements.DONE).astype(np.uint8) | _of_other_table(batch, located)
    if young_columns(version):
        is_set = located.literals.presence & statements.IN_SET != 0
        refused |= sets_all(version, list(is_set.T))
    refused[marked_rows(batch.column("sql_redo"))] = 1
    if any(map(may_be_replaced, readings)):
        refused[rows_replaced_by_server(batch.column("sql_redo"))] = 1
    columns_before = [reading for reading in readings if is_in(before, reading.column.id)]
    values = typed_columns(located, [*readings, *columns_before], refused)
    code = np.where(ints(batch, "rollback") == 1, 0, ints(batch, "operation_code"))
    columns = [
        *(batch.column(name) for name in batch.schema.names if name != "sql_redo"),
        pa.nulls(batch.num_rows, pa.string()),
        pa.nulls(batch.num_rows, pa.string()),
        pa.nulls(batch.num_rows, pa.list_(pa.string())),
        _id_lists(located.literals.presence, version, statements.IN_PLACE, False, code != 0),
        _id_lists(located.literals.presence, version, statements.IN_SET, True, code == Verb.UPDATE),
        *([pa.array(np.zeros(batch.num_rows, np.int32))] if has_nulls(version, types) else []),
        *values[len(readings) :],
        *values[: len(readings)],
    ]
    decoded = pa.RecordBatch.from_arrays(columns, schema=changes_schema(batch.schema, version, types, before))
    others = np.flatnonzero(refused)
    if not len(others):
        return decoded
    plain = decode_changes(
        batch.take(pa.array(others)), version, types, names=names, encoding=encoding, show_row_data=show_row_data,
        single_quotes=single_quotes, before=before, delivery=delivery,
    )  # fmt: skip
    order = np.arange(batch.num_rows)
    order[others] = batch.num_rows + np.arange(len(others))
    return pa.concat_batches([decoded, plain]).take(pa.array(order))


def _of_other_table(batch: pa.RecordBatch, located: Located) -> Octets:
    """Return the rows with a statement of another table than SEG_OWNER and TABLE_NAME."""
    wrong = np.zeros(batch.num_rows, np.uint8)
    if not {"seg_owner", "table_name"} <= set(batch.schema.names):
        return wrong
    owner, name = (batch.column(column).cast(pa.string()) for column in ("seg_owner", "table_name"))
    for code in np.unique(located.table_of[located.table_of >= 0]).tolist():
        table = located.tables[code]
        differs = pc.or_kleene(pc.not_equal(owner, table.owner), pc.not_equal(name, table.name)).fill_null(False)
        wrong |= differs.to_numpy(zero_copy_only=False) & (located.table_of == code)
    return wrong


def _id_lists(presence: Octets, version: TableVersion, bit: int, wanted: bool, is_listed: npt.NDArray[np.bool_]) -> pa.Array:
    """Return per row the ids of the columns that have the bit, or lack it; null for a row without any."""
    rows = len(presence)
    ids = np.array([column.id for column in version.columns], np.int32)
    offsets, out = np.empty(rows + 1, np.int32), np.empty(presence.size, np.int32)
    count = statements.list_columns(presence, bit, wanted, ids, is_listed, offsets, out)
    if not count:
        return pa.nulls(rows, pa.list_(pa.int32()))
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(out[:count]), mask=pa.array(np.diff(offsets) == 0))
