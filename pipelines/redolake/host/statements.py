"""Named SQL from sql/: one file per subject, one `-- name:` per statement, texts unchanged.

A checkout reads the top-level sql/ folder, an installed wheel its copy redolake/_sql.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType

HEADER = re.compile(r"^-- name:[ \t]*(?P<name>\S+)[ \t]*$", re.MULTILINE)
PACKAGED, CHECKOUT = Path(__file__).parents[1] / "_sql", Path(__file__).parents[3] / "sql"


@dataclass(frozen=True, slots=True)
class NamedStatement:
    name: str
    sql: str
    why: str  # the comment lines under the name
    file: str


def split(text: str, file: str) -> list[NamedStatement]:
    """Return the statements of one file, unchanged: SELECTs stand without a semicolon, PL/SQL blocks with theirs."""
    found = []
    headers = list(HEADER.finditer(text))
    for header, following in zip(headers, [*headers[1:], None], strict=True):
        body = text[header.end() : following.start() if following else len(text)].strip().splitlines()
        comments = list(takewhile(lambda line: line.startswith("--"), body))
        why = " ".join(line.removeprefix("--").strip() for line in comments)
        sql = "\n".join(line for line in body[len(comments) :] if not line.startswith("--")).strip()
        if not sql:
            raise ValueError(f"{file}: statement {header['name']} is empty")
        found.append(NamedStatement(header["name"], sql, why, file))
    return found


@cache
def statements() -> Mapping[str, NamedStatement]:
    """Return all statements of sql/oracle by name."""
    folder = (PACKAGED if PACKAGED.is_dir() else CHECKOUT) / "oracle"
    found: dict[str, NamedStatement] = {}
    for path in sorted(folder.glob("*.sql")):
        for statement in split(path.read_text(encoding="utf-8"), path.name):
            if statement.name in found:
                raise ValueError(f"{path.name}: {statement.name} is already in {found[statement.name].file}")
            found[statement.name] = statement
    return MappingProxyType(found)


def statement(name: str) -> str:
    """Return the text of one statement; an unknown name raises KeyError."""
    return statements()[name].sql
