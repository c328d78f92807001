"""Verify a pipeline in this process, and kill Spark's Java while the first table is compared. Reads JSON, and prints JSON."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict
from typing import Any

from redolake import steps
from redolake.apply.spark.session import open_session
from redolake.config import Pipeline
from redolake.job import comparison
from redolake.source import ConnectParams
from tests.fixtures.spark import QUIET_AND_SHORT

compare = comparison.compare
killed = list[int]()


def kill_java_once(spark: Any, *arguments: Any) -> Any:
    if not killed:
        killed.append(spark.sparkContext._gateway.proc.pid)
        os.kill(killed[0], signal.SIGKILL)
    return compare(spark, *arguments)


def main() -> None:
    given = json.load(sys.stdin)
    comparison.compare = kill_java_once
    found = steps.verify_tables(
        Pipeline.model_validate(given["pipeline"]),
        source=ConnectParams(*given["source"]),
        opens=lambda: open_session("local", "local[2]", QUIET_AND_SHORT),
    )
    answer = {"equal": [t.table for t in found.tables if t.equal], "not_compared": [asdict(t) for t in found.not_compared]}
    sys.stdout.write(json.dumps(answer, default=str) + "\n")


if __name__ == "__main__":
    main()
