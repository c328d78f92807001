"""Let Spark parse the expressions of a mapping, find their functions and resolve their types, without any row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from pipelines.apply.spark.failures import check_session, failure_text
from pipelines.apply.spark.session import read_as_written
from pipelines.apply.spark.types import parse_type
from pipelines.values.mapping import source_value
from pipelines.values.table import TableVersion


@dataclass(frozen=True, slots=True)
class Unresolved:
    """An expression that Spark cannot compute for any row, or whose values are of a type that cannot be cast."""

    what: str
    why: str


def find_unresolved(spark: SparkSession, version: TableVersion, types: Mapping[int, str]) -> Iterator[Unresolved]:
    """Yield what Spark refuses of a table's mapping. `types` are those of the columns in the lake, in Spark SQL."""
    mapping = version.mapping
    if mapping is None:
        return
    read_as_written(spark)
    fields = [StructField(source_value(i), parse_type(type_), True) for i, type_ in types.items()]
    rows = spark.createDataFrame([], StructType(fields))
    wanted = [(str(one), F.expr(one.sql).try_cast(one.type)) for one in mapping.computed if one.means == "expression"]
    wanted += [] if mapping.where is None else [(f"where: {mapping.where.text}", F.expr(mapping.where.sql).cast("boolean"))]
    for what, expression in wanted:
        if (why := refusal_of(spark, rows, expression)) is not None:
            yield Unresolved(what, why)


def refusal_of(spark: SparkSession, rows: DataFrame, expression: Expression) -> str | None:
    try:
        rows.select(expression).schema  # noqa: B018 which has Spark analyse the statement
    except Exception as surprise:
        check_session(spark, surprise)
        return failure_text(surprise).partition("; at pipelines/")[0]
    return None
