"""Quote identifiers for SQL; every identifier passes through here."""

from __future__ import annotations

from redolake.errors import SourceRefused

LONGEST_BYTES = 128


def quote(name: str) -> str:
    """Return `"NAME"`, or raise SourceRefused: Oracle allows any character but the double quote and NUL."""
    if not name or '"' in name or "\0" in name or len(name.encode()) > LONGEST_BYTES:
        raise SourceRefused(f"not an Oracle identifier: {name!r}", cure="correct the name in the configuration")
    return f'"{name}"'
