"""Each kind of value has a letter of its own in a data frame, and its row on the page of letters."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from redolake.values import frames

ROOT = Path(__file__).parents[3]
NAMES: dict[str, frames.Kind] = {
    name: function
    for name, function in inspect.getmembers(frames, inspect.isfunction)
    if list(inspect.signature(function).parameters) == ["column_id"]
}


def test_no_two_kinds_of_values_share_a_letter() -> None:
    letters = [name(12) for name in NAMES.values()]

    assert len(set(letters)) == len(letters)
    assert all(re.fullmatch(r"[a-z]12", one) for one in letters)


def test_the_page_of_letters_is_that_of_the_functions() -> None:
    page = (ROOT / "docs" / "development" / "frames.md").read_text()

    assert dict(re.findall(r"^\| `(\w)` \| `(\w+)` \|", page, re.MULTILINE)) == {
        name(12)[0]: called for called, name in NAMES.items()
    }


def spelled_letters(path: Path) -> Iterator[str]:
    """Yield each text that is a letter of a frame and a value, as in f"a{column}"."""
    letters = {name(12)[0] for name in NAMES.values()}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr) and len(node.values) == 2:
            letter, value = node.values
            if isinstance(letter, ast.Constant) and letter.value in letters and isinstance(value, ast.FormattedValue):
                yield f"{path.relative_to(ROOT)}:{node.lineno}"


@pytest.mark.parametrize("room", ["decode/*.py", "assemble/**/*.py", "apply/**/*.py", "job/*.py"])
def test_letters_are_spelled_in_one_place(room: str) -> None:
    modules = sorted((ROOT / "pipelines" / "redolake").glob(room))

    assert modules
    assert [place for path in modules for place in spelled_letters(path)] == []


def test_the_id_of_a_name_is_that_of_its_own_kind() -> None:
    assert frames.id_of(frames.unknown(12), frames.unknown) == 12
    assert {frames.id_of(name, frames.unknown) for name in (frames.after(12), "u", "unknown", "u1x", "")} == {None}
