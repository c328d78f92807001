"""Codecs: encoding by value and by column gives the same bytes, which decode to the same value."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal, localcontext
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from standin.wire import cells as wire_cells
from standin.wire.cells import Cell, encode_columns, encode_rows
from standin.wire.messages import row_header
from standin.wire.numbers import NumberOutOfRange, decode_number, encode_number
from standin.wire.primitives import clr, dalc, sb
from standin.wire.reader import Reader, RequestNotUnderstood
from standin.wire.repeats import vector_in_front
from standin.wire.types import BindType, WireType
from standin.wire.values import decode_bind, encode_out


def column_bytes(array: pa.Array, type_: WireType) -> bytes:
    """Return the rows of one column as they are encoded by column and, as few rows are, value by value."""
    batch, cell = pa.RecordBatch.from_arrays([array], names=["c"]), (Cell(type_),)
    (cells,) = encode_columns(batch, cell, lambda _: b"")
    by_column = b"".join(b"\x07" + cell for cell in cells.to_pylist())
    by_value = b"".join(bytes(block.data) for block in encode_rows([batch], cell, lambda _: b"", whole=True))
    assert by_column == by_value
    return by_column


def row_bytes(values: list, type_: WireType) -> bytes:
    return b"".join(b"\x07" + encode_out(value, BindType(type_, 22, 0)) for value in values)


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=Decimal("-1e125"), max_value=Decimal("1e125")))
def test_a_number_keeps_its_first_38_digits_in_the_codec(value):
    data = encode_number(value)

    assert len(data) <= 21
    if value == 0 or value.adjusted() >= -90:
        with localcontext(prec=50):
            assert abs(decode_number(data) - value) <= abs(value).scaleb(-38)
            if len(value.as_tuple().digits) <= 38:
                assert decode_number(data) == value


def test_a_number_out_of_range_is_refused_and_a_tiny_one_is_zero():
    for value in (Decimal("1e126"), Decimal("-1e130"), float("inf"), float("nan")):
        with pytest.raises(NumberOutOfRange):
            encode_number(value)
    assert encode_number(Decimal("1e-131")) == encode_number(0) == b"\x80"


# Bytes that Oracle stores, from the description of the format.
ORACLE_BYTES = {1: "c102", 100: "c202", Decimal("0.01"): "c002", -1: "3e6466", 5_000_000_000: "c533", -123: "3d644e66"}


@pytest.mark.parametrize(("value", "data"), ORACLE_BYTES.items())
def test_a_number_has_the_bytes_that_oracle_stores(value, data):
    assert encode_number(value).hex() == data
    assert decode_number(bytes.fromhex(data)) == value


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=20), st.integers(0, 9))
@settings(max_examples=60)
def test_columns_of_numbers_are_encoded_as_single_numbers_are(values, scale):
    decimals = [None if v is None else Decimal(v).scaleb(-scale) for v in values]
    texts = [None if v is None else f"{v:f}" for v in decimals]
    as_decimal = pa.array(decimals, pa.decimal128(38, scale))
    for array, plain in (
        (pa.array(values, pa.int64()), values),
        (as_decimal, decimals),
        (pa.array(texts, pa.string()), decimals),
    ):
        assert column_bytes(array, WireType.NUMBER) == row_bytes(plain, WireType.NUMBER)


MOMENTS = st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31, 23, 59, 59))


@given(MOMENTS, st.integers(-14 * 60, 14 * 60))
def test_a_moment_survives_the_codec(moment, zone):
    for type_, value in (
        (WireType.TIMESTAMP, moment),
        (WireType.DATE, moment.replace(microsecond=0)),
    ):
        bind = BindType(type_, 11, 0)
        assert decode_bind(encode_out(value, bind)[1:], bind) == value
    if datetime(2, 1, 1) < moment < datetime(9998, 1, 1):
        zoned = moment.replace(tzinfo=timezone(timedelta(minutes=zone)))
        bind = BindType(WireType.TIMESTAMP_TZ, 13, 0)
        assert decode_bind(encode_out(zoned, bind)[1:], bind) == zoned


@given(st.lists(st.one_of(st.none(), MOMENTS), min_size=1, max_size=10))
@settings(max_examples=60)
def test_columns_of_moments_are_encoded_as_single_moments_are(values):
    for type_ in (WireType.DATE, WireType.TIMESTAMP, WireType.TIMESTAMP_TZ):
        assert column_bytes(pa.array(values, pa.timestamp("us")), type_) == row_bytes(values, type_)


@given(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=70_000), st.integers(1, 9000))
@settings(max_examples=60)
def test_fields_are_read_back_across_packet_boundaries(number, value, size):
    message = sb(number) + clr(value) + dalc(value) + b"\x2a"
    pieces = iter([message[i : i + size] for i in range(0, len(message), size)])
    reader = Reader(next(pieces), lambda: next(pieces))

    assert reader.ub() == number
    assert (reader.clr() or b"") == value
    assert (reader.dalc() or b"") == value
    assert reader.u8() == 0x2A
    reader.finish()


def test_extra_bytes_after_a_request_are_an_error():
    reader = Reader(b"\x00\x07")
    reader.ub()

    with pytest.raises(RequestNotUnderstood, match="1 bytes are left over: 07"):
        reader.finish()


def sent(batches: list[dict[str, list]], *types: WireType) -> bytes:
    """Return all rows of a result as they are sent, value by value as few rows are, and by column."""
    cells, ways = tuple(Cell(type_) for type_ in types), []
    for few in (wire_cells.FEW_ROWS, 0):
        with mock.patch.object(wire_cells, "FEW_ROWS", few):
            blocks = encode_rows([pa.RecordBatch.from_pydict(b) for b in batches], cells, lambda _: b"")
            ways.append(b"".join(bytes(block.first(len(block))) for block in blocks))
    assert ways[0] == ways[1]
    return ways[0]


def test_a_repeated_value_is_a_bit_and_not_bytes():
    columns = {"a": ["x", "x", "y", "y"], "b": ["1", "2", "2", "2"]}

    assert sent([columns], WireType.VARCHAR, WireType.VARCHAR).hex(" ") == " ".join(
        [
            "07 01 78 01 31",
            "15 01 01 02 07 01 32",  # one column is sent: the second
            "15 01 01 01 07 01 79",
            "15 00 00 07",
        ]
    )


def test_the_first_row_of_a_batch_repeats_the_last_one_of_the_batch_before():
    batches = [{"a": [None], "b": ["1"]}, {"a": [None], "b": ["2"]}]

    assert sent(batches, WireType.VARCHAR, WireType.VARCHAR).hex(" ") == "07 00 01 31 15 01 01 02 07 01 32"


def test_values_of_long_columns_are_sent_again():
    assert sent([{"a": ["x", "x"]}], WireType.LONG).hex(" ") == "07 01 78 00 00 07 01 78 00 00"


def test_the_first_row_of_a_later_fetch_has_its_bits_in_the_row_header():
    vector, row = vector_in_front(memoryview(bytes.fromhex("15 01 01 fe01 07 01 78")), 9)

    assert (vector.hex(), row.hex(" ")) == ("fe01", "07 01 78")
    assert row_header(vector).hex(" ") == "06 00 00 00 00 00 01 02 02 fe 01 00"


def test_a_row_header_without_repeats_is_empty():
    assert vector_in_front(memoryview(b"\x07\x01x"), 9)[0] == b""
    assert row_header().hex() == "06" + "00" * 7
