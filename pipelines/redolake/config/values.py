"""Values of `pipelines.yml` that have a syntax of their own: sizes, keys, names and patterns of columns, rules, properties."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from redolake.values.table import upper_name
from redolake.values.target_options import why_refused

UNITS = {"": 1, "B": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "KB": 10**3, "MB": 10**6, "GB": 10**9}


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def parse_bytes(value: object) -> object:
    """Return the bytes of a size such as `512MiB` or `1 GB`; pass other values on to the model's own check."""
    if isinstance(value, str):
        match = re.fullmatch(r"(\d+)\s*([KMG]?i?B?)", value.strip(), re.IGNORECASE)
        if match is None or match[2].upper() not in UNITS:
            raise ValueError("not a size: write 512MiB, 1GiB or a number of bytes")
        return int(match[1]) * UNITS[match[2].upper()]
    return value


def parse_key(value: object) -> object:
    """Return `primary`, `rowid`, `append`, or the column names, in upper case unless they are in double quotes."""
    if isinstance(value, str) and value in ("primary", "rowid", "append"):
        return value
    if isinstance(value, list) and value and all(isinstance(name, str) for name in value):
        names = [name[1:-1] if len(name) > 2 and name[0] == name[-1] == '"' else upper_name(name) for name in value]
        if len(set(names)) == len(names):
            return tuple(names)
    raise ValueError("not a key: write primary, rowid, append, or the columns of a unique index as a list, e.g. [CODE, DAY]")


def parse_patterns(value: object) -> object:
    """Return patterns of column names, in upper case unless they are in double quotes."""
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise ValueError("write a list of column names, in which * and ? stand for any characters, e.g. [PHOTO, '*_BLOB']")
    return tuple(name[1:-1] if len(name) > 2 and name[0] == name[-1] == '"' else upper_name(name) for name in value)


Patterns = Annotated[tuple[str, ...], BeforeValidator(parse_patterns)]
UnsupportedColumns = Literal["refuse", "exclude", "reread"]
InvalidText = Literal["hold", "replace", "binary"]


def parse_rule(value: object) -> object:
    """Return a column's rule; whether it suits the column's type is seen once the dictionary is read."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and (value in COLUMN_RULES or re.fullmatch(r"decimal\(\d{1,2}, ?\d{1,2}\)", value)):
        return value
    raise ValueError(f"not a rule: write {', '.join(COLUMN_RULES)}, decimal(p,s), or the scale of a NUMBER")


Bytes = Annotated[int, BeforeValidator(parse_bytes), Field(gt=0)]
COLUMN_RULES = ("string", "integer", "double", "truncate", "microseconds", "months", "replace", "binary")
ColumnRule = Annotated[str | int, BeforeValidator(parse_rule)]
Key = Annotated[Literal["primary", "rowid", "append"] | tuple[str, ...], BeforeValidator(parse_key)]


def checked_properties(value: dict[str, str]) -> dict[str, str]:
    refused = [f"{key} ({reason})" for key in sorted(value) if (reason := why_refused(key)) is not None]
    if refused:
        raise ValueError(f"not for `properties`: {', '.join(refused)}")
    return value


def bare_names(value: object) -> object:
    """Return column names as the dictionary spells them: in upper case unless they are in double quotes."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        return value
    return [name[1:-1] if len(name) > 2 and name[0] == name[-1] == '"' else upper_name(name) for name in value]


Properties = Annotated[dict[str, str], AfterValidator(checked_properties)]
ColumnNames = Annotated[tuple[str, ...], BeforeValidator(bare_names)]
