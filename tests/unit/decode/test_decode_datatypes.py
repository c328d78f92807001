"""Types: their target types, the cast of literals and internal bytes, and the values that are refused."""

from datetime import datetime
from decimal import Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redolake.decode.datatypes import FAMILIES, family_of, spark_ddl_type, target_type, why_refused
from redolake.decode.datatypes.datetime import datetime_text
from redolake.decode.datatypes.number import number_text
from redolake.errors import ConfigurationError, SchemaConflict
from redolake.values.redo import Encoding
from redolake.values.table import ColumnChoice, OracleType
from tests.unit.decode.redo_text import TYPES, datetime_bytes, number, number_bytes

WIDE = Context(prec=400)
TARGETS = {
    "NUMBER(10,2)": (OracleType("NUMBER", 22, 10, 2), None, "decimal(10,2)"),
    "NUMBER(9)": (OracleType("NUMBER", 22, 9, 0), None, "int"),
    "NUMBER(10)": (OracleType("NUMBER", 22, 10, 0), None, "bigint"),
    "NUMBER(18)": (OracleType("NUMBER", 22, 18, 0), None, "bigint"),
    "NUMBER(19)": (OracleType("NUMBER", 22, 19, 0), None, "decimal(19,0)"),
    "NUMBER(9) with decimals kept": (OracleType("NUMBER", 22, 9, 0), "decimal(9,0)", "decimal(9,0)"),
    "NUMBER as integers": (OracleType("NUMBER", 22), "integer", "bigint"),
    "NUMBER(38)": (OracleType("NUMBER", 22, 38, 0), None, "decimal(38,0)"),
    "NUMBER(8,-2) needs two digits more": (OracleType("NUMBER", 22, 8, -2), None, "bigint"),
    "NUMBER(3,5) is all decimals": (OracleType("NUMBER", 22, 3, 5), None, "decimal(5,5)"),
    "INTEGER": (OracleType("NUMBER", 22, None, 0), None, "decimal(38,0)"),
    "NUMBER": (OracleType("NUMBER", 22), None, "decimal(38,10)"),
    "NUMBER with another scale": (OracleType("NUMBER", 22), 4, "decimal(38,4)"),
    "NUMBER as text": (OracleType("NUMBER", 22), "string", "string"),
    "NUMBER(38,-84) as text": (OracleType("NUMBER", 22, 38, -84), "string", "string"),
    "VARCHAR2": (OracleType("VARCHAR2", 20), None, "string"),
    "CHAR": (OracleType("CHAR", 20), None, "string"),
    "DATE": (OracleType("DATE", 7), None, "timestamp_ntz"),
    "TIMESTAMP(0)": (OracleType("TIMESTAMP", 7, None, 0), None, "timestamp_ntz"),
    "TIMESTAMP(6)": (OracleType("TIMESTAMP", 11, None, 6), None, "timestamp_ntz"),
    "RAW": (OracleType("RAW", 16), None, "binary"),
}


@pytest.mark.parametrize(("oracle_type", "rule", "expected"), TARGETS.values(), ids=TARGETS)
def test_a_type_has_a_target_that_holds_all_its_values(oracle_type, rule, expected):
    assert spark_ddl_type(oracle_type, rule) == expected


REFUSED = [
    "NESTED TABLE", "REF", "BFILE", "ANYDATA",
]  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_unsupported_type_is_refused_with_a_cure(name):
    with pytest.raises(SchemaConflict, match=f"{name} is not supported") as caught:
        target_type(OracleType(name))
    assert "leave the table out" in caught.value.cure


@pytest.mark.parametrize("scale", [-84, 127, -1])
def test_a_number_with_more_digits_than_a_decimal_is_refused(scale):
    with pytest.raises(SchemaConflict):
        target_type(OracleType("NUMBER", 22, 38, scale))


RULES = [
    ("NUMBER", "strnig"), ("NUMBER", 39), ("NUMBER", -1), ("NUMBER", True), ("NUMBER(10,2)", 4), ("NUMBER(10,2)", "double"),
    ("NUMBER", "decimal(39,2)"), ("NUMBER", "decimal(2,3)"), ("DATE", 3), ("DATE", "truncate"), ("RAW", "string"),
    ("VARCHAR2", 4), ("NVARCHAR2", "integer"), ("BINARY_DOUBLE", "string"), ("INTERVAL DAY TO SECOND", "months"),
    ("INTERVAL YEAR TO MONTH", "microseconds"), ("TIMESTAMP WITH TIME ZONE", 3), ("ROWID", 3),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "rule"), RULES)
