"""Run DAGs as the Airflow workers of several hosts, each a process with a working folder of its own.

`python -m tests.e2e.dag_worker` reads one line of JSON: the variables of all hosts, and the hosts. It imports Airflow,
creates its database, then forks the hosts. A host runs one DAG after the other: it reads lines of JSON
`{"dag": .., "conf": .., "config": file, "answer": file}` and writes the states of the run and of its tasks into the file
`answer`. When a host has ended, the file `ended` has its exit code, negative if a signal killed it.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.fixtures.airflow import run_dag  # removes what points to another Airflow


def main() -> None:
    order = json.loads(sys.stdin.readline())
    os.environ |= order["variables"]
    import airflow.api_fastapi.execution_api.app  # noqa: F401  Airflow imports it for the first run
    from airflow.settings import engine
    from airflow.utils.db import initdb

    initdb()
    engine.dispose()
    gc.collect()
    gc.freeze()  # hosts neither look through what was imported, nor copy its pages
    gc.set_threshold(20_000, 20, 20)
    hosts = {fork(host): host for host in order["hosts"]}
    for _ in order["hosts"]:
        pid, status = os.wait()
        write(Path(hosts[pid]["ended"]), os.waitstatus_to_exitcode(status))


def fork(host: dict[str, Any]) -> int:
    """Return the process that runs the DAGs of the host."""
    if pid := os.fork():
        os.close(host["requests"])
        return pid
    os.chdir(host["folder"])
    os.environ |= host["variables"]
    log = os.open(host["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    with os.fdopen(host["requests"]) as requests:
        for line in requests:
            run(json.loads(line))
    sys.exit()


def run(request: dict[str, Any]) -> None:
    from redolake.config import load_configuration

    os.environ["REDOLAKE_CONFIG"] = request["config"]
    os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)  # pyspark notes it in the process, where Airflow's workers run one task
    (pipeline,) = load_configuration(Path(request["config"])).pipelines.values()
    write(Path(request["answer"]), run_dag(pipeline, request["dag"], request["conf"]))


def write(file: Path, value: Any) -> None:
    unfinished = file.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(value))
    unfinished.rename(file)


if __name__ == "__main__":
    main()
