"""The wheel is built, installed into an empty environment, and works there without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = """
pipelines:
  shop:
    source: {{connection: shop_oracle, container: FREEPDB1}}
    landing: {folder}/landing
    lake: {folder}/lake
    schedule: "*/5 * * * *"
    tables: [SHOP.ORDERS]
"""
IMPORT_DAGS = f"""
import runpy
dags = runpy.run_path({str(ROOT / "dags" / "redolake.py")!r})
print(sorted(name for name in dags if name.startswith("shop_")))
"""


def run(*command: str, folder: Path, **more: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH" and not name.startswith("AIRFLOW")}
    done = subprocess.run(command, cwd=folder, env={**kept, **more}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wheel")


@pytest.fixture(scope="module")
def wheel(folder: Path) -> Path:
    """Build the wheel with hatchling, which the development environment has."""
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist"), folder=ROOT)
    (built,) = (folder / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, folder: Path) -> Path:
    """Install the wheel, its dependencies and Airflow into an empty environment; return its bin folder."""
    home = folder / "environment"
    python = str(home / "bin" / "python")
    wanted = ("-c", str(ROOT / "constraints.txt"), f"redolake[airflow] @ file://{wheel}")
    run(sys.executable, "-m", "venv", str(home), folder=folder)
    try:
        run(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, *wanted, folder=folder)
    except AssertionError:  # uv does not read pip's own settings, such as its index
        run(python, "-m", "pip", "install", "--quiet", *wanted, folder=folder)
    return home / "bin"


def test_the_wheel_holds_the_product_alone(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    assert {name.split("/")[0] for name in names} == {"pipelines", "redolake-0.1.0.dist-info"}
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.airflow
def test_the_installed_command_shows_help_and_validates(installed: Path, folder: Path) -> None:
    file = folder / "pipelines.yml"
    file.write_text(SETTINGS.format(folder=folder))
    oracle = {"AIRFLOW_CONN_SHOP_ORACLE": "oracle://user:secret@127.0.0.1:1/FREE"}

    assert "Replicate Oracle tables" in run(str(installed / "redolake"), "-h", folder=folder)
    assert "The configuration is good" in run(str(installed / "redolake"), "validate", folder=folder, **oracle)
    assert "CREATE USER" in run(str(installed / "redolake"), "setup-sql", folder=folder, **oracle)


@pytest.mark.airflow
def test_airflow_imports_the_dag_file_from_the_installed_package(installed: Path, folder: Path) -> None:
    file = folder / "pipelines.yml"
    file.write_text(SETTINGS.format(folder=folder))
    airflow = {"AIRFLOW_HOME": str(folder / "airflow"), "REDOLAKE_CONFIG": str(file)}

    output = run(str(installed / "python"), "-c", IMPORT_DAGS, folder=folder, **airflow)

    assert output.splitlines()[-1] == str([f"shop_{name}" for name in ("apply", "backfill", "capture", "recover", "snapshot")])
