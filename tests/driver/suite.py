"""The test suite of python-oracledb, as its source package has it: found or downloaded, and run against a stand-in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import oracledb

from standin.serve import StandIn

HERE = Path(__file__).parent
USER, PASSWORD = "PYTHONTEST", "oracle"
SECONDS = 20  # for one test


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one test: `passed`, `failed` or `skipped`, and why."""

    test: str
    outcome: str
    reason: str


def suite_folder() -> Path:
    """Return the suite's folder: ORACLEDB_TESTS, or that of the installed version's source package, which is kept."""
    named = os.environ.get("ORACLEDB_TESTS")
    if named:
        return Path(named).resolve()
    kept = kept_folder()
    if not kept.is_dir():
        _download(kept)
    return kept


def kept_folder() -> Path:
    return Path(sys.prefix) / "share" / "redolake" / f"oracledb-{oracledb.__version__}-tests"


def _download(kept: Path) -> None:
    """Take tests/ out of the source package.

    pip asks a source package for its metadata, and this one compiles the driver for that, which takes minutes. A Cython
    that does nothing answers instead.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, tools = Path(name), Path(name) / "tools"
        _pip("install", "--target", str(tools), "setuptools>=77", "wheel")
        (tools / "Cython").mkdir()
        (tools / "Cython" / "__init__.py").touch()
        (tools / "Cython" / "Build.py").write_text("def cythonize(*modules, **options):\n    return []\n")
        package = f"oracledb=={oracledb.__version__}"
        _pip("download", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "-d", name, package, path=tools)
        with tarfile.open(next(folder.glob("oracledb-*.tar.gz"))) as archive:
            archive.extractall(folder, [member for member in archive if "/tests/" in member.name])
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(next(folder.glob("oracledb-*/tests")), kept.with_suffix(".partial"), dirs_exist_ok=True)
        kept.with_suffix(".partial").rename(kept)


def _pip(*arguments: str, path: Path | None = None) -> None:
    environment = {**os.environ, **({"PYTHONPATH": str(path)} if path else {})}
    subprocess.run([sys.executable, "-m", "pip", *arguments, "--quiet"], env=environment, check=True, timeout=600)


def run_suite(oracle: StandIn, suite: Path, tests: Sequence[str]) -> list[Outcome]:
    """Run modules or folders of the suite in a process of their own, as user PYTHONTEST; return each test's outcome."""
    with tempfile.TemporaryDirectory() as scratch:
        outcomes = Path(scratch) / "outcomes"
        environment = {
            **os.environ,
            "PYTHONPATH": str(HERE),
            "DRIVER_OUTCOMES": str(outcomes),
            "DRIVER_SECONDS": str(SECONDS),
            "PYO_TEST_MAIN_USER": USER,
            "PYO_TEST_MAIN_PASSWORD": PASSWORD,
            "PYO_TEST_ADMIN_USER": "SYSTEM",
            "PYO_TEST_ADMIN_PASSWORD": oracle.passwords["SYSTEM"],
            "PYO_TEST_CONNECT_STRING": oracle.pdb_dsn,
        }
        options = ["-q", "-p", "outcomes_plugin", "-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={suite}"]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        done = subprocess.run(command, cwd=suite, env=environment, capture_output=True, text=True, timeout=3600)
        assert done.returncode in (0, 1), done.stdout[-5000:] + done.stderr[-5000:]
        return [Outcome(**json.loads(line)) for line in outcomes.read_text(encoding="utf-8").splitlines()]
