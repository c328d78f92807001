"""Reads the TTC fields of one request; fetches the next packet when a field continues in it.

TTC has no message length. Only complete parsing finds the end of a request, and `finish` checks it.
"""

from __future__ import annotations

from collections.abc import Callable

_NULL, _CHUNKED, _NULL_TOO = 0, 254, 255


class RequestNotUnderstood(Exception):
    """The bytes of a request do not parse, so the rest of the stream cannot be trusted either."""


class Reader:
    def __init__(self, data: bytes, more: Callable[[], bytes] | None = None) -> None:
        self._data, self._at, self._more = data, 0, more

    def raw(self, size: int) -> bytes:
        at = self._at
        end = self._at = at + size
        if end > len(self._data):
            at, end = self._refill(at, size)
        return self._data[at:end]

    def _refill(self, at: int, size: int) -> tuple[int, int]:
        """Fetch packets until `size` bytes from `at` on are there, and return where they are now."""
        pieces = [self._data[at:]]
        have = len(pieces[0])
        while have < size:
            if self._more is None:
                raise RequestNotUnderstood(f"{size - have} bytes are missing")
            pieces.append(self._more())
            have += len(pieces[-1])
        self._data, self._at = b"".join(pieces), size
        return 0, size

    def skip(self, size: int) -> None:
        self.raw(size)

    def u8(self) -> int:
        at = self._at
        self._at = at + 1
        if at >= len(self._data):
            at, _ = self._refill(at, 1)
        return self._data[at]

    def u16(self) -> int:
        high, low = self.raw(2)
        return high << 8 | low

    def ub(self) -> int:
        """Read a variable-length integer. The sign bit counts, so this also reads sb fields."""
        at = self._at
        if self._data[at : at + 1] == b"\0":  # most are: without a call
            self._at = at + 1
            return 0
        length = self.u8()
        if length == 0:
            return 0
        if length == 1:
            return self.u8()
        if length & 0x7F > 8:
            raise RequestNotUnderstood(f"an integer of {length & 0x7F} bytes")
        value = int.from_bytes(self.raw(length & 0x7F), "big")
        return -value if length & 0x80 else value

    def skip_fields(self, pattern: str) -> None:
        """Skip fields: "b" is a byte, "u" a variable-length integer."""
        size = len(pattern)
        if self._data.startswith(bytes(size), self._at):  # most are: at once
            self._at += size
            return
        for kind in pattern:
            first = self.u8()
            if first and kind == "u":
                self.skip(first & 0x7F)

    def clr(self) -> bytes | None:
        length = self.u8()
        if length in (_NULL, _NULL_TOO):
            return None
        if length != _CHUNKED:
            return self.raw(length)
        chunks = []
        while size := self.ub():
            chunks.append(self.raw(size))
        return b"".join(chunks)

    def dalc(self) -> bytes | None:
        return self.clr() if self.ub() else None

    def until_zero(self) -> bytes:
        """Read a null-terminated text, without the terminator."""
        text = bytearray()
        while byte := self.u8():
            text.append(byte)
        return bytes(text)

    @property
    def rest(self) -> bytes:
        """The bytes of the packets fetched so far that are not read yet."""
        return self._data[self._at :]

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def finish(self) -> None:
        if self.left:
            raise RequestNotUnderstood(f"{self.left} bytes are left over: {self._data[self._at : self._at + 16].hex(' ')}")
