"""The settings that shape what enters the lake: names, expressions, masks, a filter of rows and users' code."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, field_validator, model_validator

from redolake.config.findings import plain
from redolake.config.values import Settings, parse_rule
from redolake.values.mapping import CLEAR, MASKS, Mask
from redolake.values.table import upper_name

LONGEST_NAME = 255
LAKE_TYPE = re.compile(
    r"string|int|bigint|double|float|boolean|date|timestamp|timestamp_ntz|binary|decimal\(([1-9]|[12]\d|3[0-8]),([0-9]|[12]\d|3[0-8])\)"
)


def column_name(text: str) -> str:
    """Return a column's name as the dictionary spells it: in upper case unless it is in double quotes."""
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] == '"' else upper_name(text)


T = TypeVar("T")


def of_column(settings: Mapping[str, T], name: str) -> T | None:
    """Return what is said of a column, by its name in the dictionary; None where nothing is. A name in small letters may be
    written without double quotes where no other setting is of that column."""
    for written in (f'"{name}"', name):
        if written in settings:
            return settings[written]
    return next((one for written, one in settings.items() if column_name(written) == name), None)


def by_column(settings: Mapping[str, T], names: Iterable[str]) -> dict[str, T]:
    """Return what is said of these columns, by their names in the dictionary; and as they are written settings of no column."""
    own = {name: found for name in names if (found := of_column(settings, name)) is not None}
    return {**{text: one for text, one in settings.items() if not {text, column_name(text)} & {*own}}, **own}


def checked_expression(text: str) -> str:
    from redolake.config.expressions import uses  # with sqlglot, which a DAG file without expressions need not load

    uses(text)
    return text


def lake_type(value: object) -> object:
    """Return a type of Spark SQL that a column of the lake may have."""
    text = re.sub(r"\s", "", value).lower() if isinstance(value, str) else ""
    decimal = LAKE_TYPE.fullmatch(text)
    if decimal is None:
        raise ValueError("not a type of the lake: write string, int, bigint, double, float, boolean, date, timestamp, "
                         "timestamp_ntz, binary or decimal(p,s)")  # fmt: skip
    if decimal[1] is not None and int(decimal[2]) > int(decimal[1]):
        raise ValueError(f"{text} has more decimals than digits: write decimal(p,s) with s of at most p")
    return text


def parse_mask(value: object) -> object:
    """Return the mask; YAML reads null as no value."""
    mask = "null" if value is None else value
    if mask not in (*MASKS, CLEAR):
        raise ValueError(f"not a mask: write {', '.join((*MASKS, CLEAR))}")
    return mask