def test_a_rule_that_does_not_suit_the_type_is_a_finding(kind, rule):
    with pytest.raises(ConfigurationError):
        target_type(TYPES.get(kind, OracleType(kind)), rule)


def cast(kind, texts, rule=None):
    family, target = family_of(TYPES[kind]), target_type(TYPES[kind], rule)
    made = family.cast(pa.array(texts, pa.string()), target)
    assert made.values.type == target
    return made.values.to_pylist(), dict(made.refused)


def test_numbers_are_read_exactly_as_oracle_writes_them():
    texts = [".05", "-.05", "1E+20", "100000000000000000000", "0", None, "-42.5", "1234567890.123456789", "1E-5"]

    values, refused = cast("NUMBER", texts)

    assert values == [None if t is None else Decimal(t) for t in texts]
    assert refused == {}


def test_a_number_kept_as_text_has_one_spelling():
    texts = [
        ".05",
        "-.05",
        "0",
        "-0",
        "1E+20",
        "12.50",
        "5E-2",
        None,
        "100",
        "1.0E+125",
        "123456789012345678901234567890.123456789012",
    ]

    assert cast("NUMBER", texts, "string")[0] == [
        "0.05", "-0.05", "0", "0", "1" + "0" * 20, "12.5", "0.05", None, "100", "1" + "0" * 125,
        "123456789012345678901234567890.123456789012",
    ]  # fmt: skip
    assert cast("NUMBER", [".05", "-.5", "7", None], "string")[0] == ["0.05", "-0.5", "7", None]
    assert cast("NUMBER", ["-0", "7"], "string")[0] == ["0", "7"]


NUMBERS_REFUSED = {
    "one decimal more": ("1.234", "more decimals than decimal(10,2)"),
    "a tiny number": ("1E-130", "more decimals than decimal(10,2)"),
    "one digit more": ("123456789", "more digits than decimal(10,2)"),
    "one digit more, negative": ("-123456789.01", "more digits than decimal(10,2)"),
    "a huge number": ("1.0E+125", "more digits than decimal(10,2)"),
    "an exponent beyond Oracle's": ("01e1000000", "beyond all that Oracle has"),
    "an exponent below Oracle's": ("1e-1000000", "beyond all that Oracle has"),
    "an exponent beyond all": (f"1e{'9' * 30}", "beyond all that Oracle has"),
    "infinity": ("~", "is not a number"),
    "decimal comma": ("1,5", "is not a number"),
    "hexadecimal": ("0x10", "is not a number"),
    "NaN": ("NaN", "is not a number"),
    "underscore": ("1_000", "is not a number"),
    "other digits": ("١٢", "is not a number"),
}


@pytest.mark.parametrize(("text", "reason"), NUMBERS_REFUSED.values(), ids=NUMBERS_REFUSED)
def test_a_number_that_does_not_fit_is_reported_and_not_rounded(text, reason):
    values, refused = cast("NUMBER(10,2)", ["12345678.91", text, None, "-.01", "1.500", "0E+125"])

    assert values == [Decimal("12345678.91"), None, None, Decimal("-0.01"), Decimal("1.50"), Decimal(0)]
    assert list(refused) == [1]
    assert reason in refused[1]


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**8) + 1, max_value=10**8 - 1, places=2)))
def test_every_number_that_fits_survives_as_literal_and_as_internal_bytes(values):
    target = target_type(TYPES["NUMBER(10,2)"])
    literals = pa.array([number(v) for v in values], pa.string())
    octets = pa.array([number_bytes(v) for v in values], pa.binary())
    family = family_of(TYPES["NUMBER(10,2)"])

    assert family.cast(literals, target).values.to_pylist() == values
    assert family.internal(octets, target, Encoding()).values.to_pylist() == values


@pytest.mark.parametrize(("text", "scale"), [("9" * 39, 0), ("7" * 29, 10), ("4" * 30, 10)])
def test_a_number_beyond_128_bits_is_reported_and_does_not_overflow(text, scale):
    assert cast("NUMBER", ["1", text, f"-{text}"], scale)[0] == [Decimal(1), None, None]


