"""The redo rows of statements that write large objects, in two readings. `statement` was measured on 26ai (23.26.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from standin.redo_file import Op
from standin.tests.engine.engine_database import all_redo, logon, open_database, run

TABLE = "CREATE TABLE papers (id NUMBER PRIMARY KEY, name VARCHAR2(9), body CLOB, more CLOB)"
INSIDE, OUTSIDE = "short", "ä" * 1985
# Letters are operations, in capitals with a ROWID: insert, update, delete, locator, write, trim, erase, - INTERNAL; ! undo rows
LETTERS = {
    Op.INSERT: "i", Op.UPDATE: "u", Op.DELETE: "d", Op.LOB_LOCATOR: "l", Op.LOB_WRITE: "w", Op.LOB_TRIM: "t",
    Op.LOB_ERASE: "e", Op.INTERNAL: "-",
}  # fmt: skip


def block(call: str) -> str:
    return f"DECLARE loc CLOB; BEGIN SELECT body INTO loc FROM papers WHERE id = 1 FOR UPDATE; DBMS_LOB.{call}; END;"


INSERT = "INSERT INTO papers VALUES (1, 'a', :1, NULL)"
VIRTUAL = "ALTER TABLE papers ADD (shown AS (NVL(name, 'none')))"
STATEMENTS: dict[str, tuple[tuple[str, tuple[Any, ...]], str, str, str, str]] = {
    # statement, its rows and undo rows by statement, and each with its ROWID
    "insert, inside": (("INSERT INTO papers VALUES (2, 'a', :1, NULL)", (INSIDE,)), "iU", "D!", "IUU", "U!U!D!"),
    "insert, outside": (("INSERT INTO papers VALUES (2, 'a', :1, :2)", (OUTSIDE, OUTSIDE)), "ilwlw-", "D!", "ILWLW", "D!"),
    "insert, both": (("INSERT INTO papers VALUES (2, 'a', :1, 'x')", (OUTSIDE,)), "ilwU", "D!", "ILWU", "U!D!"),
    "update, other column": (("UPDATE papers SET name = 'b'", ()), "U", "U!", "U", "U!"),
    "update, inside": (("UPDATE papers SET body = :1", (INSIDE,)), "uU", "U!", "U", "U!"),
    "update, outside": (("UPDATE papers SET body = :1", (OUTSIDE,)), "lwt-", "U!", "LWT", ""),
    "update, outside where NULL was": (("UPDATE papers SET more = :1", (OUTSIDE,)), "ulw-", "U!", "LWT", ""),
    "update, both": (("UPDATE papers SET body = :1, more = 'x'", (OUTSIDE,)), "lwtU", "U!", "LWTU", "U!"),
    "update, outside and other": (("UPDATE papers SET name = 'b', body = :1", (OUTSIDE,)), "ulwt-", "U!", "ULWT", "U!"),
    "update, all": (("UPDATE papers SET name = 'b', body = :1, more = 'x'", (OUTSIDE,)), "ulwtU", "U!", "ULWTU", "U!U!"),
    "write": ((block("WRITE(loc, 2, 3, 'xy')"), ()), "LW-", "U!", "LW", ""),
    "append": ((block("WRITEAPPEND(loc, 2, 'xy')"), ()), "LW-", "U!", "LW", ""),
    "trim": ((block("TRIM(loc, 2)"), ()), "Lt-", "U!", "LT", ""),
    "erase": ((block("ERASE(loc, 2, 1)"), ()), "LE-", "U!", "LE", ""),
    "delete": (("DELETE FROM papers", ()), "D", "I!", "D", "I!"),
}


@pytest.fixture(params=["statement", "rows"])
def reading(request: pytest.FixtureRequest) -> Iterator[tuple[Any, Any, bool]]:
    database = open_database(lob_rows=request.param)
    shop = logon(database)
    run(shop, TABLE)
    yield database, shop, request.param == "statement"
    database.close()


def shown(database: Any, count: int) -> str:
    """Return the changes after the first `count`, as letters."""
    records = [record for record in all_redo(database) if record.op in LETTERS][count:]
    letters = ((LETTERS[Op(r.op)], r) for r in records)
    return "".join((letter.upper() if r.row_id else letter) + "!" * r.rollback for letter, r in letters)


@pytest.mark.parametrize("case", STATEMENTS)
def test_a_statement_writes_these_rows_and_a_savepoint_takes_them_back(reading: tuple[Any, Any, bool], case: str) -> None:
    (database, shop, by_statement), ((sql, binds), *expected) = reading, STATEMENTS[case]
    run(shop, INSERT, "text of the row")
    before = len([record for record in all_redo(database) if record.op in LETTERS])
    run(shop, "SAVEPOINT s")
    run(shop, sql, *binds)
    run(shop, "ROLLBACK TO SAVEPOINT s")

    assert shown(database, before) == "".join(expected[:2] if by_statement else expected[2:])


@pytest.mark.parametrize(("sql", "rows"), [("UPDATE papers SET body = 'b'", "uU|U"), ("UPDATE papers SET more = NULL", "U|U")])
def test_a_virtual_column_adds_no_row(reading: tuple[Any, Any, bool], sql: str, rows: str) -> None:
    database, shop, by_statement = reading
    run(shop, VIRTUAL)
    run(shop, "INSERT INTO papers (id, name, body) VALUES (1, 'a', 'text')")
    before = len([record for record in all_redo(database) if record.op in LETTERS])
    run(shop, sql)

    assert shown(database, before) == rows.split("|")[not by_statement]


def test_calls_of_dbms_lob_change_the_object(reading: tuple[Any, Any, bool]) -> None:
    _, shop, _ = reading
    run(shop, INSERT, "0123456789")
    calls = ["WRITE(loc, 2, 3, 'xy')", "WRITEAPPEND(loc, 1, 'z')", "ERASE(loc, 3, 5)", "TRIM(loc, 9)", "WRITE(loc, 1, 12, '!')"]
    for call in calls:
        run(shop, block(call))

    assert run(shop, "SELECT body FROM papers") == [("01xy   78  !",)]
