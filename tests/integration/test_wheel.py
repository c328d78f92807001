"""The wheel is built, installed into an empty environment, and works there without the checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from importlib.metadata import Distribution, PathDistribution, distribution
from importlib.util import cache_from_source
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from redolake import __version__
from redolake.host.runtime import JARS_VARIABLE, delta_jars

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://git.example.com/somebody/redolake"
INFO = f"redolake-{__version__}.dist-info"
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
dags = runpy.run_path({str(ROOT / "dags" / "redolake_dags.py")!r})
print(sorted(name for name in dags if name.startswith("shop_")))
"""


SHOW_DAGS = """
import json, os
from pathlib import Path
from airflow import plugins_manager
from airflow.dag_processing.dagbag import BundleDagBag
plugins_manager.ensure_plugins_loaded()
import redolake
folder = Path(os.environ["AIRFLOW_HOME"]) / "dags"
bag = BundleDagBag(dag_folder=folder, bundle_path=folder, bundle_name="dags-folder")
errors = {**bag.import_errors, **plugins_manager.get_import_errors()}
print(json.dumps({"dags": sorted(bag.dag_ids), "errors": errors, "package": redolake.__file__}))
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
    build = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist"))
    run(*build, folder=ROOT, REDOLAKE_REPOSITORY=REPOSITORY)
    (built,) = (folder / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, folder: Path) -> Path:
    """Install the wheel into an empty environment, with the packages it declares for `redolake[airflow]` and what those declare
    in turn. They are linked from this environment: an index would have to build pyspark first. Return the bin folder."""
    home = folder / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", str(home), folder=folder)
    python = str(home / "bin" / "python")
    uv = (sys.executable, "-m", "uv", "pip")
    run(*uv, "install", "--quiet", "--offline", "--no-deps", "--python", python, str(wheel), folder=folder)
    (site,) = home.glob("lib/python*/site-packages")
    (declared,) = site.glob("redolake-*.dist-info")
    for name in closure(PathDistribution(declared), "airflow"):
        link(distribution(name), site)
    run(*uv, "check", "--python", python, folder=folder)
    return home / "bin"


def closure(wanted: Distribution, extra: str) -> set[str]:
    """Return the names of all packages that these requirements need, directly or not."""
    found: dict[tuple[str, str], None] = {}
    ahead = [*requirements(wanted, extra)]
    while ahead:
        requirement = ahead.pop()
        for chosen in ("", *requirement.extras):
            if (requirement.name, chosen) not in found:
                found[requirement.name, chosen] = None
                ahead += requirements(distribution(requirement.name), chosen)
    return {canonicalize_name(name) for name, _ in found}


def requirements(wanted: Distribution, extra: str) -> Iterator[Requirement]:
    for text in wanted.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield requirement


def link(package: Distribution, site: Path) -> None:
    """Link the package's modules and their byte code into the folder; commands and other files outside of it stay behind."""
    for file in package.files or ():
        target = site / file
        if ".." in file.parts or target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        link_or_copy(file.locate(), target)
        code = Path(cache_from_source(str(file.locate())))
        if file.suffix == ".py" and code.exists():
            (target.parent / "__pycache__").mkdir(exist_ok=True)
            if not (linked := target.parent / "__pycache__" / code.name).exists():
                link_or_copy(code, linked)


def link_or_copy(file: os.PathLike[str], target: Path) -> None:
    try:
        os.link(file, target)
    except OSError:  # on another device
        shutil.copy2(file, target)


