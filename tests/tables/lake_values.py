"""Values at the ends of the types that we write: as a snapshot's file has them, and as each reader must show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from redolake.values.table import Column, OracleType, TypeRule

NAN, INFINITY = float("nan"), float("inf")
LONG = "a" * 40  # Delta's statistics of a text end after 32 characters


@dataclass(frozen=True, slots=True)
class LakeValues:
    """A column's type, its rule, the type in a snapshot's file and in the lake, and its values: as they are in that file, and
    what they mean where that is another. No value is twice there. `in_path`: `partition_by` takes the column."""

    name: str
    type: OracleType
    file: pa.DataType
    lake: str
    values: tuple[Any, ...]
    meant: tuple[Any, ...] = ()
    rule: TypeRule = None
    in_path: bool = True

    @property
    def meanings(self) -> tuple[Any, ...]:
        return self.meant or self.values

    def column(self, number: int) -> Column:
        return Column(number, self.name, self.type, number)


def number(precision: int, scale: int = 0) -> OracleType:
    return OracleType("NUMBER", precision=precision, scale=scale)


def decimals(*texts: str) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, texts))


NAIVE = (
    datetime(1, 1, 1),
    datetime(1500, 2, 28),
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(2024, 3, 10, 2, 30),  # which no clock in New York has shown
    datetime(2024, 7, 1, 12, 0, 0, 123456),
    datetime(9999, 12, 31, 23, 59, 59, 999999),
)
WIDEST, PART = 10**38 - 1, Decimal("9" * 28 + "." + "9" * 10)
COLUMNS = (
    LakeValues("INT_", number(9), pa.decimal128(9), "int", (-(10**9) + 1, 0, 10**9 - 1)),
    LakeValues("BIGINT_", number(18), pa.decimal128(18), "bigint", (1 - 10**18, 2**53 + 1, 10**18 - 1)),
    LakeValues("HUNDREDS", number(6, -2), pa.decimal128(8), "int", (-99999900, 99999900)),
    LakeValues(
        "DEC38",
        number(38),
        pa.decimal128(38),
        "decimal(38,0)",
        (*map(Decimal, (-WIDEST, 0, 2**63, 12345678901234567891, WIDEST)),),
    ),
    LakeValues(
        "DEC38_10",
        number(38, 10),
        pa.decimal128(38, 10),
        "decimal(38,10)",
        (PART.copy_negate(), *decimals("0", "1e-10", "0.5", "12345678901234567.8901234567"), PART),
        in_path=False,
    ),
    LakeValues(
        "DEC18_4",
        number(18, 4),
        pa.decimal128(18, 4),
        "decimal(18,4)",
        decimals("-99999999999999.9999", "0.0001", "12345678901234.5678", "99999999999999.9998", "99999999999999.9999"),
        in_path=False,
    ),
    LakeValues(
        "TENS38", number(28, -10), pa.decimal128(38), "decimal(38,0)", (*map(Decimal, (-9 * 10**37, 10**10, 9 * 10**37)),)
    ),
    LakeValues(
        "DOUBLE_",
        OracleType("BINARY_DOUBLE"),
        pa.float64(),
        "double",
        (-INFINITY, -0.0, 5e-324, 0.1, 1.7976931348623157e308, INFINITY, NAN),
        (-INFINITY, 0.0, 5e-324, 0.1, 1.7976931348623157e308, INFINITY, NAN),  # Oracle has no -0
        in_path=False,
    ),
    LakeValues(
        "FLOAT_",
        OracleType("BINARY_FLOAT"),
        pa.float32(),
        "float",
        (-INFINITY, -0.0, 0.5, INFINITY, NAN),
        (-INFINITY, 0.0, 0.5, INFINITY, NAN),
        in_path=False,
    ),
    LakeValues("DATE_", OracleType("DATE"), pa.timestamp("us"), "timestamp_ntz", (*(v.replace(microsecond=0) for v in NAIVE),)),
    LakeValues("TS", OracleType("TIMESTAMP", scale=6), pa.timestamp("us"), "timestamp_ntz", NAIVE),
    LakeValues(
        "TSTZ",
        OracleType("TIMESTAMP WITH TIME ZONE", scale=6),
        pa.string(),
        "timestamp",
        (*(f" {v.isoformat(' ', 'microseconds')}000 +00:00" for v in NAIVE), " 2024-07-01 12:00:00.123456000 +05:30"),
        (*(v.replace(tzinfo=UTC) for v in NAIVE), datetime(2024, 7, 1, 6, 30, 0, 123456, UTC)),
    ),
    LakeValues(
        "BC", OracleType("DATE"), pa.string(), "string", ("-0044-03-15 00:00:00", "-4712-01-01 00:00:00"), rule="string"
    ),
    LakeValues(
        "TEXT_",
        OracleType("VARCHAR2", length=32767),
        pa.string(),
        "string",
        (" ", "%2F", LONG, LONG + "b", "\U0010ffff" * 40, "x" * 200),
    ),
    LakeValues(
        "LONG_", OracleType("VARCHAR2", length=32767), pa.string(), "string", ("y" * 32767, "\u00e9" * 16383), in_path=False
    ),
    LakeValues(
        "RAW_", OracleType("RAW", length=32), pa.binary(), "binary", (b"\x00", b"\x00\xff", b"\xff" * 32), in_path=False
    ),
    LakeValues(
        "IVAL",
        OracleType("INTERVAL DAY TO SECOND", precision=9, scale=6),
        pa.string(),
        "bigint",
        ("-5 04:03:02.123456", "+5 04:03:02.123456"),
        (-446_582_123_456, 446_582_123_456),
        rule="microseconds",
    ),
    LakeValues(
        "LOCAL",
        OracleType("TIMESTAMP WITH LOCAL TIME ZONE", scale=6),
        pa.string(),
        "timestamp",
        tuple(f" {v.isoformat(' ', 'microseconds')}000 +00:00" for v in NAIVE),
        tuple(v.replace(tzinfo=UTC) for v in NAIVE),
    ),
    LakeValues(
        "ISO_DAYS",
        OracleType("INTERVAL DAY TO SECOND", precision=9, scale=9),
        pa.string(),
        "string",
        ("-5 04:03:02.123456789", "+999999999 23:59:59.999999999"),
        ("-P5DT4H3M2.123456789S", "P999999999DT23H59M59.999999999S"),
    ),
    LakeValues(
        "ISO_MONTHS",
        OracleType("INTERVAL YEAR TO MONTH", precision=9),
        pa.string(),
        "string",
        ("-1-02", "+999999999-11"),
        ("-P1Y2M", "P999999999Y11M"),
    ),
    LakeValues("BOOL", OracleType("BOOLEAN"), pa.bool_(), "boolean", (False, True)),
)
