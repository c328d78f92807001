"""The port to the lake's tables is small, and docs/development/adding-a-target.md has what else a second target changes."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

from redolake.apply import table_log, target
from tests.unit.host.test_crash import PIPELINES

PAGE = Path(__file__).parents[3] / "docs/development/adding-a-target.md"
NAMES = re.compile(
    r"^delta\.?$|delta\.`|versionAsOf|_delta_log|io\.delta|delta_scan|\bdelta\.[a-z]+[A-Z]|deltalake|\bDELTA_[A-Z]"
)
COMPARED = "apply/verify/compare.py"  # `delta` is the side of a comparison there, in records of findings


def texts_in(file: Path) -> set[str]:
    """Return the texts of a module that are no docstrings."""
    tree = ast.parse(file.read_text())
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in said)
    return {node.value for node in constants if isinstance(node.value, str)}


def test_the_page_names_each_file_that_names_the_format() -> None:
    files = {str(file.relative_to(PIPELINES)): file for file in PIPELINES.rglob("*.py")}
    outside = {name: file for name, file in files.items() if not name.startswith("apply/delta/") and name != COMPARED}
    naming = {name for name, file in outside.items() if any(map(NAMES.search, texts_in(file)))}
    listed = re.findall(r"`([a-z_/]+\.py)`", PAGE.read_text().partition("## What else names Delta")[2])

    assert naming == {name for name in listed if not name.startswith("tests/")}


def test_the_port_is_small_and_the_page_has_each_method() -> None:
    for port, most in ((target.Target, 13), (target.Writer, 4), (table_log.TableLog, 12)):
        (node,) = ast.parse(inspect.getsource(port)).body
        assert isinstance(node, ast.ClassDef)
        methods = [one.name for one in node.body if isinstance(one, ast.FunctionDef) and not one.decorator_list]
        assert len(methods) <= most, methods
        if port is not table_log.TableLog:
            assert {name for name in methods if f"`{name}" not in PAGE.read_text()} == set()
