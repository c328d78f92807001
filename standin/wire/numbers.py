"""Oracle's NUMBER format for single values: an exponent byte and base-100 digits, inverted in negative numbers."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, localcontext

MAXIMUM_PAIRS = 20
_ZERO = b"\x80"
_NEGATIVE_END = 102


class NumberOutOfRange(ValueError):
    """The value is beyond 1e126, not a number, or infinite."""


def encode_number(value: int | float | Decimal | str) -> bytes:
    """Encode a NUMBER, rounded to at most 40 digits as in Oracle. A value below 1e-130 becomes zero."""
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        raise NumberOutOfRange(f"{value} is not a NUMBER")
    pairs, exponent = _pairs(number)
    if len(pairs) > MAXIMUM_PAIRS:
        quantum = Decimal(1).scaleb(2 * (exponent - MAXIMUM_PAIRS))
        with localcontext() as context:
            context.prec = 2 * MAXIMUM_PAIRS + 2
            context.Emax, context.Emin = 999_999, -999_999
            pairs, exponent = _pairs(number.quantize(quantum, ROUND_HALF_UP))
    if not pairs or exponent < -64:
        return _ZERO
    if exponent > 63:
        raise NumberOutOfRange(f"{value} is beyond the range of NUMBER")
    if number > 0:
        return bytes((exponent + 192, *(pair + 1 for pair in pairs)))
    end = (_NEGATIVE_END,) if len(pairs) < MAXIMUM_PAIRS else ()
    return bytes((63 - exponent, *(101 - pair for pair in pairs), *end))


def decode_number(data: bytes) -> int | Decimal:
    """Return the exact value, as an int if it is whole, else as a Decimal."""
    if data == _ZERO:
        return 0
    if data[0] & 0x80:
        exponent, pairs = data[0] - 192, [byte - 1 for byte in data[1:]]
    else:
        digits = data[1:-1] if data[-1] == _NEGATIVE_END else data[1:]
        exponent, pairs = 63 - data[0], [101 - byte for byte in digits]
    mantissa = 0
    for pair in pairs:
        mantissa = mantissa * 100 + pair
    if not data[0] & 0x80:
        mantissa = -mantissa
    scale = 2 * (exponent - len(pairs))
    if scale >= 0:
        return int(mantissa * 10**scale)
    if mantissa % 10**-scale == 0:
        return int(mantissa // 10**-scale)
    if mantissa % 10 == 0:  # the last base-100 digit is not 0, so there is one zero at most
        mantissa, scale = mantissa // 10, scale + 1
    return Decimal(f"{mantissa}e{scale}")


def _pairs(number: Decimal) -> tuple[list[int], int]:
    """Return the base-100 digits without zeros at both ends, and the number of digits before the decimal point."""
    _, digits, power = number.as_tuple()
    exponent = int(power)
    text = "".join(map(str, digits)).lstrip("0")
    if exponent % 2:  # a whole number of base-100 digits after the point
        text, exponent = text + "0", exponent - 1
    if len(text) % 2:
        text = "0" + text
    pairs = [int(text[i : i + 2]) for i in range(0, len(text), 2)]
    before = len(pairs) + exponent // 2
    while pairs and pairs[-1] == 0:
        pairs.pop()
    return pairs, before
