"""Values of each supported type: as SQL writes them, and as the Delta table has them.

One table of values drives the snapshot, the redo text and the internal bytes, so that all three yield the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

NAN = "NaN"  # which equals nothing, not even itself
FROM_REGION = "TIMESTAMP '2026-07-01 12:00:00.25 Europe/Berlin'"


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """A column's type in DDL, the rule of pipelines.yml, its type in Delta, and its values: (SQL, in Delta).

    `regions` are such values with a time zone region, whose offset internal bytes do not contain.
    """

    ddl: str
    delta: str
    values: tuple[tuple[str, Any], ...]
    rule: str | int | None = None
    regions: tuple[tuple[str, Any], ...] = ()


def texts(*values: str) -> tuple[tuple[str, Any], ...]:
    return tuple((f"UNISTR('{escaped(value)}')", value) for value in values)


def escaped(text: str) -> str:
    units = text.encode("utf-16-be")
    codes = [int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2)]
    return "".join(chr(code) if 0x20 <= code < 0x7F and code not in b"\\'" else f"\\{code:04X}" for code in codes)


def utc(*fields: int) -> datetime:
    return datetime(*fields, tzinfo=UTC)  # type: ignore[misc,arg-type]


WORDS = ("plain", "O''Reilly' || 'x", "ünïcøde ☃", "😀 and 𝒳", "back\\slash \\00e9", "line\nbreak", "NULL", 'a");')
COLUMNS = (
    ColumnValues("NUMBER(5)", "int", (("99999", 99999), ("-1", -1), ("0", 0))),
    ColumnValues("NUMBER(9)", "int", (("999999999", 999999999), ("-999999999", -999999999))),
    ColumnValues("NUMBER(10)", "bigint", (("9999999999", 9999999999), ("-1", -1))),
    ColumnValues("NUMBER(18)", "bigint", (("999999999999999999", 10**18 - 1), ("-999999999999999999", 1 - 10**18))),
    ColumnValues("NUMBER(19)", "decimal(19,0)", (("9999999999999999999", Decimal(10**19 - 1)), ("-1", Decimal(-1)))),
    ColumnValues("NUMBER(38)", "decimal(38,0)", (("99999999999999999999999999999999999999", Decimal(10**38 - 1)),)),
    ColumnValues("NUMBER(6,-2)", "int", (("99999900", 99999900), ("-100", -100))),
    ColumnValues("NUMBER(3,8)", "decimal(8,8)", ((".00000999", Decimal("0.00000999")), ("-1e-8", Decimal("-0.00000001")))),
    ColumnValues("NUMBER(2,4)", "decimal(4,4)", ((".0099", Decimal("0.0099")), ("0", Decimal("0.0000")))),
    ColumnValues("NUMBER(38,-10)", "string", (("9e47", "9" + "0" * 47), ("-1e10", "-1" + "0" * 10)), "string"),
    ColumnValues("NUMBER(5,127)", "string", (("1.2345e-123", "0." + "0" * 122 + "12345"),), "string"),
    ColumnValues("NUMBER(1,-84)", "string", (("-9e84", "-9" + "0" * 84),), "string"),
    ColumnValues("NUMBER(12,2)", "decimal(12,2)", (("-1234567890.12", Decimal("-1234567890.12")), (".05", Decimal("0.05")))),
    ColumnValues("NUMBER", "decimal(38,10)", (("1.5", Decimal("1.5000000000")), ("-3", Decimal("-3.0000000000")))),
    ColumnValues("NUMBER", "bigint", (("9223372036854775807", 2**63 - 1), ("-3", -3), ("1000", 1000)), "integer"),
    ColumnValues("NUMBER", "decimal(20,4)", (("1.2345", Decimal("1.2345")), ("-3", Decimal("-3.0000"))), "decimal(20,4)"),
    ColumnValues("NUMBER", "string", (("1/4", "0.25"), ("1e40", "1" + "0" * 40)), "string"),
    ColumnValues("NUMBER(9)", "decimal(12,0)", (("12", Decimal(12)),), "decimal(12,0)"),
    ColumnValues("FLOAT(49)", "double", (("0.1", 0.1), ("-123456789012345", -123456789012345.0), ("1e100", 1e100))),
    ColumnValues("FLOAT", "string", (("1/8", "0.125"), ("-1e-20", "-0.00000000000000000001"), ("42", "42"))),
    ColumnValues("FLOAT", "double", (("0.30000000000000004", 0.30000000000000004), ("-2.5", -2.5), ("0", 0.0)), "double"),
    ColumnValues("DOUBLE PRECISION", "decimal(20,5)", (("1.00001", Decimal("1.00001")),), "decimal(20,5)"),
    ColumnValues(
        "BINARY_FLOAT",
        "float",
        (
            ("TO_BINARY_FLOAT('1.5')", 1.5), ("TO_BINARY_FLOAT('0.1')", 0.10000000149011612), ("TO_BINARY_FLOAT('-0')", 0.0),
            ("BINARY_FLOAT_NAN", NAN), ("BINARY_FLOAT_INFINITY", float("inf")), ("-BINARY_FLOAT_INFINITY", float("-inf")),
            ("TO_BINARY_FLOAT('1.4e-45')", 1.401298464324817e-45), ("TO_BINARY_FLOAT('3.4028235e38')", 3.4028234663852886e38),
        ),
    ),
    ColumnValues(
        "BINARY_DOUBLE",
        "double",
        (
            ("TO_BINARY_DOUBLE('0.1')", 0.1), ("TO_BINARY_DOUBLE('-2.5')", -2.5), ("BINARY_DOUBLE_NAN", NAN),
            ("BINARY_DOUBLE_INFINITY", float("inf")), ("-BINARY_DOUBLE_INFINITY", float("-inf")),
            ("TO_BINARY_DOUBLE('-0')", 0.0), ("TO_BINARY_DOUBLE('1e100') / 3", 1e100 / 3),
            ("TO_BINARY_DOUBLE('1e-100') * TO_BINARY_DOUBLE('1e-220')", 1e-100 * 1e-220),
        ),
    ),
    ColumnValues("VARCHAR2(40)", "string", texts(*WORDS)),
    ColumnValues("NVARCHAR2(40)", "string", texts(*WORDS)),
    ColumnValues("NCHAR(4)", "string", (("N'a'", "a   "), ("UNISTR('\\D83D\\DE00')", "😀  "))),
    ColumnValues("NATIONAL CHARACTER VARYING(9)", "string", texts("é")),
    ColumnValues("CHAR(4)", "string", (("'a'", "a   "),)),
    ColumnValues("RAW(4)", "binary", (("HEXTORAW('00FF')", b"\x00\xff"),)),
    ColumnValues("DATE", "timestamp_ntz", (
        ("DATE '2026-03-29'", datetime(2026, 3, 29)), ("DATE '0001-01-01'", datetime(1, 1, 1)),
    )),
    ColumnValues("DATE", "string", (("DATE '-0044-03-15'", "-0044-03-15 00:00:00"),), "string"),
    ColumnValues("TIMESTAMP(9)", "timestamp_ntz", (
        ("TIMESTAMP '2026-03-29 01:30:00.123456'", datetime(2026, 3, 29, 1, 30, 0, 123456)),
        ("TIMESTAMP '2026-03-29 01:30:00'", datetime(2026, 3, 29, 1, 30)),
    )),
    ColumnValues("TIMESTAMP(9)", "timestamp_ntz", (
        ("TIMESTAMP '2026-03-29 01:30:00.123456789'", datetime(2026, 3, 29, 1, 30, 0, 123456)),
    ), "truncate"),
    ColumnValues("TIMESTAMP(9)", "string", (
        ("TIMESTAMP '2026-03-29 01:30:00.123456789'", "2026-03-29 01:30:00.123456789"),
        ("TIMESTAMP '2026-03-29 01:30:00.5'", "2026-03-29 01:30:00.5"),
    ), "string"),
    ColumnValues("TIMESTAMP WITH TIME ZONE", "timestamp", (
        ("TIMESTAMP '2026-03-29 01:30:00.5 +05:30'", utc(2026, 3, 28, 20, 0, 0, 500000)),
        ("TIMESTAMP '2026-03-29 01:30:00 -07:00'", utc(2026, 3, 29, 8, 30)),
        ("TIMESTAMP '0001-01-01 00:00:00 +00:00'", utc(1, 1, 1)),
        ("TIMESTAMP '9999-12-31 23:59:59.999999 +00:00'", utc(9999, 12, 31, 23, 59, 59, 999999)),
        (FROM_REGION, utc(2026, 7, 1, 10, 0, 0, 250000)),
    )),
    ColumnValues("TIMESTAMP(9) WITH TIME ZONE", "string", (
        ("TIMESTAMP '2026-03-29 01:30:00.123456789 +05:30'", "2026-03-29 01:30:00.123456789 +05:30"),
        ("TIMESTAMP '2026-03-29 01:30:00 -07:00'", "2026-03-29 01:30:00 -07:00"),
    ), "string", ((FROM_REGION, "2026-07-01 12:00:00.25 +02:00"),)),
    ColumnValues("TIMESTAMP(9) WITH TIME ZONE", "timestamp", (
        ("TIMESTAMP '2026-03-29 01:30:00.123456789 +05:30'", utc(2026, 3, 28, 20, 0, 0, 123456)),
    ), "truncate"),
    ColumnValues("TIMESTAMP WITH LOCAL TIME ZONE", "timestamp", (
        ("TIMESTAMP '2026-03-29 01:30:00.5 +05:30'", utc(2026, 3, 28, 20, 0, 0, 500000)),
        ("TIMESTAMP '2026-10-25 02:30:00 Europe/Berlin'", utc(2026, 10, 25, 0, 30)),
    )),
    ColumnValues("TIMESTAMP(3) WITH LOCAL TIME ZONE", "string", (
        ("TIMESTAMP '2026-03-29 01:30:00.5 +05:30'", "2026-03-28 20:00:00.5 +00:00"),
    ), "string"),
    ColumnValues("INTERVAL DAY(3) TO SECOND(9)", "string", (
        ("INTERVAL '5 04:03:02.123456789' DAY TO SECOND(9)", "P5DT4H3M2.123456789S"),
        ("INTERVAL '-1 02:03:04.5' DAY TO SECOND", "-P1DT2H3M4.5S"),
        ("INTERVAL '0 00:00:00' DAY TO SECOND", "PT0S"),
    )),
    ColumnValues("INTERVAL DAY TO SECOND", "bigint", (
        ("INTERVAL '5 04:03:02.123456' DAY TO SECOND", 446_582_123_456),
        ("INTERVAL '-1 02:03:04.5' DAY TO SECOND", -93_784_500_000),
    ), "microseconds"),
    ColumnValues("INTERVAL YEAR(4) TO MONTH", "string", (
        ("INTERVAL '12-03' YEAR TO MONTH", "P12Y3M"), ("INTERVAL '-1-02' YEAR TO MONTH", "-P1Y2M"),
        ("INTERVAL '0-00' YEAR TO MONTH", "P0M"),
    )),
    ColumnValues("INTERVAL YEAR TO MONTH", "bigint", (
        ("INTERVAL '12-03' YEAR TO MONTH", 147), ("INTERVAL '-1-02' YEAR TO MONTH", -14),
    ), "months"),
    ColumnValues("ROWID", "string", (("'AAAR3sAAEAAAACXAAA'", "AAAR3sAAEAAAACXAAA"), ("'AAAAAAAAAAAAAAAAAA'", "A" * 18))),
    ColumnValues("UROWID", "string", (("'AAAR3sAAEAAAACXAAA'", "AAAR3sAAEAAAACXAAA"),)),
)  # fmt: skip
NAMES = tuple(f"C{number:02d}" for number in range(1, len(COLUMNS) + 1))
RULES = {name: column.rule for name, column in zip(NAMES, COLUMNS, strict=True) if column.rule is not None}
TABLE = (
    f"CREATE TABLE kinds (id NUMBER(9) PRIMARY KEY, "
    f"{', '.join(f'{name} {column.ddl}' for name, column in zip(NAMES, COLUMNS, strict=True))})"
)


def rows(*, regions: bool) -> list[tuple[tuple[str, Any], ...]]:
    """Return rows in which each column has each of its values; the last row has none at all."""
    given = [column.values + (column.regions if regions else ()) for column in COLUMNS]
    most = max(map(len, given))
    return [tuple(values[i] if i < len(values) else ("NULL", None) for values in given) for i in range(most + 1)]


def insert(key: int, row: tuple[tuple[str, Any], ...]) -> str:
    return f"INSERT INTO kinds VALUES ({key}, {', '.join(sql for sql, _ in row)})"


def shown(value: Any) -> Any:
    """Return a value that can be compared: NaN by its name, an instant without the name of its zone."""
    if isinstance(value, float) and value != value:
        return NAN
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo is not None else value
