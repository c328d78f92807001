"""A standalone Spark cluster: a master and workers that are processes of their own, with empty environments and folders."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from demo.processes import DemoProcesses
from redolake.host.runtime import environment
from tests.fixtures.postgres import free_port
from tests.support.waiting import answers, wait_until

SECONDS = 90.0


@dataclass(slots=True)
class Cluster:
    """Where it is, and its processes by the names `master`, `worker-1`, `worker-2`."""

    master: str
    page: str
    processes: DemoProcesses

    def state(self) -> dict[str, Any]:
        """Return what the master says of itself."""
        with urlopen(f"{self.page}/json/", timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
        return found


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Start a master and workers of one core each. They have Spark and Java, and nothing of this checkout."""
    ours = environment()
    env = {name: ours[name] for name in ("JAVA_HOME", "SPARK_HOME")} | {"PATH": "/usr/bin:/bin", "SPARK_LOCAL_IP": "127.0.0.1"}
    spark, port, page = f"{env['SPARK_HOME']}/bin/spark-class", free_port(), free_port()
    cluster = Cluster(
        f"spark://127.0.0.1:{port}", f"http://127.0.0.1:{page}", DemoProcesses(folder / "record", folder / "logs")
    )
    listens = ["--host", "127.0.0.1"]
    try:
        master = [spark, "org.apache.spark.deploy.master.Master", *listens, "--port", str(port), "--webui-port", str(page)]
        cluster.processes.start("master", master, env, folder)
        wait_until(lambda: answers(f"{cluster.page}/json/"), SECONDS, 0.1, "the master")
        for number in range(1, workers + 1):
            own = folder / f"worker-{number}"
            own.mkdir()
            size = ["--cores", "1", "--memory", "800m", "--work-dir", str(own), "--webui-port", "0"]
            command = [spark, "org.apache.spark.deploy.worker.Worker", *listens, *size, cluster.master]
            cluster.processes.start(f"worker-{number}", command, env, own)
        wait_until(lambda: cluster.state()["aliveworkers"] == workers, SECONDS, 0.1, "the workers")
        yield cluster
    finally:
        cluster.processes.stop()
