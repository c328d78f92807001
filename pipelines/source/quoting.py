"""The one way an identifier gets into SQL: quoted, and refused when no quoting could make it one."""

from __future__ import annotations

from pipelines.errors import SourceRefused

LONGEST_BYTES = 128


def quoted(name: str) -> str:
    """`"NAME"`; Oracle allows any character in it but the double quote and NUL."""
    if not name or '"' in name or "\0" in name or len(name.encode()) > LONGEST_BYTES:
        raise SourceRefused(f"not an Oracle identifier: {name!r}", cure="correct the name in the configuration")
    return f'"{name}"'
