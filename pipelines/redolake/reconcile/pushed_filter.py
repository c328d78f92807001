"""What of a table's row filter Oracle itself can evaluate, so that rows outside of it need not be fetched.

Spark's own filter stays: it decides over every row that was fetched. So what is given to Oracle only has to be true wherever
Spark's condition is true, and whatever is not certain to be is left to Spark. Given to Oracle are comparisons of a column
with a constant, IS NULL, AND, OR and NOT; of a condition of several parts joined by AND, those parts that consist of these
alone. Both evaluate NULL by the same logic, and alike:

* a NUMBER with precision and a plain number, as long as a decimal of 38 digits holds both: nothing is rounded;
* a DATE, or a TIMESTAMP of at most microseconds, and DATE'..' or TIMESTAMP_NTZ'..' of the years 1 to 9999: no zone is involved;
* a text and plain ASCII, by `=` and IN, not below a NOT: a collation, or the padding of CHAR, can only make more texts equal.
  '' is NULL in Oracle alone, and is never given.

Not given are BINARY_FLOAT and BINARY_DOUBLE, columns with a rule, and text in another order than by `=`. Each constant becomes
a bind variable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from sqlglot import exp

from redolake.config import Pipeline
from redolake.config.expressions import parse_expression
from redolake.decode.datatypes import spark_ddl_type
from redolake.errors import SchemaConflict
from redolake.reconcile.chosen_columns import rules_of
from redolake.reconcile.mappings import resolve_mapping
from redolake.schema import baseline
from redolake.source.quoting import quote
from redolake.source.snapshot import Part
from redolake.values.datatypes import TEXTS
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.mapping import RowFilter, source_value
from redolake.values.table import Column, Rules, TableId, TableVersion

COMPARISONS: Mapping[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
# Characters that every character set of a database has, and that are no escapes in Spark's texts.
SAME_EVERYWHERE = re.compile(r"[A-Za-z0-9_.,:;/()+*=<>-](?:[A-Za-z0-9_.,:;/()+*=<> -]*[A-Za-z0-9_.,:;/()+*=<>-])?")
PLAIN_NUMBER = re.compile(r"\d{1,38}(?:\.\d{1,38})?")
MOST_DIGITS = 38
MOST_BINDS = 1000  # a condition with more constants costs Oracle more than it saves, and it has a limit for them
DIGITS_OF = {
    "int": 10,
    "bigint": 19,
}  # of a whole number; the 20th that Spark allows for a bigint costs no decimal in our sessions
MICROSECONDS = 6
DAY = re.compile(r"\d{4}-\d\d-\d\d")
MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?")
MASKS = {
    "DATE": "'YYYY-MM-DD HH24:MI:SS', 'NLS_CALENDAR=GREGORIAN'",
    "TIMESTAMP": "'YYYY-MM-DD HH24:MI:SS.FF6', 'NLS_CALENDAR=GREGORIAN'",
}


class NotTheSame(Exception):
    """A part of a condition that Oracle might not evaluate as Spark does."""


@dataclass(frozen=True, slots=True)
class PushedFilter:
    """A condition in Oracle that is true for every row that passes the filter `text`."""

    text: str
    condition: str
    binds: Mapping[str, object] = field(default_factory=dict)

    @property
    def record(self) -> str:
        """What identifies it in the manifest of rows that were read by it."""
        values = ", ".join(f":{name} = {value!r}" for name, value in self.binds.items())
        return f"{self.condition} [{values}] of {self.text}"

    def within(self, part: Part) -> Part:
        """Return the rows of a part that satisfy the condition."""
        conditions = [f"({one})" for one in (part.condition, self.condition) if one]
        return Part(part.partition, " AND ".join(conditions), {**part.binds, **self.binds})


def pushed_for(pipeline: Pipeline, table: DictionaryTable) -> PushedFilter | None:
    """Return what Oracle can evaluate of the filter that pipelines.yml has for a table; None if it is nothing."""
    settings = pipeline.settings(table.table)
    if settings.where is None:
        return None
    policy, choice = settings.key_policy, pipeline.choice(table.table)
    try:
        version = baseline(table, table.scn_before, None, policy, choice)
    except SchemaConflict:
        return None  # the load says so
    mapping, problems = resolve_mapping(pipeline, version)
    if problems or mapping is None or mapping.where is None:
        return None
    named = rules_of(pipeline, table)
    return push_filter(mapping.where, version, {c.id: named[c.name] for c in version.columns if c.name in named})


def push_filter(where: RowFilter, version: TableVersion, rules: Rules) -> PushedFilter | None:
    """Return what Oracle can evaluate of a filter of this version's rows; None if it is nothing. Columns are found by their
    ids: another one may have taken a column's name since."""
    translation, found = Translating({source_value(c.id): c for c in version.columns}, rules), list[str]()
    try:
        root = parse_expression(where.sql)
    except ValueError:  # pipelines.yml had it before it was refused there
        return None
    for part in parts_of(root, exp.And):
        before = dict(translation.binds)
        try:
            found.append(translation.condition(part, is_negated=False))
        except (NotTheSame, RecursionError):
            translation.binds = before
    return PushedFilter(where.text, " AND ".join(found), translation.binds) if found else None


