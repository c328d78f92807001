"""MODIFY keeps, widens, narrows or rewrites the values of a column."""

from __future__ import annotations

import pytest

from redolake.schema.type_change import type_change
from redolake.values.table import OracleType


def number(precision: int | None = None, scale: int | None = None) -> OracleType:
    return OracleType("NUMBER", precision=precision, scale=scale)


def floating(precision: int | None = None) -> OracleType:
    return OracleType("FLOAT", precision=precision)


def moment(scale: int | None = None, name: str = "TIMESTAMP") -> OracleType:
    return OracleType(name, scale=scale)


def interval(precision: int, scale: int) -> OracleType:
    return OracleType("INTERVAL DAY TO SECOND", precision=precision, scale=scale)


LOCAL = "TIMESTAMP WITH LOCAL TIME ZONE"
CHANGES = {
    "same": [
        (number(5), number(5)),
        (OracleType("VARCHAR2", 10), OracleType("VARCHAR2", 4000)),
        (OracleType("NVARCHAR2", 10), OracleType("NVARCHAR2", 5)),
        (OracleType("RAW", 10), OracleType("RAW", 20)),
    ],
    "widen": [
        (number(5), number()),
        (number(5), number(6)),
        (number(5, 2), number(6, 3)),
        (number(5), number(5, 0)),
        (number(5, 0), number(6, 1)),
        (number(5, -2), number(6, -2)),
        (number(5, 2), number(6, 2)),
        (floating(63), floating()),
        (floating(63), floating(126)),
        (floating(), floating(126)),
        (floating(126), floating()),
        (moment(3), moment()),
        (moment(3), moment(6)),
        (moment(), moment(6)),
        (moment(6), moment()),
        (moment(), moment(9)),
        (moment(3, LOCAL), moment(None, LOCAL)),
        (interval(2, 6), interval(3, 6)),
        (OracleType("CHAR", 3), OracleType("VARCHAR2", 3)),
        (OracleType("NCHAR", 3), OracleType("NVARCHAR2", 3)),
        (OracleType("DATE"), moment(0)),
    ],
    "narrow": [
        (number(), number(38)),
        (number(5), number(4)),
        (number(5, 2), number(5, 1)),
        (number(5, 2), number(5, 3)),
        (number(5), number(5, 1)),
        (number(5, 1), number(5)),
        (floating(), floating(125)),
        (floating(126), floating(63)),
        (moment(), moment(5)),
        (moment(7), moment()),
        (moment(9), moment(6)),
        (moment(None, LOCAL), moment(5, LOCAL)),
        (interval(3, 6), interval(2, 6)),
        (interval(2, 6), interval(2, 3)),
        (moment(0), OracleType("DATE")),
        (OracleType("VARCHAR2", 3), number()),
    ],
    "rewritten": [
        (OracleType("VARCHAR2", 3), OracleType("CHAR", 3)),
        (OracleType("CHAR", 3), OracleType("CHAR", 5)),
        (OracleType("NCHAR", 3), OracleType("NCHAR", 5)),
        (OracleType("LONG"), OracleType("CLOB")),
        (OracleType("CLOB"), OracleType("VARCHAR2", 4000)),
        (OracleType("BFILE"), OracleType("RAW", 10)),
        (OracleType("RAW", 10), OracleType("VECTOR")),
    ],
}


@pytest.mark.parametrize(
    ("old", "new", "change"), [(old, new, change) for change, pairs in CHANGES.items() for old, new in pairs], ids=str
)
def test_a_type_is_changed(old: OracleType, new: OracleType, change: str) -> None:
    assert type_change(old, new) == change
