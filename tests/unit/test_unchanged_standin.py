"""The stand-in's own tests are left out only where it is as in the commit that a run is compared with."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import unchanged_standin
from tests.unchanged_standin import OWN, READ, is_unchanged

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for place in READ:
        file = tmp_path / place if "." in Path(place).name else tmp_path / place / "file.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("as it was")
    (tmp_path / "pipelines").mkdir()
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "base"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def test_its_tests_are_left_out_only_where_nothing_of_it_changed(checkout: Path) -> None:
    (checkout / "pipelines" / "new.py").write_text("of the product")
    assert is_unchanged("HEAD", checkout)
    for unknown in ("nothing", "--output=x", ""):
        assert not is_unchanged(unknown, checkout)
    assert not is_unchanged("HEAD", checkout.parent)
    for place in READ:
        file = checkout / place if "." in Path(place).name else checkout / place / "file.txt"
        file.write_text("changed")
        assert not is_unchanged("HEAD", checkout), place
        file.write_text("as it was")
    assert is_unchanged("HEAD", checkout)
    (checkout / "standin" / "new.py").write_text("not in git")
    assert not is_unchanged("HEAD", checkout)


def test_a_run_says_that_it_leaves_them_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for same in (True, False):
        monkeypatch.setattr(unchanged_standin, "is_unchanged", lambda base, same=same: same)
        paths = [ROOT / OWN / "test_olr.py", ROOT / OWN / "served" / "test_views.py", ROOT / "tests/unit/test_words.py"]
        items: list[Any] = [SimpleNamespace(path=path) for path in paths]
        gone: list[Any] = []
        hook = SimpleNamespace(pytest_deselected=lambda items, gone=gone: gone.extend(items))
        config: Any = SimpleNamespace(getoption=lambda _: "main", hook=hook)
        unchanged_standin.pytest_collection_modifyitems(config, items)
        said = unchanged_standin.pytest_report_header(config)
        assert [item.path for item in gone] == (paths[:2] if same else [])
        assert [item.path for item in items] == (paths[2:] if same else paths)
        assert ("left out" if same else "its own tests run") in str(said)
