"""Tables that a DDL changes although its redo row names another table, or none. Pure.

TRUNCATE .. CASCADE removes the rows of referencing tables. DROP PARTITION removes those of tables that are partitioned by
reference; SPLIT, MERGE, COALESCE and ADD, of a hash, give theirs new ROWIDs. The only redo row is that of the first table.
EXCHANGE PARTITION moves the rows of a table to a partition of another one; its only redo row names the partitioned table.
LogMiner shows a DDL without name and number when its object no longer exists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pipelines.table import TableId, upper_name

_NAME = r'("[^"]+"|[^\W\d][\w$#]*)'
_TABLE = rf"{_NAME}(?:\s*\.\s*{_NAME})?"
# Literals and comments may contain anything, so they are removed; quoted names are kept.
_IGNORED = re.compile(r"(\"[^\"]*\")|'[^']*'|/\*.*?\*/|--[^\n]*", re.DOTALL)
_EXCHANGED = re.compile(rf"\bEXCHANGE\s+(?:SUB)?PARTITION\b.*?\bWITH\s+TABLE\s+{_TABLE}", re.IGNORECASE | re.DOTALL)
_OBJECT = re.compile(
    rf"\s*(?:(?:ALTER|CREATE|DROP|FLASHBACK|TRUNCATE)\s+TABLE|RENAME)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?{_TABLE}", re.IGNORECASE
)

_EXISTS = r"(?:IF\s+EXISTS\s+)?"
_CASCADES = re.compile(
    rf"\s*(?:TRUNCATE\s+TABLE\s+{_EXISTS}{_TABLE}"
    rf"|ALTER\s+TABLE\s+{_EXISTS}{_TABLE}.*?\b(?:TRUNCATE|EXCHANGE)\s+(?:SUB)?PARTITION\b).*\bCASCADE\b",
    re.IGNORECASE | re.DOTALL,
)
_RENAMED = re.compile(rf"\bTO\s+{_TABLE}[\s;\0]*$", re.IGNORECASE)
# ADD of a partition with VALUES moves no row; Oracle itself adds such partitions all the time.
_WITH_VALUES = rf"\s+(?:SUB)?PARTITION\s+(?:{_NAME}\s+)?VALUES\b"
_OF_PARTITION = rf"(?:MODIFY\s+PARTITION\s+(?:FOR\s*\([^)]*\)|{_NAME})\s+)?"
_CHANGES_PARTITION = re.compile(
    rf"\s*ALTER\s+TABLE\s+{_EXISTS}{_TABLE}"
    rf"(\s+{_OF_PARTITION}(?:DROP|SPLIT|MERGE|COALESCE|ADD(?!{_WITH_VALUES}))\s+(?:SUB)?PARTITIONS?\b.*)",
    re.IGNORECASE | re.DOTALL,
)


def new_name(sql: str) -> str | None:
    """Return the name after TO at the end of a RENAME; None for other statements."""
    match = _RENAMED.search(sql)
    return None if match is None else _spelled(match[2] or match[1])


def changed_partition(sql: str) -> str | None:
    """Return what follows the table's name in an ALTER TABLE that changes partitions by reference too; None for others."""
    match = _CHANGES_PARTITION.match(_without_texts(sql))
    return None if match is None else match[3]


def cascading_table(row: Mapping[str, Any]) -> TableId | None:
    """Return the table that the DDL names if it removes or moves the rows of tables that refer to it too; None for others."""
    text = _without_texts(row["sql_redo"])
    match = _CASCADES.match(text) or _CHANGES_PARTITION.match(text)
    if match is None:
        return None
    first, second = (part and _spelled(part) for part in (match.groups()[:2] if match[1] else match.groups()[2:]))
    return TableId(first, second) if second else TableId(str(row["seg_owner"] or ""), first or "")


def table_from_ddl_text(row: Mapping[str, Any], captured: Mapping[tuple[str, str], TableId]) -> TableId | None:
    """Return the captured table that a DDL changes although its row names no captured table; None when there is none. A DDL of
    another object with the same name is not one."""
    text = _without_texts(row["sql_redo"])
    owner = row["seg_owner"] if row["seg_owner"] != "UNKNOWN" else None
    found = (captured.get(name) for name in _named(text, owner, is_nameless(row), captured))
    return next((table for table in found if table is not None), None)


def _without_texts(sql: str | None) -> str:
    return _IGNORED.sub(lambda m: m[1] or " ", sql or "")


def exchanged_table(row: Mapping[str, Any], captured: Mapping[tuple[str, str], TableId]) -> TableId | None:
    """Return the captured table whose rows an EXCHANGE PARTITION of another table has taken."""
    return table_from_ddl_text({**row, "object_id": row["object_id"] or -1}, captured)


def is_nameless(row: Mapping[str, Any]) -> bool:
    return not row["object_id"] and (row["table_name"] is None or row["seg_owner"] in (None, "UNKNOWN"))


def _named(
    text: str, owner: str | None, nameless: bool, captured: Mapping[tuple[str, str], TableId]
) -> Iterator[tuple[str, str]]:
    """Yield the owner and name of each named table. Without an owner in the text or the row, every captured owner is tried."""
    for match in (_EXCHANGED.search(text), _OBJECT.match(text) if nameless else None):
        if match is not None:
            first, second = (part and _spelled(part) for part in match.groups())
            if second:
                yield first, second
            else:
                yield from ((o, first) for o in ([owner] if owner else sorted({o for o, _ in captured})))


def _spelled(name: str) -> str:
    return name[1:-1] if name.startswith('"') else upper_name(name)
