"""The LOB values of a session: those with a locator at the client, and those that the client writes.

A locator has 40 bytes in our own format: bit 0 of byte 7 means temporary, the last eight bytes are the key. Text is UTF-8.
"""

from __future__ import annotations

from itertools import count

from standin.interface import OraError
from standin.octets import octets_of
from standin.wire.primitives import clr, dalc, sb, ub
from standin.wire.requests import LOCATOR_LENGTH, Dialect, LobOperation, LobRequest
from standin.wire.types import UTF8, WireType

CHUNK_SIZE = 8132
_KEY = 8
_PARAMETERS, _LOB_DATA = b"\x08", b"\x0e"


class LobStore:
    """The LOBs of one session. Values of results live until the session ends, as their locators do."""

    def __init__(self, dialect: Dialect) -> None:
        self._values: dict[bytes, str | bytes] = {}
        self._numbers = count(1)
        self._dialect = dialect

    def locator(self, value: str | bytes, *, temporary: bool = False) -> bytes:
        key = next(self._numbers).to_bytes(_KEY, "big")
        self._values[key] = value
        return bytes(7) + bytes((temporary,)) + bytes(LOCATOR_LENGTH - 8 - _KEY) + key

    def cell(self, value: str | bytes) -> bytes:
        """Encode a LOB value of a row. An empty LOB is not NULL."""
        if self._dialect.is_jdbc:
            return dalc(self.locator(value))
        return ub(LOCATOR_LENGTH) + ub(len(value)) + ub(CHUNK_SIZE) + clr(self.locator(value))

    def value(self, locator: bytes) -> str | bytes:
        value = self._values.get(locator[-_KEY:])
        if value is None:
            raise OraError(22275, "invalid LOB locator specified")
        return value

    def free(self, locators: list[bytes]) -> None:
        for locator in locators:
            self._values.pop(locator[-_KEY:], None)

    def perform(self, request: LobRequest) -> bytes:
        """Perform a LOB operation; return its reply without the message that ends the call."""
        if request.operation == LobOperation.CREATE_TEMPORARY:
            empty: str | bytes = b"" if request.destination == WireType.BLOB else ""
            return _PARAMETERS + self.locator(empty, temporary=True) + ub(UTF8) + b"\0"
        value = self.value(request.locator)
        data, amount = b"", request.amount or 0
        start = max(request.offset, 1) - 1
        match request.operation:
            case LobOperation.READ:
                piece = value[start : start + amount]
                amount = len(piece)
                data = _LOB_DATA + clr(octets_of(piece) if isinstance(piece, str) else piece)
            case LobOperation.LENGTH:
                amount = len(value)
            case LobOperation.CHUNK_SIZE:
                amount = CHUNK_SIZE
            case LobOperation.TRIM:
                self._values[request.locator[-_KEY:]] = value[:amount]
            case LobOperation.WRITE:
                self._values[request.locator[-_KEY:]] = _overwritten(value, start, request.data or b"")
            case LobOperation.OPEN | LobOperation.CLOSE | LobOperation.IS_OPEN:
                pass
            case _:
                raise OraError(3001, f"unimplemented feature: LOB operation {request.operation:#x}")
        tail = sb(amount) if request.amount is not None else b""
        return data + _PARAMETERS + request.locator + tail + (b"\0" if request.operation == LobOperation.IS_OPEN else b"")


def _overwritten(value: str | bytes, start: int, data: bytes) -> str | bytes:
    if isinstance(value, bytes):
        return value[:start].ljust(start, b"\0") + data + value[start + len(data) :]
    text = data.decode()
    return value[:start].ljust(start) + text + value[start + len(text) :]
