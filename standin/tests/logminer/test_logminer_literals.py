"""How LogMiner writes values as literals of SQL_REDO."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standin.engine.types.masks import Moment, compile_mask
from standin.interface import OraError
from standin.logminer.literals import Forms, Nls, literal_of, number_text
from standin.model import SqlType

PINNED = Nls(
    "YYYY-MM-DD HH24:MI:SS",
    "YYYY-MM-DD HH24:MI:SS.FF9",
    "YYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM",
    decimal_mark=".",
    time_zone="+00:00",
)
NUMBERS = {
    "80": "0", "c102": "1", "3e6466": "-1", "c10b": "10", "c202": "100", "c151": "80", "c2121e": "1729", "c229": "4000",
    "c3020b": "11000", "c202182e": "123.45", "3d644e3866": "-123.45", "c006": ".05", "3f6066": "-.05", "bf0b": ".001",
    "cb02": "100000000000000000000", "3b644e382266": "-1234567", "c133": "50", "c033": ".5", "fb02": "1.0E+116",
}  # fmt: skip


@pytest.mark.parametrize(("raw", "text"), NUMBERS.items(), ids=NUMBERS.values())
def test_a_number_is_written_as_by_oracle(raw, text):
    assert number_text(bytes.fromhex(raw)) == text


def internal(value: Decimal) -> bytes:
    """Encode a NUMBER digit by digit, independently of the code under test."""
    if value == 0:
        return b"\x80"
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits))
    if exponent % 2:
        text, exponent = text + "0", exponent - 1
    if len(text) % 2:
        text = "0" + text
    pairs = [int(text[i : i + 2]) for i in range(0, len(text), 2)]
    power = exponent // 2 + len(pairs) - 1
    while pairs[0] == 0:
        pairs, power = pairs[1:], power - 1
    while pairs[-1] == 0:
        pairs = pairs[:-1]
    if sign:
        return bytes([0x3E - power, *(101 - p for p in pairs)]) + (b"\x66" if len(pairs) < 20 else b"")
    return bytes([0xC1 + power, *(p + 1 for p in pairs)])


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20))
def test_number_text_has_the_value_of_the_bytes(value):
    assert Decimal(number_text(internal(value))) == value


VALUES = {
    "decimal mark of the session": ("NUMBER", Nls(decimal_mark=","), "c202182e", "'123,45'"),
    "quote doubled": ("VARCHAR2", PINNED, b"O'Reilly".hex(), "'O''Reilly'"),
    "only quotes": ("VARCHAR2", PINNED, b"''".hex(), "''''''"),
    "raw newline": ("VARCHAR2", PINNED, b"a\nb;".hex(), "'a\nb;'"),
    "padded CHAR": ("CHAR", PINNED, b"ab  ".hex(), "'ab  '"),
    "N text": ("NVARCHAR2", PINNED, "ü\\☃'😀".encode("utf-16-be").hex(), r"UNISTR('\00FC\\\2603''\D83D\DE00')"),
    "RAW": ("RAW", PINNED, "deadbeef00ff", "HEXTORAW('deadbeef00ff')"),
    "DATE pinned": ("DATE", PINNED, "7867010d110804", "TO_DATE('2003-01-13 16:07:03', 'YYYY-MM-DD HH24:MI:SS')"),
    "DATE by default loses the time": ("DATE", Nls(), "7867010d110804", "TO_DATE('13-JAN-03', 'DD-MON-RR')"),
    "end of time": ("DATE", PINNED, "c7c70c1f183c3c", "TO_DATE('9999-12-31 23:59:59', 'YYYY-MM-DD HH24:MI:SS')"),
    "before Christ": ("DATE", PINNED, "35580101010101", "TO_DATE('4712-01-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS')"),
    "TIMESTAMP": ("TIMESTAMP", PINNED, "787e031d021f01075bca00", "TO_TIMESTAMP('2026-03-29 01:30:00.123456000')"),
    "TIMESTAMP without fraction": ("TIMESTAMP", PINNED, "787e031d021f01", "TO_TIMESTAMP('2026-03-29 01:30:00.000000000')"),
    "TIMESTAMP by default": ("TIMESTAMP", Nls(), "787e031d021f01075bca00", "TO_TIMESTAMP('29-MAR-26 01.30.00.123456 AM')"),
    "no fraction by default": ("TIMESTAMP", Nls(), "787e031d021f01", "TO_TIMESTAMP('29-MAR-26 01.30.00 AM')"),
    "no fraction where the mask has FF": (
        "TIMESTAMP", Nls("", "YYYY-MM-DD HH24:MI:SS.FF"), "787e031d021f01", "TO_TIMESTAMP('2026-03-29 01:30:00.')",
    ),
    "offset is added to UTC": (
        "TIMESTAMP WITH TIME ZONE", PINNED, "787e031c1501011dcd6500195a",
        "TO_TIMESTAMP_TZ('2026-03-29 01:30:00.500000000 +05:30')",
    ),
    "local zone": (
        "TIMESTAMP WITH LOCAL TIME ZONE", Nls("", "YYYY-MM-DD HH24:MI:SS", time_zone="-02:00"), "787e0301010101",
        "TO_TIMESTAMP_TZ('2026-02-28 22:00:00')",
    ),
    "interval": ("INTERVAL DAY TO SECOND", PINNED, "80000005403f3e875bca00", "TO_DSINTERVAL('+05 04:03:02.123456')"),
    "negative interval": (
        "INTERVAL DAY TO SECOND", PINNED, "7fffffff3a393862329b00", "TO_DSINTERVAL('-01 02:03:04.500000')",
    ),
    "years": ("INTERVAL YEAR TO MONTH", PINNED, "8000000c3f", "TO_YMINTERVAL('+12-03')"),
    "negative years": ("INTERVAL YEAR TO MONTH", PINNED, "7fffffff3a", "TO_YMINTERVAL('-01-02')"),
    "float": ("BINARY_FLOAT", PINNED, "bfc00000", "'1.5E+000'"),
    "negative double": ("BINARY_DOUBLE", PINNED, "4007ffffffffffff", "'-1.5E+000'"),
    "zero": ("BINARY_DOUBLE", PINNED, "8000000000000000", "'0'"),
    "infinity": ("BINARY_DOUBLE", PINNED, "fff0000000000000", "'Inf'"),
    "no number": ("BINARY_FLOAT", PINNED, "ffc00000", "'Nan'"),
    "LOB without contents": ("CLOB", PINNED, "", "EMPTY_CLOB()"),
    "LOB in the row": ("CLOB", PINNED, "61", "'a'"),
    "spatial": ("SDO_GEOMETRY", PINNED, "61", "Unsupported Type"),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "nls", "raw", "text"), VALUES.values(), ids=VALUES)
def test_a_value_is_written_by_type_and_nls_settings(kind, nls, raw, text):
    assert literal_of(SqlType(kind, scale=None), nls)(bytes.fromhex(raw)) == text


# What follows the seconds where the mask has FF9.
WHOLE_SECONDS = {"zeros": ".000000000", "point": ".", "none": ""}


@pytest.mark.parametrize(("form", "shown"), WHOLE_SECONDS.items())
def test_the_form_of_a_moment_without_a_fraction_is_an_option(form, shown):
    whole = {"TIMESTAMP": "787e031d021f01", "TIMESTAMP WITH TIME ZONE": "787e031c15010100000000195a"}
    forms = Forms(whole_seconds=form)

    texts = [literal_of(SqlType(kind, scale=3), PINNED, forms)(bytes.fromhex(raw)) for kind, raw in whole.items()]

    assert texts == [f"TO_TIMESTAMP('2026-03-29 01:30:00{shown}')", f"TO_TIMESTAMP_TZ('2026-03-29 01:30:00{shown} +05:30')"]


def test_long_national_text_is_a_chain_of_unistr():
    text = literal_of(SqlType("NVARCHAR2"), PINNED)(("x" * 1500).encode("utf-16-be"))

    assert text == f"UNISTR('{'x' * 1000}') || UNISTR('{'x' * 500}')"


MASKS = {
    "YYYY-MM-DD HH24:MI:SS": "2026-03-09 14:05:07",
    "DD-MON-RR": "09-MAR-26",
    "Dd Mon yyyy": "09 Mar 2026",
    "dd/month/yy": "09/march    /26",
    'SYYYY"T"HH.MI AM': " 2026T02.05 PM",
    "SSSSS": "50707",
    "HH24:MI:SSXFF3": "14:05:07,000",
}


@pytest.mark.parametrize(("mask", "text"), MASKS.items(), ids=MASKS)
def test_mask_is_followed(mask, text):
    assert compile_mask(mask, ",")(Moment(2026, 3, 9, 14, 5, 7)) == text


def test_mask_that_is_not_known_is_refused():
    with pytest.raises(OraError, match="ORA-01821"):
        compile_mask("YYYY-ZZ")
