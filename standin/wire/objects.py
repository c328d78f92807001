"""XMLTYPE on the wire, the only object type that clients get: an image with the document as text."""

from __future__ import annotations

from standin.wire.primitives import clr, dalc, ub

XMLTYPE = bytes.fromhex("00000000000000000000000000020100")  # the OID of the type
_EXTENT = bytes.fromhex("00000000000000000000000000010001")
_TYPE = b"\x00\x22\x02\x08" + XMLTYPE + _EXTENT
_HEADER = b"\x84\x01"  # version 8.1, no prefix segment; image version 1
_AS_TEXT = b"\x01" + (4).to_bytes(4, "big")
_LONG = 0xFE


def xml_cell(document: str | None) -> bytes:
    """Encode a document: its type, no OID and no snapshot, a version, the image with its length, flags. NULL has no image."""
    if document is None:
        return bytes(6)
    body = _AS_TEXT + document.encode("utf-8", "surrogateescape")
    whole = len(_HEADER) + 1 + len(body)
    length = bytes((whole,)) if whole < _LONG - 4 else bytes((_LONG,)) + (whole + 4).to_bytes(4, "big")
    image = _HEADER + length + body
    return dalc(_TYPE) + dalc(b"") * 2 + ub(0) + ub(len(image)) + ub(0) + clr(image)