def lake_name(value: str) -> str:
    if not value or value.strip() != value:
        raise ValueError("a name of a column in the lake must not be empty, nor begin or end with a blank")
    if strange := sorted({f"U+{ord(c):04X}" for c in value if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")}):
        raise ValueError(f"a name of a column in the lake must not contain {', '.join(strange)}: write it in one line of text")
    if len(value) > LONGEST_NAME:
        raise ValueError(f"a name of a column in the lake has at most {LONGEST_NAME} characters, and this one {len(value)}")
    return value


def check_names_once(setting: str, names: Iterable[str], *, wildcards: bool = False) -> None:
    """Raise ValueError for names of which two are one column of Oracle, and for one that is no name."""
    first = dict[str, str]()
    for text in names:
        name = column_name(text)
        if not name or name == '""':
            raise ValueError(f"`{setting}` has an empty name of a column")
        if not wildcards and name != text[1:-1] and set(name) & set("*?"):
            raise ValueError(f"`{setting}` takes no wildcards, and {text} has one: write each column, and '\"{text}\"' for one "
                             "of that name")  # fmt: skip
        if name in first:
            raise ValueError(f"`{setting}` has the column {name} twice, as {first[name]} and as {text}: names are upper case "
                             "unless they are in double quotes")  # fmt: skip
        first[name] = text


Expression = Annotated[str, AfterValidator(checked_expression)]
LakeType = Annotated[str, BeforeValidator(lake_type)]
LakeName = Annotated[str, AfterValidator(lake_name)]
MaskSetting = Mask | Literal["clear"]
MaskName = Annotated[MaskSetting, BeforeValidator(parse_mask)]


def mask_for(masks: Mapping[str, MaskSetting], name: str) -> Mask | None:
    """Return the mask of a column: that of its own name, else that of the first pattern; None for one that stays clear."""
    found = masks.get(mask_name(masks, name))
    return None if found == CLEAR else found


def mask_name(masks: Mapping[str, MaskSetting], name: str) -> str:
    """Return under which name or pattern a column has its mask; its own name if it has none."""
    return name if name in masks else next((pattern for pattern in masks if fnmatchcase(name, pattern)), name)


class ShapedColumn(Settings):
    """A column of Oracle with more than a rule."""

    type: str | int | None = None
    expression: Expression | None = None
    comment: str | None = None
    injective: bool = False

    @model_validator(mode="after")
    def type_is_known(self) -> Self:
        if self.type is not None:
            (parse_rule if self.expression is None else lake_type)(self.type)
        if self.injective and self.expression is None:
            raise ValueError("`injective` is said of an `expression`, and there is none")
        if self.type is None and self.expression is None and self.comment is None:
            raise ValueError("nothing is said of the column: give type, expression or comment")
        return self


class AddedColumn(Settings):
    """A column that Oracle does not have."""

    expression: Expression
    type: LakeType = "string"
    comment: str | None = None


class KeySource(Settings):
    """Where a key is, of `hash` masks or of the landing."""

    connection: str | None = Field(None, description="Airflow connection id, whose password is the key")
    variable: str | None = Field(None, description="environment variable with the key")

    @model_validator(mode="after")
    def one_of_both(self) -> Self:
        if bool(self.connection) == bool(self.variable):
            raise ValueError("give connection or variable")
        return self


class TransformSettings(Settings):
    """A function of users' code, and the columns that it returns."""

    function: str = Field(description="`package.module:function`, importable where Spark's Python workers run")
    columns: dict[LakeName, LakeType] = Field(min_length=1, description="what it returns: names in the lake, and types")

    @model_validator(mode="after")
    def names_a_function(self) -> Self:
        if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", self.function):
            raise ValueError(f"{self.function!r} is no function: write package.module:function")
        return self


def parse_column(value: object) -> object:
    """Return a column's rule, or what else is said of it."""
    if isinstance(value, ShapedColumn):
        return value
    if not isinstance(value, dict):
        return parse_rule(value)
    try:
        return ShapedColumn.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"]))
        raise ValueError(": ".join(filter(None, (at, plain(first))))) from None


def parse_added(value: object) -> object:
    """Return what is said of an added column. A number would be a text that YAML has read otherwise."""
    if isinstance(value, str):
        return {"expression": value}
    if not isinstance(value, (dict, AddedColumn)):
        shown = json.dumps(value, default=str)
        raise ValueError("must be an expression of Spark SQL, or {expression, type, comment}; write a constant in quotes: "
                         f"'{shown}'")  # fmt: skip
    return value


ColumnSetting = Annotated[ShapedColumn | str | int, BeforeValidator(parse_column)]
Added = Annotated[AddedColumn, BeforeValidator(parse_added)]


class ShapeSettings(Settings):
    """What may be said for all tables of a pipeline, and for each."""

    rename: dict[str, LakeName] = Field(
        default_factory=dict,
        description="names of columns in the lake by those in Oracle, e.g. `{CUST_NM: customer_name, '\"id\"': id_lower}`",
    )
    add: dict[LakeName, Added] = Field(
        default_factory=dict,
        description="columns that Oracle does not have: a Spark SQL expression, or `{expression, type, comment}`; "
        "without `type` a text",
    )
    mask: dict[str, MaskName] = Field(
        default_factory=dict,
        description="columns whose values the lake must not have (`*` and `?` stand for any characters): `hash` "
        "(HMAC-SHA-256 with `mask_key`), `redact` (`***`), `last4`, `null`, or `clear` for one that a "
        "pattern shall not mask",
    )

    @property
    def new_names(self) -> dict[str, str]:
        return {column_name(name): new for name, new in self.rename.items()}

    @property
    def masks(self) -> dict[str, MaskSetting]:
        return {column_name(name): mask for name, mask in self.mask.items()}

    @field_validator("rename")
    @classmethod
    def renames_are_of_columns(cls, value: dict[str, str]) -> dict[str, str]:
        check_names_once("rename", value)
        return value

    @field_validator("mask")
    @classmethod
    def masks_are_of_columns(cls, value: dict[str, Mask]) -> dict[str, Mask]:
        check_names_once("mask", value, wildcards=True)
        return value

    @model_validator(mode="after")
    def names_are_distinct(self) -> Self:
        names = [*self.rename.values(), *self.add]
        twice = sorted({name for name in names if [n.lower() for n in names].count(name.lower()) > 1})
        if twice:
            raise ValueError(f"`rename` and `add` give two columns one name: {', '.join(twice)}")
        return self


class TableShape(ShapeSettings):
    """What may be said for a table, or for the tables of a pattern."""

    columns: dict[str, ColumnSetting] = Field(
        default_factory=dict,
        description="how columns are stored where the default does not suit: `string` keeps every value as text; "
        "NUMBER: `integer`, `decimal(p,s)`, and without precision the scale of DECIMAL(38, scale); FLOAT: `double`, "
        "`decimal(p,s)`; TIMESTAMP(7) to (9): `truncate`; intervals: `microseconds`, `months`; texts with bytes that are no "
        "characters: `replace`, `binary`. No column of `key`, `partition_by` or `cluster_by` may have `truncate` or `replace`. "
        "Or `{type, expression, comment}`: with `expression`, Spark SQL over the row's columns, `type` is a type of Spark; "
        "`injective: true` says of a column of the key that no two keys become one",
    )
    column_order: tuple[str, ...] = Field((), description="names in the lake with which its columns begin")
    where: Expression | None = Field(None, description="the rows that the lake shall have: a condition of Spark SQL")
    transform: TransformSettings | None = Field(
        None, description="`{function: package.module:function, columns: {name: type}}`: users' code from Arrow to Arrow"
    )

    @field_validator("columns")
    @classmethod
    def columns_are_named_once(cls, value: dict[str, ColumnSetting]) -> dict[str, ColumnSetting]:
        check_names_once("columns", value)
        return value

    @field_validator("column_order")
    @classmethod
    def order_has_each_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if twice := sorted({name for name in value if value.count(name) > 1}):
            raise ValueError(f"`column_order` names {', '.join(twice)} twice")
        return value

    @property
    def rules(self) -> dict[str, str | int]:
        """The rules of columns: how they are read from Oracle."""
        plain = {name: one for name, one in self.columns.items() if not isinstance(one, ShapedColumn)}
        return {
            **plain,
            **{name: one.type for name, one in self.shaped_as_written.items() if one.type is not None and not one.expression},
        }

    @property
    def shaped_as_written(self) -> dict[str, ShapedColumn]:
        return {name: one for name, one in self.columns.items() if isinstance(one, ShapedColumn)}

    @property
    def shaped(self) -> dict[str, ShapedColumn]:
        """What is said of columns beside a rule, by their names in Oracle."""
        return {column_name(name): one for name, one in self.shaped_as_written.items()}
