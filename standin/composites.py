"""Object types, records and collections: the OIDs of the types, and instances from the text of their JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from typing import Any

from standin.interface import Composite, OraError
from standin.intervals import DaySecond, YearMonth
from standin.model import SqlType

XMLTYPE = bytes.fromhex("00000000000000000000000000020100")  # the OID of SYS.XMLTYPE in every database
COLLECTIONS = frozenset({"VARRAY", "TABLE", "INDEX BY"})
STRUCTURES = frozenset({"OBJECT", "RECORD"})


def is_composite(kind: SqlType) -> bool:
    return kind.kind in COLLECTIONS or kind.kind in STRUCTURES


def oid_of(kind: SqlType) -> bytes:
    return XMLTYPE if kind.name == "XMLTYPE" else _oid(kind.owner, kind.package, kind.name)


@lru_cache(1000)
def _oid(owner: str, package: str, name: str) -> bytes:
    return sha256(f"{owner}.{package}.{name}".encode()).digest()[:16]


def from_json(shape: SqlType, text: str) -> Composite:
    return _composite(shape, json.loads(text, parse_float=Decimal))


def _composite(shape: SqlType, content: Any) -> Composite:
    if shape.kind in STRUCTURES:
        return Composite(shape, tuple(_value(part, content.get(name)) for name, part in shape.parts))
    return Composite(shape, tuple(_value(shape.parts[0][1], element) for element in content))


def from_plain(shape: SqlType, value: Any) -> Composite:
    """Return the instance of attributes by name, of elements, or of elements by index."""
    if isinstance(value, Composite):
        return value
    if shape.kind in STRUCTURES:
        return Composite(shape, tuple(_from_plain(part, value.get(name)) for name, part in shape.parts))
    element = shape.parts[0][1]
    if shape.kind == "INDEX BY":
        by_index = value if isinstance(value, dict) else dict(enumerate(value, 1))
        return Composite(shape, {index: _from_plain(element, one) for index, one in by_index.items()})
    return Composite(shape, tuple(_from_plain(element, one) for one in value))


def _from_plain(kind: SqlType, value: Any) -> Any:
    return from_plain(kind, value) if value is not None and is_composite(kind) else value


def to_plain(value: Any) -> Any:
    """Return an instance as attributes by name, or as the list of its elements."""
    if not isinstance(value, Composite):
        return value
    inner = [value.values[index] for index in sorted(value.values)] if isinstance(value.values, dict) else value.values
    elements = [to_plain(one) for one in inner]
    if value.shape.kind not in STRUCTURES:
        return elements
    return dict(zip((name for name, _ in value.shape.parts), elements, strict=True))


def _value(kind: SqlType, content: Any) -> Any:
    if content is None:
        return None
    if kind.kind:
        return _composite(kind, content)
    if kind.name in ("BINARY_DOUBLE", "BINARY_FLOAT"):
        return float(content)
    if kind.name in ("RAW", "BLOB"):
        return bytes.fromhex(content)
    if kind.name == "DATE" or kind.name.startswith("TIMESTAMP"):
        return _moment(kind.name, content)
    if kind.name == "INTERVAL DAY TO SECOND":
        return DaySecond.parse(content)
    return YearMonth.parse(content) if kind.name == "INTERVAL YEAR TO MONTH" else content


def _moment(kind: str, text: str) -> datetime:
    """Return the point of time. Local time is that of UTC, as clients get it."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise OraError(3001, f"unimplemented feature: {text} in an object") from None
    return at.astimezone(UTC).replace(tzinfo=None) if "LOCAL" in kind else at
