"""Decode the redo rows of one table version into typed values before and after the change, as columns.

Absent values are listed as missing; a value that is returned and does not fit is an error of its row. The caller decides on
such rows. No row is dropped or reordered.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from redolake.decode.datatypes import target_type
from redolake.decode.forms import Verb
from redolake.decode.images import Image, Reading, image_of
from redolake.decode.lob_pieces import FIELDS, pieces_of
from redolake.decode.lob_sql import read_as_deletes
from redolake.decode.messages import is_message
from redolake.decode.redo_sql import Bools
from redolake.decode.resolve import ResolvedRedo, resolve
from redolake.decode.young_columns import keep_defaults
from redolake.values import frames
from redolake.values.delivery import PLAIN, Delivery
from redolake.values.null_rule import has_nulls, is_else_null, own_rule
from redolake.values.redo import Encoding
from redolake.values.table import TableVersion, TypeRule
from redolake.values.valid_text import with_marks

Types = Mapping[int, pa.DataType | TypeRule]  # by column id; other columns have the default type

DEFAULT_ENCODING = Encoding()


def target_types(version: TableVersion, types: Types) -> dict[int, pa.DataType]:
    """Return the target type of each column, by column id."""
    rules = {column: types.get(column.id) for column in version.columns}
    return {
        column.id: rule if isinstance(rule, pa.DataType) else target_type(column.type, rule) for column, rule in rules.items()
    }


def _rule(types: Types, column_id: int) -> TypeRule:
    rule = types.get(column_id)
    return None if isinstance(rule, pa.DataType) else rule


def changes_schema(redo: pa.Schema, version: TableVersion, types: Types, before: Collection[int] | None = None) -> pa.Schema:
    """Return the schema of decode_changes for batches of the schema `redo`."""
    targets = target_types(version, types)
    return pa.schema(
        [
            *(field for field in redo if field.name != "sql_redo"),
            pa.field("error", pa.string()),
            pa.field("error_sql", pa.string()),
            pa.field("unknown", pa.list_(pa.string())),
            pa.field("missing", pa.list_(pa.int32())),
            pa.field("assigned", pa.list_(pa.int32())),
            *([pa.field("nulled", pa.int32())] if has_nulls(version, types) else []),
            *(
                pa.field(frames.redo_before(column.id), targets[column.id])
                for column in version.columns
                if is_in(before, column.id)
            ),
            *(pa.field(frames.redo_after(column.id), targets[column.id]) for column in version.columns),
        ]
    )


def decode_changes(
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
    """Return all columns of `batch` except sql_redo, and these (values/frames.py has the letters):

    error      why the row cannot be decoded, null = ok; with an error the values have no meaning
    error_sql  with `show_row_data`, the text of a row with an error
    unknown    names in the text that the version does not have, null = none
    missing    ids of the version's columns that are absent from a WHERE, or from the list of an INSERT (Oracle leaves
               out trailing nulls: they are null here, as documents are; any other absent column is an error); null = none
    assigned   ids of the columns in the SET of an UPDATE; null = none
    nulled     how many values of VALUES or SET are NULL by rule (values/null_rule.py); only where a column has the rule
    o<id>      the value before: WHERE of an UPDATE or DELETE; only of the column ids `before`, if they are given
    n<id>      the value after: VALUES of an INSERT; SET of an UPDATE, else its WHERE

    `batch` must contain sql_redo, status, info, operation_code and rollback. Undo rows (rollback = 1) have at most a ROWID:
    their text must parse, but no values are read from it. From a change of a large object only the row that it selects is read,
    as if it were deleted. `names` maps names to column ids where the dictionary at mining time has other names than the
    version. `encoding` is that of the PDB; only rows that LogMiner could not resolve need it. `single_quotes` says that
    LogMiner of this database leaves quotes inside values single, at least some of them. `version` is as the redo of `delivery`
    shows it (as_shown).
    """
    of_messages = is_message(batch.column("sql_redo"))
    if of_messages.any() and not of_messages.all():
        return _in_two_parts(
            batch, of_messages, version, types, names=names, encoding=encoding, show_row_data=show_row_data,
            single_quotes=single_quotes, before=before, delivery=delivery,
        )  # fmt: skip
    batch = with_valid_text(batch)
    as_text = [number for number, type_ in target_types(version, types).items() if type_ == pa.string()]
    redo = resolve(read_as_deletes(batch), version, names, as_text, is_messages=bool(of_messages.any()))
    errors = dict(redo.errors)
    _refuse_doubtful_quotes(redo, version, single_quotes, errors, of_key=True)
    images = images_of(redo, version, readings_of(version, types, encoding, before, delivery), errors)
    keep_defaults(redo, version, images, errors)
    _refuse_missing_values(redo, version, images, errors, delivery.documents)
    _refuse_doubtful_quotes(redo, version, single_quotes, errors)
    ids = np.array([column.id for column in version.columns], np.int32)
    columns = [
        *(batch.column(name) for name in batch.schema.names if name != "sql_redo"),
        *_errors(batch.column("sql_redo"), errors, show_row_data),
        pa.array(redo.unknown, pa.list_(pa.string())),
        _id_lists(ids, [image.missing_rows(redo.kind) for image in images], batch.num_rows),
        _id_lists(ids, [image.assigned >= 0 for image in images], batch.num_rows),
        *([_nulled_counts(images, batch.num_rows)] if has_nulls(version, types) else []),
        *(image.before() for image, column in zip(images, version.columns, strict=True) if is_in(before, column.id)),
        *(image.after(redo.kind) for image in images),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=changes_schema(batch.schema, version, types, before))


def images_of(redo: ResolvedRedo, version: TableVersion, readings: Sequence[Reading], errors: dict[int, str]) -> list[Image]:
    """Return the images of all columns. Those of the key come first: a row has one error, and one of its key counts before all
    others, since the row is not known without it."""
    bounds = list(redo.slices(len(version.columns)))
    order = sorted(range(len(readings)), key=lambda number: version.columns[number].id not in version.key)
    images = {number: image_of(redo, readings[number], bounds[number], errors) for number in order}
    return [images[number] for number in range(len(readings))]


def _in_two_parts(batch: pa.RecordBatch, of_messages: Bools, *arguments: Any, **options: Any) -> pa.RecordBatch:
    """Decode the messages of one source and the statements of another apart, and return all in their order."""
    places = [np.flatnonzero(of_messages), np.flatnonzero(~of_messages)]
    decoded = [decode_changes(batch.take(pa.array(one)), *arguments, **options) for one in places]
    order = np.argsort(np.concatenate(places), kind="stable")
    return pa.Table.from_batches(decoded).take(pa.array(order)).combine_chunks().to_batches()[0]


def with_valid_text(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows with marks for bytes of their text that are no characters, as mining lands them."""
    texts = batch.column("sql_redo")
    valid = with_marks(texts, own_marks=False)
    return batch if valid is texts else batch.set_column(batch.schema.get_field_index("sql_redo"), "sql_redo", valid)


