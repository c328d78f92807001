"""The redo of XMLTYPE values, in the forms that the options give it. Rows of a short document were measured on 19.3."""

from __future__ import annotations

from typing import Any

import pytest

from standin.redo_file import Op
from standin.tests.engine.engine_database import all_redo, logon, open_database, run

TABLE = "CREATE TABLE letters (id NUMBER PRIMARY KEY, name VARCHAR2(9), v XMLTYPE)"
LONG = f"<a>{'ä' * 2000}</a>"
# Letters are operations, in capitals with a ROWID: insert, update, begin, write, end, - INTERNAL; ! undo rows
LETTERS = {
    Op.INSERT: "i", Op.DELETE: "d", Op.UPDATE: "u", Op.XML_BEGIN: "b", Op.XML_WRITE: "w", Op.XML_END: "e", Op.INTERNAL: "-",
}  # fmt: skip
STATEMENTS: dict[str, tuple[str, str, str]] = {
    # statement, its rows each with its ROWID, and by statement
    "insert": (f"INSERT INTO letters VALUES (2, 'a', XMLTYPE('{LONG}'))", "IBWWE", "ibwwe-"),
    "insert NULL": ("INSERT INTO letters VALUES (2, 'a', NULL)", "I", "i-"),
    "update": ("UPDATE letters SET v = XMLTYPE('<b/>')", "BWE", "bwe-"),
    "update, both": ("UPDATE letters SET v = XMLTYPE('<b/>'), name = 'b'", "UBWE", "ubwe-"),
    "update to NULL": ("UPDATE letters SET v = NULL", "U", "U"),
    "update of another": ("UPDATE letters SET name = 'b'", "U", "U"),
}


def rows_of(statement: str, **options: Any) -> list[Any]:
    database = open_database(xml_rows="documents", **options)
    try:
        shop = logon(database)
        run(shop, TABLE)
        run(shop, "INSERT INTO letters VALUES (1, 'a', XMLTYPE('<a/>'))")
        before = len(all_redo(database))
        run(shop, statement)
        return [record for record in all_redo(database)[before:] if record.op in LETTERS]
    finally:
        database.close()


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("reading", ["rows", "statement"])
def test_a_document_has_rows_of_its_own(statement: str, reading: str) -> None:
    sql, *expected = STATEMENTS[statement]
    found = rows_of(sql, lob_rows=reading)

    shown = "".join(LETTERS[Op(r.op)].upper() if r.row_id else LETTERS[Op(r.op)] for r in found)
    assert shown == expected[reading == "statement"]


def test_a_null_can_be_a_document_or_nothing() -> None:
    insert = "INSERT INTO letters VALUES (2, 'a', NULL)"
    as_document, absent = (rows_of(insert, xml_nulls=nulls) for nulls in ("document", "absent"))

    assert [row.op for row in as_document] == [Op.INSERT, Op.XML_BEGIN, Op.XML_WRITE, Op.XML_END]
    assert [(row.op, sorted(row.after)) for row in absent] == [(Op.INSERT, [1, 2])]
