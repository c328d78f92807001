"""Each form in which anybody has seen LogMiner write a value: read alike in VALUES, SET and WHERE, by the plain and the
compiled decoder."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from redolake.decode.changes import decode_changes
from redolake.decode.compiled import changes as compiled
from redolake.decode.compiled.changes import decode_compiled
from redolake.decode.datatypes import family_of, target_type
from redolake.source.session import PINNED
from redolake.values.table import Column, OracleType
from standin.logminer.dictionary import ResolvedTable
from standin.logminer.literals import Forms, Nls
from standin.logminer.statements import Layout, TableText
from standin.model import SqlType
from standin.redo_file import Op
from tests.unit.decode.redo_text import conditions, delete, insert, redo_batch, update, version

DECODERS = {"plain": decode_changes, "compiled": decode_compiled}
# What follows the seconds of a TIMESTAMP that is stored without a fraction, whatever its precision.
NO_FRACTION = {"nine zeros": ".000000000", "zeros as declared": ".000", "the point alone": ".", "neither": ""}
ZONE, LOCAL = "TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH LOCAL TIME ZONE"
NAIVE, INSTANT = datetime(2020, 2, 1), datetime(2020, 2, 1, tzinfo=UTC)
CALLS: dict[str, tuple[str, str, Any]] = {
    "TO_TIMESTAMP": ("TIMESTAMP", "TO_TIMESTAMP(' 2020-02-01 00:00:00{}')", NAIVE),
    "without the blank of SYYYY": ("TIMESTAMP", "TO_TIMESTAMP('2020-02-01 00:00:00{}')", NAIVE),
    "with a mask": ("TIMESTAMP", "TO_TIMESTAMP(' 2020-02-01 00:00:00{}', 'SYYYY-MM-DD HH24:MI:SS.FF9')", NAIVE),
    "the standard's literal": ("TIMESTAMP", "TIMESTAMP ' 2020-02-01 00:00:00{}'", NAIVE),
    "the standard's literal of a DATE": ("DATE", "TIMESTAMP ' 2020-02-01 00:00:00{}'", NAIVE),
    "with an offset": (ZONE, "TO_TIMESTAMP_TZ(' 2020-02-01 08:00:00{} +08:00')", INSTANT),
    "an offset and a mask": (
        ZONE, "TO_TIMESTAMP_TZ(' 2020-02-01 08:00:00{} +08:00', 'SYYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM')", INSTANT,
    ),
    "local, TO_TIMESTAMP_TZ": (LOCAL, "TO_TIMESTAMP_TZ(' 2020-02-01 00:00:00{}')", INSTANT),
    "local, TO_TIMESTAMP_ITZ": (LOCAL, "TO_TIMESTAMP_ITZ(' 2020-02-01 00:00:00{}')", INSTANT),
    "local, TO_TIMESTAMP_LTZ": (LOCAL, "TO_TIMESTAMP_LTZ(' 2020-02-01 00:00:00{}')", INSTANT),
    "local, TO_TIMESTAMP": (LOCAL, "TO_TIMESTAMP(' 2020-02-01 00:00:00{}')", INSTANT),
    "local, with an offset": (LOCAL, "TO_TIMESTAMP_TZ(' 2020-02-01 00:00:00{} +00:00')", INSTANT),
}  # fmt: skip
INTERVALS: dict[str, tuple[str, str, str]] = {
    "days": ("INTERVAL DAY TO SECOND", "TO_DSINTERVAL('+01 00:00:00{}')", "P1D"),
    "five digits of days": ("INTERVAL DAY TO SECOND", "TO_DSINTERVAL('-00001 02:03:04{}')", "-P1DT2H3M4S"),
    "nine digits of days": ("INTERVAL DAY TO SECOND", "TO_DSINTERVAL('+999999999 00:00:00{}')", "P999999999D"),
    "four digits of years": ("INTERVAL YEAR TO MONTH", "TO_YMINTERVAL('+0012-03')", "P12Y3M"),
    "digits of years as declared": ("INTERVAL YEAR TO MONTH", "TO_YMINTERVAL('+12-03')", "P12Y3M"),
    "nine digits of years": ("INTERVAL YEAR TO MONTH", "TO_YMINTERVAL('-123456789-11')", "-P123456789Y11M"),
}


def statements(names: list[str], literals: list[str]) -> list[tuple[int, str]]:
    """Return the values in VALUES; in SET and WHERE; and in WHERE alone, of an UPDATE and a DELETE."""
    located = conditions(names, literals)
    return [
        (1, insert(names, literals)),
        (3, update(dict(zip(names, literals, strict=True)), located)),
        (3, update({"ID": "'2'"}, f"\"ID\" = '1' and {located}")),
        (2, delete(located)),
    ]


def decoded(decoder: str, kind: OracleType, literal: str, rule: Any = None) -> list[Any]:
    """Return the value after, else before, of each statement; an error in its place."""
    of = version((Column(10, "ID", OracleType("NUMBER", 22, 9, 0), 1), Column(11, "A", kind, 2)))
    rows = statements(["A"], [literal])
    rows[0] = (1, insert(["ID", "A"], ["'1'", literal]))
    found = DECODERS[decoder](redo_batch(*rows), of, {11: rule}).to_pylist()
    return [row["error"] or (row["o11"] if row["operation_code"] == 2 else row["n11"]) for row in found]


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("fraction", NO_FRACTION.values(), ids=NO_FRACTION)
@pytest.mark.parametrize(("kind", "text", "value"), CALLS.values(), ids=CALLS)
def test_a_moment_without_a_fraction_is_read_with_zeros_a_point_or_neither(
    decoder: str, fraction: str, kind: str, text: str, value: datetime
) -> None:
    for precision in (0, 6, 9):
        found = decoded(decoder, OracleType(kind, scale=precision), text.format(fraction))
        assert found == [value] * 4


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("fraction", NO_FRACTION.values(), ids=NO_FRACTION)
@pytest.mark.parametrize(("kind", "text", "value"), INTERVALS.values(), ids=INTERVALS)
def test_an_interval_is_read_with_any_number_of_digits(decoder: str, fraction: str, kind: str, text: str, value: str) -> None:
    assert decoded(decoder, OracleType(kind), text.format(fraction)) == [value] * 4


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("fraction", NO_FRACTION.values(), ids=NO_FRACTION)
def test_rules_take_each_form_too(decoder: str, fraction: str) -> None:
    text = f"TO_TIMESTAMP('-0044-03-15 12:00:00{fraction}')"

    assert decoded(decoder, OracleType("TIMESTAMP", scale=9), text, "string") == ["-0044-03-15 12:00:00"] * 4
    assert decoded(decoder, OracleType("TIMESTAMP", scale=9), text.replace("-0044", "2020"), "truncate") == [
        datetime(2020, 3, 15, 12)
    ] * 4  # fmt: skip
    zoned = f"TO_TIMESTAMP_TZ(' 2020-02-01 00:00:00{fraction} +08:00')"
    assert decoded(decoder, OracleType(ZONE, scale=6), zoned, "string") == ["2020-02-01 00:00:00 +08:00"] * 4
    span = f"TO_DSINTERVAL('+01 00:00:01{fraction}')"
    assert decoded(decoder, OracleType("INTERVAL DAY TO SECOND"), span, "microseconds") == [86_401_000_000] * 4


# A text in which a part may be missing is no moment: it is never guessed.
REFUSED = {
    "two points": ("TIMESTAMP", "TO_TIMESTAMP('2020-02-01 00:00:00..')"),
    "ten decimals": ("TIMESTAMP", "TO_TIMESTAMP('2020-02-01 00:00:00.0000000000')"),
    "a comma": ("TIMESTAMP", "TO_TIMESTAMP('2020-02-01 00:00:00,')"),
    "no seconds": ("TIMESTAMP", "TO_TIMESTAMP('2020-02-01 00:00.')"),
    "a date without a time": ("TIMESTAMP", "TIMESTAMP '2020-02-01'"),
    "blanks after it": ("TIMESTAMP", "TO_TIMESTAMP('2020-02-01 00:00:00. ')"),
    "TO_DATE, which has lost the fraction": ("TIMESTAMP", "TO_DATE('2020-02-01 00:00:00', 'YYYY-MM-DD HH24:MI:SS')"),
    "an offset without a zone in its type": ("TIMESTAMP", "TO_TIMESTAMP('2020-02-01 00:00:00. +08:00')"),
    "no offset": (ZONE, "TO_TIMESTAMP_TZ('2020-02-01 00:00:00.')"),
    "a call of another type": (ZONE, "TO_TIMESTAMP_ITZ('2020-02-01 00:00:00. +00:00')"),
    "another mask": ("TIMESTAMP", "TO_TIMESTAMP('2020-02-01 00:00:00.', 'YYYY-DD-MM HH24:MI:SS.FF')"),
    "a fraction in a DATE": ("DATE", "TIMESTAMP ' 2020-02-01 00:00:00.0000005'"),
    "an interval with two points": ("INTERVAL DAY TO SECOND", "TO_DSINTERVAL('+01 00:00:00..')"),
}


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize(("kind", "text"), REFUSED.values(), ids=REFUSED)
def test_what_may_lack_a_part_is_refused(decoder: str, kind: str, text: str) -> None:
    found = decoded(decoder, OracleType(kind, scale=6), text)

    assert all(error.startswith(("column A: ", "not understood after literal")) for error in found), found


def test_moments_of_all_forms_in_one_batch_are_cast_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pa.array([f"{blank}2020-02-01 00:00:0{n}{f}" for n, f in enumerate(NO_FRACTION.values()) for blank in ("", " ")])
    monkeypatch.setattr("redolake.decode.datatypes.datetime.cast_each", None)

    cast = family_of(OracleType("TIMESTAMP")).cast(texts, target_type(OracleType("TIMESTAMP")), None)

    assert cast.values.to_pylist() == [datetime(2020, 2, 1, 0, 0, n) for n in range(4) for _ in range(2)]


@pytest.mark.parametrize("fraction", NO_FRACTION.values(), ids=NO_FRACTION)
def test_no_form_of_a_moment_is_left_to_the_plain_decoder(monkeypatch: pytest.MonkeyPatch, fraction: str) -> None:
    monkeypatch.delattr(compiled, "decode_changes")

    assert (
        decoded("compiled", OracleType("TIMESTAMP", scale=6), f"TO_TIMESTAMP(' 2020-02-01 00:00:00{fraction}')") == [NAIVE] * 4
    )


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize(("kind", "octets", "value"), [
    ("DATE", "78780201010101", NAIVE),
    ("TIMESTAMP", "78780201010101", NAIVE),
    ("TIMESTAMP", "787802010101011dcd6500", NAIVE.replace(microsecond=500_000)),
    ("NUMBER", "c202182e", Decimal("123.45")),
])  # fmt: skip
def test_literals_of_the_standard_are_read_as_string_literals_in_stmt_writes_them(
    decoder: str, kind: str, octets: str, value: Any
) -> None:
    layout = replace(LAYOUT, forms=Forms(as_literals=True))
    text = TableText(ResolvedTable("S", "T", {1: ("A", SqlType(kind))}, 0, None), layout)
    sql = text.redo(Op.INSERT, {}, {1: bytes.fromhex(octets)}, "", rollback=False)

    (row,) = DECODERS[decoder](redo_batch((1, sql)), version((Column(11, "A", OracleType(kind), 1),)), {}).to_pylist()

    assert (row["error"], row["n11"]) == (None, value), sql


READINGS = [
    Forms(whole_seconds=whole, local_zone_call=call)
    for whole in ("zeros", "point", "none")
    for call in ("TO_TIMESTAMP_TZ", "TO_TIMESTAMP_ITZ")
]
LAYOUT = Layout(Nls.of(dict(PINNED)))
INTERNAL = {
    "TIMESTAMP": ("78780201010101", NAIVE),
    ZONE: ("787802010101010000000014" + "3c", INSTANT),
    LOCAL: ("78780201010101", INSTANT),
    "INTERVAL DAY TO SECOND": ("800000013c3c3c80000000", "P1D"),
    "INTERVAL YEAR TO MONTH": ("8000000c3f", "P12Y3M"),
}


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("forms", READINGS, ids=str)
def test_every_precision_of_every_type_is_read_as_the_stand_in_writes_it(decoder: str, forms: Forms) -> None:
    for kind, (octets, value) in INTERNAL.items():
        for digits in range(10):
            is_interval = kind.startswith("INTERVAL")
            type_ = SqlType(kind, precision=digits if is_interval else None, scale=digits)
            text = TableText(ResolvedTable("S", "T", {1: ("A", type_)}, 0, None), replace(LAYOUT, forms=forms))
            sql = text.redo(Op.INSERT, {}, {1: bytes.fromhex(octets)}, "", rollback=False)
            of = version((Column(11, "A", OracleType(kind, scale=digits), 1),))

            (row,) = DECODERS[decoder](redo_batch((1, sql)), of, {}).to_pylist()

            assert (row["error"], row["n11"]) == (None, value), sql