def readings_of(
    version: TableVersion, types: Types, encoding: Encoding, before: Collection[int] | None, delivery: Delivery
) -> list[Reading]:
    """Return how the values of each column are read."""
    targets, pieces = target_types(version, types), delivery.pieces
    return [
        Reading(
            column,
            targets[column.id],
            own_rule(_rule(types, column.id)),
            encoding,
            is_in(before, column.id),
            column.id in pieces,
            is_else_null(_rule(types, column.id)),
        )
        for column in version.columns
    ]


def is_in(ids: Collection[int] | None, column_id: int) -> bool:
    return ids is None or column_id in ids


def _refuse_missing_values(
    redo: ResolvedRedo, version: TableVersion, images: Sequence[Image], errors: dict[int, str], documents: frozenset[int]
) -> None:
    """Add an error for each INSERT that lacks a column before the last one it has. Oracle leaves out trailing NULLs only, and
    documents, which are in other rows."""
    inserts = np.flatnonzero(redo.kind == Verb.INSERT)
    shown = [pair for pair in zip(version.columns, images, strict=True) if pair[0].id not in documents]
    segment = sorted(shown, key=lambda pair: pair[0].segment_id)
    present = np.array([image.inserted[inserts] >= 0 for _, image in segment], np.bool_)
    if present.all():
        return
    absent = ~present & np.logical_or.accumulate(present[::-1], axis=0)[::-1]
    for at in np.flatnonzero(absent.any(axis=0)).tolist():
        row, column = int(inserts[at]), segment[int(np.argmax(absent[:, at]))][0]
        if redo.unknown[row] is None:
            errors.setdefault(row, f"the INSERT lacks column {column.name}, and contains later ones")


