"""Names and sentences are plain technical English, without the words that strangers stumble over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("pipelines", "standin", "demo", "dags", "benchmarks", "docs", "sql", "tests")
PRIVATE_WORDS = re.compile(  # and what a merge leaves where two have changed a line
    r"\b(told|anew|stranger|torn|looked at|whole again|workplace|lead on|leads on|leading on)\b|^[<>]{7} ", re.IGNORECASE
)
# A docstring that opens with one of these describes instead of saying what the function does.
NOT_IMPERATIVE = re.compile(
    r"(What|Whether|Where|Who|Whose|Which|When|How|Why|The|A|An|All|Each|Every|Those|These|This|That|It|Its|Of|One|No|None|"
    r"False|True|Of|By|In|At|As|For|From|With|Without|Here|There|Is|Are|Has|Returns|Raises|Reads|Writes|Gives|Makes)\b"
)


# Names of settings, options and fields that had others in their first months; and sentences that help nobody.
OLD_NAMES = re.compile(
    r"\b(wait_looks_every_seconds|wait_warns_after_minutes|most_seconds|tables_at_once|mining_tasks|quoted_on)\b|"
    r"\bon: \{(truncate|drop_|recreate|narrow|unknown_ddl|primary_key|rename_column|computed)|: evolve\b|readers: widest|"
    r"""\b(complete_to|landed_to)"\]|["']there is no such|python -m redolake\."""
)
# A function is named by what it does, or by the value that it returns. These are properties of a kind, or words of the field.
PARTICIPLE = re.compile(
    r"_?(made|known|given|taken|found|told|kept|held|left|begun|built|shown|written|seen|said|gone|drawn|[a-z]{2,}[^e]ed)"
    r"(_(again|once|next|by|from|in|to|at|on|before|after|since|into))?"
)
NAMED_BY_PARTICIPLE = {"found_again", "carried_again", "kept_in", "named", "marked", "refused", "needed"}


def sources(*endings: str) -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (path for ending in endings for path in sorted((ROOT / folder).rglob(f"*{ending}")))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions of a file. Only statements have others in them, and they are a tenth of all nodes."""
    left: list[ast.AST] = [ast.parse(path.read_text())]
    while left:
        node = left.pop()
        left += (below for name in ("body", "orelse", "finalbody", "handlers", "cases") for below in getattr(node, name, ()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("ending", [".py", ".md", ".yml", ".html"])
def test_no_old_name_is_used(ending: str) -> None:
    tests_of_names = (Path(__file__), ROOT / "tests/unit/config/test_config.py")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in (*sources(ending), *ROOT.glob(f"*{ending}"), ROOT / "Makefile", ROOT / "Dockerfile")
        if path not in tests_of_names and path.name != "CHANGELOG.md"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if OLD_NAMES.search(line)
    ]

    assert found == []


def test_a_function_is_named_by_a_verb_or_by_its_value() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}"
        for path in sorted((ROOT / "pipelines" / "redolake").rglob("*.py"))
        for function in functions(path)
        if PARTICIPLE.fullmatch(function.name) and function.name not in NAMED_BY_PARTICIPLE and not is_property(function)
    ]

    assert found == []


@pytest.mark.parametrize("ending", [".py", ".md", ".sql", ".yml", ".html"])
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
