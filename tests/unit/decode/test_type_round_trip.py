"""Generated values of each type: LogMiner's redo text, its `COL n`, and OpenLogReplicator's message yield the same value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redolake.decode.changes import decode_changes
from redolake.source.olr.settings import FORMAT, why_blurred
from redolake.source.session import PINNED
from redolake.values.redo import Encoding
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion, TypeRule
from standin.engine.types.values import encoder_of
from standin.intervals import DaySecond, YearMonth
from standin.logminer.dictionary import ResolvedTable
from standin.logminer.literals import Nls
from standin.logminer.statements import Layout, TableText
from standin.model import SqlType
from standin.moment import Moment
from standin.olr.options import Format
from standin.olr.values import writer_of
from standin.redo_file import Op
from standin.zones import REGIONS, Zoned
from tests.generated.hunts import EXAMPLES
from tests.unit.decode.redo_text import redo_batch

NEEDED = Format.of(FORMAT)
NLS = Nls.of(dict(PINNED))
EXACT = Context(prec=100)


@dataclass(frozen=True, slots=True)
class Kind:
    """A type for both sides, its rule, the values of the stand-in, and what Delta has for one."""

    ours: OracleType
    theirs: SqlType
    values: st.SearchStrategy[Any]
    expected: Callable[[Any], Any]
    rule: TypeRule = None


def same(value: Any) -> Any:
    return value


def no_negative_zero(value: float) -> float:
    return value + 0.0  # Oracle stores -0 as 0


def moment(at: datetime, nanosecond: int = 0) -> Moment:
    return Moment(at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond * 1000 + nanosecond)


def instant(value: Zoned) -> datetime:
    at = value.utc
    return datetime(at.year, at.month, at.day, at.hour, at.minute, at.second, at.nanosecond // 1000, UTC)


def offset_text(value: Zoned) -> str:
    at = value.local()
    minutes = value.offset()
    fraction = f".{at.nanosecond:09d}".rstrip("0").rstrip(".")
    zone = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
    return f"{at.year:04d}-{at.month:02d}-{at.day:02d} {at.hour:02d}:{at.minute:02d}:{at.second:02d}{fraction} {zone}"


def parsed_duration(text: str) -> Decimal:
    """Read ISO 8601 by itself, in nanoseconds."""
    sign, text = (-1, text[1:]) if text.startswith("-") else (1, text)
    days, _, time = text.removeprefix("P").partition("T")
    total = Decimal(days.removesuffix("D") or 0) * 86400
    for unit, seconds in (("H", 3600), ("M", 60), ("S", 1)):
        value, found, rest = time.partition(unit)
        total, time = (total + Decimal(value) * seconds, rest) if found else (total, time)
    assert not time
    return sign * total * 10**9


# Away from the ends of the range, and from the days that only one of both calendars has.
DATES = st.datetimes(datetime(1600, 1, 1), datetime(9998, 1, 1))
OFFSETS = st.integers(-12 * 60, 14 * 60)
ZONED = st.builds(lambda at, zone: Zoned(moment(at), zone), DATES, OFFSETS)
REGIONAL = st.builds(lambda at, zone: Zoned(moment(at), zone), DATES, OFFSETS | st.sampled_from(REGIONS))
INTERVALS = st.builds(DaySecond, st.integers(-(10**9) * 86400 * 10**9 + 1, 10**9 * 86400 * 10**9 - 1))
SHORT_INTERVALS = st.integers(-(10**15), 10**15)
MONTHS = st.builds(YearMonth, st.integers(-(10**9) * 12 + 1, 10**9 * 12 - 1))
WHOLE = st.integers(-(10**18) + 1, 10**18 - 1)
DIGITS = st.integers(-(10**38) + 1, 10**38 - 1)
DECIMALS = st.builds(lambda m, e: Decimal(f"{m}E{e}").normalize(EXACT), DIGITS, st.integers(-60, 40))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
ZONE, LOCAL = "TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH LOCAL TIME ZONE"
KINDS = {
    "NUMBER(9)": Kind(OracleType("NUMBER", precision=9, scale=0), SqlType("NUMBER"), st.integers(1 - 10**9, 10**9 - 1), same),
    "NUMBER(18)": Kind(OracleType("NUMBER", precision=18, scale=0), SqlType("NUMBER"), WHOLE, same),
    "NUMBER as integer": Kind(OracleType("NUMBER"), SqlType("NUMBER"), WHOLE, same, "integer"),
    "FLOAT": Kind(OracleType("FLOAT", precision=126), SqlType("FLOAT"), DECIMALS, lambda v: f"{v:f}" if v else "0"),
    "FLOAT as double": Kind(
        OracleType("FLOAT", precision=126),
        SqlType("FLOAT"),
        st.floats(-1e30, 1e30).filter(lambda v: v == 0 or abs(v) > 1e-30).map(lambda v: Decimal(repr(v))),
        lambda v: float(v) + 0.0,
        "double",
    ),
    "BINARY_FLOAT": Kind(OracleType("BINARY_FLOAT"), SqlType("BINARY_FLOAT", 4), st.floats(width=32), no_negative_zero),
    "BINARY_DOUBLE": Kind(OracleType("BINARY_DOUBLE"), SqlType("BINARY_DOUBLE", 8), st.floats(), no_negative_zero),
    "NVARCHAR2": Kind(OracleType("NVARCHAR2", length=9), SqlType("NVARCHAR2"), TEXTS, same),
    "TIMESTAMP(9) as string": Kind(
        OracleType("TIMESTAMP", scale=9),
        SqlType("TIMESTAMP", scale=9),
        st.builds(moment, DATES, st.integers(0, 999)),
        lambda v: offset_text(Zoned(v, 0)).removesuffix(" +00:00"),
        "string",
    ),
    "TIMESTAMP(9) truncated": Kind(
        OracleType("TIMESTAMP", scale=9),
        SqlType("TIMESTAMP", scale=9),
        st.builds(moment, DATES, st.integers(0, 999)),
        lambda v: instant(Zoned(v, 0)).replace(tzinfo=None),
        "truncate",
    ),
    "WITH TIME ZONE": Kind(
        OracleType(ZONE, scale=6), SqlType(ZONE, scale=6), REGIONAL, instant
    ),
    "WITH TIME ZONE as string": Kind(
        OracleType(ZONE, scale=6), SqlType(ZONE, scale=6), ZONED, offset_text, "string"
    ),
    "WITH LOCAL TIME ZONE": Kind(
        OracleType(LOCAL, scale=6), SqlType(LOCAL, scale=6), ZONED, instant
    ),
    "DAY TO SECOND": Kind(
        OracleType("INTERVAL DAY TO SECOND", precision=9, scale=9),
        SqlType("INTERVAL DAY TO SECOND", 11, 0, 9, 9),
        INTERVALS,
        lambda v: Decimal(v.nanoseconds),
    ),
    "DAY TO SECOND in microseconds": Kind(
        OracleType("INTERVAL DAY TO SECOND", precision=9, scale=6),
        SqlType("INTERVAL DAY TO SECOND", 11, 0, 9, 6),
        SHORT_INTERVALS.map(lambda v: DaySecond(v * 1000)),
        lambda v: v.nanoseconds // 1000,
        "microseconds",
    ),
    "YEAR TO MONTH in months": Kind(
        OracleType("INTERVAL YEAR TO MONTH", precision=9),
        SqlType("INTERVAL YEAR TO MONTH", 5, 0, 9),
        MONTHS,
        lambda v: v.months,
        "months",
    ),
}  # fmt: skip


def message_of(value: str) -> str:
    return f'{{"payload":[{{"op":"c","schema":{{"owner":"S","table":"T"}},"after":{{"A":{value}}}}}]}}'


@pytest.mark.parametrize("name", KINDS)
def test_redo_text_internal_bytes_and_message_of_any_value_yield_it(name: str) -> None:
    kind = KINDS[name]
    encode = encoder_of(kind.theirs)
    sent = writer_of(kind.theirs, NEEDED) if why_blurred(kind.ours) is None else None

    @settings(max_examples=EXAMPLES or 15)
    @given(st.lists(kind.values, min_size=1, max_size=8))
    def check(values: list[Any]) -> None:
        octets = [encode(value) for value in values]
        named = TableText(ResolvedTable("S", "T", {1: ("A", kind.theirs)}, 0, None), Layout(NLS))
        generic = TableText(ResolvedTable("S", "T", {}, 2, None), Layout(NLS))
        rows = [
            (1, text.redo(Op.INSERT, {}, {1: value}, "", rollback=False), status)
            for text, status in ((named, 0), (generic, 2))
            for value in octets
        ]
        if sent is not None:
            rows[1:1] = [(1, message_of(sent(value)), 0) for value in octets]
        expected = [kind.expected(value) for value in values]
        expected = [expected[0], *expected * (sent is not None), *expected[1:], *expected]
        version = TableVersion(TableId("S", "T"), Scn(1), 1, 1, (Column(11, "A", kind.ours, 1),), (), 12)

        decoded = decode_changes(redo_batch(*rows), version, {11: kind.rule}, encoding=Encoding())

        assert decoded.column("error").to_pylist() == [None] * len(rows)
        found = [comparable(name, value) for value in decoded.column("n11").to_pylist()]
        assert found == [comparable(None, value) for value in expected]

    check()


def comparable(name: str | None, value: Any) -> Any:
    """Return a value that equals itself: NaN by name, an instant without its zone's name, a duration as a number."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else (value, math.copysign(1, value))
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    return parsed_duration(value) if name == "DAY TO SECOND" else value


@pytest.mark.parametrize("zone", ["+02:00", "-09:30"])
def test_local_time_stored_in_another_zone_of_the_database_is_the_same_instant(zone: str) -> None:
    at = datetime(2026, 3, 29, 1, 30)
    sign, minutes = (-1 if zone[0] == "-" else 1), int(zone[1:3]) * 60 + int(zone[4:])
    stored = encoder_of(SqlType("TIMESTAMP"))(at + timedelta(minutes=sign * minutes)).hex()
    column = Column(11, "A", OracleType("TIMESTAMP WITH LOCAL TIME ZONE", scale=6), 1)
    version = TableVersion(TableId("S", "T"), Scn(1), 1, 1, (column,), (), 12)
    row = (1, f"""insert into "UNKNOWN"."OBJ# 1"("COL 1") values (HEXTORAW('{stored}'));""", 2)

    (decoded,) = decode_changes(redo_batch(row), version, {}, encoding=Encoding(time_zone=zone)).to_pylist()

    assert decoded["n11"].astimezone(UTC) == at.replace(tzinfo=UTC)
