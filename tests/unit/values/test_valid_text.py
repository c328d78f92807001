"""Bytes that are no characters are found, marked without loss, and read as what they mean."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from redolake.decode.changes import decode_changes
from redolake.decode.compiled.changes import decode_compiled
from redolake.errors import TextNotValid
from redolake.source.text_check import check_texts
from redolake.values.redo import Encoding
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion
from redolake.values.valid_text import (
    BY_SERVER,
    has_marks,
    is_valid,
    mark,
    marked_rows,
    octets_in,
    octets_of,
    replace_bad_bytes,
    with_marks,
)

CESU, LATIN, HALF = b"a\xed\xa0\xbd\xed\xb8\x80b", b"caf\xe9", b"\xed\xa0\xbdy"
ODD = (CESU, LATIN, HALF, b"\xc0\xaf", b"\xe2\x82", b"\xf4\x90\x80\x80", b"\xff", b"\x80")
PLAIN = (b"", b"abc", "grüße 😀".encode(), "a mark of its own \U0010fe80".encode())
TABLE = TableId("SHOP", "WORDS")
LARGE = pa.large_string()


def texts(*octets: bytes | None) -> pa.Array:
    return pa.array(octets, pa.binary()).view(pa.string())


@pytest.mark.parametrize("octets", [*ODD, *PLAIN, PLAIN[-1] + LATIN])
def test_marks_are_valid_text_and_keep_every_byte(octets: bytes) -> None:
    text = mark(octets)

    assert octets_of(text) == octets
    assert is_valid(pa.array([text]))
    assert has_marks(text) == (octets in ODD or "\U0010fe80".encode() in octets)


def test_an_array_without_odd_bytes_or_marks_is_the_same_array() -> None:
    plain = texts(None, *PLAIN[:-1])

    assert with_marks(plain) is plain
    assert marked_rows(plain) == []


def test_odd_texts_of_an_array_are_marked_also_in_a_slice() -> None:
    made = with_marks(texts(b"x", None, *ODD, *PLAIN).slice(1))

    assert is_valid(made)
    assert [octets_of(text) if text is not None else None for text in made.to_pylist()] == [None, *ODD, *PLAIN]
    assert marked_rows(made) == [*range(1, len(ODD) + 1), len(ODD) + len(PLAIN)]


@pytest.mark.parametrize(
    ("octets", "meant"),
    [
        (CESU, "a😀b"),
        (LATIN, "caf\ufffd"),
        (HALF, "\ufffdy"),
        (b"\xed\xb8\x80\xed\xa0\xbd", "\ufffd" * 2),
        (b"\xc0\xaf", "\ufffd" * 2),
    ],
)
def test_surrogate_pairs_of_cesu_8_are_the_character_they_mean_and_other_bytes_are_replaced(octets: bytes, meant: str) -> None:
    assert replace_bad_bytes(octets) == meant


def frame(kind: pa.DataType = LARGE, *octets: bytes | None) -> pa.Table:
    column = pa.array(octets or (b"good", None, LATIN, CESU), pa.large_binary()).cast(pa.binary()).view(pa.string())
    made = column.cast(pa.binary()).cast(pa.large_binary()).view(pa.large_string()) if kind == LARGE else column
    return pa.table({"ID": list(range(1, len(column) + 1)), "T": made})


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_a_query_with_an_odd_text_is_refused_with_column_and_key(kind: pa.DataType) -> None:
    with pytest.raises(TextNotValid, match=r"T contains a text .* in the row with ID 3") as refused:
        list(check_texts([frame(kind)], TABLE, ("ID",), {}))
    assert "columns: {T: replace}" in refused.value.cure


def test_the_key_itself_may_be_the_odd_text() -> None:
    with pytest.raises(TextNotValid, match="in the row with T caf\ufffd"):
        list(check_texts([frame()], TABLE, ("T",), {}))


def test_a_query_is_read_by_rule() -> None:
    (replacing,) = map(pa.table, check_texts([frame()], TABLE, ("ID",), {"T": "replace"}))
    (keeping,) = map(pa.table, check_texts([frame()], TABLE, ("ID",), {"T": "binary"}))

    assert replacing["T"].to_pylist() == ["good", None, "caf\ufffd", "a😀b"]
    assert keeping["T"].to_pylist() == [b"good", None, LATIN, CESU]
    assert next(check_texts([frame()], TABLE, ("ID",), {"T": "binary"})).num_rows() == 4


def test_what_the_server_replaced_is_refused_where_its_character_set_has_no_such_character() -> None:
    lossy = frame(LARGE, b"good", "caf\ufffd".encode())

    assert next(check_texts([lossy], TABLE, ("ID",), {})) is lossy
    assert next(check_texts([lossy], TABLE, ("ID",), {"T": "replace"}, ("T",))) is lossy
    with pytest.raises(TextNotValid, match=r"the server replaced them .* in the row with ID 2") as refused:
        list(check_texts([lossy], TABLE, ("ID",), {}, ("T",)))
    assert "binary" not in refused.value.cure


COLUMNS = (
    Column(1, "ID", OracleType("NUMBER", precision=9, scale=0), 1),
    Column(2, "T", OracleType("VARCHAR2", length=9), 2),
    Column(3, "N", OracleType("NVARCHAR2", length=9), 3),
)
VERSION = TableVersion(TABLE, Scn(0), 7, 7, COLUMNS, (1,), 4)


@pytest.mark.parametrize("decoder", [decode_changes, decode_compiled])
def test_redo_with_what_the_server_replaced_is_refused_where_the_set_has_no_such_character(decoder: Any) -> None:
    values = [("1", "'plain'", "'n'"), ("2", "'caf\ufffd'", "NULL"), ("3", "'plain'", r"UNISTR('\FFFD')")]
    sql = [f"""insert into "SHOP"."WORDS"("ID","T","N") values ('{n}',{t},{u});""" for n, t, u in values]
    batch = pa.record_batch(
        {
            "sql_redo": pa.array(sql),
            "status": pa.array([0] * 3, pa.int32()),
            "info": pa.nulls(3, pa.string()),
            "operation_code": pa.array([1] * 3, pa.int32()),
            "rollback": pa.array([False] * 3),
        }
    )

    def errors(charset: str, rule: str | None = None) -> list[str | None]:
        found: list[str | None] = decoder(batch, VERSION, {2: rule}, encoding=Encoding(charset)).column("error").to_pylist()
        return found

    assert [error is not None and BY_SERVER in error for error in errors("US7ASCII")] == [False, True, False]
    assert errors("AL32UTF8") == errors("WE8MSWIN1252", "replace") == [None] * 3


def test_frames_of_valid_text_are_passed_on_untouched() -> None:
    good = frame(pa.large_string(), b"good", "grüße".encode(), None)

    assert next(check_texts([good], TABLE, ("ID",), {})) is good
    assert octets_in(texts(LATIN, None)) == [LATIN, None]


def of_unistr(text: str) -> str:
    units = text.encode("utf-16-be").hex().upper()
    return "UNISTR('" + "".join(f"\\{units[at : at + 4]}" for at in range(0, len(units), 4)) + "')"


@pytest.mark.parametrize("decoder", [decode_changes, decode_compiled])
@pytest.mark.parametrize("text", ["\U0010fec3\U0010fea9", "\U0010fe83", "\U0010fe7f\U0010ff00"])
@pytest.mark.parametrize(("rule", "kept"), [(None, str), ("replace", str), ("binary", str.encode)])
def test_characters_that_look_like_marks_are_themselves_however_redo_writes_them(
    decoder: Any, text: str, rule: str | None, kept: Any
) -> None:
    sql = [f"""insert into "SHOP"."WORDS"("ID","T","N") values ('1',NULL,{n});""" for n in (of_unistr(text), f"'{text}'")]
    batch = pa.record_batch(
        {
            "sql_redo": with_marks(pa.array(sql)),
            "status": pa.array([0] * 2, pa.int32()),
            "info": pa.nulls(2, pa.string()),
            "operation_code": pa.array([1] * 2, pa.int32()),
            "rollback": pa.array([False] * 2),
        }
    )

    found = decoder(batch, VERSION, {3: rule})

    assert found.column("error").to_pylist() == [None, None]
    assert found.column("n3").to_pylist() == [kept(text)] * 2
