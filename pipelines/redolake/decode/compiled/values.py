"""Read literals as values, exactly or not at all: a row with a literal that is not understood is refused."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from redolake.decode.compiled.jit import Ints, Longs, Octets, inline, kernel, u64
from redolake.decode.compiled.statements import Literals
from redolake.decode.datatypes.number import DOUBLE_DIGITS

Word: TypeAlias = np.uint64

TEXT, INTEGER, MOMENT, DOUBLE, DECIMAL = range(5)  # readers; TEXT leaves the literal where it is

_QUOTE, _BLANK, _MINUS, _POINT, _ZERO, _COLON = 39, 32, 45, 46, 48, 58
_LOWER = np.uint64(0xFFFFFFFF)
_CHUNK = 18  # every number of so many digits fits into 64 bits
_ROWS_AT_ONCE = 64


class Values(NamedTuple):
    """What the readers make of literals, by column and row: the number, microseconds since 1970, the bits of a double, or the
    lower half of a decimal, whose other half is in `upper`."""

    lower: Longs
    upper: Longs


@inline
def _digits(data: Octets, at: int, end: int) -> tuple[int, bool]:
    """Return the number that up to 18 digits write, and whether there are only digits."""
    value, is_number = 0, True
    for i in range(u64(at), u64(max(at, end))):
        digit = int(data[i]) - _ZERO
        is_number &= 0 <= digit <= 9
        value = value * 10 + digit
    return value, is_number


@inline
def _parts(data: Octets, start: int, length: int) -> tuple[bool, int, int, int, int]:
    """Return of a number whether it is negative, where its digits begin and end, its decimals, and how many these are.

    The last is -1 for a point without a digit after it.
    """
    is_negative = data[u64(start)] == _MINUS
    first, end = start + is_negative, start + length
    point = first
    while point < end and data[u64(point)] != _POINT:
        point += 1
    decimals = end - point - 1
    return is_negative, first, point, min(point + 1, end), (decimals if decimals else -1) if point < end else 0


@inline
def _integer(data: Octets, start: int, length: int, most: int) -> tuple[int, bool]:
    """Return a whole number from -most - 1 to most, and whether it is one."""
    is_negative = data[u64(start)] == _MINUS
    digits = length - is_negative
    if digits < 1 or digits > _CHUNK:
        return 0, False
    value, is_number = _digits(data, start + is_negative, start + length)
    value = -value if is_negative else value
    return value, is_number and -most - 1 <= value <= most


@inline
def _double(data: Octets, start: int, length: int) -> tuple[float, bool]:
    """Return a number of up to 15 digits. They and the power of ten are exact, so that one division rounds correctly."""
    is_negative, first, point, fraction_at, decimals = _parts(data, start, length)
    digits = point - first + decimals
    if decimals < 0 or digits < 1 or digits > DOUBLE_DIGITS:
        return 0.0, False
    whole, is_whole = _digits(data, first, point)
    fraction, is_fraction = _digits(data, fraction_at, fraction_at + decimals)
    power = 1
    for _ in range(decimals):
        power *= 10
    value = np.float64(whole * power + fraction) / np.float64(power)
    return -value if is_negative and value != 0.0 else value, is_whole and is_fraction


@inline
def _times_plus(high: Word, low: Word, factor: Word, more: Word) -> tuple[Word, Word]:
    """Return the 128 bits of (high, low) * factor + more."""
    a, b = low >> u64(32), low & _LOWER
    c, d = factor >> u64(32), factor & _LOWER
    bd = b * d
    middle = a * d + (bd >> u64(32))
    other = b * c + (middle & _LOWER)
    upper = a * c + (middle >> u64(32)) + (other >> u64(32)) + high * factor
    lower = (other << u64(32)) | (bd & _LOWER)
    total = lower + more
    return upper + u64(total < lower), total


@inline
def _append_digits(data: Octets, at: int, end: int, high: Word, low: Word, is_number: bool) -> tuple[Word, Word, bool]:
    """Append digits to a number of 128 bits."""
    while at < end:
        until = min(end, at + _CHUNK)
        digits, is_digits = _digits(data, at, until)
        power = u64(1)
        for _ in range(at, until):
            power *= u64(10)
        high, low = _times_plus(high, low, power, u64(digits))
        is_number = is_number and is_digits
        at = until
    return high, low, is_number


@inline
def _decimal(data: Octets, start: int, length: int, precision: int, scale: int) -> tuple[Word, Word, bool]:
    """Return a number that decimal(precision, scale) holds as it is, in two's complement of 128 bits, and whether it does."""
    is_negative, first, point, fraction_at, decimals = _parts(data, start, length)
    whole = point - first
    if decimals < 0 or whole + decimals < 1 or whole > precision - scale or decimals > scale:
        return u64(0), u64(0), False
    high, low, is_number = _append_digits(data, first, point, u64(0), u64(0), True)
    high, low, is_number = _append_digits(data, fraction_at, fraction_at + decimals, high, low, is_number)
    for _ in range(decimals, scale):
        high, low = _times_plus(high, low, u64(10), u64(0))
    if is_negative:
        low = ~low + u64(1)
        high = ~high + u64(low == 0)
    return high, low, is_number


