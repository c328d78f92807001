"""Each third of the real kills has a commit that chooses it; together they are all, and nothing but a name chooses none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import chosen_kills
from tests.chosen_kills import ALL, EVERYTHING, PARTS, VARIABLE, ChosenKills, commit_of
from tests.integration.test_kills_without_spark import NOT_IN_WORKFLOWS
from tests.unit.host.test_crash import ledger_points, named_points, spark_points, writers_of_files

POINTS = (named_points() | ledger_points() | spark_points() | writers_of_files()) - set(NOT_IN_WORKFLOWS)


@pytest.fixture(autouse=True)
def _ask_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in (VARIABLE, EVERYTHING):
        monkeypatch.delenv(name, raising=False)
    chosen_kills.chosen_kills.cache_clear()
    yield
    chosen_kills.chosen_kills.cache_clear()


def test_the_thirds_are_all_points_none_is_in_two_and_each_has_enough() -> None:
    thirds = [ChosenKills(part + 1).of(POINTS) for part in range(PARTS)]

    assert sorted(point for third in thirds for point in third) == sorted(POINTS)
    assert min(len(third) for third in thirds) > len(POINTS) / 6
    assert ALL.of(POINTS) == POINTS
    assert ("publish chain/*.json" in ChosenKills(1)) == ("publish" in ChosenKills(1)), "a writer's points stay together"


def test_a_commit_chooses_and_the_run_says_what(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    commits = [f"{number:040x}" for number in range(PARTS)]
    for part, commit in enumerate(commits, 1):
        monkeypatch.setattr(chosen_kills, "commit_of", lambda _, commit=commit: commit)
        chosen_kills.chosen_kills.cache_clear()
        assert chosen_kills.chosen_kills() == ChosenKills(part)
        assert f"part {part} of 3" in chosen_kills.pytest_report_header()
    assert commit_of(tmp_path) == "", "a folder outside git"


@pytest.mark.parametrize(
    ("name", "value", "kills"), [(VARIABLE, "2", ChosenKills(2)), (VARIABLE, "all", ALL), (EVERYTHING, "1", ALL)]
)
def test_a_variable_chooses_instead(monkeypatch: pytest.MonkeyPatch, name: str, value: str, kills: ChosenKills) -> None:
    monkeypatch.setenv(name, value)
    assert chosen_kills.chosen_kills() == kills


def test_where_git_names_no_commit_all_are_made_and_a_wrong_number_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chosen_kills, "commit_of", lambda _: "")
    assert chosen_kills.chosen_kills() == ALL
    for wrong in ("4", "0", "some"):
        monkeypatch.setenv(VARIABLE, wrong)
        chosen_kills.chosen_kills.cache_clear()
        with pytest.raises(ValueError, match=f"REDOLAKE_KILLS={wrong}"):
            chosen_kills.chosen_kills()
