"""What a row about a large object does to it: its text is understood to the end and has the declared length, or is an error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipelines.decode.changes import decode_pieces
from pipelines.decode.lob_pieces import LEFT_OUT
from pipelines.redo import CHARACTERS, CODE_UNITS, Operation
from pipelines.table import IgnoredColumn
from tests.unit.decode.redo_text import redo_batch, table
from tests.unit.decode.test_lob_sql import DECLARED

PAPERS = table(ID="NUMBER(10,2)", BODY="CLOB", SCAN="BLOB", NOTE="NCLOB")  # ids 11 to 14
SELECT = ' select "{column}" into {loc} from "S"."T" where "ID" = \'7\' for update;\n'
BODY = DECLARED + SELECT.format(column="BODY", loc="loc_c")
SCAN = DECLARED + SELECT.format(column="SCAN", loc="loc_b")


def piece(code: int, text: str | None, *, rollback: int = 0, version: Any = PAPERS) -> dict[str, Any]:
    (row,) = decode_pieces(redo_batch((code, text, 2, rollback)), version, {}).to_pylist()
    return {name.removeprefix("piece_"): value for name, value in row.items() if value is not None}


def write(value: str, arguments: str, letter: str = "c") -> str:
    return f" buf_{letter} := {value}; \n  dbms_lob.write(loc_{letter}, {arguments}, buf_{letter});\nEND;\n"


@pytest.mark.parametrize(
    ("value", "arguments", "text", "counts"),
    [
        ("'abcd'", "4, 3", "abcd", None),
        ("'it''s; END; '", "11, 3", "it's; END; ", None),
        ("'it's'", "4, 3", "it's", None),  # quotes left single
        ("'a''b'", "4, 3", "a''b", None),  # the same: the declared length decides
        ("'''; dbms_lob.write(loc_c, 1, 1, buf_c);\nEND;\n'", "44, 3", "'; dbms_lob.write(loc_c, 1, 1, buf_c);\nEND;\n", None),
        ("'😀'", "1, 3", "😀", CHARACTERS),
        ("'😀'", "2, 3", "😀", CODE_UNITS),
        (r"UNISTR('\20AC\D83D') || UNISTR('\DE00''x')", "4, 3", "€😀'x", CHARACTERS),
    ],
)
def test_a_write_has_its_offset_and_its_text(value: str, arguments: str, text: str, counts: str | None) -> None:
    row = piece(Operation.LOB_WRITE, BODY + write(value, arguments))

    assert "error" not in row
    assert (row["kind"], row["column"], row["at"], row["text"], row.get("counts")) == ("write", 12, 3, text, counts)
    assert row["o11"] == 7


def test_bytes_trims_and_erases() -> None:
    wrote = piece(Operation.LOB_WRITE, SCAN + write("HEXTORAW('00fF')", "2, 9", "b"))
    trimmed = piece(Operation.LOB_TRIM, BODY + " dbms_lob.trim(loc_c, 2);\nEND;\n")
    erased = [
        piece(code, BODY + " dbms_lob.erase(loc_c, 2, 5);\nEND;\n")
        for code in (Operation.LOB_ERASE, Operation.LOB_ERASE_AS_DOCUMENTED)
    ]

    assert (wrote["column"], wrote["at"], wrote["octets"]) == (13, 9, b"\x00\xff")
    assert (trimmed["kind"], trimmed["at"]) == ("trim", 2)
    assert [(one["kind"], one["at"], one["amount"]) for one in erased] == [("erase", 5, 2)] * 2


def test_a_text_without_its_row_and_a_locator_are_no_errors() -> None:
    bare = piece(Operation.LOB_WRITE, " buf_c := 'x'; \n  dbms_lob.write(loc_c, 1, 1, buf_c);")
    locator = piece(Operation.SELECT_LOB_LOCATOR, BODY)

    assert "error" not in bare
    assert "column" not in bare
    assert (locator["kind"], locator["column"], locator["o11"]) == ("locator", 12, 7)
    assert piece(Operation.SELECT_LOB_LOCATOR, None)["kind"] == "locator"


def test_a_column_that_is_left_out_is_no_error() -> None:
    version = replace(PAPERS, ignored=(IgnoredColumn(9, "excluded", "PHOTO", "BLOB"),))
    text = DECLARED + SELECT.format(column="PHOTO", loc="loc_b") + " dbms_lob.trim(loc_b, 2);\nEND;\n"

    assert piece(Operation.LOB_TRIM, text, version=version)["column"] == LEFT_OUT


@pytest.mark.parametrize(
    ("code", "text", "why"),
    [
        (Operation.LOB_WRITE, BODY + write("'abc'", "4, 3"), "declares 4 characters"),
        (Operation.LOB_WRITE, SCAN + write("HEXTORAW('00')", "2, 3", "b"), "declares 2 bytes and has 1"),
        (Operation.LOB_WRITE, BODY + write("'abcd'", "4, 3")[:-12], "not understood"),
        (Operation.LOB_WRITE, BODY + write("'abcd'", "4, 3") + "x", "not understood"),
        (Operation.LOB_WRITE, BODY + write("'ab' || x", "4, 3"), "not a literal"),
        (Operation.LOB_WRITE, BODY + write(r"UNISTR('\D83D')", "1, 3"), "not a UNISTR"),
        (Operation.LOB_WRITE, BODY + write("HEXTORAW('00')", "1, 3", "b"), "another locator"),
        (Operation.LOB_WRITE, BODY + " dbms_lob.trim(loc_c, 2);\nEND;\n", "not understood"),
        (Operation.LOB_WRITE, BODY + " dbms_lob.fragment_insert(loc_c, 2, 1, buf_c);\nEND;\n", "not understood"),
        (Operation.LOB_TRIM, None, "no text"),
        (Operation.LOB_TRIM, BODY.replace("BODY", "OTHER") + " dbms_lob.trim(loc_c, 2);\nEND;\n", "no column of the table"),
        (Operation.LOB_TRIM, BODY.replace("BODY", "NOTE") + " dbms_lob.trim(loc_c, 2);\nEND;\n", "as CLOB, and it is NCLOB"),
        (Operation.XML_DOC_WRITE, "XML_REDO := 'x':1", "operation 70 is not assembled"),
        (Operation.LONG_VALUE_WRITE, " buf_c := 'x'", "operation 92 is not assembled"),
    ],
)
def test_what_is_not_understood_is_an_error(code: int, text: str | None, why: str) -> None:
    assert why in piece(code, text)["error"]


def test_an_undo_row_is_an_error() -> None:
    assert "undo row" in piece(Operation.LOB_TRIM, BODY + " dbms_lob.trim(loc_c, 2);\nEND;\n", rollback=1)["error"]
