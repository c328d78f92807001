"""What a row about a large object does to it: its text is understood to the end and has the declared length, or is an error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from redolake.decode.changes import decode_changes, decode_pieces
from redolake.decode.lob_pieces import LEFT_OUT, parse_piece
from redolake.values.delivery import as_shown, delivery_of
from redolake.values.logminer import CHARACTERS, CODE_UNITS, Mined
from redolake.values.redo import Operation
from redolake.values.table import ColumnChoice, IgnoredColumn
from tests.unit.decode.redo_text import redo_batch, table
from tests.unit.decode.test_lob_sql import DECLARED

PAPERS = table(ID="NUMBER(10,2)", BODY="CLOB", SCAN="BLOB", NOTE="NCLOB")  # ids 11 to 14
LETTERS = replace(table(ID="NUMBER(10,2)", DOC="XMLTYPE", BODY="CLOB"), choice=ColumnChoice(large_objects="redo"))
SELECT = ' select "{column}" into {loc} from "S"."T" where "ID" = \'7\' for update;\n'
BODY = DECLARED + SELECT.format(column="BODY", loc="loc_c")
SCAN = DECLARED + SELECT.format(column="SCAN", loc="loc_b")


def piece(code: int, text: str | None, *, rollback: int = 0, version: Any = PAPERS) -> dict[str, Any]:
    delivery = delivery_of(version)
    batch = redo_batch((code, text, 2, rollback))
    (row,) = decode_pieces(batch, as_shown(version, delivery), {}, delivery=delivery).to_pylist()
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
    row = piece(Mined.LOB_WRITE, BODY + write(value, arguments))

    assert "error" not in row
    assert (row["kind"], row["column"], row["at"], row["text"], row.get("counts")) == ("write", 12, 3, text, counts)
    assert row["o11"] == 7


def test_bytes_trims_and_erases() -> None:
    wrote = piece(Mined.LOB_WRITE, SCAN + write("HEXTORAW('00fF')", "2, 9", "b"))
    trimmed = piece(Mined.LOB_TRIM, BODY + " dbms_lob.trim(loc_c, 2);\nEND;\n")
    erased = [
        piece(code, BODY + " dbms_lob.erase(loc_c, 2, 5);\nEND;\n") for code in (Mined.LOB_ERASE, Mined.LOB_ERASE_AS_DOCUMENTED)
    ]

    assert (wrote["column"], wrote["at"], wrote["octets"]) == (13, 9, b"\x00\xff")
    assert (trimmed["kind"], trimmed["at"]) == ("trim", 2)
    assert [(one["kind"], one["at"], one["amount"]) for one in erased] == [("erase", 5, 2)] * 2


def test_a_text_without_its_row_and_a_locator_are_no_errors() -> None:
    bare = piece(Mined.LOB_WRITE, " buf_c := 'x'; \n  dbms_lob.write(loc_c, 1, 1, buf_c);")
    locator = piece(Mined.SELECT_LOB_LOCATOR, BODY)

    assert "error" not in bare
    assert "column" not in bare
    assert (locator["kind"], locator["column"], locator["o11"]) == ("locator", 12, 7)
    assert piece(Mined.SELECT_LOB_LOCATOR, None)["kind"] == "locator"


PUBLISHED_LOCATOR = (
    "DECLARE \n loc_c CLOB; \n buf_c VARCHAR2(6216); \n loc_b BLOB; \n buf_b RAW(6216); \n"
    " loc_nc NCLOB; \n buf_nc NVARCHAR2(6216); \n"
    'BEGIN\n select "BODY" into loc_c from "S"."T" where "ID" = \'42\' and ROWID = \'AAAXxxx\' for update;\nEND;'
)


def test_texts_of_another_connectors_tests_are_read() -> None:
    """redpanda-data/connect, lob_parser_test.go: a locator with its SELECT, and writes without one."""
    located = piece(Mined.SELECT_LOB_LOCATOR, PUBLISHED_LOCATOR)
    text = piece(Mined.LOB_WRITE, " buf_c := 'ing';\n  dbms_lob.write(loc_c, 3, 6, buf_c);")
    octets = piece(Mined.LOB_WRITE, " buf_b := HEXTORAW('48656C6C6F');\n  dbms_lob.write(loc_b, 5, 1, buf_b);")

    assert (located["kind"], located["column"], located["o11"]) == ("locator", 12, 42)
    assert (text["text"], text["at"], text["amount"]) == ("ing", 6, 3)
    assert (octets["octets"], octets["at"]) == (b"Hello", 1)


@pytest.mark.parametrize(
    "text",
    [
        " buf_c := HEXTORAW('48656C6C6F');\n  dbms_lob.write(loc_c, 5, 1, buf_c);",
        " buf_b := HEXTORAW('000000000000');\n  dbms_lob.write(loc_c, 6, 1, buf_b);",
    ],
)
def test_bytes_of_a_text_whose_character_set_is_not_known_are_refused(text: str) -> None:
    """Published of CLOBs, as of segments of zero bytes (redpanda-data/connect, lob_parser_test.go)."""
    assert "error" in piece(Mined.LOB_WRITE, text)


def test_a_column_that_is_left_out_is_no_error() -> None:
    version = replace(PAPERS, ignored=(IgnoredColumn(9, "excluded", "PHOTO", "BLOB"),))
    text = DECLARED + SELECT.format(column="PHOTO", loc="loc_b") + " dbms_lob.trim(loc_b, 2);\nEND;\n"

    assert piece(Mined.LOB_TRIM, text, version=version)["column"] == LEFT_OUT


@pytest.mark.parametrize(
    ("code", "text", "why"),
    [
        (Mined.LOB_WRITE, BODY + write("'abc'", "4, 3"), "declares 4 characters"),
        (Mined.LOB_WRITE, SCAN + write("HEXTORAW('00')", "2, 3", "b"), "declares 2 bytes and has 1"),
        (Mined.LOB_WRITE, BODY + write("'abcd'", "4, 3")[:-12], "not understood"),
        (Mined.LOB_WRITE, BODY + write("'abcd'", "4, 3") + "x", "not understood"),
        (Mined.LOB_WRITE, BODY + write("'ab' || x", "4, 3"), "not a literal"),
        (Mined.LOB_WRITE, BODY + write(r"UNISTR('\D83D')", "1, 3"), "not a UNISTR"),
        (Mined.LOB_WRITE, BODY + write("HEXTORAW('00')", "1, 3", "b"), "another locator"),
        (Mined.LOB_WRITE, BODY + " dbms_lob.trim(loc_c, 2);\nEND;\n", "not understood"),
        (Mined.LOB_WRITE, BODY + " dbms_lob.fragment_insert(loc_c, 2, 1, buf_c);\nEND;\n", "not understood"),
        (Mined.LOB_TRIM, None, "no text"),
        (
            Mined.LOB_TRIM,
            BODY.replace("BODY", "OTHER") + " dbms_lob.trim(loc_c, 2);\nEND;\n",
            "no column of the table",
        ),
        (
            Mined.LOB_TRIM,
            BODY.replace("BODY", "NOTE") + " dbms_lob.trim(loc_c, 2);\nEND;\n",
            "as CLOB, and it is NCLOB",
        ),
        (Mined.LONG_VALUE_WRITE, " buf_c := 'x'", "operation 92 is not assembled"),
    ],
)
def test_what_is_not_understood_is_an_error(code: int, text: str | None, why: str) -> None:
    assert why in piece(code, text)["error"]


BEGINS = 'XML DOC BEGIN:  select "DOC" from "S"."T" where "ID" = \'7\''
BEGINS_AS_TEXT = 'update "S"."T" a set a."DOC" = XMLType(:1)  where a."ID" = \'7\';'


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (BEGINS, "document"),
        (BEGINS.replace("'7'", "'7' and \"BODY\" IS NULL"), "document"),
        (BEGINS_AS_TEXT, "text document"),
        (BEGINS_AS_TEXT.replace("  where", " where"), "text document"),
    ],
)
def test_a_document_begins_with_its_row_and_column(text: str, kind: str) -> None:
    row = piece(Mined.XML_DOC_BEGIN, text, version=LETTERS)

    assert "error" not in row
    assert (row["kind"], row["column"], row["o11"]) == (kind, 12, 7)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("XML_REDO := '<a n=\"3\"> </a>'\n amount: 14", '<a n="3"> </a>'),  # as measured on 19.3
        ("XML_REDO := '<a>it''s</a>':11", "<a>it's</a>"),
        ("XML_REDO := '<a>it's</a>':11", "<a>it's</a>"),  # quotes left single
        ("XML_REDO := '<a>':5 \n amount: 1</a>'\n amount: 22", "<a>':5 \n amount: 1</a>"),
        ("XML_REDO := '<ä/>':5", "<ä/>"),  # bytes
        ("XML_REDO := '<a>😀</a>':9", "<a>😀</a>"),  # code units
        ("XML_REDO := HEXTORAW('3c612f3E'):4", b"<a/>"),
        ("XML_REDO := HEXTORAW('3c612f3e):4", b"<a/>"),  # Oracle leaves out the quote
        ("XML_REDO := NULL", None),
    ],
)
def test_a_part_of_a_document_has_its_declared_length(text: str, expected: str | bytes | None) -> None:
    row = piece(Mined.XML_DOC_WRITE, text, version=LETTERS)

    assert "error" not in row
    assert (row["kind"], row.get("text", row.get("octets"))) == ("part", expected)


def test_a_document_stored_as_text_has_plain_parts() -> None:
    row = piece(Mined.XML_DOC_WRITE, "update <x/> it's", version=LETTERS)

    assert "error" not in row
    assert (row["kind"], row["text"]) == ("text", "update <x/> it's")
    assert piece(Mined.XML_DOC_END, None, version=LETTERS)["kind"] == "end"


@pytest.mark.parametrize(
    ("code", "text", "why"),
    [
        (Mined.XML_DOC_WRITE, "XML_REDO := '<a/>':5", "declares the length 5"),
        (Mined.XML_DOC_WRITE, "XML_REDO := HEXTORAW('3c'):2", "declares 2 bytes and has 1"),
        (Mined.XML_DOC_WRITE, "XML_REDO := '<a/>", "not understood"),
        (Mined.XML_DOC_WRITE, "XML_REDO := '<a/>'", "not understood"),
        (Mined.XML_DOC_WRITE, None, "no text"),
        (Mined.XML_DOC_END, "<a/>", "the end of a document has a text"),
        (
            Mined.XML_DOC_BEGIN,
            BEGINS.replace("DOC BEGIN", "DOC MODIFY"),
            "first row of a document is not understood",
        ),
        (Mined.XML_DOC_BEGIN, BEGINS.replace('"DOC"', '"OTHER"'), "no column of the table"),
        (Mined.XML_DOC_BEGIN, BEGINS.replace('"DOC"', '"BODY"'), "as XMLTYPE, and it is CLOB"),
        (Mined.XML_DOC_BEGIN, BEGINS.replace("'7'", "'it's'"), "not understood"),
        (
            Mined.LOB_TRIM,
            BODY.replace("BODY", "DOC") + " dbms_lob.trim(loc_c, 2);\nEND;\n",
            "as CLOB, and it is XMLTYPE",
        ),
    ],
)
def test_a_row_of_a_document_that_is_not_understood_is_an_error(code: int, text: str | None, why: str) -> None:
    assert why in piece(code, text, version=LETTERS)["error"]


def test_the_quotes_of_a_part_are_doubled_unless_the_database_is_known_to_leave_them_single() -> None:
    text = "XML_REDO := 'ä''b':4"  # 4 bytes where the quote is doubled, else 4 characters

    assert parse_piece(Mined.XML_DOC_WRITE, text).text == "ä'b"
    with pytest.raises(ValueError, match="one quote or two"):
        parse_piece(Mined.XML_DOC_WRITE, text, single_quotes=True)


def changed(text: str, *, code: int = Operation.INSERT, ignored: tuple[IgnoredColumn, ...] = ()) -> dict[str, Any]:
    version = replace(LETTERS, ignored=ignored)
    delivery = delivery_of(version)
    (row,) = decode_changes(redo_batch((code, text)), as_shown(version, delivery), {}, delivery=delivery).to_pylist()
    return row


def test_a_statement_says_of_a_document_that_it_is_null_or_in_other_rows() -> None:
    listed = 'insert into "S"."T"("ID",{doc}"BODY") values (\'7\',{value}EMPTY_CLOB());'
    absent, null, there = (
        changed(listed.format(doc=doc, value=value))
        for doc, value in (("", ""), ('"DOC",', "NULL,"), ('"DOC",', "XMLType(:1),"))
    )

    assert [row["error"] for row in (absent, null, there)] == [None] * 3
    assert (absent["missing"], absent["n12"], null["missing"], null["n12"], there["n12"]) == ([12], None, None, None, "")
    update = changed('update "S"."T" a set a."DOC" = XMLType(:1) where a."ID" = \'7\';', code=Operation.UPDATE)
    assert (update["error"], update["assigned"], update["n12"]) == (None, [12], "")
    unsupported = changed(listed.format(doc='"DOC",', value="Unsupported Type,"))
    assert "XMLTYPE written as UNSUPPORTED" in unsupported["error"]


def test_a_value_of_the_hidden_column_that_stores_a_document_is_not_dropped() -> None:
    hidden = (IgnoredColumn(4, "system", "SYS_NC00004$", part_of="DOC"),)
    listed = 'insert into "S"."T"("ID","SYS_NC00004$") values (\'7\',\'x\');'

    assert changed(listed, ignored=hidden)["unknown"] == ["SYS_NC00004$"]
    assert changed(listed, ignored=(replace(hidden[0], part_of="OTHER"),))["unknown"] is None


def test_an_undo_row_is_an_error() -> None:
    assert "undo row" in piece(Mined.LOB_TRIM, BODY + " dbms_lob.trim(loc_c, 2);\nEND;\n", rollback=1)["error"]
