"""Runs the scripts of sql/setup on the stand-in as SQL*Plus would: comments, `&name`, one `;` per statement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

SCRIPTS = Path(__file__).parents[1] / "sql" / "setup"


class _Session(Protocol):
    def execute(self, sql: str, rows: list[list[object]]) -> object: ...


def setup_statements(name: str, substitutions: Mapping[str, str]) -> list[str]:
    """Return the statements of sql/setup/<name>.sql. Raises KeyError for a missing substitution."""
    text = (SCRIPTS / f"{name}.sql").read_text(encoding="utf-8")
    bare = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
    filled = re.sub(r"&(\w+)", lambda found: substitutions[found[1]], bare)
    return [statement.strip() for statement in filled.split(";") if statement.strip()]


def without_containers(statements: list[str]) -> list[str]:
    """Return the statements for a database without containers, changed as the script's first comment describes."""
    changed = []
    for statement in statements:
        if re.search(r"SET CONTAINER_DATA|ALTER SESSION SET CONTAINER", statement):
            continue
        plain = re.sub(r"\s+CONTAINER\s*=\s*\w+", "", statement)
        changed.append(plain.replace(", SET CONTAINER", "").replace("c##", ""))
    return changed


def run_statements(session: _Session, statements: list[str]) -> None:
    for statement in statements:
        session.execute(statement, [])
