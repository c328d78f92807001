"""Comparison and arithmetic of SQL values: implicit conversion, NULL, exact numbers."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

from standin.engine.types.values import EXACT, moment, plain, to_number
from standin.interface import OraError
from standin.intervals import DaySecond, YearMonth
from standin.moment import Moment
from standin.zones import Zoned, session_zone, zoned

Nls = Mapping[str, str]

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "EQ": operator.eq,
    "NEQ": operator.ne,
    "LT": operator.lt,
    "LTE": operator.le,
    "GT": operator.gt,
    "GTE": operator.ge,
}


def aligned(left: Any, right: Any, nls: Nls) -> tuple[Any, Any]:
    """Convert two values to one type: like Oracle, text to a number or date. Neither is NULL."""
    if left.__class__ is right.__class__:
        return left, right
    if isinstance(left, str) != isinstance(right, str):
        if isinstance(left, str):
            return _as(right, left, nls), right
        return left, _as(left, right, nls)
    if isinstance(left, Zoned) and isinstance(right, datetime | Moment):
        return left, zoned(right, session_zone(nls["TIME_ZONE"]))
    if isinstance(right, Zoned) and isinstance(left, datetime | Moment):
        return zoned(left, session_zone(nls["TIME_ZONE"])), right
    numbers = (int, Decimal, float)
    if isinstance(left, numbers) != isinstance(right, numbers):
        raise OraError(932, "inconsistent datatypes")
    return left, right


def _as(model: Any, text: str, nls: Nls) -> Any:
    if isinstance(model, int | Decimal | float):
        return to_number(text)
    if isinstance(model, datetime | Moment):
        return moment(text, nls["NLS_TIMESTAMP_FORMAT" if model.microsecond else "NLS_DATE_FORMAT"])
    if isinstance(model, bytes):
        try:
            return bytes.fromhex(text)
        except ValueError:
            raise OraError(1465, "invalid hex number") from None
    if isinstance(model, DaySecond | YearMonth):
        return type(model).parse(text)
    raise OraError(932, "inconsistent datatypes")


def arithmetic(sign: str, left: Any, right: Any) -> Any:
    """Apply `+ - * /` to numbers, dates with days, dates with intervals, and intervals. NULL gives NULL."""
    if left is None or right is None:
        return None
    if left.__class__ is int and right.__class__ is int and sign != "/":
        return left + right if sign == "+" else left - right if sign == "-" else plain_int(left * right)
    if isinstance(left, _TIMES) or isinstance(right, _TIMES):
        return _with_times(sign, left, right)
    if isinstance(left, float) or isinstance(right, float):
        return _floats(sign, float(left), float(right))
    a, b = Decimal(to_number(left)), Decimal(to_number(right))
    if sign == "/" and not b:
        raise OraError(1476, "divisor is equal to zero")
    run = {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply, "/": EXACT.divide}[sign]
    return plain(run(a, b))


_TIMES = (datetime, DaySecond, YearMonth)


def plain_int(number: int) -> int | Decimal:
    return number if -(10**38) < number < 10**38 else to_number(number)


def _floats(sign: str, a: float, b: float) -> float:
    if sign == "/":
        if not b:
            raise OraError(1476, "divisor is equal to zero")
        return a / b
    return a + b if sign == "+" else a - b if sign == "-" else a * b


def _with_times(sign: str, left: Any, right: Any) -> Any:
    if isinstance(left, datetime) and isinstance(right, datetime):
        if sign != "-":
            raise OraError(975, "date + date not allowed")
        return plain(EXACT.divide(Decimal((left - right) // timedelta(microseconds=1)), Decimal(86_400_000_000)))
    if isinstance(left, datetime):
        if isinstance(right, YearMonth):
            return _months_later(left, right.months if sign == "+" else -right.months)
        step = right.span if isinstance(right, DaySecond) else timedelta(days=float(to_number(right)))
        exact = isinstance(right, DaySecond) or left.microsecond
        moved = left + step if sign == "+" else left - step
        return moved if exact else (moved + timedelta(microseconds=500_000)).replace(microsecond=0)
    if isinstance(right, datetime) and sign == "+":
        return _with_times("+", right, left)
    if sign in "+-" and isinstance(left, DaySecond) and isinstance(right, DaySecond):
        return left + (right if sign == "+" else -right)
    if sign in "+-" and isinstance(left, YearMonth) and isinstance(right, YearMonth):
        return left + (right if sign == "+" else -right)
    if sign == "*" and isinstance(right, DaySecond | YearMonth):
        left, right = right, left
    if isinstance(left, DaySecond | YearMonth) and sign in "*/":
        return _scaled(left, arithmetic(sign, 1, right))
    raise OraError(932, "inconsistent datatypes")


def _months_later(date: datetime, months: int) -> datetime:
    """Return the same day of another month; ORA-01839 if that month has no such day."""
    years, month = divmod(date.year * 12 + date.month - 1 + months, 12)
    try:
        return date.replace(year=years, month=month + 1)
    except ValueError:
        raise OraError(1839, "date not valid for month specified") from None


def _scaled(interval: DaySecond | YearMonth, factor: int | Decimal | float) -> DaySecond | YearMonth:
    if isinstance(interval, DaySecond):
        return DaySecond(int(interval.nanoseconds * Decimal(factor)))
    return YearMonth(int(interval.months * Decimal(factor)))


@lru_cache(maxsize=512)
def like_pattern(pattern: str, escape: str | None) -> re.Pattern[str]:
    out, at = [], 0
    while at < len(pattern):
        sign = pattern[at]
        if escape and sign == escape:
            if pattern[at + 1 : at + 2] not in ("%", "_", escape):
                raise OraError(1424, "missing or illegal character following the escape character")
            at += 1
            out.append(re.escape(pattern[at]))
        else:
            out.append(".*" if sign == "%" else "." if sign == "_" else re.escape(sign))
        at += 1
    return re.compile("".join(out), re.DOTALL)
