"""The key of a row as a person writes it, for a command or in a form."""

from __future__ import annotations

import json

from redolake.values.table import upper_name


def parse_row_key(text: str) -> dict[str, str]:
    """Return a key such as `ID=42` or `CODE=A,DAY=2026-01-31 00:00:00`, or as a JSON object, by column name.

    Raises ValueError for a text that is none."""
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text, parse_int=str, parse_float=str)
        except ValueError:
            raise ValueError("not a JSON object") from None
        if not all(isinstance(value, str) for value in found.values()):
            raise ValueError("each value of the JSON object is a text or a number")
        return dict(found)
    parts = [part.partition("=") for part in text.split(",")]
    if not all(name and sign for name, sign, _ in parts):
        raise ValueError('write COLUMN=value[,COLUMN=value], or a JSON object where a value has a comma or "="')
    return {upper_name(name.strip()): value for name, _, value in parts}
