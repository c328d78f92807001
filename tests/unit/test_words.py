"""Names and sentences are plain technical English, without the words that strangers stumble over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("pipelines", "standin", "demo", "dags", "benchmarks", "docs", "sql", "tests")
PRIVATE_WORDS = re.compile(
    r"\b(told|anew|stranger|torn|looked at|whole again|workplace|lead on|leads on|leading on)\b", re.IGNORECASE
)
# A docstring that opens with one of these describes instead of saying what the function does.
NOT_IMPERATIVE = re.compile(
    r"(What|Whether|Where|Who|Whose|Which|When|How|Why|The|A|An|All|Each|Every|Those|These|This|That|It|Its|Of|One|No|None|"
    r"False|True|Of|By|In|At|As|For|From|With|Without|Here|There|Is|Are|Has|Returns|Raises|Reads|Writes|Gives|Makes)\b"
)


def sources(*endings: str) -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (path for ending in endings for path in sorted((ROOT / folder).rglob(f"*{ending}")))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("ending", [".py", ".md", ".sql", ".yml"])
def test_no_private_word_is_used(ending: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in (*sources(ending), *ROOT.glob(f"*{ending}"))
        if path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if PRIVATE_WORDS.search(line)
    ]

    assert found == []


def test_the_docstring_of_a_function_says_what_it_does() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}: {text.splitlines()[0]}"
        for path in sources(".py")
        for function in functions(path)
        if (text := ast.get_docstring(function)) and NOT_IMPERATIVE.match(text) and not is_property(function)
    ]

    assert found == []


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function is used as a value or shown as a title, so that its docstring may describe it."""
    names = {getattr(decorator, "id", getattr(decorator, "attr", "")) for decorator in function.decorator_list}
    return bool(names & {"property", "cached_property", "fixture", "scenario"}) or function.name.startswith("test_")
