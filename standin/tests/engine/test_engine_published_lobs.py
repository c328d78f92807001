"""A statement with large objects has the rows in the redo that were published of 26ai."""

from __future__ import annotations

import pytest

from standin.redo_file import Op, RedoRecord
from standin.tests.engine.engine_database import all_redo, logon, open_database, run
from tests.published.large_objects import CASES

LETTERS = {
    Op.INSERT: "i", Op.UPDATE: "u", Op.DELETE: "d", Op.LOB_LOCATOR: "l", Op.LOB_WRITE: "w", Op.XML_BEGIN: "b",
    Op.XML_WRITE: "p", Op.XML_END: "e", Op.LONG_BEGIN: "x", Op.LONG_WRITE: "y", Op.INTERNAL: "-",
}  # fmt: skip


@pytest.mark.parametrize(("columns", "before", "after", "expected"), CASES.values(), ids=CASES)
def test_a_statement_has_the_rows_that_were_published(
    columns: list[str], before: list[str], after: list[str], expected: str
) -> None:
    database = open_database(lob_rows="statement", xml_rows="documents", extended_strings=True, extended_rows="pieces")
    try:
        shop = logon(database)
        run(shop, f"CREATE TABLE t (id NUMBER(9) PRIMARY KEY, {', '.join(columns)})")
        seen, shown = len(all_redo(database)), []
        for statement in [*before, "SAVEPOINT s", *after, "ROLLBACK TO SAVEPOINT s"]:
            run(shop, statement)
            records = all_redo(database)[seen:]
            seen += len(records)
            shown.append("".join(_letter(record) for record in records if record.op in LETTERS))
        assert " ".join(part for part in shown if part) == expected
    finally:
        database.close()


def _letter(record: RedoRecord) -> str:
    letter = LETTERS[Op(record.op)]
    if record.row_id:
        letter = "=" if letter == "-" else letter.upper()
    return letter + "!" * record.rollback
