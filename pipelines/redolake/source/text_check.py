"""Check the texts that a query returns, once per batch of Arrow: one that is not valid UTF-8 is read by rule, or refused."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from redolake.errors import TextNotValid
from redolake.values.table import BINARY, REPLACE, TableId, TypeRule
from redolake.values.valid_text import (
    BY_SERVER,
    NOT_VALID,
    cure_of,
    is_text,
    is_valid,
    octets_in,
    replace_bad_bytes,
    rows_replaced_by_server,
)


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows as the driver's frames offer them: with a method for their number, and as an Arrow stream."""

    rows: pa.Table

    def num_rows(self) -> int:
        return int(self.rows.num_rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.rows.__arrow_c_stream__(requested_schema)


def check_texts(
    answers: Iterable[Any],
    table: TableId,
    key: Sequence[str],
    rules: Mapping[str, TypeRule],
    converted: Collection[str] = (),
) -> Iterator[Any]:
    """Yield the frames; where a text is not valid, or a column is kept as bytes, with other columns in place of these. Raise
    TextNotValid for a column without a rule. The server converts the columns `converted` from a set that has no U+FFFD."""
    for answer in answers:
        rows = pa.table(answer)
        found = {name: column for name, column in zip(rows.column_names, rows.columns, strict=True) if is_texts(column.type)}
        for name in found.keys() & {*converted}:
            if rules.get(name) != REPLACE and (odd := rows_replaced_by_server(found[name].combine_chunks())):
                raise not_valid(table, name, rows.slice(odd[0], 1), key, by_server=True)
        made = {name: made_column(column, rules.get(name)) for name, column in found.items()}
        for name, column in made.items():
            if isinstance(column, int):
                raise not_valid(table, name, rows.slice(column, 1), key)
        changed = {name: column for name, column in made.items() if column is not None}
        for name, column in changed.items():
            rows = rows.set_column(rows.column_names.index(name), name, column)
        yield Frame(rows) if changed else answer


def is_texts(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def made_column(column: pa.ChunkedArray, rule: TypeRule) -> pa.ChunkedArray | int | None:
    """Return the column under its rule; None if it stays as it is, and the number of the first refused row."""
    if rule == BINARY:
        return column.cast(pa.large_binary())
    if all(map(is_valid, column.chunks)):
        return None
    octets = [one for chunk in column.chunks for one in octets_in(chunk)]
    if rule == REPLACE:
        return pa.chunked_array([pa.array([None if one is None else replace_bad_bytes(one) for one in octets], column.type)])
    return next(row for row, one in enumerate(octets) if one is not None and not is_text(one))


def not_valid(table: TableId, column: str, row: pa.Table, key: Sequence[str], *, by_server: bool = False) -> TextNotValid:
    named = ", ".join(f"{name} {show_value(row[name])}" for name in key if name in row.column_names)
    where = f" in the row with {named}" if named else ""
    what = f"{column} contains a text that {BY_SERVER if by_server else NOT_VALID}{where}"
    return TextNotValid(what, cure=cure_of(column, table, by_server=by_server), table=table, column=column)


def show_value(value: pa.ChunkedArray) -> str:
    (one,) = value.chunk(0).to_pylist() if not is_texts(value.type) else octets_in(value.chunk(0))
    return replace_bad_bytes(one) if isinstance(one, bytes) else str(one)
