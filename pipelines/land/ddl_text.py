"""Tables that a DDL is about although its redo row names another one, or none. Pure.

EXCHANGE PARTITION gives the rows of a table to another table's partition, and leaves no redo but a row of the partitioned one.
And LogMiner may leave a DDL without name and number, where its object is gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.table import TableId

_NAME = r'("[^"]+"|[^\W\d][\w$#]*)'
_TABLE = rf"{_NAME}(?:\s*\.\s*{_NAME})?"
# Literals and comments hold words of anything; a name in quotes is kept whatever it holds.
_PASSED_OVER = re.compile(r"(\"[^\"]*\")|'[^']*'|/\*.*?\*/|--[^\n]*", re.DOTALL)
_EXCHANGED = re.compile(rf"\bEXCHANGE\s+(?:SUB)?PARTITION\b.*?\bWITH\s+TABLE\s+{_TABLE}", re.IGNORECASE | re.DOTALL)
_OBJECT = re.compile(
    rf"\s*(?:(?:ALTER|CREATE|DROP|FLASHBACK|TRUNCATE)\s+TABLE|RENAME)\s+(?:IF\s+EXISTS\s+)?{_TABLE}", re.IGNORECASE
)


def told_by_text(row: Mapping[str, Any], captured: Mapping[tuple[str, str], TableId]) -> TableId | None:
    """The captured table, if any, that a DDL row of no captured table is about. One that has an object of its own, and only
    shares the name, is none."""
    text = _PASSED_OVER.sub(lambda m: m[1] or " ", str(row["sql_redo"] or ""))
    owner = row["seg_owner"] if row["seg_owner"] != "UNKNOWN" else None
    found = (captured.get(name) for name in _named(text, owner, is_nameless(row), captured))
    return next((table for table in found if table is not None), None)


def is_nameless(row: Mapping[str, Any]) -> bool:
    return not row["object_id"] and (row["table_name"] is None or row["seg_owner"] in (None, "UNKNOWN"))


def _named(
    text: str, owner: str | None, nameless: bool, captured: Mapping[tuple[str, str], TableId]
) -> Iterator[tuple[str, str]]:
    """A name without an owner may be any owner's where the row does not tell one."""
    for match in (_EXCHANGED.search(text), _OBJECT.match(text) if nameless else None):
        if match is not None:
            first, second = (part and _spelt(part) for part in match.groups())
            if second:
                yield first, second
            else:
                yield from ((o, first) for o in ([owner] if owner else sorted({o for o, _ in captured})))


def _spelt(name: str) -> str:
    return name[1:-1] if name.startswith('"') else name.upper()