@inline
def _days(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01, by years that begin in March (Hinnant, days_from_civil)."""
    if month <= 2:
        year -= 1
        month += 12
    of_year = (153 * (month - 3) + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + of_year - 719468


@inline
def _microseconds(data: Octets, start: int, length: int, truncate: bool) -> tuple[int, bool]:
    """Return the microseconds since 1970 of `YYYY-MM-DD HH:MM:SS[.[f]]`, perhaps after a blank, and whether it is one."""
    blank = 1 if data[u64(start)] == _BLANK else 0
    start, length = start + blank, length - blank
    decimals = max(length - 20, 0)
    if not 19 <= length <= 29:
        return 0, False
    if data[u64(start + 4)] != _MINUS or data[u64(start + 7)] != _MINUS or data[u64(start + 10)] != _BLANK:
        return 0, False
    if data[u64(start + 13)] != _COLON or data[u64(start + 16)] != _COLON or (length > 19 and data[u64(start + 19)] != _POINT):
        return 0, False
    year, is_year = _digits(data, start, start + 4)
    month, is_month = _digits(data, start + 5, start + 7)
    day, is_day = _digits(data, start + 8, start + 10)
    hour, is_hour = _digits(data, start + 11, start + 13)
    minute, is_minute = _digits(data, start + 14, start + 16)
    second, is_second = _digits(data, start + 17, start + 19)
    fraction, is_fraction = _digits(data, start + 20, start + 20 + decimals)
    if not (is_year and is_month and is_day and is_hour and is_minute and is_second and is_fraction):
        return 0, False
    if year < 1 or month < 1 or month > 12 or day < 1 or hour > 23 or minute > 59 or second > 59:
        return 0, False
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    is_short = month == 4 or month == 6 or month == 9 or month == 11
    if day > (28 + is_leap if month == 2 else 30 if is_short else 31):
        return 0, False
    for _ in range(decimals, 6):
        fraction *= 10
    for _ in range(6, decimals):
        if fraction % 10 and not truncate:
            return 0, False
        fraction //= 10
    return ((_days(year, month, day) * 24 + hour) * 60 + minute) * 60_000_000 + second * 1_000_000 + fraction, True


@inline
def _value(data: Octets, start: int, length: int, reader: int, a: int, b: int) -> tuple[np.int64, np.int64, bool]:
    """Return what the reader makes of a literal, and whether it understands it."""
    if reader == INTEGER:
        value, is_understood = _integer(data, start, length, a)
        return np.int64(value), np.int64(0), is_understood
    if reader == MOMENT:
        value, is_understood = _microseconds(data, start, length, a != 0)
        return np.int64(value), np.int64(0), is_understood
    if reader == DOUBLE:
        double, is_understood = _double(data, start, length)
        return np.float64(double).view(np.int64), np.int64(0), is_understood
    high, low, is_understood = _decimal(data, start, length, a, b)
    return np.int64(low), np.int64(high), is_understood


@kernel
def read_values(data: Octets, literals: Literals, readers: Longs, values: Values, refused: Octets) -> None:
    """Read the literals of all columns that have a reader.

    Some rows at a time: their text stays in the processor's cache while it is read once per column.
    """
    columns, rows = literals.starts.shape
    for first in range(0, rows, _ROWS_AT_ONCE):
        for column in range(u64(columns)):
            reader, a, b = readers[column, 0], readers[column, 1], readers[column, 2]
            if reader == TEXT:
                continue
            for row in range(u64(first), u64(min(first + _ROWS_AT_ONCE, rows))):
                start = literals.starts[column, row]
                if start >= 0:
                    lower, upper, is_understood = _value(data, start, literals.lengths[column, row], reader, a, b)
                    values.lower[column, row] = lower
                    values.upper[column, row] = upper
                    if not is_understood:
                        refused[row] = 1


@kernel
def count_octets(literals: Literals, slots: Ints, ends: Longs) -> None:
    """Return in `ends` how many bytes at most the texts of each column have, summed up."""
    total = 0
    for i in range(len(slots)):
        for row in range(u64(literals.starts.shape[1])):
            if literals.starts[u64(slots[i]), row] >= 0:
                total += abs(literals.lengths[u64(slots[i]), row])
        ends[i] = total


@inline
def _copy_undoubled(data: Octets, at: int, stop: int, out: Octets, place: np.uint64) -> int:
    count = 0
    while at < stop:
        octet = data[u64(at)]
        out[place + u64(count)] = octet
        at += 2 if octet == _QUOTE else 1
        count += 1
    return count


@kernel
def copy_texts(data: Octets, literals: Literals, slots: Ints, bases: Longs, offsets: Ints, out: Octets) -> None:
    """Copy the texts of these columns, doubled quotes as one, column i from `bases[i]` of `out` on.

    Some rows at a time: their text stays in the processor's cache while it is read once per column.
    """
    rows = literals.starts.shape[1]
    for first in range(0, rows, _ROWS_AT_ONCE):
        for i in range(len(slots)):
            slot, base = u64(slots[i]), u64(bases[i])
            end = offsets[u64(i), u64(first)]
            for row in range(u64(first), u64(min(first + _ROWS_AT_ONCE, rows))):
                start, length = literals.starts[slot, row], literals.lengths[slot, row]
                if start >= 0:
                    place, source = base + u64(end), u64(start)
                    if length >= 0:
                        for at in range(u64(length)):
                            out[place + at] = data[source + at]
                        end += length
                    else:
                        end += _copy_undoubled(data, start, start - length, out, place)
                offsets[u64(i), row + u64(1)] = end
