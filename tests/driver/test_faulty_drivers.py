"""Versions of python-oracledb that are known to read wrong values read wrong ones from the stand-in, and Redolake refuses them.

Oracle sends a value that equals that of the row before as a bit. Had the stand-in sent all values, no fault would show.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from standin.serve import StandIn, standin

FETCH = """
import json, sys
import oracledb, pyarrow
kind = {"n": pyarrow.decimal128(12, 2), "d": pyarrow.date32()}[sys.argv[4]]
rows, schema = [], pyarrow.schema([("ID", pyarrow.int64()), ("V", kind)])
value = {"n": "CAST(1.23 AS NUMBER(12, 2))", "d": "DATE '2026-01-01'"}[sys.argv[4]]
connection = oracledb.connect(dsn=sys.argv[1], user=sys.argv[2], password=sys.argv[3])
for frame in connection.fetch_df_batches(
    f"SELECT LEVEL AS id, {value} AS v FROM dual CONNECT BY LEVEL <= 4", size=int(sys.argv[5]), requested_schema=schema
):
    rows += [str(value) for value in pyarrow.table(frame).column(1).to_pylist()]
print(json.dumps(rows))
"""
VALUES = {"n": ["1.23"] * 4, "d": ["2026-01-01"] * 4}


@pytest.fixture(scope="module")
def oracle() -> Iterator[StandIn]:
    with standin() as served:
        yield served


def fetched(oracle: StandIn, column: str, size: int, driver: Path | None = None) -> list[str] | int:
    """Return four equal values in batches of `size`, or the code with which the process ends."""
    given = [oracle.pdb_dsn, "SHOP", oracle.passwords["SHOP"], column, str(size)]
    done = run([sys.executable, "-c", FETCH, *given], driver)
    return json.loads(done.stdout) if done.returncode == 0 else done.returncode


def run(command: list[str], driver: Path | None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **({"PYTHONPATH": str(driver)} if driver else {})}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize("column", VALUES)
def test_the_installed_driver_reads_repeated_values(oracle: StandIn, column: str, size: int) -> None:
    assert fetched(oracle, column, size) == VALUES[column]


@pytest.mark.driver
@pytest.mark.parametrize(("version", "column"), [("26.0.0", "n"), ("3.4.2", "d")])
def test_a_faulty_driver_reads_wrong_values_and_is_refused(oracle: StandIn, tmp_path: Path, version: str, column: str) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tmp_path), f"oracledb=={version}"]
    subprocess.run(pip, check=True, timeout=300)
    findings = "from redolake.source import driver_findings; print(*driver_findings())"

    assert any(fetched(oracle, column, size, tmp_path) != VALUES[column] for size in (1, 2, 100))
    assert f"version {version}, which this Python has" in run([sys.executable, "-c", findings], tmp_path).stdout