@given(st.integers(-(10**40) + 1, 10**40 - 1), st.integers(-60, 60), st.sampled_from([0, 2, 10, 38]))
def test_any_number_of_oracle_is_read_exactly_or_refused_as_literal_and_as_internal_bytes(mantissa, exponent, scale):
    value, family, target = Decimal(f"{mantissa}E{exponent}"), family_of(TYPES["NUMBER"]), pa.decimal128(38, scale)
    literal = family.cast(pa.array([number(value), "0"]), target).values[0].as_py()
    octets = family.internal(pa.array([number_bytes(value)]), target, Encoding()).values[0].as_py()

    fits = value == value.quantize(Decimal(1).scaleb(-scale), context=WIDE) and abs(value) < Decimal(10) ** (38 - scale)
    assert (literal, octets) == ((value, value) if fits else (None, None))


@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(-120, 60))
def test_internal_numbers_keep_38_digits_at_any_exponent(mantissa, exponent):
    value = Decimal(mantissa).scaleb(exponent) if abs(mantissa) < 10**28 else Decimal(f"{mantissa}E{exponent}")

    assert Decimal(number_text(number_bytes(value))) == value


# LOGMINER.md 5.4
NUMBER_BYTES = {
    "c102": "1", "3e6466": "-1", "c10b": "10", "c202": "100", "c151": "80", "c2121e": "1729", "c229": "4000", "c3020b": "11000",
    "c202182e": "123.45", "3d644e3866": "-123.45", "c006": "0.05", "3f6066": "-0.05", "bf0b": "0.001", "cb02": "1E+20",
    "3b644e382266": "-1234567", "80": "0",
}  # fmt: skip


@pytest.mark.parametrize(("octets", "value"), NUMBER_BYTES.items())
def test_number_bytes_from_oracle(octets, value):
    assert Decimal(number_text(bytes.fromhex(octets))) == Decimal(value)
    assert number_bytes(Decimal(value)).hex() == octets


@pytest.mark.parametrize("octets", ["", "ff65", "00", "c1", "c100", "c166", "3e66", "3e01", "3e64", "3d644e38"])
def test_number_bytes_without_a_value_are_refused(octets):
    with pytest.raises(ValueError, match="number"):
        number_text(bytes.fromhex(octets))


def test_dates_are_read_with_their_time_of_day():
    texts = ["2026-02-28 13:45:59", None, "0001-01-01 00:00:00", "9999-12-31 23:59:59"]

    expected = [datetime(2026, 2, 28, 13, 45, 59), None, datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)]
    assert cast("DATE", texts) == (expected, {})
    assert cast("DATE", [None if t is None else f" {t}" for t in texts]) == (expected, {})


def test_timestamps_are_read_to_the_microsecond():
    texts = ["2026-03-29 01:30:00.123456000", None, "0001-01-01 00:00:00.000001000"]

    expected = [datetime(2026, 3, 29, 1, 30, 0, 123456), None, datetime(1, 1, 1, 0, 0, 0, 1)]
    assert cast("TIMESTAMP", texts) == (expected, {})
    assert cast("TIMESTAMP", [None if t is None else f" {t}" for t in texts]) == (expected, {})
    assert cast("TIMESTAMP", [*texts, "2026-03-29 01:30:00.5", "2026-03-29 01:30:00"])[0] == [
        *expected, datetime(2026, 3, 29, 1, 30, 0, 500000), datetime(2026, 3, 29, 1, 30),
    ]  # fmt: skip


DATES_REFUSED = {
    "year 0": ("0000-01-01 00:00:00", "year 1 to 9999"),
    "all zeros": ("0000-00-00 00:00:00", "year 1 to 9999"),
    "before Christ": ("-4712-01-01 00:00:00", "before year 1"),
    "before Christ, to the nanosecond": ("-4712-01-01 00:00:00.000000000", "before year 1"),
    "no such day": ("2026-02-30 00:00:00", "year 1 to 9999"),
    "five digits of year": ("12026-02-28 00:00:00", "the format that mining sets"),
    "time of day lost": ("2026-02-28", "the format that mining sets"),
    "default format": ("28-FEB-26", "the format that mining sets"),
    "zone": ("2026-02-28 00:00:00 +05:30", "the format that mining sets"),
    "nanoseconds": ("2026-02-28 00:00:00.000000001", "more decimals"),
    "something else": ("yesterday", "the format that mining sets"),
}


