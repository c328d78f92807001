"""The wire of OpenLogReplicator's network target: lengths, and the protobuf messages of requests and answers."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

NONE = 2**64 - 1  # an SCN that is not known; in a START: now
LONG = 0xFFFFFFFF  # announces a length of 8 bytes
_VARINT, _BYTES = 0, 2
_C_SCN, _C_IDX = 8, 9  # of a request; 10 and 11 of an answer


class Request(IntEnum):
    INFO = 0
    START = 1
    CONTINUE = 2
    CONFIRM = 3


class Answer(IntEnum):
    READY = 0
    FAILED_START = 1
    STARTING = 2
    ALREADY_STARTED = 3
    REPLICATE = 4
    PAYLOAD = 5
    INVALID_DATABASE = 6
    INVALID_COMMAND = 7


@dataclass(frozen=True, slots=True)
class RedoRequest:
    code: int
    database: str
    scn: int | None = None
    seq: int | None = None
    c_scn: int | None = None
    c_idx: int | None = None
    other_start: bool = False  # it names a time, which the stand-in does not know


def framed(body: bytes, *, long: bool = False) -> bytes:
    """Return a message with its length; `long` writes it in 8 bytes."""
    if long or len(body) >= LONG:
        return struct.pack("<IQ", LONG, len(body)) + body
    return struct.pack("<I", len(body)) + body


def take_frame(buffer: bytearray) -> bytes | None:
    """Remove the first whole message from the buffer and return it; None while it is not complete."""
    if len(buffer) < 4:
        return None
    (length,), head = struct.unpack_from("<I", buffer), 4
    if length == LONG:
        if len(buffer) < 12:
            return None
        (length,), head = struct.unpack_from("<Q", buffer, 4), 12
    if len(buffer) < head + length:
        return None
    body = bytes(buffer[head : head + length])
    del buffer[: head + length]
    return body


def read_request(body: bytes) -> RedoRequest:
    """Decode a request. Raises ValueError."""
    found: dict[int, int | bytes] = {}
    at = 0
    while at < len(body):
        tag, at = _varint(body, at)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            found[number], at = _varint(body, at)
        elif kind == _BYTES:
            length, at = _varint(body, at)
            found[number], at = body[at : at + length], at + length
        else:
            raise ValueError(f"wire type {kind}")
    name = found.get(2, b"")
    if not isinstance(name, bytes):
        raise ValueError("a database name that is no text")
    number_of = {key: value for key, value in found.items() if isinstance(value, int)}
    return RedoRequest(
        number_of.get(1, 0), name.decode(), number_of.get(3), number_of.get(6), number_of.get(_C_SCN), number_of.get(_C_IDX),
        other_start=4 in found or 5 in found,
    )  # fmt: skip


def _varint(body: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(body):
            raise ValueError("a message that was cut short")
        byte = body[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at


def write_answer(code: Answer, scn: int | None = None, c_scn: int | None = None, c_idx: int | None = None) -> bytes:
    """Encode an answer. The field of a `oneof` is written also where it is 0; other zeros are left out."""
    fields = [(1, int(code) or None), (2, scn), (10, c_scn or None), (11, c_idx or None)]
    return b"".join(_encoded(number << 3) + _encoded(value) for number, value in fields if value is not None)


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
