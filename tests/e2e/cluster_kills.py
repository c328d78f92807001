"""Run a pipeline on a standalone cluster, and kill a part of it at a step of a batch or a load; print what came of it.

Run by `python -m tests.e2e.cluster_kills FOLDER STEP:VICTIM ..`: a process of its own, for a process has one Spark.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from redolake import steps
from redolake.apply import small_tables, snapshot, table
from redolake.apply.spark.session import give_up
from redolake.config import Pipeline
from redolake.config.keep import KeepSettings
from redolake.context.spark import open_spark
from redolake.errors import Transient
from redolake.host.spark_settings import WORKERS_PYTHON
from redolake.job import assembly, batch
from tests.e2e.test_cluster import CONF
from tests.fixtures.shop import Shop, open_shop
from tests.support.cluster import Cluster, below_of, standalone_cluster, words_of

ROOT = Path(__file__).parents[2]
TABLES = ["SHOP.CUSTOMERS", "SHOP.PAYMENTS"]
MOST_ATTEMPTS = 6
# What a kill begins with: a function of the driver, and whether Spark must be at work in it.
STEPS: Mapping[str, tuple[Any, str, bool]] = {
    "assembly": (assembly, "assemble_batch", True),
    "carry": (batch, "carry_over", False),
    "net": (small_tables, "take_together", True),
    "before-merge": (table, "merge_net_change", False),
    "merge": (table, "merge_net_change", True),
    "load": (snapshot, "load_once", True),
}
COMES_AND_GOES = {"spark.decommission.enabled": "true", "spark.storage.decommission.enabled": "true"}
SPECULATES = {"spark.speculation": "true", "spark.speculation.interval": "50ms", "spark.speculation.multiplier": "1.1",
              "spark.speculation.quantile": "0.1", "spark.speculation.minTaskRuntime": "50ms"}  # fmt: skip
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "decommissioned": {"conf": COMES_AND_GOES},
    "slow": {"conf": SPECULATES},
    "executor-twice-kept": {"kept": "replicated"},
}


@dataclass(slots=True)
class Kill:
    """One kill: it happens in the first call of its step."""

    cluster: Cluster
    step: str
    victim: str
    at: str | None = None  # what was killed
    lock: threading.Lock = field(default_factory=threading.Lock)

    def patched(self) -> Any:
        module, name, at_work = STEPS[self.step]
        called = getattr(module, name)

        def step(*given: Any, **more: Any) -> Any:
            with self.lock:
                first, self.at = self.at is None, self.at or "begun"
            if first and at_work:
                threading.Thread(target=self.when_at_work, daemon=True).start()
            elif first:
                self.kill()
            return called(*given, **more)

        return mock.patch.object(module, name, step)

    def when_at_work(self) -> None:
        from pyspark import SparkContext

        context = SparkContext._active_spark_context
        assert context is not None
        until = time.monotonic() + 20
        while time.monotonic() < until:
            if self.victim == "python" and not self.pythons():
                continue
            if context.statusTracker().getActiveStageIds():
                break
        self.kill()

    def pythons(self) -> list[Any]:
        below = [one for executor in self.cluster.executors() for one in below_of(executor.pid)]
        return [one for one in below if any("python_daemon" in word for word in words_of(one))]

    def kill(self) -> None:
        executors = self.cluster.executors()
        match self.victim:
            case "executor" | "executor-twice-kept":
                executors[0].kill()
            case "other-executor":
                executors[-1].kill()
            case "executors":
                for one in executors:
                    one.kill()
            case "python":
                for one in self.pythons()[::-1]:
                    one.kill()
            case "worker":
                self.cluster.kill("worker-1")
            case "host":
                self.cluster.kill("worker-2", with_executors=True)
            case "master":
                self.cluster.kill("master")
            case "decommissioned":
                executors[0].send_signal(signal.SIGPWR)
            case "slow":
                executors[0].suspend()
                threading.Timer(5, executors[0].resume).start()
            case other:
                raise ValueError(other)
        self.at = f"{self.victim} of {len(executors)} executors"


@dataclass(slots=True)
class Killed:
    """A pipeline on a cluster. One session serves all kills that need the same settings, until one ends it."""

    cluster: Cluster
    shop: Shop
    settings: str = ""
    spark: Any = None

    def pipeline(self, victim: str = "") -> Pipeline:
        spark = spark_settings(self.cluster, **SETTINGS.get(victim, {}))
        return self.shop.pipeline(tables=TABLES, spark=spark, retry={"attempts": 1})

    def session(self, victim: str = "") -> Any:
        pipeline = self.pipeline(victim)
        if self.spark is None or self.settings != str(pipeline.spark.settings):
            self.close()
            self.spark, self.settings = open_spark(pipeline), str(pipeline.spark.settings)
        return self.spark

    def close(self) -> None:
        if self.spark is not None:
            give_up(self.spark)
        self.spark = None

    def run(self, victim: str = "") -> None:
        steps.run_pipeline(self.pipeline(victim), until_caught_up=True, source=self.shop.params, spark=self.session(victim))

    def try_kill(self, words: str, number: int) -> dict[str, Any]:
        step, _, victim = words.partition(":")
        kill, began = Kill(self.cluster, step, victim), time.monotonic()
        self.session(victim)
        self.shop.work(30, seed=100 + number)
        self.shop.switch_logs()
        with kill.patched():
            errors = self.attempts(kill)
        if step == "load":
            self.run(victim)
        held = [one.table for one in steps.read_status(self.pipeline()).tables if one.state != "live"]
        return {"kill": words, "seconds": round(time.monotonic() - began), "killed": kill.at, "errors": errors, "held": held}

    def attempts(self, kill: Kill) -> list[str]:
        """Run the step until it succeeds, each time with another session; return the errors of the attempts before."""
        errors: list[str] = []
        while len(errors) < MOST_ATTEMPTS:
            try:
                if kill.step == "load":
                    given = {"source": self.shop.params, "spark": self.session(kill.victim)}
                    steps.take_snapshot(self.pipeline(kill.victim), TABLES[:1], replace=True, **given)
                else:
                    self.run(kill.victim)
            except Transient as error:
                errors.append(f"{error.code}: {error.what[:200]}")
                self.close()
                self.cluster.restart()
            else:
                self.cluster.restart()
                break
        if kill.victim == "master":
            self.close()  # another master knows nothing of its application, and gives it no executor
        return errors

    def end(self) -> dict[str, Any]:
        """Compare the tables with the source, and remove what the attempts have left."""
        pipeline, spark = self.pipeline(), self.session()
        proof = steps.verify_tables(pipeline, source=self.shop.params, spark=spark)
        before = orphans(pipeline)
        pruned(pipeline, execute=True)
        for folder in tables_of(pipeline):
            spark.sql(f"VACUUM delta.`{folder}` RETAIN 0 HOURS").collect()
        left = {"orphans before": len(before), "orphans": orphans(pipeline)}
        return {"equal": proof.equal, "rows": [str(one) for one in proof.tables], "twice": committed_twice(pipeline), **left}


def main(folder: Path, kills: list[str]) -> None:
    (folder / "cluster").mkdir()
    with standalone_cluster(folder / "cluster") as cluster, open_shop(folder) as shop:
        killed = Killed(cluster, shop)
        shop.work(20)
        shop.switch_logs()
        killed.run(kills[0].partition(":")[2])
        with suppress(KeyboardInterrupt):  # goes on with what was found so far
            for number, words in enumerate(kills):
                say(killed.try_kill(words, number))
        killed.close()
        cluster.restart()
        killed.run()
        say(killed.end())
        killed.close()


def say(found: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def spark_settings(cluster: Cluster, **more: Any) -> dict[str, Any]:
    conf = {
        **CONF,
        WORKERS_PYTHON: sys.executable,
        "spark.executorEnv.PYTHONPATH": f"{ROOT / 'pipelines'}:{ROOT}",
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    }
    # What the driver merges alone needs no cluster.
    merged = {"few_changes": "merge", **more}
    return {"mode": "submit", "master": cluster.master, **merged, "conf": {**conf, **more.get("conf", {})}}


def tables_of(pipeline: Pipeline) -> list[Path]:
    return [log.parent for log in Path(pipeline.lake).rglob("_delta_log")]


def orphans(pipeline: Pipeline) -> list[str]:
    """Return the files of the lake that no commit names, and what `prune` would remove of killed attempts."""
    found = []
    for folder in tables_of(pipeline):
        named = {one for log in (folder / "_delta_log").glob("*.json") for one in paths_in(log)}
        files = [file.relative_to(folder) for file in folder.rglob("*.parquet") if "_delta_log" not in file.parts]
        found += [str(file) for file in files if str(file) not in named]
    return found + pruned(pipeline, execute=False)


def paths_in(log: Path) -> list[str]:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [line[kind]["path"] for line in lines for kind in ("add", "cdc") if kind in line]


def committed_twice(pipeline: Pipeline) -> list[str]:
    """Return the positions that a table has committed more than once."""
    found: Counter[tuple[str, str, int]] = Counter()
    for log in Path(pipeline.lake).rglob("_delta_log/*.json"):
        for line in map(json.loads, log.read_text().splitlines()):
            if "txn" in line:
                found[log.parts[-3], line["txn"]["appId"], line["txn"]["version"]] += 1
    return [str(one) for one, times in found.items() if times > 1]


def pruned(pipeline: Pipeline, *, execute: bool) -> list[str]:
    keep = KeepSettings.model_construct(**{**dict(pipeline.keep), "attempts": timedelta(0)})
    report = steps.prune_pipeline(pipeline.model_copy(update={"keep": keep}), execute=execute)
    return [f"{one.kind}: {one.number}" for one in report.kinds if one.number]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