def parts_of(node: exp.Expression, kind: type[exp.Expression]) -> Iterator[exp.Expression]:
    """Yield the parts that AND or OR joins, however many these are."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, exp.Paren):
            waiting.append(one.this)
        elif isinstance(one, kind):
            waiting += [one.expression, one.this]
        else:
            yield one


def read_by_another_filter(table: TableId, scn: int) -> SchemaConflict:
    """Return the error of rows that Oracle chose by another filter than the one of pipelines.yml now."""
    return SchemaConflict(
        f"pipelines.yml filters the table in another way than its rows were read AS OF SCN {scn}",
        cure=f"run `redolake snapshot {table} --replace`, which reads them by the filter of now",
        table=table,
        scn=scn,
    )


@dataclass(slots=True)
class Translating:
    """The columns by source_value, and the literals that have become bind variables."""

    columns: Mapping[str, Column]
    rules: Rules
    binds: dict[str, object] = field(default_factory=dict)

    def condition(self, node: exp.Expression, *, is_negated: bool) -> str:
        """Return the condition of Oracle. Raises NotTheSame."""
        if isinstance(node, exp.Paren):
            return self.condition(node.this, is_negated=is_negated)
        for kind, sign in ((exp.And, " AND "), (exp.Or, " OR ")):
            if isinstance(node, kind):
                return f"({sign.join(self.condition(part, is_negated=is_negated) for part in parts_of(node, kind))})"
        if isinstance(node, exp.Not):
            return f"NOT ({self.condition(node.this, is_negated=not is_negated)})"
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return f"{quote(self.column(node.this).name)} IS NULL"
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            column = self.column(node.this)
            low, high = (
                self.comparison(column, sign, node.args[side], is_negated) for sign, side in ((">=", "low"), ("<=", "high"))
            )
            return f"({low} AND {high})"
        if (
            isinstance(node, exp.In)
            and node.expressions
            and not any(node.args.get(one) for one in ("query", "unnest", "field"))
        ):
            column = self.column(node.this)
            if self.kind(column) == "number":
                check_digits(node.expressions, spark_ddl_type(column.type))
            return f"({' OR '.join(self.comparison(column, '=', one, is_negated) for one in node.expressions)})"
        if type(node) in COMPARISONS:
            sign, left, right = COMPARISONS[type(node)], node.this, node.expression
            if not isinstance(left, exp.Column):
                sign, left, right = FLIPPED.get(sign, sign), right, left
            return self.comparison(self.column(left), sign, right, is_negated)
        raise NotTheSame

    def column(self, node: object) -> Column:
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            raise NotTheSame
        column = self.columns.get(node.this.name)
        if column is None or self.rules.get(column.id) is not None:
            raise NotTheSame
        self.kind(column)
        return column

    def kind(self, column: Column) -> str:
        """Return by what a column can be compared. Raises NotTheSame."""
        name, scale, type_ = column.type.name, column.type.scale or 0, spark_ddl_type(column.type)
        if name == "NUMBER" and column.type.precision is not None and (type_ in DIGITS_OF or type_.startswith("decimal(")):
            return "number"
        if name in TEXTS and type_ == "string":
            return "text"
        if type_ == "timestamp_ntz" and (name == "DATE" or (name == "TIMESTAMP" and scale <= MICROSECONDS)):
            return "moment"
        raise NotTheSame

    def comparison(self, column: Column, sign: str, literal: exp.Expression, is_negated: bool) -> str:
        match self.kind(column):
            case "number":
                return f"{quote(column.name)} {sign} :{self.bind(number_of(literal, spark_ddl_type(column.type)))}"
            case "moment":
                mask = MASKS[column.type.name]
                value = moment_of(literal, has_fraction=column.type.name == "TIMESTAMP")
                return f"{quote(column.name)} {sign} TO_{column.type.name}(:{self.bind(value)}, {mask})"
            case _:
                if sign != "=" or is_negated:
                    raise NotTheSame
                return f"{quote(column.name)} = :{self.bind(text_of(literal))}"

    def bind(self, value: object) -> str:
        if len(self.binds) == MOST_BINDS:
            raise NotTheSame
        name = f"f{len(self.binds)}"
        self.binds[name] = value
        return name


def text_of(node: exp.Expression) -> str:
    if not isinstance(node, exp.Literal) or not node.is_string or not SAME_EVERYWHERE.fullmatch(node.this):
        raise NotTheSame
    return str(node.this)


def number_of(node: exp.Expression, type_: str) -> Decimal:
    """Return a number, if Spark compares it with a value of the type without rounding either."""
    is_negative = isinstance(node, exp.Neg)
    node = node.this if isinstance(node, exp.Neg) else node
    if not isinstance(node, exp.Literal) or node.is_string or not PLAIN_NUMBER.fullmatch(node.this):
        raise NotTheSame
    check_digits([node], type_)
    return -Decimal(node.this) if is_negative else Decimal(node.this)


def check_digits(literals: Sequence[exp.Expression], type_: str) -> None:
    """Raise NotTheSame where no decimal of Spark holds all these numbers and each value of the type."""
    precision, scale = digits_of(type_)
    texts = [str(one.find(exp.Literal) or "").partition(".") for one in literals]
    whole = max(precision - scale, *(len(text[0]) for text in texts))
    fraction = max(scale, *(len(text[2]) for text in texts))
    if whole + fraction > MOST_DIGITS:
        raise NotTheSame


def digits_of(type_: str) -> tuple[int, int]:
    if type_ in DIGITS_OF:
        return DIGITS_OF[type_], 0
    precision, scale = type_.removeprefix("decimal(").removesuffix(")").split(",")
    return int(precision), int(scale)


def moment_of(node: exp.Expression, *, has_fraction: bool) -> str:
    """Return a day or a moment without a zone as text."""
    if type(node) is not exp.Cast or not isinstance(node.this, exp.Literal) or not node.this.is_string:
        raise NotTheSame
    text, kind = str(node.this.this), node.to.this
    if kind is exp.DataType.Type.DATE and DAY.fullmatch(text):
        text = f"{text} 00:00:00"
    elif kind is not exp.DataType.Type.TIMESTAMPNTZ or not MOMENT.fullmatch(text):
        raise NotTheSame
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise NotTheSame from None
    if at.microsecond and not has_fraction:
        raise NotTheSame
    return at.isoformat(" ", "microseconds" if has_fraction else "seconds")
