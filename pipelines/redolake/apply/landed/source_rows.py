"""Convert rows read from Oracle AS OF an SCN (Parquet with Oracle's column names) to the target's types, without rounding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from redolake.apply.landed.key_texts import key_text, shown_key, without_keys
from redolake.apply.landed.keys import has_null
from redolake.apply.mapping import NULL_KEY, maps_key, needed, shape
from redolake.apply.mapping import cure_of as cure_of_mapping
from redolake.apply.partitions import WHAT, cure_of, unfit
from redolake.apply.schema import field_of
from redolake.apply.spark.quoting import quote
from redolake.apply.spark.spelling import one_spelling, one_zero
from redolake.apply.spark.types import parse_type
from redolake.apply.target import target_columns
from redolake.apply.translation import Translation
from redolake.errors import MappingFailed, SchemaConflict, ValueDoesNotFit
from redolake.host.parquet_frames import read_parquet
from redolake.values import frames
from redolake.values.common_type import WHOLE_DIGITS, digits_of
from redolake.values.datatypes import DATES, READ_AS_REDO
from redolake.values.lake_columns import comments_of, with_lake_names
from redolake.values.mapping import Computed, source_value
from redolake.values.null_rule import is_else_null, own_rule
from redolake.values.table import Column, Rules, TableId, TableVersion, TypeRule, lake_type, replaced_name
from redolake.values.target_options import DEFAULT, TargetOptions

AFTER_CHRIST = r"^ ?(?!0000)\d{4}-"  # dates fetched as text by SYYYY
MICROSECONDS = 6
ZEROS_OF_FRACTION = r"\.0*$|(?<=\.\d{0,8}[1-9])0+$"


@dataclass(frozen=True, slots=True)
class Misfit:
    """A value that does not fit its column: `condition` on a row as it was read, `what` kind of value it is, and the cure.
    `decides`: the filter is made of the column, and sees NULL in place of such a value."""

    column: Column
    condition: Expression
    what: str
    cure: str
    decides: bool = False


@dataclass(frozen=True, slots=True)
class SourceRows:
    """`frame` has the target's columns in the version's order, with our metadata; `raw` has the same rows as they were read.

    `misfits` are the conditions under which a value does not fit, `row` is the key of such a row. `names` are those in
    `frame` by column id. With a filter `frame` has the rows that pass it, and `passes` is its condition on `raw`.
    """

    raw: DataFrame
    frame: DataFrame
    misfits: tuple[Misfit, ...]
    row: Expression
    names: Mapping[int, str]
    passes: Expression | None = None
    nulled: tuple[tuple[Column, Expression], ...] = ()  # whether a row's value of the column is NULL by rule

    def of_kept(self, misfit: Misfit) -> Expression:
        """Return the condition of a misfit for the rows that pass the filter, or that would perhaps if its value fitted."""
        return misfit.condition if self.passes is None or misfit.decides else self.passes & misfit.condition


def read_source(
    spark: SparkSession,
    files: Sequence[str],
    version: TableVersion,
    rules: Rules,
    translation: Translation,
    options: TargetOptions = DEFAULT,
    comments: Mapping[int, str] | None = None,
    partition_by: Collection[str] = (),
    beside: Collection[str] = (),
    apart: Collection[str] = (),
) -> SourceRows:
    """Raise SchemaConflict when the files lack a column of the version. `partition_by` names columns, in Oracle, whose values
    must fit into a path; `beside` are columns of the files that `frame` shall have too. Rows with the keys `apart`
    (key_texts.py) are left out, and nothing is computed of them."""
    if not files:
        raise SchemaConflict("the snapshot has no files", cure="take the snapshot again", table=version.table)
    raw = read_parquet(spark, files)
    columns = target_columns(version)
    there = frozenset(raw.columns)
    in_file = {c.name: name for c in columns for name in (replaced_name(c.name), c.name) if name in there}
    absent = [column.name for column in columns if column.name not in in_file]
    if absent:
        raise SchemaConflict(
            f"the rows read from Oracle lack the columns {', '.join(absent)}",
            cure=f"run `redolake snapshot {version.table} --replace` to read them again",
            table=version.table,
        )
    ids, shaped = needed(version), shape(version)
    of_filter = () if version.mapping is None or version.mapping.where is None else version.mapping.where.needs
    types = {field.name: field.dataType.simpleString() for field in raw.schema.fields}
    sources, cast = dict[str, Expression](), dict[int, Expression]()
    misfits: list[Misfit] = []
    nulled: list[tuple[Column, Expression]] = []
    for column in columns:
        rule, of_file = rules.get(column.id), types[in_file[column.name]]
        is_text = of_file == "string"
        type_ = translation.spark_type(column.type, rule)
        if not is_text and type_ == "string" and is_date(column):
            raise read_as_date(column, version)
        read = F.col(quote(in_file[column.name]))
        target, misfit = _cast(read, column, own_rule(rule), type_, translation, is_text=is_text)
        if misfit is None and not holds(type_, of_file):
            target = read.try_cast(type_)
            misfit = ~target.try_cast(of_file).eqNullSafe(read)  # a cast would round 2.5 to 3
        if misfit is not None and is_else_null(rule):
            target, misfit, is_null = _else_null(read, column, rule, target, misfit, translation)
            nulled.append((column, is_null))
        if misfit is not None:
            one = misfit_of(column, read.isNotNull() & misfit, version.table)
            misfits.append(replace(one, decides=column.id in of_filter))
        if column.id in ids:
            sources[source_value(column.id)] = target
        cast[column.id] = target
    misfits += [misfit_of_expression(*one, version.table) for one in shaped.misfits]
    raw = raw.withColumns(sources) if sources else raw
    if apart:
        raw = without_keys(raw, key_text(version, lambda i: shaped.values.get(i, cast[i])), apart)
    lake, all_comments, kept = (
        with_lake_names(version, options),
        {**(comments or {}), **comments_of(version)},
        list[Expression](),
    )
    for column in target_columns(lake):
        value = shaped.values.get(column.id, cast.get(column.id))
        assert value is not None
        type_ = translation.spark_type(column.type, rules.get(column.id))
        if type_ == "string" and column.name in map(options.name, partition_by):
            misfits.append(Misfit(column, unfit(column.name, value), WHAT, cure_of(version.table)))
        field = field_of(column, version, type_)
        comment = all_comments.get(column.id)
        metadata = {**field.metadata, **({} if comment is None else {"comment": comment})}
        kept.append(value.alias(column.name, metadata=metadata))
    kept += [F.col(quote(name)) for name in beside]
    passing = raw if shaped.passes is None else raw.filter(shaped.passes)
    names = {column.id: column.name for column in target_columns(lake)}
    row = shown_key(version, lambda column: F.col(quote(in_file[column.name])))
    return SourceRows(raw, passing.select(*kept), tuple(misfits), row, names, shaped.passes, tuple(nulled))


def misfit_of_expression(one: Computed, is_wrong: Expression, table: TableId) -> Misfit:
    cure = (
        f"give it another `type`, or correct the expression, in pipelines.yml; then run `redolake snapshot {table} --replace`"
    )
    column = Column(one.id, one.name, lake_type(one.type), 0)
    return Misfit(column, is_wrong, f"a value of `{one.text}` that cannot be cast to {one.type}", cure)


def _cast(
    value: Expression, column: Column, rule: TypeRule, type_: str, translation: Translation, *, is_text: bool
) -> tuple[Expression, Expression | None]:
    """Return the value in the target's type, and the condition under which it does not fit. The types are DDL text: a Connect
    client sends StringType as `string collate UTF8_BINARY`, which only Spark reads."""
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
    return one_zero(value.cast(type_), type_), None


def _else_null(
    value: Expression, column: Column, rule: TypeRule, target: Expression, misfit: Expression, translation: Translation
) -> tuple[Expression, Expression, Expression]:
    """Return the value, whether it does not fit, and whether it is NULL by rule. The cast of redo's literals decides over each
    value that seems not to fit, so that rows are read as their changes are."""
    doubtful = value.isNotNull() & misfit
    checked = translation.cast_text(F.when(doubtful, value.cast("string")), column.type, rule)
    return (
        F.when(doubtful, checked["value"]).otherwise(target),
        doubtful & checked["refused"].isNotNull(),
        doubtful & checked["nulled"],
    )


def is_date(column: Column) -> bool:
    return column.type.name in DATES


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


def holds(type_: str, other: str) -> bool:
    """Return whether a type has room for each value of another one, as far as both are decimals or whole numbers."""
    have, given = digits_of(type_), digits_of(other)
    if have is None or given is None or other in WHOLE_DIGITS:
        return True
    whole = have[0] if type_ not in WHOLE_DIGITS else WHOLE_DIGITS[type_] - 1  # of which it holds each number
    return whole >= given[0] and have[1] >= given[1]


def _has_more_decimals(number: Expression, scale: int) -> Expression:
    """Return whether a cast would round silently. NUMBERs without precision come as text, plain or as 1.5E-07."""
    exact = number.try_cast(f"decimal(38,{scale})")
    plain = F.regexp_extract(number, r"^[+-]?\d*\.?(\d*?)0*$", 1)
    scientific = number.rlike("[eE]")
    return F.when(scientific, exact.cast("double") != number.cast("double")).otherwise(F.length(plain) > scale)


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of rows, and of those that pass the filter; and of the values of these that are NULL by rule, by column in
    Oracle."""

    rows: int = 0
    passing: int = 0
    nulled: Mapping[str, int] = field(default_factory=dict)

    def plus(self, other: Counted) -> Counted:
        nulled = dict(Counter(self.nulled) + Counter(other.nulled))
        return Counted(self.rows + other.rows, self.passing + other.passing, nulled)


