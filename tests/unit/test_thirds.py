"""Each third of the real kills and of the dear tests has a commit that chooses it; together they are all.

And each dear test has others that prove the same in every run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import thirds
from tests.integration.test_kills_without_spark import NOT_IN_WORKFLOWS
from tests.tables.dear_tests import ALWAYS, CASES, DEAR, TOGETHER
from tests.thirds import EVERY, EVERYTHING, PARTS, ROOT, VARIABLE, Third, commit_of
from tests.unit.host.test_crash import ledger_points, named_points, spark_points, writers_of_files


@pytest.fixture(autouse=True)
def _ask_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in (VARIABLE, EVERYTHING):
        monkeypatch.delenv(name, raising=False)
    thirds.third_of_this_run.cache_clear()
    yield
    thirds.third_of_this_run.cache_clear()


def test_the_thirds_are_all_points_none_is_in_two_and_each_has_enough() -> None:
    points = (named_points() | ledger_points() | spark_points() | writers_of_files()) - set(NOT_IN_WORKFLOWS)
    parts = [Third(part + 1).of(points) for part in range(PARTS)]

    assert sorted(point for part in parts for point in part) == sorted(points)
    assert min(len(part) for part in parts) > len(points) / 6
    assert EVERY.of(points) == points
    assert ("publish chain/*.json" in Third(1)) == ("publish" in Third(1)), "a writer's points stay together"


def test_a_commit_chooses_and_the_run_says_what(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    commits = [f"{number:040x}" for number in range(PARTS)]
    for part, commit in enumerate(commits, 1):
        monkeypatch.setattr(thirds, "commit_of", lambda _, commit=commit: commit)
        thirds.third_of_this_run.cache_clear()
        assert thirds.third_of_this_run() == Third(part)
        assert f"and of the dear tests: part {part} of 3" in thirds.pytest_report_header(run_of(["tests", "standin/tests"]))
    assert commit_of(tmp_path) == "", "a folder outside git"


@pytest.mark.parametrize(
    ("name", "value", "kills"), [(VARIABLE, "2", Third(2)), (VARIABLE, "all", EVERY), (EVERYTHING, "1", EVERY)]
)
def test_a_variable_chooses_instead(monkeypatch: pytest.MonkeyPatch, name: str, value: str, kills: Third) -> None:
    monkeypatch.setenv(name, value)
    assert thirds.third_of_this_run() == kills


def test_where_git_names_no_commit_all_are_made_and_a_wrong_number_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thirds, "commit_of", lambda _: "")
    assert thirds.third_of_this_run() == EVERY
    for wrong in ("4", "0", "some"):
        monkeypatch.setenv(VARIABLE, wrong)
        thirds.third_of_this_run.cache_clear()
        with pytest.raises(ValueError, match=f"REDOLAKE_THIRD={wrong}"):
            thirds.third_of_this_run()


def test_each_dear_test_is_in_one_third_and_all_others_are_in_each() -> None:
    dear = [name for entry in (*DEAR, *CASES) for name in cases_of(entry)]
    others = ["tests/unit/test_words.py::test_a_word", *ALWAYS]
    ran = [
        {name for name, is_run in zip([*dear, *others], Third(part + 1).runs([*dear, *others]), strict=True) if is_run}
        for part in range(PARTS)
    ]

    assert sorted(name for part in ran for name in part) == sorted([*dear, *others * PARTS])
    assert all(EVERY.runs([*dear, *others]))
    shares = {entry: sorted(len(part & set(cases_of(entry))) for part in ran) for entry in (*DEAR, *CASES)}
    assert {entry for entry, share in shares.items() if share != [2] * PARTS} == set(TOGETHER)
    assert [shares[entry] for entry in TOGETHER] == [[0, 0, 2 * PARTS]] * len(TOGETHER)


def cases_of(entry: str) -> list[str]:
    function = entry if "::" in entry else f"{entry}::test_a_fact"
    return [f"{function}[case {number}]" for number in range(2 * PARTS)]


def test_each_dear_test_exists_and_what_proves_the_same_is_run_always() -> None:
    """Entries are functions or modules; `make soak` plays the modules of all."""
    for entry in (*DEAR, *CASES, *ALWAYS):
        module, _, function = entry.partition("::")
        assert not function or f"def {function}(" in (ROOT / module).read_text(), entry
        assert (ROOT / module).is_file(), entry
    proofs = {entry: re.findall(r"tests/[\w/]+\.py|(?<= )test_\w+\.py", why) for entry, why in DEAR.items()}
    for entry, named in proofs.items():
        assert named or "the last test of its module" in DEAR[entry], entry
        assert [one for one in named if one in DEAR] == [], f"{entry}: a dear test is no proof of another"
        assert [one for one in named if not any(ROOT.glob(f"{one}" if "/" in one else f"tests/**/{one}"))] == [], entry
    played = set(re.findall(r"tests/\S+\.py", (ROOT / "Makefile").read_text()))
    assert {entry.partition("::")[0] for entry in (*DEAR, *CASES)} - played == set()


@pytest.mark.parametrize(
    ("words", "keyword", "all_of_them"),
    [
        (["tests", "standin/tests"], "", True),
        (["tests"], "", False),
        (["tests/integration/test_history.py"], "", False),
        (["tests/oracle"], "", False),
        (["tests", "standin/tests"], "history", False),
    ],
)
def test_who_names_tests_gets_all_of_them(words: list[str], keyword: str, all_of_them: bool) -> None:
    config = run_of(words, keyword)
    assert thirds.is_of_all_tests(config) == all_of_them


def test_the_first_lines_say_that_all_named_tests_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "2")
    assert thirds.pytest_report_header(run_of(["tests"])).startswith(
        "a third of the real kills, and all tests that are named: part 2 of 3"
    )


def run_of(words: list[str], keyword: str = "") -> Any:
    return SimpleNamespace(
        args=[str(ROOT / word) for word in words],
        option=SimpleNamespace(keyword=keyword),
        rootpath=ROOT,
        getini=lambda _: ["tests", "standin/tests"],
    )