@pytest.mark.parametrize(("text", "reason"), DATES_REFUSED.values(), ids=DATES_REFUSED)
@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP"])
def test_a_date_that_does_not_fit_is_reported(kind, text, reason):
    values, refused = cast(kind, ["2026-02-28 13:45:59", text, None])

    assert values == [datetime(2026, 2, 28, 13, 45, 59), None, None]
    assert reason in refused[1]
    assert cast(kind, [text])[0] == [None]


# LOGMINER.md 5.4
DATE_BYTES = {
    "7867010d110804": "2003-01-13 16:07:03",
    "787e031d021f01": "2026-03-29 01:30:00",
    "c7c70c1f183c3c": "9999-12-31 23:59:59",
    "787e031d021f01075bca00": "2026-03-29 01:30:00.123456000",
}


@pytest.mark.parametrize(("octets", "text"), DATE_BYTES.items())
def test_date_bytes_from_oracle(octets, text):
    assert datetime_text(bytes.fromhex(octets)) == text


@pytest.mark.parametrize("octets", ["", "7867010d1108", "6464010101010100"])
def test_date_bytes_of_another_length_are_refused(octets):
    with pytest.raises(ValueError, match="format"):
        datetime_text(bytes.fromhex(octets))


NO_DATE = "0000-00-00 00:00:00"  # Oracle's TO_CHAR of bytes that are none
STRANGE_DATES = {  # internal bytes, text of TO_CHAR or redo, text in Delta
    "usual": ("787e031d021f01", " 2026-03-29 01:30:00", "2026-03-29 01:30:00"),
    "first of all": ("35580101010101", "-4712-01-01 00:00:00", "-4712-01-01 00:00:00"),
    "year -44": ("64380310010101", "-0044-03-16 00:00:00", "-0044-03-16 00:00:00"),
    "Julian leap day": ("7364021d010101", " 1500-02-29 00:00:00", "1500-02-29 00:00:00"),
    "fraction": ("787e031d021f011dcd6500", " 2026-03-29 01:30:00.500000000", "2026-03-29 01:30:00.5"),
    "no fraction": ("787e031d021f01", " 2026-03-29 01:30:00.000000", "2026-03-29 01:30:00"),
    "year 0": ("64640101010101", NO_DATE, NO_DATE),
    "hour 24": ("787e031d190101", " 2026-03-29 24:00:00", NO_DATE),
    "month 13": ("787e0d1d010101", NO_DATE, NO_DATE),
    "no leap day": ("787e021d010101", " 2026-02-29 00:00:00", NO_DATE),
    "century and year of two eras": ("78380101010101", NO_DATE, NO_DATE),
    "zeros": ("00000000000000", NO_DATE, NO_DATE),
}


@pytest.mark.parametrize(("octets", "text", "expected"), STRANGE_DATES.values(), ids=STRANGE_DATES)
def test_a_date_declared_as_string_is_one_text_from_redo_and_from_internal_bytes(octets, text, expected):
    family = family_of(TYPES["DATE"])
    as_string = target_type(TYPES["DATE"], "string")

    from_redo = family.cast(pa.array([text]), as_string)
    from_bytes = family.internal(pa.array([bytes.fromhex(octets)]), as_string, Encoding())

    assert [from_redo.values.to_pylist(), from_bytes.values.to_pylist()] == [[expected]] * 2
    assert {**from_redo.refused, **from_bytes.refused} == {}


@pytest.mark.parametrize("name", [name for name in STRANGE_DATES if name not in ("usual", "fraction", "no fraction")])
def test_a_strange_date_is_refused_where_the_column_is_not_declared_as_string(name):
    octets, text, _ = STRANGE_DATES[name]
    family, as_date = family_of(TYPES["DATE"]), target_type(TYPES["DATE"])

    for cast in (
        family.cast(pa.array([text]), as_date),
        family.internal(pa.array([bytes.fromhex(octets)]), as_date, Encoding()),
    ):
        assert cast.values.to_pylist() == [None]
        assert "year 1" in cast.refused[0]


