"""The demo's own wheel: `redolake demo` without a checkout."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from demo import __main__ as command
from demo.scenarios import SCENARIOS

ROOT = Path(__file__).parents[3]
DEMO = ROOT / "demo"
PROJECT = tomllib.loads((DEMO / "pyproject.toml").read_text())["project"]
OWN = "from redolake_demo import services as s; print(s.FILES, s.COMMANDS['keep'], s.Services.warm_up_command)"


def test_it_is_a_command_of_redolake_and_brings_the_dag_files(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=DEMO, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("redolake_demo-*.whl")
    alone = tmp_path / "alone"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(alone)
        assert {name.partition("/")[0].partition("-")[0] for name in packed.namelist()} == {"redolake_demo"}
    env = {**os.environ, "PYTHONPATH": f"{alone}:{ROOT / 'pipelines'}", "PYTHONSAFEPATH": "1", "COLUMNS": "80"}

    def run(*command: str) -> str:
        done = subprocess.run([sys.executable, *command], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
        return done.stdout

    help = run("-c", "from redolake.cli import main; main()", "demo", "--help")
    assert "Usage: redolake demo" in help
    assert "--keep" in help
    assert run("-c", OWN).startswith(f"{alone}/redolake_demo redolake demo --keep ")
    for file in ("dags/redolake_dags.py", "plugins/redolake_plugin.py"):
        assert (alone / "redolake_demo" / file).read_bytes() == (ROOT / file).read_bytes()


@pytest.mark.parametrize("in_wheel", [True, False])
@pytest.mark.parametrize("arguments", [[], ["--scenario", next(iter(SCENARIOS))]])
def test_where_it_is_installed_it_provides_what_spark_needs_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_wheel: bool, arguments: list[str]
) -> None:
    done = list[str]()
    monkeypatch.setattr(command, "IN_WHEEL", in_wheel)
    monkeypatch.setattr(command, "provide", lambda _: done.append("provided"))
    for name in ("run_scenario", "run_processes"):
        monkeypatch.setattr(command, name, lambda *_: done.append("run"))

    CliRunner().invoke(command.app, [*arguments, "--folder", str(tmp_path)])

    assert done == [*(["provided"] if in_wheel else []), "run"]


def test_no_module_of_it_knows_its_own_name() -> None:
    """In a checkout it is `demo`, which would be another team's name in an installation."""
    for file in DEMO.rglob("*.py"):
        named = [node.module for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom)]
        assert not [name for name in named if name and name.partition(".")[0] == "demo"], file
        assert '"demo.' not in file.read_text(), file


def test_it_needs_what_a_checkout_installs() -> None:
    product = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {*product["optional-dependencies"]["demo"], "redolake[airflow]", "redolake-standin"}
    assert {*PROJECT["dependencies"]} <= extras
    assert PROJECT["requires-python"] == product["requires-python"]
