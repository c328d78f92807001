"""The same spec through spark-submit and through Spark Connect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.job.snapshot import run_snapshot
from pipelines.records.batch_result import BatchResult
from pipelines.records.batch_spec import LandedWindow
from pipelines.records.codec import decode, encode
from pipelines.runtime import delta_jars
from tests.fix_spark import QUIET
from tests.integration.spark.landing import land
from tests.integration.spark.specs import batch_spec, snapshot_spec
from tests.integration.spark.test_batch import AFTER_DDL, ddl_rows, rows_of, with_ddl

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]
COMMANDS = {
    "submit": [
        "spark-submit", "--master", "local[2]", "--jars", ",".join(delta_jars()),
        *(part for item in QUIET.items() for part in ("--conf", "=".join(item))), str(ROOT / "pipelines" / "job" / "job.py"),
    ],
    "connect": [sys.executable, str(Path(__file__).with_name("connect_job.py"))],
}  # fmt: skip


@pytest.mark.parametrize("mode", COMMANDS)
def test_a_spec_file_runs_and_leaves_a_manifest(spark, tmp_path: Path, mode: str) -> None:
    mine = with_ddl(tmp_path)
    first = snapshot_spec(tmp_path, mine, 5)
    quiet = [LandedWindow(f"quiet-{start}", start, start + 1, ()) for start in range(100, 500)]  # apply comes late
    batch = batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, ddl_rows()), *quiet], [mine])
    file = tmp_path / "spec.json"
    file.write_text(encode(batch))
    files = [file]
    if mode == "connect":
        files.insert(0, tmp_path / "first.json")
        files[0].write_text(encode(first))
    else:
        run_snapshot(spark, first)
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": binaries, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}

    done = subprocess.run(
        [*COMMANDS[mode], *map(str, files)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-3000:]
    result = decode(BatchResult, Path(batch.manifest).read_text(), batch.manifest)
    assert [(t.error, t.complete_to) for t in result.tables] == [(None, 499)]
    assert rows_of(spark, mine) == AFTER_DDL
    log = "".join(commit.read_text() for commit in Path(mine.target, "_delta_log").glob("*.json"))
    assert [what for what in ("collate", "TypeWidening", "typeWidening") if what in log] == []  # for readers other than Spark