def check_values(source: SourceRows, version: TableVersion) -> Counted:
    """Count rows. Raise ValueDoesNotFit for the first column with a value that the target cannot hold."""
    passing = F.count("*") if source.passes is None else F.count_if(source.passes)
    counts = [F.count("*").alias("rows"), passing.alias("passing")]
    counts += [F.min(F.when(source.of_kept(one), source.row)).alias(f"m{n}") for n, one in enumerate(source.misfits)]
    passes = F.lit(True) if source.passes is None else source.passes
    counts += [F.count_if(passes & is_null).alias(f"nulls{n}") for n, (_, is_null) in enumerate(source.nulled)]
    found = source.raw.agg(*counts).collect()[0]
    for number, one in enumerate(source.misfits):
        if found[f"m{number}"] is not None:
            row = f" in the row with {found[f'm{number}']}" if version.key else ""
            name = one.column.name
            raise ValueDoesNotFit(f"{name} contains {one.what}{row}", cure=one.cure, table=version.table, column=name)
    nulled = {column.name: int(found[f"nulls{number}"]) for number, (column, _) in enumerate(source.nulled)}
    return Counted(int(found["rows"]), int(found["passing"]), {name: count for name, count in nulled.items() if count})


def check_keys(source: SourceRows, version: TableVersion) -> None:
    """Raise MappingFailed where an expression gives two rows one key in the lake, with both keys in Oracle, or one row none."""
    if not maps_key(version):
        return
    shaped = shape(version).values
    own = [shaped.get(i, F.col(quote(version.column(i).name))).alias(frames.key(i)) for i in version.key]
    names = [frames.key(i) for i in version.key]
    rows = (source.raw if source.passes is None else source.raw.filter(source.passes)).select(*own, source.row.alias("row"))
    twice = rows.groupBy(*names).agg(F.count("*").alias("rows"), F.min("row"), F.max("row"))
    for found in twice.filter((F.col("rows") > 1) | has_null(version.key)).limit(1).collect():
        keys = ", ".join(str(found[name]) for name in names)
        what = f"two keys of Oracle become one: {found['min(row)']} and {found['max(row)']} are both {keys}"
        if any(found[name] is None for name in names):
            what = f"{NULL_KEY}: {found['min(row)']}"
        raise MappingFailed(what, cure=cure_of_mapping(version.table), table=version.table)


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
