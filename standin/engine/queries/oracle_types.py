"""Conversion between Oracle's types and DuckDB's: input tables, casts, and results as a client expects them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
from sqlglot import exp

from standin.engine.queries.inference import UNKNOWN
from standin.engine.types import datatypes
from standin.engine.types.datatypes import arrow_column, arrow_type
from standin.engine.types.values import number_text
from standin.interface import ColumnInfo, OraError

TOO_EXACT = "a NUMBER with more than 10 decimals, or 28 digits before them, in a query over several tables or rows"
_FREE_NUMBER, _WIDE_INTEGER = pa.decimal128(38, 10), pa.decimal128(38, 0)


def duck_table(columns: Sequence[tuple[int, ColumnInfo]], rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """Return the columns of `rows` as Arrow. NUMBER without precision becomes the narrowest type that holds its values."""
    arrays = {}
    for position, info in columns:
        values = [row[position] for row in rows]
        if info.type == "NUMBER" and (pa.types.is_string(arrow_type(info)) or arrow_type(info) == _WIDE_INTEGER):
            arrays[info.name] = _numbers(values)
        else:
            arrays[info.name] = arrow_column(info, values)
    return pa.table(arrays or {"ONE": pa.nulls(len(rows))})


def check_digits(tables: Iterable[pa.Table]) -> None:
    """Raise ORA-03001 where decimals could meet an integer of more than 28 digits: DuckDB would round them to its scale."""
    scales = {field.type.scale: field.type for table in tables for field in table.schema if pa.types.is_decimal(field.type)}
    if scales.get(0) == _WIDE_INTEGER and max(scales) > 0:
        raise OraError(3001, f"unimplemented feature: {TOO_EXACT}")


def _numbers(values: list[Any]) -> pa.Array:
    present = [v for v in values if v is not None]
    if all(isinstance(v, int) for v in present):
        if all(-(2**63) <= v < 2**63 for v in present):
            return pa.array(values, pa.int64())
        fits = all(-(10**28) < v < 10**28 for v in present)
        return pa.array([None if v is None else Decimal(v) for v in values], _FREE_NUMBER if fits else _WIDE_INTEGER)
    try:
        return pa.array([None if v is None else Decimal(v) for v in values], _FREE_NUMBER)
    except pa.ArrowInvalid:
        raise OraError(3001, f"unimplemented feature: {TOO_EXACT}") from None


def type_for_cast(node: exp.DataType) -> str:
    """Return DuckDB's type for a CAST."""
    type_ = datatypes.type_of_cast(node)
    if type_.name == "NUMBER":
        if type_.precision is None and type_.scale is None:
            return "DECIMAL(38,10)"
        return f"DECIMAL({38 if type_.precision is None else type_.precision},{type_.scale or 0})"
    if type_.name in ("DATE", "TIMESTAMP"):
        return "TIMESTAMP"
    if type_.name in ("RAW", "BLOB"):
        return "BLOB"
    return "DOUBLE" if type_.name in ("FLOAT", "BINARY_DOUBLE", "BINARY_FLOAT") else "VARCHAR"


def with_known_types(columns: Sequence[ColumnInfo], schema: pa.Schema) -> tuple[ColumnInfo, ...]:
    """Return the inferred columns, with unknown types taken from the result."""
    if len(columns) != len(schema):
        columns = [ColumnInfo(name, UNKNOWN) for name in schema.names]
    return tuple(
        replace(_from_arrow(field.type), name=info.name) if info.type == UNKNOWN else info
        for info, field in zip(columns, schema, strict=True)
    )


def _from_arrow(type_: pa.DataType) -> ColumnInfo:
    if pa.types.is_integer(type_) or pa.types.is_decimal(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_):
        return datatypes.NUMBER
    if pa.types.is_timestamp(type_):
        return datatypes.TIMESTAMP
    if pa.types.is_date(type_):
        return datatypes.DATE
    return datatypes.RAW if pa.types.is_binary(type_) else datatypes.text_info()


def oracle_batches(result: pa.Table, infos: Sequence[ColumnInfo]) -> Iterator[pa.RecordBatch]:
    names = [info.name for info in infos]
    for batch in result.to_batches(max_chunksize=10_000):
        if batch.num_rows:
            arrays = [_as_oracle(column, info) for column, info in zip(batch.columns, infos, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=names)


def _as_oracle(column: pa.Array, info: ColumnInfo) -> pa.Array:
    wanted, given = arrow_type(info), column.type
    if pa.types.is_interval(given) or pa.types.is_duration(given):
        raise OraError(3001, "unimplemented feature: a DATE minus a DATE, in a query over several tables or rows")
    if given == wanted or pa.types.is_null(given):
        return column.cast(wanted) if pa.types.is_null(given) else column
    if info.type == "NUMBER" and pa.types.is_string(wanted):
        if pa.types.is_integer(given) or (pa.types.is_decimal(given) and given.scale == 0):
            return column.cast(pa.int64()) if pa.types.is_integer(given) and given.bit_width < 64 else column
        return pa.array([None if v is None else number_text(_number(v)) for v in column.to_pylist()], wanted)
    if pa.types.is_string(wanted) and not pa.types.is_string(given) and not pa.types.is_large_string(given):
        return arrow_column(info, column.to_pylist())
    if pa.types.is_binary(given):  # zones and intervals, as they are sent
        return column
    return column.cast(wanted, safe=False)


def _number(value: Any) -> int | Decimal | float:
    return int(value) if isinstance(value, bool) else value  # type: ignore[no-any-return]
