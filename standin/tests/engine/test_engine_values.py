"""Oracle's internal bytes of values."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standin.engine.types.rowids import row_of, rowid_text
from standin.engine.types.values import encode_date, encode_number, moment, number_text, plain
from standin.interface import OraError
from standin.logminer import literals
from standin.moment import Moment
from standin.tests.engine.engine_database import row_changes, run

# Internal bytes as DUMP(n, 16) shows them.
NUMBERS = {
    "0": "80", "1": "c102", "-1": "3e6466", "10": "c10b", "100": "c202", "4000": "c229", "11000": "c3020b",
    "123.45": "c202182e", "-123.45": "3d644e3866", "0.05": "c006", "-0.05": "3f6066", "0.001": "bf0b", "1E20": "cb02",
    "-1234567": "3b644e382266",
}  # fmt: skip
NUMBER = st.builds(
    lambda digits, scale: plain(Decimal(digits).scaleb(-scale)), st.integers(-(10**38) + 1, 10**38 - 1), st.integers(-20, 60)
)


@pytest.mark.parametrize(("text", "hexadecimal"), NUMBERS.items(), ids=NUMBERS)
def test_a_number_has_oracles_bytes(text, hexadecimal):
    assert encode_number(plain(Decimal(text))).hex() == hexadecimal


@given(NUMBER)
def test_the_bytes_of_a_number_decode_to_the_number(number):
    assert Decimal(literals.number_text(encode_number(number))) == number


@given(NUMBER, NUMBER)
def test_the_bytes_of_numbers_sort_like_the_numbers(one, two):
    if one != two:
        assert (encode_number(one) < encode_number(two)) == (one < two)


@given(st.integers(73_000, 2**30), st.integers(0, 10**9))
def test_a_rowid_decodes_to_its_row_number(data_object_id, row):
    text = rowid_text(data_object_id, row)

    assert len(text) == 18
    assert row_of(text) == row


EXACT = [
    "0.1",
    "12345678901234567890123456789012345678",
    "-0.00000000000000000000000000000000000001",
    "99999999999999999999.99",
]


@pytest.mark.parametrize("text", EXACT)
def test_a_number_without_precision_is_returned_exactly(shop, text):
    run(shop, "CREATE TABLE n (x NUMBER)")
    run(shop, "INSERT INTO n VALUES (:1)", Decimal(text))

    assert run(shop, "SELECT x FROM n") == [(Decimal(text),)]
    assert run(shop, f"SELECT x FROM n WHERE x = {text}") == [(Decimal(text),)]


def test_a_number_with_scale_is_rounded_half_up(shop):
    run(shop, "CREATE TABLE n (x NUMBER(6,2), y NUMBER(5), z NUMBER(5,-2))")
    run(shop, "INSERT INTO n VALUES (1.005, -2.5, 1250)")

    assert run(shop, "SELECT * FROM n") == [(Decimal("1.01"), -3, 1300)]


def test_arithmetic_is_decimal(shop):
    assert run(shop, "SELECT 0.1 + 0.2, 1 / 3, 10 / 4, 7 * 0.1, MOD(-7, 3) FROM dual") == [
        (Decimal("0.3"), Decimal("0." + "3" * 40), Decimal("2.5"), Decimal("0.7"), -1)
    ]


def test_number_text_has_no_zero_before_the_point():
    assert [number_text(v) for v in (Decimal("0.5"), Decimal("-0.5"), 0, Decimal("10.50"))] == [".5", "-.5", "0", "10.5"]


def test_values_of_each_type_are_stored_in_oracles_bytes(database, shop):
    run(
        shop,
        """CREATE TABLE v (d DATE, t TIMESTAMP(6), t3 TIMESTAMP(3), c CHAR(4), n NVARCHAR2(5), r RAW(4),
           bd BINARY_DOUBLE, bf BINARY_FLOAT)""",
    )
    at = datetime(2026, 3, 29, 1, 30, 0, 123456)
    run(shop, "INSERT INTO v VALUES (:1, :2, :3, 'ab', 'ü', :4, -1.5, 1.5)", at, at, at, b"\xca\xfe")

    assert {i: v.hex() for i, v in row_changes(database)[0].after.items()} == {
        1: "787e031d021f01",
        2: "787e031d021f01075bca00",
        3: "787e031d021f010754d4c0",
        4: "61622020",
        5: "00fc",
        6: "cafe",
        7: "4007ffffffffffff",
        8: "bfc00000",
    }
    assert run(shop, "SELECT d, t, c, n, r, bd FROM v") == [(at.replace(microsecond=0), at, "ab  ", "ü", b"\xca\xfe", -1.5)]
    assert run(shop, "SELECT COUNT(*) FROM v WHERE c = 'ab' AND n = 'ü' AND d = :1", at.replace(microsecond=0)) == [(1,)]


STRANGE_DATES = {
    "-4712-01-01 00:00:00": "35580101010101",
    "-0001-12-31 23:59:59": "64630c1f183c3c",
    " 1500-02-29 00:00:00": "7364021d010101",  # a leap day of the Julian calendar
    " 9999-12-31 00:00:00": "c7c70c1f010101",
}


@pytest.mark.parametrize(("text", "octets"), STRANGE_DATES.items(), ids=STRANGE_DATES)
def test_a_date_has_oracles_range_not_pythons(shop, text, octets):
    run(shop, "CREATE TABLE d (x DATE)")
    run(shop, f"INSERT INTO d VALUES (TO_DATE('{text}', 'SYYYY-MM-DD HH24:MI:SS'))")

    assert run(shop, "SELECT TO_CHAR(x, 'SYYYY-MM-DD HH24:MI:SS') FROM d") == [(text,)]
    assert literals.moment_of(bytes.fromhex(octets)).is_date
    assert encode_date(moment(text, "SYYYY-MM-DD HH24:MI:SS")).hex() == octets


def test_a_date_that_oracles_calendar_lacks_is_refused_in_text_and_not_in_a_bind(shop):
    run(shop, "CREATE TABLE d (x DATE)")
    for text in ("0000-01-01", "2026-02-29", "-4713-01-01"):
        with pytest.raises(OraError):
            run(shop, f"INSERT INTO d VALUES (TO_DATE('{text}', 'SYYYY-MM-DD'))")

    run(shop, "INSERT INTO d VALUES (:1)", Moment(2026, 2, 29, 24))

    assert run(shop, "SELECT TO_CHAR(x, 'SYYYY-MM-DD HH24:MI:SS') FROM d") == [(" 0000-00-00 00:00:00",)]


def test_dates_of_both_ranges_have_one_order(shop):
    run(shop, "CREATE TABLE d (x DATE)")
    for text in (" 2026-01-01", "-0044-03-15", " 1500-02-29", "-4712-01-01"):
        run(shop, f"INSERT INTO d VALUES (TO_DATE('{text}', 'SYYYY-MM-DD'))")

    shown = run(shop, "SELECT TO_CHAR(x, 'SYYYY') FROM d WHERE x < TO_DATE('2000', 'YYYY') ORDER BY x")
    assert shown == [("-4712",), ("-0044",), (" 1500",)]
