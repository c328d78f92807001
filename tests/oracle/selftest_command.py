"""Run `redolake selftest` as a user does, on the database that REDOLAKE_ORACLE_DSN names, else on a stand-in.

`python -m tests.oracle.selftest_command FILE` writes its JSON report to the file and exits with its code.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.oracle.command import REDOLAKE, environment
from tests.oracle.conftest import Database, open_database


def run_selftest(database: Database, report: Path) -> int:
    """Run the command with a pipeline file of its own, write its report, and return its exit code."""
    with tempfile.TemporaryDirectory(prefix="redolake-selftest-") as folder:
        pipeline = database.pipeline(Path(folder), ["NO.SUCH"])
        people = {pipeline.source.connection: database.reader, "scratch": database.scratch, "dba": database.dba}
        env = environment(pipeline, Path(folder) / "pipelines.yml", people)
        command = [*REDOLAKE, "selftest", "--scratch", "scratch", "--dba", "dba", "--output", "json"]
        report.parent.mkdir(parents=True, exist_ok=True)
        with report.open("w") as out:
            return subprocess.run(command, env=env, stdout=out, check=False).returncode


if __name__ == "__main__":
    with open_database() as found:
        code = run_selftest(found, Path(sys.argv[1]))
    raise SystemExit(code)
