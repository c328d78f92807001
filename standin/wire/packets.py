"""Frames and unframes TNS packets on a socket. Other modules interpret their content."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from enum import IntEnum

from standin.wire.reader import Reader


class PacketType(IntEnum):
    CONNECT = 1
    ACCEPT = 2
    REFUSE = 4
    DATA = 6
    MARKER = 12


class Marker(IntEnum):
    BREAK = 1
    RESET = 2
    INTERRUPT = 3


END_OF_FILE = 0x0040  # data flag of the empty packet that a client sends before it closes its socket
MAXIMUM_PACKET = 4 * 1024 * 1024  # the largest SDU that a client may request is 2 MB
_KNOWN_TYPES = frozenset(PacketType)
_HEADER = 8
_DATA_HEADER = 10


class Disconnected(Exception):
    """The client has disconnected or broken the protocol; the session ends without an answer."""


@dataclass(frozen=True, slots=True)
class Packet:
    type: int
    body: bytes

    @property
    def data_flags(self) -> int:
        return int.from_bytes(self.body[:2], "big")


class PacketStream:
    """The packets of one connection. Lengths are 16 bits wide until ACCEPT, then 32 bits."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.sdu = 8192
        self.wide = False
        self._buffer = bytearray()

    def receive(self) -> Packet:
        header = self._take(_HEADER)
        length = int.from_bytes(header[:4] if self.wide else header[:2], "big")
        if header[4] not in _KNOWN_TYPES or not _HEADER <= length <= MAXIMUM_PACKET:
            raise Disconnected(f"a packet of type {header[4]} and {length} bytes")
        return Packet(header[4], self._take(length - _HEADER))

    def request(self) -> Reader | Marker | None:
        """Return the next request or a marker between requests; None when the client logs off."""
        packet = self.receive()
        if packet.type == PacketType.MARKER:
            return Marker(packet.body[2])
        if packet.type != PacketType.DATA:
            raise Disconnected(f"a packet of type {packet.type} in place of a request")
        return None if packet.data_flags & END_OF_FILE else Reader(packet.body[2:], self._more)

    def send(self, type_: PacketType, body: bytes) -> None:
        length = len(body) + _HEADER
        head = struct.pack(">I", length) if self.wide else struct.pack(">HH", length, 0)
        self._write(head + bytes((type_, 0, 0, 0)) + body)

    def send_marker(self, marker: Marker) -> None:
        self.send(PacketType.MARKER, bytes((1, 0, marker)))

    def send_data(self, payload: bytes) -> None:
        """Send a response or a part of it, in DATA packets of at most SDU bytes."""
        self._write(self._packed(payload))

    def send_half(self, payload: bytes) -> None:
        """Send the first half of a response and stop inside a packet, like a cut network."""
        packed = self._packed(payload)
        self._write(packed[: len(packed) // 2])

    def _packed(self, payload: bytes) -> bytes:
        room = self.sdu - _DATA_HEADER
        view = memoryview(payload)
        pieces: list[bytes | memoryview] = []
        for start in range(0, len(payload), room):
            piece = view[start : start + room]
            pieces += [struct.pack(">IBBHH", len(piece) + _DATA_HEADER, PacketType.DATA, 0, 0, 0), piece]
        return b"".join(pieces)

    def is_interrupted(self) -> bool:
        """Return whether the client has sent a marker or disconnected during its call. Consumes nothing."""
        seen = bytes(self._buffer[:_HEADER])
        if len(seen) < _HEADER:
            try:
                seen += self.socket.recv(_HEADER - len(seen), socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            except OSError:
                return True
        return not seen or (len(seen) == _HEADER and seen[4] == PacketType.MARKER)

    def _more(self) -> bytes:
        packet = self.receive()
        if packet.type != PacketType.DATA:
            raise Disconnected(f"a packet of type {packet.type} in the middle of a request")
        return packet.body[2:]

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            try:
                received = self.socket.recv(65536)
            except OSError as error:
                raise Disconnected(str(error)) from error
            if not received:
                raise Disconnected("the client closed the connection")
            self._buffer += received
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _write(self, data: bytes) -> None:
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Disconnected(str(error)) from error
