"""Let Spark parse the expressions of a mapping, find their functions and resolve their types, without any row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import NullType, StructField, StructType

from redolake.apply.mapping import is_true
from redolake.apply.spark.failures import check_session
from redolake.apply.spark.session import read_as_written
from redolake.apply.spark.thrown import failure_text
from redolake.apply.spark.types import parse_type
from redolake.values.mapping import Computed, source_value
from redolake.values.table import TableVersion

CONDITION = "condition"  # in place of a type
NEW_LINE = "\n"
# Spark's conditions that no type of a column would cure.
WHATEVER_TYPES = (
    "PARSE_", "UNRESOLVED_ROUTINE", "WRONG_NUM_ARGS", "INVALID_NON_DETERMINISTIC", "UNSUPPORTED_EXPR_FOR_OPERATOR",
    "UNSUPPORTED_GENERATOR",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unresolved:
    """An expression that Spark cannot compute for any row, or whose values are of a type that cannot be cast."""

    what: str
    why: str
    column: Computed | None = None  # None for the filter


def find_unresolved(spark: SparkSession, version: TableVersion, types: Mapping[int, str]) -> Iterator[Unresolved]:
    """Yield what Spark refuses of a table's mapping. `types` are those of the columns in the lake, in Spark SQL."""
    mapping = version.mapping
    if mapping is None:
        return
    read_as_written(spark)
    fields = [StructField(source_value(i), parse_type(type_), True) for i, type_ in types.items()]
    rows = spark.createDataFrame([], StructType(fields))
    for one in mapping.computed:
        if one.means == "expression" and (why := refusal_of(spark, rows, one.sql, one.type)) is not None:
            yield Unresolved(str(one), why, one)
    if (where := mapping.where) is not None and (why := refusal_of(spark, rows, where.sql, CONDITION)) is not None:
        yield Unresolved(f"where: {where.text}", why)


def find_unknown(spark: SparkSession, sql: str, columns: int) -> str | None:
    """Return why Spark refuses an expression whatever the types of its columns are; None where it may be right for some. The
    columns have the ids from 0 on."""
    read_as_written(spark)
    fields = [StructField(source_value(i), NullType(), True) for i in range(columns)]
    why = refusal_of(spark, spark.createDataFrame([], StructType(fields)), sql)
    return why if why is not None and any(f"[{condition}" in why for condition in WHATEVER_TYPES) else None


def refusal_of(spark: SparkSession, rows: DataFrame, sql: str, type_: str | None = None) -> str | None:
    """Return why Spark refuses an expression, or the cast of its values; CONDITION is never cast.

    The condition of a join must be a function of the two rows, and always the same
    one: so this also finds aggregates, functions that make rows, and those of other people whose value changes."""
    try:
        expression = is_true(sql) if type_ == CONDITION else F.expr(sql)
        if type_ not in (None, CONDITION):
            expression = expression.try_cast(type_)
        rows.select(expression).schema  # noqa: B018 which has Spark analyse the statement
        spark.range(1).join(rows, expression.isNull()).schema  # noqa: B018
    except Exception as surprise:
        check_session(spark, surprise)
        return said_of(surprise) or failure_text(surprise).partition("; at pipelines/")[0]
    return None


def said_of(surprise: Exception) -> str:
    """Return what Spark's analysis says, in which no row was read; an empty text for any other failure."""
    if not isinstance(surprise, AnalysisException):
        return ""
    return f"{type(surprise).__name__}: {str(surprise).strip().partition(NEW_LINE)[0]}"[:500]