def _refuse_doubtful_quotes(
    redo: ResolvedRedo, version: TableVersion, single_quotes: bool, errors: dict[int, str], *, of_key: bool = False
) -> None:
    """Add an error for each value, or each one of the key, whose quotes may be doubled or not. It has two readings where
    LogMiner is known to leave quotes single: in this database, or in this row."""
    if not len(redo.doubled) or not (single_quotes or len(redo.single_rows)):
        return
    given = redo.assignments
    doubtful = np.isin(given.value, redo.doubled)
    if not single_quotes:
        doubtful &= np.isin(given.row, redo.single_rows)
    what = "quotes stand side by side in its text, and may be one or two each: LogMiner of this database leaves quotes single"
    for at in np.flatnonzero(doubtful).tolist():
        column = version.columns[given.name[at] // 2]
        if column.id in version.key or not of_key:
            errors.setdefault(int(given.row[at]), f"column {column.name}: {what}")


def _errors(sql: pa.Array, errors: Mapping[int, str], show_row_data: bool) -> tuple[pa.Array, pa.Array]:
    """Return the columns `error` and `error_sql`."""
    if not errors:
        return pa.nulls(len(sql), pa.string()), pa.nulls(len(sql), pa.string())
    messages = pa.array([errors.get(row) for row in range(len(sql))], pa.string())
    if not show_row_data:
        return messages, pa.nulls(len(sql), pa.string())
    return messages, pc.if_else(messages.is_valid(), sql.cast(pa.string()), pa.scalar(None, pa.string()))


def _id_lists(ids: np.ndarray[tuple[int], np.dtype[np.int32]], flags: Sequence[Bools], rows: int) -> pa.Array:
    """Return per row the ids of the flagged columns; null for a row without any."""
    table = np.stack(flags, axis=1) if flags else np.zeros((rows, 0), np.bool_)
    if not table.any():
        return pa.nulls(rows, pa.list_(pa.int32()))
    counts = np.count_nonzero(table, axis=1)
    offsets = np.append(0, np.cumsum(counts)).astype(np.int32)
    chosen = pa.array(ids[np.nonzero(table)[1]], pa.int32())
    return pa.ListArray.from_arrays(pa.array(offsets), chosen, mask=pa.array(counts == 0))


def _nulled_counts(images: Sequence[Image], rows: int) -> pa.Array:
    counts = sum((image.nulled_rows().astype(np.int32) for image in images if image.nulled), np.zeros(rows, np.int32))
    return pa.array(counts, pa.int32())


def pieces_schema(redo: pa.Schema, version: TableVersion, types: Types, before: Collection[int] | None = None) -> pa.Schema:
    """Return the schema of decode_pieces for batches of the schema `redo`."""
    return pa.schema([*changes_schema(redo, version, types, before), *FIELDS])


def decode_pieces(
    batch: pa.RecordBatch,
    version: TableVersion,
    types: Types,
    *,
    names: Mapping[str, int] | None = None,
    encoding: Encoding = DEFAULT_ENCODING,
    single_quotes: bool = False,
    **options: Any,
) -> pa.RecordBatch:
    """Return what decode_changes returns for rows about large objects, and what each does to one (lob_pieces.FIELDS). A text
    that selects no row is no error where it is understood as such: the locator's row before it names the row."""
    batch = with_valid_text(batch)
    decoded = decode_changes(batch, version, types, names=names, encoding=encoding, single_quotes=single_quotes, **options)
    columns, errors, named = pieces_of(batch, version, names, encoding, single_quotes=single_quotes)
    both = zip(decoded.column("error").to_pylist(), errors, named, strict=True)
    error = pa.array([own or (shown if is_named else None) for shown, own, is_named in both], pa.string())
    decoded = decoded.set_column(decoded.schema.get_field_index("error"), decoded.schema.field("error"), error)
    return pa.RecordBatch.from_arrays([*decoded.columns, *columns], schema=pa.schema([*decoded.schema, *FIELDS]))
