"""The wire: each message has its length before it, in 4 bytes or, after 0xffffffff, in 8. Requests and answers are protobuf.

The numbers of the fields are OpenLogReplicator's interface. They are declared here, so that no generated code is kept.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from redolake.errors import ReplicatorRefused

UNKNOWN_SCN = 2**64 - 1  # where nothing was confirmed
_LONG = 0xFFFFFFFF
LARGEST_BYTES = 64 * 2**20
_PACKAGE = "redolake.openlogreplicator"


class RequestCode(IntEnum):
    INFO = 0
    START = 1
    CONTINUE = 2
    CONFIRM = 3


class AnswerCode(IntEnum):
    READY = 0
    FAILED_START = 1
    STARTING = 2
    ALREADY_STARTED = 3
    REPLICATE = 4
    PAYLOAD = 5
    INVALID_DATABASE = 6
    INVALID_COMMAND = 7


@dataclass(frozen=True, slots=True)
class Answer:
    """`scn`: what commits after it is sent; `c_scn` is the position that was confirmed last, None where there is none."""

    code: AnswerCode
    scn: int | None = None
    c_scn: int | None = None


def _classes() -> tuple[Any, Any]:
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="redolake_openlogreplicator.proto", package=_PACKAGE, syntax="proto3")

    def add(message: Any, name: str, number: int, kind: int, oneof: str) -> None:
        """Add a field; each alone in a `oneof` keeps whether it was set."""
        message.oneof_decl.add(name=oneof)
        index = len(message.oneof_decl) - 1
        message.field.add(name=name, number=number, type=kind, label=field.LABEL_OPTIONAL, oneof_index=index)

    request = file.message_type.add(name="RedoRequest")
    request.field.add(name="code", number=1, type=field.TYPE_INT32, label=field.LABEL_OPTIONAL)
    request.field.add(name="database_name", number=2, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    for name, number in (("scn", 3), ("seq", 6), ("c_scn", 8), ("c_idx", 9)):
        add(request, name, number, field.TYPE_UINT64, f"has_{name}")
    answer = file.message_type.add(name="RedoResponse")
    answer.field.add(name="code", number=1, type=field.TYPE_INT32, label=field.LABEL_OPTIONAL)
    for name, number in (("scn", 2), ("c_scn", 10), ("c_idx", 11)):
        add(answer, name, number, field.TYPE_UINT64, f"has_{name}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return tuple(
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        for name in ("RedoRequest", "RedoResponse")
    )  # type: ignore[return-value]


_Request, _Response = _classes()


def request(
    code: RequestCode,
    database: str,
    *,
    scn: int | None = None,
    seq: int | None = None,
    c_scn: int | None = None,
    c_idx: int | None = None,
) -> bytes:
    """Return a request with its length."""
    message = _Request(code=int(code), database_name=database)
    for name, value in (("scn", scn), ("seq", seq), ("c_scn", c_scn), ("c_idx", c_idx)):
        if value is not None:
            setattr(message, name, value)
    body: bytes = message.SerializeToString()
    return struct.pack("<I", len(body)) + body


def read_answer(body: bytes) -> Answer:
    """Read an answer. Raises ReplicatorRefused for what is none."""
    message = _Response()
    try:
        message.ParseFromString(body)
        code = AnswerCode(message.code)
    except (DecodeError, ValueError) as error:
        raise ReplicatorRefused(
            "the answer is none of OpenLogReplicator's network target",
            cure="check `address`: the `uri` of a writer of the type `network` in OpenLogReplicator.json",
        ) from error
    scn = message.scn if message.HasField("scn") else None
    confirmed = message.c_scn if message.HasField("c_scn") and message.c_scn != UNKNOWN_SCN else None
    return Answer(code, scn, confirmed)


class Frames:
    """Cuts a stream of bytes into messages, wherever it is split."""

    def __init__(self, largest: int = LARGEST_BYTES) -> None:
        self._buffer, self._at, self._largest = bytearray(), 0, largest

    def add(self, data: bytes) -> None:
        if self._at:
            del self._buffer[: self._at]
            self._at = 0
        self._buffer += data

    def __iter__(self) -> Iterator[bytes]:
        """Yield the messages that are complete. Raises ReplicatorRefused for one above the limit: its length may be that of
        another, since a length of 8 bytes is written from 4."""
        while True:
            body = self._next()
            if body is None:
                return
            yield body

    def _next(self) -> bytes | None:
        head = 4
        if len(self._buffer) - self._at < head:
            return None
        (length,) = struct.unpack_from("<I", self._buffer, self._at)
        if length == _LONG:
            head = 12
            if len(self._buffer) - self._at < head:
                return None
            (length,) = struct.unpack_from("<Q", self._buffer, self._at + 4)
        if length > self._largest:
            raise ReplicatorRefused(
                f"a message of {length:,} bytes, and {self._largest:,} are the most that are read",
                cure="leave out the column with such a value, and its table, in OpenLogReplicator's `filter`; restart it. If "
                "every message is, "
                "another program listens at `address`",
            )
        end = self._at + head + length
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[self._at + head : end])
        self._at = end
        return body
