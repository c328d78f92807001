"""Convert rows read from Oracle AS OF an SCN (Parquet with Oracle's column names) to the target's types, without rounding."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.apply.delta.partitions import WHAT, cure_of, unfit
from pipelines.apply.delta.schema import field_of, parse_type
from pipelines.apply.spark.quoting import quote
from pipelines.apply.spark.spelling import one_spelling
from pipelines.apply.spark.text import to_text
from pipelines.apply.target import target_columns
from pipelines.apply.translation import Translation
from pipelines.errors import SchemaConflict, ValueDoesNotFit
from pipelines.values.table import Column, Rules, TableId, TableVersion, TypeRule
from pipelines.values.target_options import DEFAULT, TargetOptions

AFTER_CHRIST = r"^ ?(?!0000)\d{4}-"  # dates fetched as text by SYYYY
MICROSECONDS = 6
READ_AS_REDO = frozenset(
    {
        "FLOAT", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH LOCAL TIME ZONE", "INTERVAL DAY TO SECOND",
        "INTERVAL YEAR TO MONTH", "ROWID", "UROWID",
    }
)  # fmt: skip
ZEROS_OF_FRACTION = r"\.0*$|(?<=\.\d{0,8}[1-9])0+$"


@dataclass(frozen=True, slots=True)
class Misfit:
    """A value that does not fit its column: `condition` on a row as it was read, `what` kind of value it is, and the cure."""

    column: Column
    condition: Expression
    what: str
    cure: str


@dataclass(frozen=True, slots=True)
class SourceRows:
    """`frame` has the target's columns in the version's order, with our metadata; `raw` has the same rows as they were read.

    `misfits` are the conditions under which a value does not fit, `row` is the key of such a row.
    """

    raw: DataFrame
    frame: DataFrame
    misfits: tuple[Misfit, ...]
    row: Expression


def read_source(
    spark: SparkSession,
    files: Sequence[str],
    version: TableVersion,
    rules: Rules,
    translation: Translation,
    options: TargetOptions = DEFAULT,
    comments: Mapping[int, str] | None = None,
    partition_by: Collection[str] = (),
) -> SourceRows:
    """Raise SchemaConflict when the files lack a column of the version. `partition_by` names columns, in Oracle, whose values
    must fit into a path."""
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
    cast: list[Expression] = []
    misfits: list[Misfit] = []
    for column in columns:
        rule, is_text = rules.get(column.id), column.name in texts
        type_ = translation.spark_type(column.type, rule)
        if not is_text and type_ == "string" and is_date(column):
            raise read_as_date(column, version)
        target, misfit = _cast(column, rule, type_, translation, is_text=is_text)
        if misfit is not None:
            misfits.append(misfit_of(column, F.col(quote(column.name)).isNotNull() & misfit, version.table))
        if type_ == "string" and column.name in partition_by:
            misfits.append(Misfit(column, unfit(column.name, target), WHAT, cure_of(version.table)))
        field = field_of(column, version, type_)
        comment = (comments or {}).get(column.id)
        metadata = {**field.metadata, **({} if comment is None else {"comment": comment})}
        cast.append(target.alias(options.name(column.name), metadata=metadata))
    return SourceRows(raw, raw.select(*cast), tuple(misfits), _row_of(version))


def _cast(
    column: Column, rule: TypeRule, type_: str, translation: Translation, *, is_text: bool
) -> tuple[Expression, Expression | None]:
    """Return the value in the target's type, and the condition under which it does not fit. The types are DDL text: a Connect
    client sends StringType as `string collate UTF8_BINARY`, which only Spark reads."""
    value = F.col(quote(column.name))
    if _is_read_as_redo(column, rule, type_, is_text=is_text):
        checked = translation.cast_text(value.cast("string"), column.type, rule)
        return checked["value"], checked["refused"].isNotNull()
    if type_.startswith("decimal") and is_text:
        target = value.try_cast(type_)
        return target, target.isNull() | _has_more_decimals(value, parse_type(type_).scale)
    if is_date(column) and type_ == "string":
        return F.regexp_replace(F.ltrim(value), ZEROS_OF_FRACTION, ""), None
    if is_date(column) and is_text:
        target = F.when(value.rlike(AFTER_CHRIST), F.ltrim(value).try_cast(type_))
        return target, target.isNull()
    if column.type.name == "NUMBER" and type_ == "string":
        return one_spelling(value.cast("string")), None
    return value.cast(type_), None


def is_date(column: Column) -> bool:
    return column.type.name in ("DATE", "TIMESTAMP")


def _is_read_as_redo(column: Column, rule: TypeRule, type_: str, *, is_text: bool) -> bool:
    """Return whether the value is cast as redo's literals are, in Python: slower than Spark's own casts, and always exact."""
    if column.type.name in READ_AS_REDO:
        return True
    if column.type.name == "TIMESTAMP":
        return is_text and type_ != "string" and (column.type.scale or 0) > MICROSECONDS
    return column.type.name == "NUMBER" and rule is not None and type_ != "string" and not (is_text and isinstance(rule, int))


def read_as_date(column: Column, version: TableVersion) -> SchemaConflict:
    return SchemaConflict(
        f"{column.name} was declared as `string` after it had been read as a date",
        cure=f"run `redolake snapshot {version.table} --replace` to read it again",
        table=version.table,
    )


def _row_of(version: TableVersion) -> Expression:
    """Return the key of a row as text, empty for a table without a key."""
    columns = [next(column for column in target_columns(version) if column.id == key) for key in version.key]
    parts = [F.concat(F.lit(f"{column.name} "), to_text(F.col(quote(column.name)), column)) for column in columns]
    return F.concat_ws(", ", F.lit(None).cast("string"), *parts)


def _has_more_decimals(number: Expression, scale: int) -> Expression:
    """Return whether a cast would round silently. NUMBERs without precision come as text, plain or as 1.5E-07."""
    exact = number.try_cast(f"decimal(38,{scale})")
    plain = F.regexp_extract(number, r"^[+-]?\d*\.?(\d*?)0*$", 1)
    scientific = number.rlike("[eE]")
    return F.when(scientific, exact.cast("double") != number.cast("double")).otherwise(F.length(plain) > scale)


def check_values(source: SourceRows, version: TableVersion) -> int:
    """Return the number of rows. Raise ValueDoesNotFit for the first column with a value that the target cannot hold."""
    counts = [F.count("*").alias("rows")]
    counts += [F.min(F.when(one.condition, source.row)).alias(f"m{n}") for n, one in enumerate(source.misfits)]
    found = source.raw.agg(*counts).collect()[0]
    for number, one in enumerate(source.misfits):
        if found[f"m{number}"] is not None:
            row = f" in the row with {found[f'm{number}']}" if version.key else ""
            name = one.column.name
            raise ValueDoesNotFit(f"{name} contains {one.what}{row}", cure=one.cure, table=version.table, column=name)
    return int(found["rows"])


def misfit_of(column: Column, condition: Expression, table: TableId) -> Misfit:
    what, rules = rules_for(column)
    again = f"then run `redolake snapshot {table} --replace`"
    cure = f"declare the column as {rules} under `columns` of {table}, {again}"
    return Misfit(column, condition, f"{what} that its target type cannot hold", cure)


def rules_for(column: Column) -> tuple[str, str]:
    """Return what kind of value does not fit, and the rules that would take it."""
    kind = column.type.name
    if kind == "NUMBER":
        return "a number", "another scale, or `string`"
    if kind == "FLOAT":
        return "a number", "`decimal(p,s)` or `string`"
    if kind.startswith("TIMESTAMP") and (column.type.scale or 0) > MICROSECONDS:
        return "a fraction below the microsecond, or a date before year 1,", "`truncate` or `string`"
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return "a date before year 1, or none that its calendar has,", "`string`"
    return "a value", "`string`"
