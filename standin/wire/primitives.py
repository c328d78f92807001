"""Encodes TTC's variable-length fields: ub and sb integers, clr byte strings, dalc (length and clr)."""

from __future__ import annotations

SHORT = 252  # 253 is an escape, 254 opens a chunked value, 255 is NULL
CHUNK = 32767


def ub(number: int) -> bytes:
    """Encode an unsigned integer, with a length that every client reads: 0, 1, 2, 4 or 8."""
    if number == 0:
        return b"\0"
    size = (number.bit_length() + 7) // 8
    size = size if size < 3 else 4 if size <= 4 else 8
    return bytes((size,)) + number.to_bytes(size, "big")


def sb(number: int) -> bytes:
    """Encode a signed integer; the high bit of the length is the sign."""
    if number >= 0:
        return ub(number)
    magnitude = ub(-number)
    return bytes((magnitude[0] | 0x80,)) + magnitude[1:]


def clr(value: bytes | None) -> bytes:
    """Encode a byte string with its length, in chunks if it is long. An empty one is NULL, as in Oracle."""
    if not value:
        return b"\0"
    if len(value) <= SHORT:
        return bytes((len(value),)) + value
    chunks = (value[i : i + CHUNK] for i in range(0, len(value), CHUNK))
    return b"\xfe" + b"".join(ub(len(c)) + c for c in chunks) + b"\0"


def dalc(value: bytes | str | None) -> bytes:
    """Encode a ub length, followed by the clr unless the length is 0."""
    if not value:
        return b"\0"
    raw = value.encode() if isinstance(value, str) else value
    return ub(len(raw)) + clr(raw)
