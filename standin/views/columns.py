"""Parses column lists of views, written as in the Database Reference: `NAME TYPE(size), NAME TYPE ...`."""

from __future__ import annotations

import re

from standin.interface import ColumnInfo

_COLUMN = re.compile(r"\s*([A-Z0-9_#$]+)\s+([A-Z0-9]+(?:\s+WITH\s+(?:LOCAL\s+)?TIME\s+ZONE)?)(?:\(([\d,]+)\))?\s*(?:,|$)")
_FIXED_SIZES = {"DATE": 7, "TIMESTAMP": 11, "TIMESTAMP WITH TIME ZONE": 13, "LONG": 32760, "CLOB": 4000}


def columns_of(text: str) -> tuple[ColumnInfo, ...]:
    """Return the columns. `VARCHAR2(n)` counts bytes; NUMBER has no precision, as in V$ views."""
    columns, at = [], 0
    text = text.strip()
    while at < len(text):
        found = _COLUMN.match(text, at)
        if found is None:
            raise ValueError(f"not a column list at {text[at : at + 40]!r}")
        at = found.end()
        columns.append(_column(found[1], " ".join(found[2].split()), found[3]))
    return tuple(columns)


def _column(name: str, kind: str, size: str | None) -> ColumnInfo:
    if kind in ("VARCHAR2", "CHAR"):
        return ColumnInfo(name, kind, int(size or 1), int(size or 1))
    if kind == "RAW":
        return ColumnInfo(name, kind, int(size or 16))
    if kind == "NUMBER" and size:
        precision, _, scale = size.partition(",")
        return ColumnInfo(name, kind, 22, 0, int(precision), int(scale or 0))
    return ColumnInfo(name, kind, _FIXED_SIZES.get(kind, 22))
