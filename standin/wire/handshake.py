"""The handshake before the logon: connect data, ACCEPT or REFUSE, protocol and data type negotiation.

It negotiates the simplest protocol of current drivers, that of Oracle 19.1: no out-of-band breaks, no encryption, no fast
logon, all text in UTF-8.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from functools import lru_cache

from standin.wire.packets import Disconnected, PacketStream, PacketType
from standin.wire.primitives import clr
from standin.wire.reader import Reader, RequestNotUnderstood
from standin.wire.requests import Dialect
from standin.wire.types import UTF8, UTF16

TNS_VERSION = 315  # from 318 on: out-of-band check; from 319 on: fast logon and end-of-response marks
FIELD_VERSION = 12
SDU_LIMIT = 65_535
_NO_NATIVE_SERVICES = 0x04  # both NSI bytes: JDBC then skips its encryption negotiation
_PROTOCOL, _DATA_TYPES = 1, 2
_CONNECT_DATA_AT, _WIDE_SDU_AT = 16, 50
_BANNER = b"x86_64/Linux 2.4.xx"


@dataclass(frozen=True, slots=True)
class ConnectData:
    """The connect data that the client sent to the listener."""

    text: str
    sdu: int

    def value(self, *names: str) -> str:
        match = re.search(rf"\(\s*(?:{'|'.join(names)})\s*=\s*([^()]*?)\s*\)", self.text, re.I)
        return match[1] if match else ""

    @property
    def service(self) -> str:
        return self.value("SERVICE_NAME", "SID")

    @property
    def instance(self) -> str | None:
        return self.value("INSTANCE_NAME") or None

    @property
    def program(self) -> str:
        return self.value("PROGRAM")

    @property
    def machine(self) -> str:
        """HOST of the CID, not of the address."""
        cid = re.search(r"\(CID=.*?\(HOST=([^()]*)\)", self.text, re.I | re.S)
        return cid[1] if cid else ""


def receive_connect(stream: PacketStream) -> ConnectData:
    packet = stream.receive()
    if packet.type != PacketType.CONNECT or len(packet.body) < _CONNECT_DATA_AT + 4:
        raise Disconnected("the first packet is not a CONNECT")
    body = packet.body
    length, offset = struct.unpack_from(">HH", body, _CONNECT_DATA_AT)
    sdu = struct.unpack_from(">I", body, _WIDE_SDU_AT)[0] if len(body) >= _WIDE_SDU_AT + 4 else 8192
    text = body[offset - 8 : offset - 8 + length]
    if len(text) < length:  # more than 230 bytes: sent in a separate DATA packet
        text = stream.receive().body[2:]
    return ConnectData(text.decode(errors="replace"), sdu)


def refuse(stream: PacketStream, code: int) -> None:
    """Refuse the client with an error code, such as 12514 for an unknown service."""
    text = f"(DESCRIPTION=(TMP=)(VSNNUM=318767104)(ERR={code})(ERROR_STACK=(ERROR=(CODE={code})(EMFI=4))))".encode()
    stream.send(PacketType.REFUSE, b"\x22\0" + struct.pack(">H", len(text)) + text)


def accept(stream: PacketStream, wished_sdu: int) -> None:
    stream.sdu = min(max(wished_sdu, 512), SDU_LIMIT)
    fixed = struct.pack(">HHHHHHH", TNS_VERSION, 1, stream.sdu, 0xFFFF, 1, 0, 45)
    services = bytes((_NO_NATIVE_SERVICES,)) * 2
    stream.send(PacketType.ACCEPT, fixed + services + bytes(8) + struct.pack(">II", stream.sdu, stream.sdu) + bytes(5))
    stream.wide = True


def negotiate(stream: PacketStream) -> Dialect:
    """Negotiate protocol and data types. The driver's name decides the dialect."""
    reader = _message(stream, _PROTOCOL)
    reader.until_zero()  # the protocol versions that the client supports
    driver = reader.until_zero()
    reader.finish()
    dialect = Dialect(is_jdbc=driver.startswith(b"Java"))
    stream.send_data(_protocol_reply(dialect))
    reader = _message(stream, _DATA_TYPES)
    reader.skip(5)
    reader.clr()
    reader.clr()
    _skip_types(reader)
    reader.finish()
    stream.send_data(bytes((_DATA_TYPES, 0, 0)))
    return dialect


def _skip_types(reader: Reader) -> None:
    length = _length_of_types(reader.rest)
    if length is None:
        _read_types(reader)
    else:
        reader.skip(length)


def _read_types(reader: Reader) -> None:
    while reader.u16():  # type, then its conversion; an entry without conversion ends here
        if reader.u16():
            reader.skip(4)


@lru_cache(10)
def _length_of_types(data: bytes) -> int | None:
    """Return the length of the list, which is hundreds of entries and the same at each logon; None if `data` ends before."""
    reader = Reader(data)
    try:
        _read_types(reader)
    except RequestNotUnderstood:
        return None
    return len(data) - reader.left


def _message(stream: PacketStream, wanted: int) -> Reader:
    reader = stream.request()
    if not isinstance(reader, Reader):
        raise Disconnected("the client disconnected before the logon")
    if (kind := reader.u8()) != wanted:
        raise RequestNotUnderstood(f"message {kind} instead of {wanted}")
    return reader


def _protocol_reply(dialect: Dialect) -> bytes:
    compiled = bytearray(46)
    compiled[7] = FIELD_VERSION
    if dialect.is_jdbc:
        compiled[4], compiled[15], compiled[27], compiled[37] = 0x20, 0x01, 0x01, 0x20
    runtime = bytearray(11)
    runtime[6] = 0x04  # binds are "long" from 32768 bytes on
    formats = bytes(9) + struct.pack(">H", UTF16)
    head = bytes((_PROTOCOL, 6, 0)) + _BANNER + b"\0" + struct.pack("<HBH", UTF8, 1, 0)
    return head + struct.pack(">H", len(formats)) + formats + clr(bytes(compiled)) + clr(bytes(runtime))
