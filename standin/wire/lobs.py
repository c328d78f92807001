"""The LOB values of a session: those with a locator at the client, and those that the client writes.

A locator has 40 bytes in our own format: bit 7 of byte 6 means text in UTF-16, bit 0 of byte 7 temporary, the last eight
bytes are the key. Text is UTF-8, and UTF-16 for an NCLOB.
"""

from __future__ import annotations

from itertools import count

from standin.interface import OraError
from standin.octets import octets_of, units_of
from standin.wire.primitives import clr, dalc, sb, ub
from standin.wire.requests import LOCATOR_LENGTH, Dialect, LobOperation, LobRequest
from standin.wire.types import WireType

CHUNK_SIZE = 8132
_KEY, _UTF16 = 8, 0x80
_FILE_NAMES = 16  # where the names are in the locator of a BFILE
_OF_FILES = frozenset({LobOperation.FILE_EXISTS, LobOperation.FILE_OPEN, LobOperation.FILE_CLOSE, LobOperation.FILE_IS_OPEN})
_OPENED = 22293, "LOB already opened in the same transaction"
_NOT_OPENED = 22289, "cannot perform operation on an unopened file or LOB"
_PARAMETERS, _LOB_DATA = b"\x08", b"\x0e"


def file_cell(name: str) -> bytes:
    """Encode a BFILE, `directory/file`. Its locator has both names."""
    names = (part.encode() for part in name.split("/", 1))
    locator = bytes(_FILE_NAMES) + b"".join(len(part).to_bytes(2, "big") + part for part in names)
    return ub(len(locator)) + clr(locator)


class LobStore:
    """The LOBs of one session. Values of results live until the session ends, as their locators do."""

    def __init__(self, dialect: Dialect) -> None:
        self._values: dict[bytes, str | bytes] = {}
        self._open: set[bytes] = set()
        self._numbers = count(1)
        self._dialect = dialect

    def locator(self, value: str | bytes, *, national: bool = False, temporary: bool = False) -> bytes:
        key = next(self._numbers).to_bytes(_KEY, "big")
        self._values[key] = value
        return bytes(6) + bytes((_UTF16 if national else 0, temporary)) + bytes(LOCATOR_LENGTH - 8 - _KEY) + key

    def cell(self, value: str | bytes, national: bool = False) -> bytes:
        """Encode a LOB value of a row. An empty LOB is not NULL."""
        if self._dialect.is_jdbc:
            return dalc(self.locator(value))
        return ub(LOCATOR_LENGTH) + ub(len(value)) + ub(CHUNK_SIZE) + clr(self.locator(value, national=national))

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
            locator = self.locator(empty, national=request.is_national, temporary=True)
            return _PARAMETERS + locator + ub(request.charset) + b"\0"
        if request.operation in _OF_FILES or len(request.locator) != LOCATOR_LENGTH:  # no directory is modelled
            raise OraError(22285, "non-existent directory or file for FILEEXISTS operation")
        value = self.value(request.locator)
        data, amount = b"", request.amount or 0
        start = max(request.offset, 1) - 1
        match request.operation:
            case LobOperation.READ:
                piece = value[start : start + amount]
                amount = len(piece)
                data = _LOB_DATA + clr(_sent(piece, request.locator))
            case LobOperation.LENGTH:
                amount = len(value)
            case LobOperation.CHUNK_SIZE:
                amount = CHUNK_SIZE
            case LobOperation.TRIM:
                self._values[request.locator[-_KEY:]] = value[:amount]
            case LobOperation.WRITE:
                self._values[request.locator[-_KEY:]] = _overwritten(value, start, request)
            case LobOperation.OPEN | LobOperation.CLOSE:
                self._open_or_close(request)
            case LobOperation.IS_OPEN:
                pass
            case _:
                raise OraError(3001, f"unimplemented feature: LOB operation {request.operation:#x}")
        tail = sb(amount) if request.amount is not None else b""
        return (
            data
            + _PARAMETERS
            + request.locator
            + tail
            + (bytes((request.locator in self._open,)) if request.operation == LobOperation.IS_OPEN else b"")
        )

    def _open_or_close(self, request: LobRequest) -> None:
        """Note that a LOB is open, so that Oracle updates its indexes at its close; only one open is allowed."""
        opens = request.operation == LobOperation.OPEN
        if opens == (request.locator in self._open):
            raise OraError(*(_OPENED if opens else _NOT_OPENED))
        self._open ^= {request.locator}


def _is_national(locator: bytes) -> bool:
    return bool(locator[6] & _UTF16)


def _sent(piece: str | bytes, locator: bytes) -> bytes:
    if isinstance(piece, bytes):
        return piece
    return units_of(octets_of(piece)) if _is_national(locator) else octets_of(piece)


def _overwritten(value: str | bytes, start: int, request: LobRequest) -> str | bytes:
    data = request.data or b""
    if isinstance(value, bytes):
        return value[:start].ljust(start, b"\0") + data + value[start + len(data) :]
    text = data.decode("utf-16-be" if _is_national(request.locator) else "utf-8")
    return value[:start].ljust(start) + text + value[start + len(text) :]
