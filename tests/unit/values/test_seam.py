"""Where LogMiner is known behind the landing is known, and the page for a second source says so."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from redolake.values import logminer
from redolake.values.landed_schema import LANDED_SCHEMA, OF_EVERY_SOURCE
from redolake.values.redo import Operation

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "development" / "second-source.md"
# Words of the code that are spelled like a column of LogMiner and mean something else.
OTHER_MEANINGS = {"info", "sequence", "status"}


def knows_logminer(module: Path) -> bool:
    """Return whether a module imports what is LogMiner's, or names a column of it."""
    tree = ast.parse(module.read_text())
    imports = any(isinstance(n, ast.ImportFrom) and n.module == "redolake.values.logminer" for n in ast.walk(tree))
    texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return imports or bool(texts & set(logminer.COLUMNS) - OTHER_MEANINGS)


def test_the_page_lists_each_module_behind_the_landing_that_knows_logminer() -> None:
    modules = [
        path for room in ("assemble", "apply", "job") for path in sorted((ROOT / "pipelines" / "redolake" / room).rglob("*.py"))
    ]
    found = {str(path.relative_to(ROOT / "pipelines" / "redolake")) for path in modules if knows_logminer(path)}
    rows = re.findall(r"^\| (`(?:assemble|apply|job)/.*?) \|", PAGE.read_text(), re.MULTILINE)

    assert {name for row in rows for name in re.findall(r"`([\w/]+\.py)`", row)} == found


def test_a_landed_column_is_of_every_source_or_logminers() -> None:
    assert set(OF_EVERY_SOURCE) | set(logminer.COLUMNS) == set(LANDED_SCHEMA.names)
    assert not set(OF_EVERY_SOURCE) & set(logminer.COLUMNS)


def test_an_operation_is_of_every_source_or_logminers() -> None:
    assert not {int(one) for one in Operation} & {int(one) for one in logminer.Mined}
