"""Compute the columns of the lake from those of Oracle, by a table's mapping: the one place for changes, snapshots,
comparisons and rows that are read again.

It works on frames that have the values of Oracle's columns as source_value, in the types in which the lake would have
them without a mapping.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column as Expression
from pyspark.sql import functions as F
from pyspark.sql.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from redolake.apply.spark.quoting import quote
from redolake.apply.spark.spelling import one_zero
from redolake.apply.spark.text import to_text
from redolake.apply.spark.types import parse_type
from redolake.host.secrets import read_key
from redolake.host.user_code import call_for_rows, call_row_by_row
from redolake.values.datatypes import OCTETS
from redolake.values.mapping import PLAIN_NUMBER, Computed, TableMapping, computes_key, source_value
from redolake.values.table import Column, TableId, TableVersion

REDACTED = "***"
NULL_KEY = "an expression makes the key of a row NULL, by which no later change would find it"
FAILED = "failed"  # why users' code has no values for a row
SHOWN = 4  # characters of `last4`
ZEROS_OF_FRACTION = r"\.0*$|(?<=\.\d{0,37}[1-9])0+$"
SHORTEST_SHOWN = 8  # of a shorter value they would be most of it


def cure_of(table: TableId) -> str:
    return f"correct the mapping of {table} in pipelines.yml, or its code; then run `redolake snapshot {table} --replace`"


@dataclass(frozen=True, slots=True)
class Shaped:
    """`values` are the computed columns by id; `misfits` are true where the value of one cannot be cast to its
    type; `passes` is whether the lake shall have the row, None without a filter. `failed` says why users' code has no values
    for a row, NULL if it has; None where that is not asked."""

    values: Mapping[int, Expression]
    misfits: Sequence[tuple[Computed, Expression]]
    passes: Expression | None
    failed: Expression | None = None


def source(column_id: int) -> Expression:
    return F.col(quote(source_value(column_id)))


def shape(
    version: TableVersion, ids: Sequence[int] | None = None, is_whole: Expression | None = None, *, isolates: bool = False
) -> Shaped:
    """Return the computed columns, those of `ids` if given. Users' code is called for rows for which `is_whole` is true, for
    all without it; with `isolates`, rows for which it raises are found one by one. Raises ConfigurationError where the key of
    the masks is not here."""
    mapping = version.mapping
    if mapping is None:
        return Shaped({}, (), None)
    columns = {column.id: column for column in version.columns}
    values, misfits = dict[int, Expression](), list[tuple[Computed, Expression]]()
    of_rows = None
    if mapping.transform is not None:
        of_rows = of_code(mapping, F.lit(True) if is_whole is None else is_whole, isolates=isolates)
    for one in mapping.computed:
        if ids is not None and one.id not in ids:
            continue
        if one.means == "mask":
            values[one.id] = mask_value(mapping, one, columns[one.id])
            continue
        if one.means == "transform":
            assert of_rows is not None
            values[one.id] = one_zero(of_rows[result_name(one.id)], one.type)
            continue
        computed = F.expr(one.sql)
        cast = computed.try_cast(one.type)
        values[one.id] = one_zero(cast, one.type)
        # Not as two conditions: in this form Spark finds that nothing can misfit where the expression has the type already.
        misfits.append((one, ~computed.isNull().eqNullSafe(cast.isNull())))
    passes = None if mapping.where is None else is_true(mapping.where.sql)
    failed = of_rows[FAILED] if of_rows is not None and isolates else None
    return Shaped(values, tuple(misfits), passes, failed)


def is_true(condition: str) -> Expression:
    """Return whether a condition is true: NULL is not. Spark refuses what is none, as a number is, instead of a cast."""
    return F.when(F.expr(condition), F.lit(True)).otherwise(F.lit(False))


def mask_value(mapping: TableMapping, one: Computed, column: Column) -> Expression:
    """Return the mask of a column's value. NULL stays NULL."""
    text = to_text(source(column.id), column)
    if one.sql == PLAIN_NUMBER:
        text = F.regexp_replace(text, ZEROS_OF_FRACTION, "")
    match one.mask:
        case "null":
            return F.lit(None).cast(one.type)
        case "redact":
            return F.when(text.isNotNull(), F.lit(REDACTED))
        case "last4":
            hidden = F.concat(F.lit("****"), F.right(text, F.lit(SHOWN)))
            return F.when(text.isNotNull(), F.when(F.length(text) >= SHORTEST_SHOWN, hidden).otherwise(F.lit("****")))
        case _:
            assert mapping.secret is not None
            # Bytes that are no characters (`binary`) are hashed as they are: what replaces them in a text makes two values one.
            own = source(column.id).cast("string") if one.sql != PLAIN_NUMBER and column.type.name not in OCTETS else text
            return hash_udf(read_key(mapping.secret))(own.cast("binary"))


def hash_udf(key: bytes) -> Callable[[Expression], Expression]:
    """Return HMAC-SHA-256 of bytes with the key, in hexadecimal digits. The key is in the function that Spark's Python workers
    get; no plan shows what a function contains."""

    def keyed_hash(batch: pa.Array) -> pa.Array:
        def digest(value: bytes | None) -> str | None:
            return None if value is None else hmac.new(key, value, hashlib.sha256).hexdigest()

        return pa.array(map(digest, batch.to_pylist()), pa.string())

    return arrow_udf(keyed_hash, "string")  # type: ignore[no-any-return]


def result_name(column_id: int) -> str:
    return f"result {column_id}"


def of_code(mapping: TableMapping, is_whole: Expression, *, isolates: bool = False) -> Expression:
    """Return what users' code makes of a row: a struct, with FAILED if it isolates. Spark computes it once for all columns."""
    transform = mapping.transform
    assert transform is not None
    function, digest, names = transform.function, transform.digest, tuple(name for _, name in transform.inputs)
    outputs = [one for one in mapping.computed if one.means == "transform"]
    schema = StructType([StructField(result_name(one.id), parse_type(one.type), True) for one in outputs])
    types = {field.name: field.type for field in to_arrow_schema(schema)}
    declared = {one.name: types[result_name(one.id)] for one in outputs}
    if isolates:
        schema = schema.add(FAILED, "string")

    def users_code(whole: pa.Array, *inputs: pa.Array) -> pa.Array:
        if isolates:
            made, failed = call_row_by_row(function, digest, whole, inputs, names, declared)
            return pa.StructArray.from_arrays([*made, failed], [*types, FAILED])
        made = call_for_rows(function, digest, whole, inputs, names, declared)
        return pa.StructArray.from_arrays(made, list(types))

    return arrow_udf(users_code, schema)(is_whole, *(source(i) for i, _ in transform.inputs))


def needed(version: TableVersion) -> tuple[int, ...]:
    """Return the columns of Oracle that something is computed from."""
    return () if version.mapping is None else tuple(sorted(version.mapping.needs))


def maps_key(version: TableVersion) -> bool:
    """Return whether two keys of Oracle may become one in the lake."""
    return computes_key(version.mapping, version.key)
