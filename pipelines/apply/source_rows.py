"""Convert rows read from Oracle AS OF an SCN (Parquet with Oracle's column names) to the target's types, without rounding."""

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
    """`frame` has the target's columns in the version's order, with our metadata; `raw` has the same rows as they were read.

    `misfits` are the conditions under which a value does not fit its column.
    """

    raw: DataFrame
    frame: DataFrame
    misfits: tuple[tuple[Column, Expression], ...]


def read_source(
    spark: SparkSession, files: Sequence[str], version: TableVersion, rules: Rules, translation: Translation
) -> SourceRows:
    """Raise SchemaConflict when the files lack a column of the version."""
    if not files:
        raise SchemaConflict("the snapshot has no files", cure="take the snapshot again", table=version.table)
    raw = spark.read.parquet(*files)
    columns = target_columns(version)
    absent = [column.name for column in columns if column.name not in raw.columns]
    if absent:
        raise SchemaConflict(
            f"the rows read from Oracle lack the columns {', '.join(absent)}",
            cure=f"run `redolake snapshot {version.table} --replace` to read them again",
            table=version.table,
        )
    texts = {field.name for field in raw.schema.fields if field.dataType.typeName() == "string"}
    cast, misfits = [], []
    for column in columns:
        # Cast by DDL text: a Connect client sends StringType as `string collate UTF8_BINARY`, which only Spark reads.
        type_ = translation.spark_type(column.type, rules.get(column.id))
        field = field_of(column, version, type_)
        value = F.col(quoted(column.name))
        is_number = field.dataType.typeName() == "decimal" and column.name in texts
        if is_number:
            target = value.try_cast(type_)
        elif column.type.name == "NUMBER" and field.dataType.typeName() == "string":
            target = one_spelling(value.cast("string"))
        else:
            target = value.cast(type_)
        if is_number:
            misfits.append((column, value.isNotNull() & (target.isNull() | _has_more_decimals(value, field.dataType.scale))))
        cast.append(target.alias(column.name, metadata=dict(field.metadata)))
    return SourceRows(raw, raw.select(*cast), tuple(misfits))


def one_spelling(number: Expression) -> Expression:
    """Return a NUMBER kept as text in the one spelling that decode uses: 0.05 and 100 for Oracle's .05, 5E-2 or 100.00."""
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
    """Return whether a cast would round silently. NUMBERs without precision come as text, plain or as 1.5E-07."""
    exact = number.try_cast(f"decimal(38,{scale})")
    plain = F.regexp_extract(number, r"^[+-]?\d*\.?(\d*?)0*$", 1)
    scientific = number.rlike("[eE]")
    return F.when(scientific, exact.cast("double") != number.cast("double")).otherwise(F.length(plain) > scale)


def check_values(source: SourceRows, version: TableVersion) -> int:
    """Return the number of rows. Raise ValueDoesNotFit for the first column with a value that the target cannot hold."""
    counts = [F.count("*").alias("rows")]
    counts += [F.min(F.when(misfit, F.col(quoted(c.name)))).alias(f"c{c.id}") for c, misfit in source.misfits]
    found = source.raw.agg(*counts).collect()[0]
    for column, _ in source.misfits:
        if found[f"c{column.id}"] is not None:
            raise ValueDoesNotFit(
                f"{column.name} contains {found[f'c{column.id}']}, which its target type cannot hold",
                cure=f"give the column another scale, or `string`, under `columns` of {version.table}",
                table=version.table,
            )
    return int(found["rows"])
