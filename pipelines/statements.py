"""Named SQL out of sql/: one file per subject, one `-- name:` per statement, the text handed on as it stands.

From a checkout it reads the top-level sql/ folder, from an installed wheel its copy pipelines/_sql.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

HEADER = re.compile(r"^-- name:[ \t]*(?P<name>\S+)[ \t]*$", re.MULTILINE)
PACKAGED, CHECKOUT = Path(__file__).parent / "_sql", Path(__file__).parent.parent / "sql"


@dataclass(frozen=True, slots=True)
class NamedStatement:
    name: str
    sql: str
    why: str  # the comment lines under the name
    file: str


def split(text: str, file: str) -> list[NamedStatement]:
    """The statements of one file. SELECTs end without a semicolon, PL/SQL blocks keep theirs: nothing is stripped of them."""
    found = []
    headers = list(HEADER.finditer(text))
    for header, following in zip(headers, [*headers[1:], None], strict=True):
        body = text[header.end() : following.start() if following else len(text)].strip().splitlines()
        words = 0
        while words < len(body) and body[words].startswith("--"):
            words += 1
        why = " ".join(line.removeprefix("--").strip() for line in body[:words])
        sql = "\n".join(line for line in body[words:] if not line.startswith("--")).strip()
        if not sql:
            raise ValueError(f"{file}: statement {header['name']} is empty")
        found.append(NamedStatement(header["name"], sql, why, file))
    return found


@cache
def statements(subject: str = "oracle") -> Mapping[str, NamedStatement]:
    """All statements of one folder of sql/, by name."""
    folder = (PACKAGED if PACKAGED.is_dir() else CHECKOUT) / subject
    found: dict[str, NamedStatement] = {}
    for path in sorted(folder.glob("*.sql")):
        for statement in split(path.read_text(encoding="utf-8"), path.name):
            if statement.name in found:
                raise ValueError(f"{path.name}: {statement.name} is already in {found[statement.name].file}")
            found[statement.name] = statement
    return MappingProxyType(found)


def statement(name: str, subject: str = "oracle") -> str:
    """The text of one statement; an unknown name is a mistake of ours and raises KeyError."""
    return statements(subject)[name].sql


def setup_text(name: str) -> str:
    """A script of sql/setup/ as a DBA gets it, comments and all."""
    folder = PACKAGED if PACKAGED.is_dir() else CHECKOUT
    return (folder / "setup" / f"{name}.sql").read_text(encoding="utf-8")