def test_a_fraction_below_the_microsecond_is_refused_truncated_or_kept_as_text():
    family, nine = family_of(OracleType("TIMESTAMP", scale=9)), OracleType("TIMESTAMP", scale=9)
    texts = pa.array([" 2026-03-29 01:30:00.123456789", " 2026-03-29 01:30:00.123456000"])
    exact = datetime(2026, 3, 29, 1, 30, 0, 123456)

    def read(rule):
        return family.cast(texts, target_type(nine, rule), rule)

    assert read(None).values.to_pylist() == [None, exact]
    assert "truncate" in read(None).refused[0]
    assert read("truncate").values.to_pylist() == [exact, exact]
    assert read("string").values.to_pylist() == ["2026-03-29 01:30:00.123456789", "2026-03-29 01:30:00.123456"]


@given(st.lists(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999))))
def test_every_timestamp_survives_as_literal_and_as_internal_bytes(values):
    target, family = target_type(TYPES["TIMESTAMP"]), family_of(TYPES["TIMESTAMP"])
    literals = pa.array([f"{v.isoformat(' ', 'microseconds')}000" for v in values], pa.string())
    octets = pa.array([datetime_bytes(v) for v in values], pa.binary())

    assert family.cast(literals, target).values.to_pylist() == values
    assert family.internal(octets, target, Encoding()).values.to_pylist() == values


@given(st.lists(st.none() | st.binary(max_size=20)), st.integers(0, 3), st.booleans())
def test_every_raw_survives_in_either_case_and_from_a_slice(values, start, upper):
    texts = [None if v is None else v.hex().upper() if upper else v.hex() for v in values]

    made = family_of(TYPES["RAW"]).cast(pa.array(texts, pa.string()).slice(start), pa.binary())

    assert made.values.to_pylist() == values[start:]
    assert made.refused == {}


def test_bytes_in_other_than_pairs_of_hexadecimal_digits_are_refused():
    values, refused = cast("RAW", ["00ff", "0", "0g", None, "é", " 0"])

    assert values == [b"\x00\xff", None, None, None, None, None]
    assert list(refused) == [1, 2, 4, 5]
    assert cast("RAW", ["0", "f"])[0] == [None, None]


CHARSETS = {
    "AL32UTF8": ("é😀".encode(), "é😀"),
    "UTF8": (b"\xc3\xa9\xed\xa0\xbd\xed\xb8\x80", "é😀"),
    "WE8ISO8859P1": (b"\xe9", "é"),
    "WE8MSWIN1252": (b"\x80", "€"),
    "CL8MSWIN1251": (b"\xc6", "Ж"),
    "US7ASCII": (b"e  ", "e  "),
}


@pytest.mark.parametrize(("charset", "octets", "text"), [(c, *pair) for c, pair in CHARSETS.items()], ids=CHARSETS)
def test_internal_text_is_in_the_character_set_of_the_database(charset, octets, text):
    made = family_of(TYPES["CHAR"]).internal(pa.array([octets, None], pa.binary()), pa.string(), Encoding(charset))

    assert made.values.to_pylist() == [text, None]


def test_bytes_that_are_not_text_are_reported():
    made = family_of(TYPES["VARCHAR2"]).internal(pa.array([b"ok", b"\xff\xfe"], pa.binary()), pa.string(), Encoding())

    assert made.values.to_pylist() == ["ok", None]
    assert "not text in utf-8" in made.refused[1]


def test_a_character_set_without_a_decoder_refuses_only_rows_that_need_it():
    made = family_of(TYPES["CHAR"]).internal(pa.array([None, b"x"], pa.binary()), pa.string(), Encoding("ZHT32EUC"))

    assert made.values.to_pylist() == [None, None]
    assert made.refused.keys() == {1}
    assert "ZHT32EUC" in made.refused[1]


def test_no_type_is_in_two_families():
    names = [name for family in FAMILIES for name in family.names]

    assert len(set(names)) == len(names)


