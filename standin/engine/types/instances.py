"""Instances of users' types, which are kept as the text of their JSON: as JSON_OBJECT shows them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from standin.engine.types.values import Instance, coercer_of, number_text, to_text
from standin.interface import Composite, OraError
from standin.model import SqlType
from standin.moment import Moment
from standin.zones import Zoned


def constructor(kind: SqlType) -> Callable[[Any, Mapping[str, str]], Instance]:
    """Return the function that makes an instance of its attributes or elements."""
    coercers = [coercer_of(part, f'"{kind.owner}"."{kind.name}"') for _, part in kind.parts]

    def make(given: Sequence[Any], nls: Mapping[str, str]) -> Instance:
        if kind.kind == "OBJECT":
            if len(given) != len(kind.parts):
                raise OraError(2315, "incorrect number of arguments for default constructor")
            parts = list(zip(kind.parts, coercers, given, strict=True))
            texts = [f'"{name}":{_json(part, coerce, value, nls)}' for (name, part), coerce, value in parts]
            return Instance.of(kind, f"{{{','.join(texts)}}}")
        if kind.limit and len(given) > kind.limit:
            raise OraError(22909, "exceeded maximum VARRAY limit")
        part, coerce = kind.parts[0][1], coercers[0]
        return Instance.of(kind, f"[{','.join(_json(part, coerce, value, nls) for value in given)}]")

    return make


def instance_of(given: Composite, nls: Mapping[str, str]) -> Instance:
    """Return the instance that a client has bound. Raise ORA-00932 for a record or an INDEX BY table, which SQL has not."""
    if given.shape.kind not in ("OBJECT", "VARRAY", "TABLE"):
        raise OraError(932, f"inconsistent datatypes: got {given.shape.name}")
    parts = [instance_of(value, nls) if isinstance(value, Composite) else value for value in given.values]
    return constructor(given.shape)(parts, nls)


def _json(kind: SqlType, coerce: Callable[[Any, Mapping[str, str]], Any], given: Any, nls: Mapping[str, str]) -> str:
    if given is None:
        return "null"
    value = coerce(given, nls)
    if isinstance(value, Instance):
        return str(value)
    if isinstance(value, int | Decimal | float):
        text = number_text(value)
        return text.replace(".", "0.", 1) if text.startswith((".", "-.")) else text
    if isinstance(value, bytes):
        return f'"{value.hex().upper()}"'
    if isinstance(value, datetime | Moment):
        return f'"{_iso(kind, value)}"'
    if isinstance(value, Zoned):
        minutes = value.offset()
        zone = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
        return f'"{_iso(kind, value.local())}{zone}"'
    return json.dumps(to_text(value, nls), ensure_ascii=False)


def _iso(kind: SqlType, at: datetime | Moment) -> str:
    day = f"{at.year:04d}-{at.month:02d}-{at.day:02d}T{at.hour:02d}:{at.minute:02d}:{at.second:02d}"
    return day if kind.name == "DATE" else f"{day}.{at.microsecond:06d}"
