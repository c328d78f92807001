"""The same spec file through spark-submit and through Spark Connect."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.apply.session import open_session
from pipelines.job.job import read_spec, run
from pipelines.job.snapshot import run_snapshot
from pipelines.records.batch_result import BatchResult
from pipelines.records.batch_spec import LandedWindow
from pipelines.records.codec import decode, encode
from pipelines.runtime import delta_jars, environment
from tests.fix_spark import QUIET
from tests.integration.spark.landing import land
from tests.integration.spark.specs import batch_spec, snapshot_spec
from tests.integration.spark.test_batch import AFTER_DDL, ddl_rows, rows_of, with_ddl

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
SETTINGS = [part for item in QUIET.items() for part in ("--conf", "=".join(item))]


@pytest.fixture(scope="module")
def session(connect: str) -> Iterator[Any]:
    opened = open_session("connect", connect.replace("spark-connect", "sc"))
    yield opened
    opened.client.close()  # else what is collected after the server has stopped tells it so, again and again


def run_by_submit(session: Any, file: Path) -> None:
    job = [str(ROOT / "pipelines" / "job" / "job.py"), str(file)]
    command = ["spark-submit", "--master", "local[2]", "--jars", ",".join(delta_jars()), *SETTINGS, *job]
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**environment(), "PATH": binaries, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    env.pop("SPARK_CONNECT_MODE_ENABLED", None)  # pyspark notes it in this process
    done = subprocess.run(command, cwd=file.parent, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def run_by_connect(session: Any, file: Path) -> None:
    run(session, read_spec(str(file)))


@pytest.mark.parametrize("run_file", [run_by_submit, run_by_connect], ids=["submit", "connect"])
def test_a_spec_file_runs_and_leaves_a_manifest(session: Any, tmp_path: Path, run_file: Any) -> None:
    mine = with_ddl(tmp_path)
    run_snapshot(session, snapshot_spec(tmp_path, mine, 5))
    quiet = [LandedWindow(f"quiet-{start}", start, start + 1, ()) for start in range(100, 500)]  # apply comes late
    batch = batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, ddl_rows()), *quiet], [mine])
    file = tmp_path / "spec.json"
    file.write_text(encode(batch))

    run_file(session, file)

    result = decode(BatchResult, Path(batch.manifest).read_text(), batch.manifest)
    assert [(t.error, t.complete_to) for t in result.tables] == [(None, 499)]
    assert rows_of(session, mine) == AFTER_DDL
    log = "".join(commit.read_text() for commit in Path(mine.target, "_delta_log").glob("*.json"))
    assert [what for what in ("collate", "TypeWidening", "typeWidening") if what in log] == []  # for readers other than Spark