ZONED, LOCAL = OracleType("TIMESTAMP WITH TIME ZONE", scale=9), OracleType("TIMESTAMP WITH LOCAL TIME ZONE", scale=9)
DAYS, YEARS = OracleType("INTERVAL DAY TO SECOND", precision=9, scale=9), OracleType("INTERVAL YEAR TO MONTH", precision=9)
DOUBLE, SINGLE, FLOAT = OracleType("BINARY_DOUBLE"), OracleType("BINARY_FLOAT"), OracleType("FLOAT", precision=126)
REFUSED_TEXTS = {
    "a zoned time without its offset": (ZONED, None, " 2026-03-29 01:30:00.000000000", "no offset"),
    "another form of offset": (ZONED, None, " 2026-03-29 01:30:00.000000000 CET", "no offset"),
    "an offset of 16 hours": (ZONED, None, " 2026-03-29 01:30:00.000000000 +16:00", "no offset"),
    "a zoned time with nanoseconds": (ZONED, None, " 2026-03-29 01:30:00.000000001 +00:00", "more decimals"),
    "a zoned time before year 1": (ZONED, None, "-0044-03-15 00:00:00.000000000 +01:00", "before year 1"),
    "a zoned time before year 1 in UTC": (ZONED, None, " 0001-01-01 00:00:00.000000000 +01:00", "year 1 to 9999 in UTC"),
    "a zoned time after 9999 in UTC": (ZONED, None, " 9999-12-31 23:59:59.000000000 -01:00", "year 1 to 9999 in UTC"),
    "a leap day of Oracle's calendar alone": (ZONED, None, " 1500-03-01 00:30:00.000000000 +01:00", "calendars"),
    "a local time in a region": (LOCAL, None, " 2026-03-29 01:30:00.000000000 CET", "format that mining sets"),
    "an interval as a number": (DAYS, None, "5", "not an interval"),
    "an interval with nanoseconds": (DAYS, "microseconds", "+000000005 04:03:02.123456789", "more decimals"),
    "an interval beyond 64 bits": (DAYS, "microseconds", "+999999999 23:59:59.000000000", "bigint"),
    "years without months": (YEARS, None, "+0012", "not an interval"),
    "a double beyond its range": (DOUBLE, None, "1E+309", "beyond the range"),
    "a double below its range": (DOUBLE, None, "1E-400", "beyond the range"),
    "a single beyond its range": (SINGLE, None, "1E+039", "beyond the range"),
    "a hexadecimal double": (DOUBLE, None, "0x10", "not a number"),
    "a third as a double": (FLOAT, "double", ".333333333333333333333333333333333333333", "more digits than a double"),
    "a FLOAT beyond its decimal": (FLOAT, "decimal(5,2)", "1000", "more digits"),
    "a whole number that is none": (OracleType("NUMBER"), "integer", "1.5", "not a whole number"),
    "a whole number beyond 64 bits": (OracleType("NUMBER"), "integer", "9223372036854775808", "more digits"),
    "ten digits in NUMBER(9)": (OracleType("NUMBER", 22, 9, 0), None, "2147483648", "more digits"),
    "a hexadecimal integer": (OracleType("NUMBER", 22, 9, 0), None, "0x10", "not a number"),
    "a short ROWID": (OracleType("ROWID"), None, "AAAR3sAAEAAAACX", "not a ROWID"),
    "a truth in words": (OracleType("BOOLEAN"), None, "yes", "neither true nor false"),
}


@pytest.mark.parametrize(("oracle_type", "rule", "text", "reason"), REFUSED_TEXTS.values(), ids=REFUSED_TEXTS)
def test_a_text_that_does_not_fit_is_refused_and_no_other(oracle_type, rule, text, reason):
    target = target_type(oracle_type, rule)

    alone = family_of(oracle_type).cast(pa.array([text]), target, rule)
    beside = family_of(oracle_type).cast(pa.array([None, text]), target, rule)

    assert (alone.values.to_pylist(), beside.values.to_pylist()) == ([None], [None, None])
    assert (list(alone.refused), list(beside.refused)) == ([0], [1])
    assert reason in alone.refused[0]


