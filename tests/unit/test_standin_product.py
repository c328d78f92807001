"""The stand-in is a product of its own: its distribution works alone, and its tests are left out only where it is unchanged."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import unchanged_standin
from tests.unchanged_standin import OWN, READ, is_unchanged

ROOT = Path(__file__).parents[2]
STANDIN = ROOT / "standin"
PROJECT = tomllib.loads((STANDIN / "pyproject.toml").read_text())["project"]


def name_of(requirement: str) -> str:
    return re.split(r"[<>=]", requirement)[0]


def imported(folder: Path) -> set[str]:
    found: set[str] = set()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    return found


def test_it_needs_what_it_imports_in_the_versions_that_the_checkout_installs() -> None:
    needed = {name_of(requirement) for requirement in PROJECT["dependencies"]}
    assert needed == imported(STANDIN) - set(sys.stdlib_module_names) - {"standin"}
    product = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {*PROJECT["dependencies"]} <= {*product["dependencies"], *product["optional-dependencies"]["standin"]}
    assert PROJECT["requires-python"] == product["requires-python"]


def test_its_wheel_starts_a_database_without_the_checkout(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=STANDIN, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("redolake_standin-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "alone")
        assert {name.partition("/")[0].partition("-")[0] for name in packed.namelist()} == {"standin", "redolake_standin"}
    use = "import standin.serve as s\nwith s.standin() as o, o.connect('SHOP') as c:\n    print(s.__file__, c.version)"
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "alone"), "PYTHONSAFEPATH": "1"}
    done = subprocess.run([sys.executable, "-c", use], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(tmp_path))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for place in (*OWN, *READ):
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
    for place in (*OWN, *READ):
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
        paths = [ROOT / OWN[0] / "test_olr.py", ROOT / OWN[1] / "test_views.py", ROOT / "tests/unit/test_words.py"]
        items: list[Any] = [SimpleNamespace(path=path) for path in paths]
        gone: list[Any] = []
        hook = SimpleNamespace(pytest_deselected=lambda items, gone=gone: gone.extend(items))
        config: Any = SimpleNamespace(getoption=lambda _: "main", hook=hook)
        unchanged_standin.pytest_collection_modifyitems(config, items)
        said = unchanged_standin.pytest_report_header(config)
        assert [item.path for item in gone] == (paths[:2] if same else [])
        assert [item.path for item in items] == (paths[2:] if same else paths)
        assert ("left out" if same else "its own tests run") in str(said)
