"""The type that holds the values of two types of the lake exactly, and the names of types in the engines that have views.

A type is one of Spark SQL, as the lake has it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
MOST_DIGITS = 38
WHOLE_DIGITS = {"int": 10, "bigint": 19}
# A float is a double, and so is a whole number of 32 bits. A date is midnight where no zone shifts it.
WIDER: Mapping[frozenset[str], str] = {
    frozenset(("int", "bigint")): "bigint",
    frozenset(("float", "double")): "double",
    frozenset(("int", "double")): "double",
    frozenset(("int", "float")): "double",
    frozenset(("date", "timestamp_ntz")): "timestamp_ntz",
}
NAMES: Mapping[str, Mapping[str, str]] = {
    "spark": {},
    "duckdb": {
        "string": "VARCHAR", "int": "INTEGER", "timestamp_ntz": "TIMESTAMP", "timestamp": "TIMESTAMPTZ", "binary": "BLOB",
    },
    "trino": {
        "string": "VARCHAR", "int": "INTEGER", "float": "REAL", "timestamp_ntz": "TIMESTAMP(6)",
        "timestamp": "TIMESTAMP(3) WITH TIME ZONE", "binary": "VARBINARY",
    },
}  # fmt: skip


def common_type(one: str, other: str) -> str | None:
    """Return the type that holds each value of both as it is; None where there is none."""
    if one == other:
        return one
    first, second = digits_of(one), digits_of(other)
    if first is None or second is None or not (DECIMAL.fullmatch(one) or DECIMAL.fullmatch(other)):
        return WIDER.get(frozenset((one, other)))
    whole, scale = max(first[0], second[0]), max(first[1], second[1])
    return f"decimal({whole + scale},{scale})" if whole + scale <= MOST_DIGITS else None


def digits_of(type_: str) -> tuple[int, int] | None:
    """Return how many digits a number has before and after its point; None for a type without such."""
    found = DECIMAL.fullmatch(type_)
    if found is not None:
        return int(found[1]) - int(found[2]), int(found[2])
    return (WHOLE_DIGITS[type_], 0) if type_ in WHOLE_DIGITS else None


def name_in(engine: str, type_: str) -> str:
    """Return the name of a type in an engine."""
    return NAMES[engine].get(type_, type_.upper())