def test_a_local_time_counts_in_utc_and_with_the_offset_that_it_may_have():
    texts = pa.array([" 2026-03-29 01:30:00.500000000", " 2026-03-29 01:30:00.500000000 +05:30", None])

    shown = family_of(LOCAL).cast(texts, pa.string(), "string").values.to_pylist()
    instants = family_of(LOCAL).cast(texts, target_type(LOCAL)).values.to_pylist()

    assert shown == ["2026-03-29 01:30:00.5 +00:00", "2026-03-29 01:30:00.5 +05:30", None]
    assert [value and value.replace(tzinfo=None) for value in instants] == [
        datetime(2026, 3, 29, 1, 30, 0, 500000), datetime(2026, 3, 28, 20, 0, 0, 500000), None,
    ]  # fmt: skip


REFUSED_BYTES = {
    "a region with the rule string": (ZONED, "string", "787e031c1501011dcd65008190", Encoding(), "region"),
    "a zoned time of 11 bytes": (ZONED, None, "787e031c1501011dcd6500", Encoding(), "Oracle's format"),
    "a local time in a region": (LOCAL, None, "787e0301010101", Encoding(time_zone="Europe/Berlin"), "no fixed offset"),
    "half a surrogate pair": (OracleType("NVARCHAR2"), None, "d83d", Encoding(), "not text"),
    "an unknown national set": (OracleType("NCHAR"), None, "00e9", Encoding(national="JA16EUCFIXED"), "no decoder"),
    "an interval of mixed signs": (DAYS, None, "80000005393c3c80000000", Encoding(), "not an interval"),
    "a double of 4 bytes": (DOUBLE, None, "bf800000", Encoding(), "not 8 bytes"),
    "a logical UROWID": (OracleType("UROWID"), None, "0200000000", Encoding(), "not a physical ROWID"),
}


@pytest.mark.parametrize(("oracle_type", "rule", "octets", "encoding", "reason"), REFUSED_BYTES.values(), ids=REFUSED_BYTES)
def test_bytes_that_have_no_value_are_refused(oracle_type, rule, octets, encoding, reason):
    target = target_type(oracle_type, rule)

    made = family_of(oracle_type).internal(pa.array([None, bytes.fromhex(octets)]), target, encoding, rule)

    assert made.values.to_pylist() == [None, None]
    assert list(made.refused) == [1]
    assert reason in made.refused[1]


# LOGMINER.md 5.4
INTERNAL = {
    "87e": (ZONED, "787e031c1501011dcd6500195a", "string", "2026-03-29 01:30:00.5 +05:30"),
    "-07:00": (ZONED, "787e031c1501010000000" + "00d3c", "string", "2026-03-28 13:00:00 -07:00"),
    "days": (DAYS, "80000005403f3e875bca00", None, "P5DT4H3M2.123456S"),
    "negative days": (DAYS, "7fffffff3a393862329b00", None, "-P1DT2H3M4.5S"),
    "years": (YEARS, "8000000c3f", None, "P12Y3M"),
    "negative years": (YEARS, "7fffffff3a", "months", -14),
    "1.0 single": (SINGLE, "bf800000", None, 1.0),
    "-1.5 single": (SINGLE, "403fffff", None, -1.5),
    "-1.5 double": (DOUBLE, "4007ffffffffffff", None, -1.5),
    "infinity": (DOUBLE, "fff0000000000000", None, float("inf")),
    "-infinity": (SINGLE, "007fffff", None, float("-inf")),
    "rowid": (OracleType("ROWID"), "00011dec010000970000", None, "AAAR3sAAEAAAACXAAA"),
    "urowid": (OracleType("UROWID"), "0100011dec0004000000970000", None, "AAAR3sAAEAAAACXAAA"),
}


@pytest.mark.parametrize(("oracle_type", "octets", "rule", "value"), INTERNAL.values(), ids=INTERNAL)
def test_internal_bytes_from_oracle(oracle_type, octets, rule, value):
    target = target_type(oracle_type, rule)

    made = family_of(oracle_type).internal(pa.array([bytes.fromhex(octets)]), target, Encoding(), rule)

    assert (made.values.to_pylist(), dict(made.refused)) == ([value], {})


def test_a_urowid_is_left_out_with_the_types_that_the_redo_does_not_show_and_else_captured():
    choices = [ColumnChoice(unsupported=one) for one in ("refuse", "exclude", "reread")]
    refused = {one.unsupported: why_refused(OracleType("UROWID"), None, one) for one in choices}

    assert {one for one, why in refused.items() if why} == {"exclude"}
