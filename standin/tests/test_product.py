"""The stand-in is a product of its own: its distribution works alone."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

STANDIN = Path(__file__).parents[1]
ROOT = STANDIN.parent
PROJECT = tomllib.loads((STANDIN / "pyproject.toml").read_text())["project"]


def name_of(requirement: str) -> str:
    return re.split(r"[<>=]", requirement)[0]


def imported(folder: Path) -> set[str]:
    found: set[str] = set()
    for file in (file for file in folder.rglob("*.py") if folder / "tests" not in file.parents):
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


def test_its_tests_know_nothing_of_the_product() -> None:
    assert not {"redolake", "demo"} & imported(STANDIN / "tests")


def test_its_wheel_starts_a_database_without_the_checkout(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=STANDIN, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("redolake_standin-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "alone")
        assert {name.partition("/")[0].partition("-")[0] for name in packed.namelist()} == {"standin", "redolake_standin"}
        assert not any(name.startswith("standin/tests") for name in packed.namelist())
    use = "import standin.serve as s\nwith s.standin() as o, o.connect('SHOP') as c:\n    print(s.__file__, c.version)"
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "alone"), "PYTHONSAFEPATH": "1"}
    done = subprocess.run([sys.executable, "-c", use], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(tmp_path))
