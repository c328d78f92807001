"""Rows about large objects: of their PL/SQL, the row that it selects is read."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from redolake.decode.changes import decode_changes
from redolake.values.logminer import Mined
from tests.unit.decode.redo_text import redo_batch, table

PAPERS = table(ID="NUMBER(10,2)", NAME="VARCHAR2", BODY="VARCHAR2")  # ids 11, 12, 13
DECLARED = (
    "DECLARE \n loc_c CLOB; \n buf_c VARCHAR2(6174); \n loc_b BLOB; \n buf_b RAW(6174); \n loc_nc NCLOB; \n"
    " buf_nc NVARCHAR2(6174); \nBEGIN\n"
)
SELECT = ' select "BODY" into loc_c from "S"."T" where "ID" = \'7\' and "NAME" = {name} for update;\n'
WRITE = " buf_c := '{text}'; \n  dbms_lob.write(loc_c, 4, 3, buf_c);\nEND;\n"


def decoded(code: int, text: str | None) -> dict[str, Any]:
    batch = redo_batch((code, text, 2, 0))
    (row,) = decode_changes(batch, PAPERS, {}).to_pylist()
    assert (row["operation_code"], row["status"]) == (code, 2)
    return row


@pytest.mark.parametrize("name", ["a", "it''s; for update; ", ' "BODY" into loc_c from "S"."U" where "ID" = '])
@pytest.mark.parametrize(
    "code",
    [
        Mined.LOB_WRITE,
        Mined.LOB_TRIM,
        Mined.LOB_ERASE,
        Mined.SELECT_LOB_LOCATOR,
    ],
)
def test_the_selected_row_is_the_row_before(code: int, name: str) -> None:
    hostile = WRITE.format(text=f'{DECLARED} select "X" into loc_c from "S"."T" where "ID" = \'\'9\'\' for update;')

    row = decoded(code, DECLARED + SELECT.format(name=f"'{name}'") + hostile)

    assert row["error"] is None
    assert (row["o11"], row["o12"], row["n11"]) == (Decimal(7), name.replace("''", "'"), None)


@pytest.mark.parametrize(
    "text",
    [
        None,
        WRITE.format(text="abcd"),
        WRITE.format(text=DECLARED.replace("'", "''") + SELECT.format(name="NULL").replace("'", "''")),
        DECLARED + SELECT.format(name="'open") + WRITE.format(text="abcd"),
    ],
    ids=["none", "no SELECT", "a SELECT in the value", "unbalanced"],
)
def test_a_text_that_selects_no_row_names_none(text: str | None) -> None:
    row = decoded(Mined.LOB_WRITE, text)

    assert row["error"] is not None
    assert row["o11"] is None
