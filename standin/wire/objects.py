"""Instances of object types and collections on the wire: an image with all values, in a cell that names their type.

An image has flags, a version and its length. Values have a length byte; an object inside another one has no image of its own,
while elements of collections and collections inside objects do. XMLTYPE has an image with the document as text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from standin.composites import COLLECTIONS, oid_of
from standin.interface import Composite, OraError
from standin.model import SqlType
from standin.wire.primitives import clr, dalc, ub
from standin.wire.types import LOBS, NATIONAL, type_of_part
from standin.wire.values import decode_bind, out_bytes

Locator = Callable[..., bytes]  # of a LOB: (value, national=..)
NULL = bytes(6)  # no type, OID, snapshot, version, image or flags
_EXTENT = bytes.fromhex("00000000000000000000000000010001")
_VERSION_81, _IS_COLLECTION, _NO_PREFIX = 0x80, 0x08, 0x04
_IMAGE_VERSION = b"\x01"
_PREFIX = b"\x01\x01"  # its length, and what it has
_HAS_INDEXES = 0x10
_LONG, _NULL_VALUE, _NULL_OBJECT = 0xFE, b"\xff", b"\xfd"
_LONGEST = 245  # of a length in one byte
_AS_TEXT = b"\x01" + (4).to_bytes(4, "big")
_INTEGERS = frozenset({"PLS_INTEGER", "BINARY_INTEGER", "BOOLEAN"})  # four bytes, in an image


def object_cell(value: Composite, locator: Locator) -> bytes:
    """Encode an instance: its type, no OID and no snapshot, a version, the image with its length, flags."""
    return _cell(oid_of(value.shape), _image(value, locator))


def xml_cell(document: str | None) -> bytes:
    return NULL if document is None else _cell(oid_of(SqlType("XMLTYPE")), _xml_image(document))


def _cell(oid: bytes, image: bytes) -> bytes:
    return dalc(b"\x00\x22\x02\x08" + oid + _EXTENT) + dalc(b"") * 2 + ub(0) + ub(len(image)) + ub(0) + clr(image)


def _image(value: Composite, locator: Locator) -> bytes:
    is_collection = value.shape.kind in COLLECTIONS
    body = _PREFIX + _elements(value, locator) if is_collection else _attributes(value, locator)
    return _headed(body, _IS_COLLECTION if is_collection else _NO_PREFIX)


def _xml_image(document: str) -> bytes:
    return _headed(_AS_TEXT + document.encode("utf-8", "surrogateescape"), _NO_PREFIX)


def _headed(body: bytes, flag: int) -> bytes:
    whole = 3 + len(body)
    length = bytes((whole,)) if whole <= _LONGEST else bytes((_LONG,)) + (whole + 4).to_bytes(4, "big")
    return bytes((_VERSION_81 | flag,)) + _IMAGE_VERSION + length + body


def _attributes(value: Composite, locator: Locator) -> bytes:
    parts = zip(value.shape.parts, value.values, strict=True)
    return b"".join(_part(kind, inner, locator, inside_collection=False) for (_, kind), inner in parts)


def _elements(value: Composite, locator: Locator) -> bytes:
    kind = value.shape.parts[0][1]
    if isinstance(value.values, dict):
        elements = [index.to_bytes(4, "big", signed=True) for index in sorted(value.values)]
        inner = [value.values[index] for index in sorted(value.values)]
    else:
        elements, inner = [b""] * len(value.values), list(value.values)
    texts = (front + _part(kind, one, locator, inside_collection=True) for front, one in zip(elements, inner, strict=True))
    return bytes((_HAS_INDEXES if value.shape.kind == "INDEX BY" else 0,)) + _length(len(inner)) + b"".join(texts)


def _part(kind: SqlType, value: Any, locator: Locator, *, inside_collection: bool) -> bytes:
    if value is None:
        return _NULL_VALUE if not kind.kind or kind.kind in COLLECTIONS else _NULL_OBJECT
    if isinstance(value, Composite):
        if inside_collection or kind.kind in COLLECTIONS:
            return _sized(_image(value, locator))
        return _attributes(value, locator)
    return _sized(_scalar(kind, value, locator))


def _scalar(kind: SqlType, value: Any, locator: Locator) -> bytes:
    if kind.name == "XMLTYPE":
        return _xml_image(value)
    if kind.name in _INTEGERS:
        return int(value).to_bytes(4, "big", signed=True)
    wire = type_of_part(kind)
    if wire.type in LOBS:
        return locator(value, national=wire.form == NATIONAL)
    return out_bytes(value, wire)


def _sized(data: bytes) -> bytes:
    return _length(len(data)) + data


def _length(size: int) -> bytes:
    return bytes((size,)) if size <= _LONGEST else bytes((_LONG,)) + size.to_bytes(4, "big")


def read_object(image: bytes, shape: SqlType, large_object: Callable[[bytes], str | bytes]) -> Composite:
    """Decode the image of a bind. `large_object` returns the value of a locator."""
    return _Image(image, large_object).whole(shape)


class _Image:
    def __init__(self, data: bytes, large_object: Callable[[bytes], str | bytes]) -> None:
        self._data, self._at, self._large_object = data, 0, large_object

    def whole(self, shape: SqlType) -> Composite:
        flags = self._take(2)[0]
        self._size()
        if not flags & _NO_PREFIX:
            self._take(self._size())
        return self._elements(shape) if shape.kind in COLLECTIONS else self._attributes(shape)

    def _attributes(self, shape: SqlType) -> Composite:
        return Composite(shape, tuple(self._part(kind, inside_collection=False) for _, kind in shape.parts))

    def _elements(self, shape: SqlType) -> Composite:
        self._take(1)
        count, kind = self._size(), shape.parts[0][1]
        if shape.kind != "INDEX BY":
            return Composite(shape, tuple(self._part(kind, inside_collection=True) for _ in range(count)))
        found = {}
        for _ in range(count):
            index = int.from_bytes(self._take(4), "big", signed=True)
            found[index] = self._part(kind, inside_collection=True)
        return Composite(shape, found)

    def _part(self, kind: SqlType, *, inside_collection: bool) -> Any:
        if self._data[self._at : self._at + 1] in (_NULL_VALUE, _NULL_OBJECT):
            self._take(1)
            return None
        if kind.kind and not inside_collection and kind.kind not in COLLECTIONS:
            return self._attributes(kind)
        data = self._take(self._size())
        if kind.kind:
            return _Image(data, self._large_object).whole(kind)
        return self._scalar(kind, data) if data else None

    def _scalar(self, kind: SqlType, data: bytes) -> Any:
        if kind.name in _INTEGERS:
            number = int.from_bytes(data, "big", signed=True)
            return bool(number) if kind.name == "BOOLEAN" else number
        wire = type_of_part(kind)
        return self._large_object(data) if wire.type in LOBS else decode_bind(data, wire)

    def _size(self) -> int:
        size = self._take(1)[0]
        return int.from_bytes(self._take(4), "big") if size == _LONG else size

    def _take(self, count: int) -> bytes:
        if self._at + count > len(self._data):
            raise OraError(22337, "the type of accessed object has been evolved")
        start, self._at = self._at, self._at + count
        return self._data[start : self._at]
