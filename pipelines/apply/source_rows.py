"""Rows read from Oracle AS OF an SCN (Parquet with Oracle's column names) in the target's types, without losing a digit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.apply.delta.quoting import quoted
from pipelines.apply.delta.schema import field_of, target_columns
from pipelines.apply.translation import Translation
from pipelines.errors import SchemaConflict, ValueDoesNotFit
from pipelines.table import Column, Rules, TableVersion


@dataclass(frozen=True, slots=True)
class SourceRows:
    """`frame` has the target's columns in the version's order, with our metadata; `raw` the same rows as read."""

    raw: DataFrame
    frame: DataFrame
    misfits: tuple[tuple[Column, Expression], ...]


def read_source(
    spark: SparkSession, files: Sequence[str], version: TableVersion, rules: Rules, translation: Translation
) -> SourceRows:
    """Raises SchemaConflict when a column of the version is not in the files."""
    if not files:
        raise SchemaConflict("the snapshot names no file", cure="read it once more", table=version.table)
    raw = spark.read.parquet(*files)
    columns = target_columns(version)
    absent = [column.name for column in columns if column.name not in raw.columns]
    if absent:
        raise SchemaConflict(
            f"columns are absent from the rows that were read: {', '.join(absent)}",
            cure=f"`redolake snapshot {version.table} --replace` reads them anew",
            table=version.table,
        )
    texts = {field.name for field in raw.schema.fields if field.dataType.typeName() == "string"}
    cast, misfits = [], []
    for column in columns:
        field = field_of(column, version, translation.spark_type(column.type, rules.get(column.id)))
        value = F.col(quoted(column.name))
        is_number = field.dataType.typeName() == "decimal" and column.name in texts
        if is_number:
            target = value.try_cast(field.dataType)
        elif column.type.name == "NUMBER" and field.dataType.typeName() == "string":
            target = one_spelling(value.cast("string"))
        else:
            target = value.cast(field.dataType)
        if is_number:
            misfits.append((column, value.isNotNull() & (target.isNull() | _has_more_decimals(value, field.dataType.scale))))
        cast.append(target.alias(column.name, metadata=dict(field.metadata)))
    return SourceRows(raw, raw.select(*cast), tuple(misfits))


def one_spelling(number: Expression) -> Expression:
    """A NUMBER kept as text has one spelling, that of decode: 0.05 and 100, whether Oracle says .05, 5E-2 or 100.00."""
    whole = F.regexp_extract(number, r"^-?(\d*)", 1)
    fraction = F.regexp_extract(number, r"^-?\d*\.?(\d*?)0*(?:[eE]|$)", 1)
    exponent = F.regexp_extract(number, r"[eE]([+-]?\d+)$", 1).try_cast("int")
    digits = F.concat(whole, fraction)
    point = F.length(whole) + F.coalesce(exponent, F.lit(0))
    small = F.concat(F.lit("0."), F.repeat(F.lit("0"), -point), digits)
    cut = F.concat(F.substring(digits, F.lit(1), point), F.lit("."), F.substring(digits, point + 1, F.length(digits)))
    text = F.when(point <= 0, small).when(point >= F.length(digits), F.rpad(digits, point, "0")).otherwise(cut)
    sign = F.regexp_extract(number, r"^(-?)", 1)
    return F.when(digits.rlike("^0*$"), F.lit("0")).otherwise(F.concat(sign, text))


def _has_more_decimals(number: Expression, scale: int) -> Expression:
    """A cast would round silently. NUMBERs without precision come as text, plainly or as 1.5E-07."""
    exact = number.try_cast(f"decimal(38,{scale})")
    plain = F.regexp_extract(number, r"^[+-]?\d*\.?(\d*?)0*$", 1)
    scientific = number.rlike("[eE]")
    return F.when(scientific, exact.cast("double") != number.cast("double")).otherwise(F.length(plain) > scale)


def check_values(source: SourceRows, version: TableVersion) -> int:
    """How many rows there are. Raises ValueDoesNotFit for the first column with a value the target cannot hold."""
    counts = [F.count("*").alias("rows")]
    counts += [F.min(F.when(misfit, F.col(quoted(c.name)))).alias(f"c{c.id}") for c, misfit in source.misfits]
    found = source.raw.agg(*counts).collect()[0]
    for column, _ in source.misfits:
        if found[f"c{column.id}"] is not None:
            raise ValueDoesNotFit(
                f"{column.name} holds {found[f'c{column.id}']}, which its target type cannot hold",
                cure=f"give the column another scale, or `string`, under `columns` of {version.table}",
                table=version.table,
            )
    return int(found["rows"])
