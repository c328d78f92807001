"""Run DAGs in this process, one after the other, as a worker of Airflow on a host of its own.

`python -m tests.e2e.dag_worker` in the host's working folder reads one line of JSON after the other: first the variables of
its environment, then requests `{"dag": .., "conf": .., "answer": file}`. It writes the states of the run and of its tasks into
the file.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests.fix_airflow import run_dag  # removes what points to another Airflow


def main() -> None:
    os.environ |= json.loads(sys.stdin.readline())
    from airflow.utils.db import initdb

    from pipelines.config import load_configuration

    initdb()
    (pipeline,) = load_configuration(Path(os.environ["REDOLAKE_CONFIG"])).pipelines.values()
    for line in sys.stdin:
        request = json.loads(line)
        answer = Path(request["answer"])
        unfinished = answer.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(run_dag(pipeline, request["dag"], request["conf"])))
        unfinished.rename(answer)


if __name__ == "__main__":
    main()
