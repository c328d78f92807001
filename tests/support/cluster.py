"""A standalone Spark cluster: a master and workers that are processes of their own, with empty environments and folders."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil  # type: ignore[import-untyped]

from demo.processes import DemoProcesses
from redolake.host.runtime import environment
from tests.fixtures.postgres import free_port
from tests.support.waiting import answers, wait_until

SECONDS = 180.0


@dataclass(slots=True)
class Cluster:
    """Where it is, and its processes by the names `master`, `worker-1`, `worker-2`."""

    master: str
    page: str
    processes: DemoProcesses
    starts: dict[str, Callable[[], object]] = field(default_factory=dict)

    def pid(self, name: str) -> int:
        return next(child.process.pid for child in self.processes.children if child.name == name)

    def executors(self) -> list[psutil.Process]:
        """Return the processes of all executors, the oldest first."""
        below = [one for name in self.starts if name != "master" for one in below_of(self.pid(name))]
        found = [one for one in below if any("CoarseGrainedExecutorBackend" in word for word in words_of(one))]
        return sorted(found, key=lambda one: float(one.create_time()))

    def kill(self, name: str, *, with_executors: bool = False) -> None:
        (os.killpg if with_executors else os.kill)(self.pid(name), signal.SIGKILL)

    def restart(self) -> None:
        """Start what was killed, and wait until the master has all workers."""
        gone = [child for child in self.processes.children if child.name in self.starts and child.process.poll() is not None]
        for child in gone:
            self.processes.children.remove(child)
            self.starts[child.name]()
        wait_until(lambda: answers(f"{self.page}/json/"), SECONDS, 0.1, "the master")
        wait_until(self.has_workers, SECONDS, 0.1, "the workers")

    def has_workers(self) -> bool:
        try:
            return bool(self.state()["aliveworkers"] == len(self.starts) - 1)
        except OSError:  # the machine is busy
            return False

    def state(self) -> dict[str, Any]:
        """Return what the master says of itself."""
        with urlopen(f"{self.page}/json/", timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
        return found


def below_of(pid: int) -> list[psutil.Process]:
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def words_of(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2, cores: int = 1) -> Iterator[Cluster]:
    """Start a master and workers of so many cores each. They have Spark and Java, and nothing of this checkout."""
    ours = environment()
    env = {name: ours[name] for name in ("JAVA_HOME", "SPARK_HOME")} | {"PATH": "/usr/bin:/bin", "SPARK_LOCAL_IP": "127.0.0.1"}
    spark, port, page = f"{env['SPARK_HOME']}/bin/spark-class", free_port(), free_port()
    cluster = Cluster(
        f"spark://127.0.0.1:{port}", f"http://127.0.0.1:{page}", DemoProcesses(folder / "record", folder / "logs")
    )
    listens = ["--host", "127.0.0.1"]
    try:
        master = [spark, "org.apache.spark.deploy.master.Master", *listens, "--port", str(port), "--webui-port", str(page)]
        cluster.starts["master"] = partial(cluster.processes.start, "master", master, env, folder)
        cluster.starts["master"]()
        wait_until(lambda: answers(f"{cluster.page}/json/"), SECONDS, 0.1, "the master")
        for number in range(1, workers + 1):
            own = folder / f"worker-{number}"
            own.mkdir()
            size = ["--cores", str(cores), "--memory", "800m", "--work-dir", str(own), "--webui-port", "0"]
            command = [spark, "org.apache.spark.deploy.worker.Worker", *listens, *size, cluster.master]
            cluster.starts[f"worker-{number}"] = partial(cluster.processes.start, f"worker-{number}", command, env, own)
            cluster.starts[f"worker-{number}"]()
        wait_until(cluster.has_workers, SECONDS, 0.1, "the workers")
        yield cluster
    finally:
        cluster.processes.stop()
