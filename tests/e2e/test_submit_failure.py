"""A typed error of the job reaches whoever submitted it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from redolake.host.runtime import environment
from redolake.records.codec import decode
from redolake.records.jobs import JobFailure

pytestmark = pytest.mark.spark

JOB = Path(__file__).parents[2] / "pipelines" / "redolake" / "job" / "job.py"


def test_spark_submit_returns_the_exit_code_of_a_terminal_error(tmp_path: Path) -> None:
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**environment(), "PATH": binaries, "PYSPARK_PYTHON": sys.executable, "PYTHONSAFEPATH": "1"}
    command = ["spark-submit", "--master", "local[1]", str(JOB), str(tmp_path / "spec.json"), str(tmp_path / "failed.json")]

    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)

    assert done.returncode == 3, done.stderr[-2000:]
    failure = decode(JobFailure, (tmp_path / "failed.json").read_text(), "failed.json")
    assert failure.terminal
    assert "the job's spec is missing" in failure.text
    assert failure.text.splitlines()[0] in done.stdout