def test_the_wheel_holds_the_product_alone(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    assert {name.split("/")[0] for name in names} == {"redolake", INFO}
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_wheel_brings_the_page_and_airflow_finds_its_plugin(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = set(opened.namelist())
        entry_points = opened.read(f"{INFO}/entry_points.txt").decode()

    page = ROOT / "pipelines/redolake/cockpit/page"
    shipped = {str(path.relative_to(page)) for path in page.rglob("*") if path.is_file()}
    assert {"page.css", "page.js", "pipeline.html", "uplot/LICENSE"} <= shipped
    assert {f"redolake/cockpit/page/{name}" for name in shipped} <= names
    assert "[airflow.plugins]\nredolake = redolake.airflow.plugin:RedolakePlugin" in entry_points


def test_the_wheel_brings_the_migrations_of_the_ledger(wheel: Path) -> None:
    folder = ROOT / "pipelines/redolake/ledger/migrations"
    needed = {str(path.relative_to(ROOT / "pipelines")) for path in folder.rglob("*.py")}

    assert {"env.py", "0001_tables_of_release_0_1_0.py"} <= {name.rpartition("/")[2] for name in needed}
    assert needed <= set(zipfile.ZipFile(wheel).namelist())


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as opened:
        return message_from_bytes(opened.read(f"{INFO}/METADATA"))


def test_the_version_is_written_in_one_place(metadata: Message) -> None:
    assert metadata["Version"] == __version__
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"]


def test_an_index_shows_what_it_is_for_whom_and_where_to_read_on(metadata: Message) -> None:
    links = dict(entry.split(", ", 1) for entry in metadata.get_all("Project-URL", []))
    classifiers = metadata.get_all("Classifier", [])
    pythons = [entry.rpartition(" ")[2] for entry in classifiers if re.search(r":: 3\.\d+$", entry)]

    assert links["Documentation"] == f"{REPOSITORY}/blob/v{__version__}/docs/README.md"
    assert {"Documentation", "Source", "Changelog", "Issues"} == set(links)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert all(python in SpecifierSet(metadata["Requires-Python"]) for python in pythons)
    assert [python for python in ("3.10", "3.14") if python in SpecifierSet(metadata["Requires-Python"])] == []
    assert {"Typing :: Typed", "Framework :: Apache Airflow :: Provider"} <= set(classifiers)


def test_the_readme_of_the_index_has_no_link_into_a_folder_that_it_has_not(metadata: Message) -> None:
    text = str(metadata.get_payload())
    targets = re.findall(r"\]\(([^)\s]+)\)", text)

    assert metadata["Description-Content-Type"] == "text/markdown"
    assert len(targets) > 10
    assert [target for target in targets if not target.startswith("https://")] == []
    assert (
        f"![The page Redolake: health, redo threads, latency, tables]({REPOSITORY}/raw/v{__version__}/docs/images/page.png)"
        in text
    )


def test_a_build_without_the_repositorys_address_invents_none(folder: Path) -> None:
    printed = run(sys.executable, "-m", "hatchling", "metadata", folder=ROOT, REDOLAKE_REPOSITORY="")

    assert json.loads(printed).get("urls", {}) == {}
    assert "](docs/README.md)" in printed


def test_importers_see_the_types(wheel: Path) -> None:
    assert "redolake/py.typed" in zipfile.ZipFile(wheel).namelist()


@pytest.mark.airflow
def test_airflow_lists_it_among_its_providers(installed: Path, folder: Path) -> None:
    home = {"AIRFLOW_HOME": str(folder / "airflow")}

    listed = run(str(installed / "python"), "-m", "airflow", "providers", "list", "--output", "json", folder=folder, **home)

    (ours,) = (row for row in json.loads(listed[listed.index("[") :]) if row["package_name"] == "redolake")
    assert ours["version"] == __version__
    assert "Replicate Oracle tables to Delta Lake" in ours["description"]


@pytest.mark.airflow
def test_the_installed_command_shows_help_and_validates(installed: Path, folder: Path) -> None:
    file = folder / "pipelines.yml"
    file.write_text(SETTINGS.format(folder=folder))
    oracle = {"AIRFLOW_CONN_SHOP_ORACLE": "oracle://user:secret@127.0.0.1:1/FREE"}

    assert "Replicate Oracle tables" in run(str(installed / "redolake"), "-h", folder=folder)
    warned = run(str(installed / "redolake"), "validate", folder=folder, **oracle)
    assert "run `redolake spark setup`" in warned
    assert "No error. Next: redolake doctor" in warned
    jars = {JARS_VARIABLE: ",".join(delta_jars())}
    assert "The configuration is good" in run(str(installed / "redolake"), "validate", folder=folder, **oracle, **jars)
    assert "CREATE USER" in run(str(installed / "redolake"), "setup-sql", folder=folder, **oracle)


@pytest.mark.airflow
def test_airflow_imports_the_dag_file_from_the_installed_package(installed: Path, folder: Path) -> None:
    from redolake.airflow.settings import STARTED_BY_HAND

    file = folder / "pipelines.yml"
    file.write_text(SETTINGS.format(folder=folder))
    airflow = {"AIRFLOW_HOME": str(folder / "airflow"), "REDOLAKE_CONFIG": str(file)}

    output = run(str(installed / "python"), "-c", IMPORT_DAGS, folder=folder, **airflow)

    parts = {"apply", "capture", *STARTED_BY_HAND}
    assert output.splitlines()[-1] == str(sorted(f"shop_{name}" for name in parts))


@pytest.mark.airflow
def test_another_teams_package_called_pipelines_is_imported_beside_redolake(installed: Path, tmp_path: Path) -> None:
    home, dags = tmp_path / "airflow", tmp_path / "airflow" / "dags"
    (dags / "pipelines").mkdir(parents=True)
    (dags / "pipelines" / "__init__.py").write_text("")
    (dags / "pipelines" / "common.py").write_text("NAME = 'theirs'")
    (dags / "theirs.py").write_text("from airflow.sdk import DAG\nfrom pipelines.common import NAME\ndag = DAG(NAME)")
    shutil.copy(ROOT / "dags" / "redolake_dags.py", dags)
    shutil.copytree(ROOT / "plugins", home / "plugins", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pipelines.yml").write_text(SETTINGS.format(folder=tmp_path))
    airflow = {"AIRFLOW_HOME": str(home), "REDOLAKE_CONFIG": str(tmp_path / "pipelines.yml")}

    shown = run(str(installed / "python"), "-c", SHOW_DAGS, folder=tmp_path, **airflow)

    found = json.loads(shown.splitlines()[-1])
    assert found["errors"] == {}
    assert found["package"].startswith(str(installed.parent)), "a file of the plugins folder would be imported in its place"
    assert {"theirs", "shop_capture", "shop_apply"} <= set(found["dags"])
