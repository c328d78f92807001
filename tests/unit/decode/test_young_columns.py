"""An UPDATE that sets to NULL what is NULL may have every column in SET: those that a row does not store keep their default."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from redolake.decode.changes import decode_changes
from redolake.decode.compiled.changes import decode_compiled
from redolake.values.table import Column, IgnoredColumn, OracleType, TableVersion
from tests.unit.decode.redo_text import redo_batch, update, version

NUMBER = OracleType("NUMBER", 22, 9, 0)
COLUMNS = (
    Column(11, "ID", NUMBER, 1, nullable=False),
    Column(12, "NAME", OracleType("VARCHAR2", 20), 2),
    Column(13, "SCORE", NUMBER, 4),  # added later, with a default
    Column(14, "RANK", NUMBER, 5, nullable=False),  # added later too: it is NULL in no row
)
TABLE = replace(version(COLUMNS), ignored=(IgnoredColumn(3, "guard", "SYS_NC00003$"),))
WHERE = """"ID" = '1' and "NAME" IS NULL and """
SAME, BITS, MORE = '"SYS_NC00003$" IS NULL', "HEXTORAW('01')", "HEXTORAW('03')"
YOUNG = """ and "SCORE" IS NULL and "RANK" = '5'"""
NOTHING = {"ID": "'1'", "NAME": "NULL"}
# What SET has, the conditions, and the columns that the UPDATE assigns.
CASES: dict[str, tuple[dict[str, str], str, list[int]]] = {
    "nothing changes, and the row stores no column behind the guard": (
        {**NOTHING, "SYS_NC00003$": "NULL", "SCORE": "NULL"}, WHERE + SAME + YOUNG, [11, 12],
    ),
    "nothing changes, and WHERE lacks what the row does not store": (
        {**NOTHING, "SYS_NC00003$": "NULL", "SCORE": "NULL"}, """"ID" = '1' and "NAME" IS NULL""", [11, 12],
    ),
    "nothing changes, and the guard has the bit of another column": (
        {**NOTHING, "SYS_NC00003$": BITS, "SCORE": "NULL"}, f'{WHERE}"SYS_NC00003$" = {BITS}{YOUNG}', [11, 12],
    ),
    "the guard comes by its number": (
        {**NOTHING, "COL 3": "NULL", "SCORE": "NULL"}, f'{WHERE}"COL 3" IS NULL{YOUNG}', [11, 12],
    ),
    "the column is set to NULL, with its key": (
        {**NOTHING, "SYS_NC00003$": MORE, "SCORE": "NULL"}, f'{WHERE}"SYS_NC00003$" = {BITS}{YOUNG}', [11, 12, 13],
    ),
    "the column is set to NULL for the first time": (
        {**NOTHING, "SYS_NC00003$": BITS, "SCORE": "NULL"}, WHERE + SAME + YOUNG, [11, 12, 13],
    ),
    "the column had a value": (
        {**NOTHING, "SYS_NC00003$": BITS, "SCORE": "NULL"},
        f"""{WHERE}"SYS_NC00003$" = {BITS} and "SCORE" = '7' and "RANK" = '5'""",
        [11, 12, 13],
    ),
    "a column that cannot be NULL": (
        {**NOTHING, "SYS_NC00003$": "NULL", "RANK": "NULL"}, WHERE + SAME + ' and "SCORE" IS NULL and "RANK" IS NULL', [11, 12],
    ),
    "the guard is in WHERE alone, and has not changed": ({**NOTHING, "SCORE": "NULL"}, WHERE + SAME + YOUNG, [11, 12]),
    "an UPDATE of the column alone": ({"SCORE": "NULL"}, WHERE + SAME + YOUNG, [13]),
}  # fmt: skip
DECODERS = {"plain": decode_changes, "compiled": decode_compiled}


def decoded(decoder: str, sets: dict[str, str], where: str, of: TableVersion = TABLE) -> dict[str, Any]:
    (row,) = DECODERS[decoder](redo_batch((3, update(sets, where))), of, {}).to_pylist()
    return row


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize(("sets", "where", "assigned"), CASES.values(), ids=CASES)
def test_set_names_a_young_column_only_where_the_guard_says_that_it_was_set(
    decoder: str, sets: dict[str, str], where: str, assigned: list[int]
) -> None:
    row = decoded(decoder, sets, where)

    assert (row["error"], row["assigned"]) == (None, assigned)
    assert row["n13"] is None


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize(
    ("sets", "where"),
    [
        ({**NOTHING, "SCORE": "NULL"}, """"ID" = '1' and "NAME" IS NULL and "SCORE" IS NULL"""),
        ({**NOTHING, "SYS_NC00003$": BITS, "SCORE": "NULL"}, """"ID" = '1' and "NAME" IS NULL"""),
    ],
    ids=["no guard at all", "no guard in WHERE"],
)
def test_without_the_guard_null_is_not_guessed(decoder: str, sets: dict[str, str], where: str) -> None:
    row = decoded(decoder, sets, where)

    assert "column SCORE: the UPDATE has the key in SET too" in row["error"]


@pytest.mark.parametrize("decoder", DECODERS)
def test_where_no_column_has_a_guard_each_row_has_been_written_with_them(decoder: str) -> None:
    row = decoded(decoder, {**NOTHING, "SCORE": "NULL"}, """"ID" = '1'""", version(COLUMNS[:3]))

    assert (row["error"], row["assigned"]) == (None, [11, 12, 13])


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("kind", ["CLOB", "LONG"])
def test_without_a_key_every_column_is_in_set_but_those_of_which_redo_has_no_values(decoder: str, kind: str) -> None:
    columns = (*COLUMNS[1:], Column(15, "BODY", OracleType(kind), 6))
    of = replace(TABLE, columns=columns, key=())
    sets = {"NAME": "NULL", "SYS_NC00003$": "NULL", "SCORE": "NULL", "RANK": "NULL"}

    row = decoded(decoder, sets, f'"NAME" IS NULL and {SAME}', of)

    assert (row["error"], row["assigned"]) == (None, [12])
