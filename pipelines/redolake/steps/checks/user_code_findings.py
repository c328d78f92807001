"""Try users' code on samples of a table's columns, before a load depends on it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

from redolake.config import Pipeline
from redolake.config.mapping import of_column
from redolake.context import open_to_read
from redolake.decode.datatypes import target_type
from redolake.errors import Finding, RedolakeError
from redolake.host.try_user_code import try_function
from redolake.reconcile.mappings import resolve_mapping
from redolake.reconcile.table_versions import all_known_versions
from redolake.values.mapping import TableMapping
from redolake.values.table import TableVersion

ARROW: dict[str, pa.DataType] = {
    "string": pa.string(), "binary": pa.binary(), "int": pa.int32(), "bigint": pa.int64(), "double": pa.float64(),
    "float": pa.float32(), "boolean": pa.bool_(), "date": pa.date32(), "timestamp_ntz": pa.timestamp("us"),
    "timestamp": pa.timestamp("us", "UTC"),
}  # fmt: skip
MOMENTS = (datetime.datetime(1, 1, 1), datetime.datetime(2024, 2, 29, 23, 59, 59, 999999), datetime.datetime(9999, 12, 31))
TEXTS = ("", "a", ' It\'s \\ "ÄÖ" €\n😀 ')


def code_findings(pipeline: Pipeline, version: TableVersion) -> Iterator[Finding]:
    """Yield an error for a function that a sample of the table's rows shows to be no function of the row."""
    mapping, problems = resolve_mapping(pipeline, version)
    if problems or mapping is None or mapping.transform is None:
        return
    transform = mapping.transform
    columns = {one.name: arrow_type(one.type) for one in mapping.computed if one.means == "transform"}
    why = try_function(transform.function, transform.digest, sample(pipeline, version, mapping), columns)
    if why is not None:
        yield Finding(str(version.table), why, "correct the function; each row must get the same values, whenever and wherever")


def known_code_findings(pipeline: Pipeline) -> list[Finding]:
    """Return the findings of the tables whose columns the ledger knows; doctor tries the others."""
    if not any(entry.transform for entry in pipeline.entries):
        return []
    try:
        with open_to_read(pipeline) as context:
            versions = all_known_versions(context)
            tables = [table for table in context.pipeline.tables if table.transform is not None and table.id in versions]
            return [f for table in tables for f in code_findings(context.pipeline, versions[table.id][-1])]
    except RedolakeError:
        return []  # the places and the ledger are checked too


def arrow_type(spark: str) -> pa.DataType:
    decimal = re.fullmatch(r"decimal\((\d+),(\d+)\)", spark)
    return pa.decimal128(int(decimal[1]), int(decimal[2])) if decimal else ARROW[spark]


def sample(pipeline: Pipeline, version: TableVersion, mapping: TableMapping) -> pa.RecordBatch:
    """Return rows of odd values, and one of NULLs."""
    assert mapping.transform is not None
    rules = pipeline.table(version.table).rules
    types = {name: target_type(version.column(i).type, of_column(rules, name)) for i, name in mapping.transform.inputs}
    return pa.RecordBatch.from_arrays([values_of(type_) for type_ in types.values()], names=list(types))


def values_of(type_: pa.DataType) -> pa.Array:
    """Return three values of the type and NULL."""
    values: tuple[Any, ...]
    if pa.types.is_decimal(type_):
        most = Decimal(10 ** (type_.precision - type_.scale) - 1) if type_.precision > type_.scale else Decimal(0)
        values = (Decimal(0), most, most.copy_negate())  # `-most` would be rounded to 28 digits
    elif pa.types.is_integer(type_):
        most_ = 2 ** (type_.bit_width - 1)
        values = (0, most_ - 1, -most_)
    elif pa.types.is_floating(type_):
        values = (0.0, float("nan"), -1.5)
    elif pa.types.is_timestamp(type_):
        values = tuple(m.replace(tzinfo=datetime.UTC) if type_.tz else m for m in MOMENTS)
    elif pa.types.is_boolean(type_):
        values = (True, False, True)
    elif pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        values = (b"", b"\x00\xff", b"a")
    else:
        values = TEXTS
    return pa.array([*values, None], type_)
