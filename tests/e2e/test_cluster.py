"""A pipeline on a standalone Spark cluster whose hosts have Spark and Python, and no Redolake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from demo.walkthrough import listens
from redolake.host.connect_token import TOKEN
from redolake.host.runtime import environment
from redolake.host.spark_settings import WORKERS_PYTHON
from redolake.host.worker_archive import settings_of
from tests.fixtures.postgres import free_port
from tests.fixtures.shop import Shop
from tests.support.cluster import Cluster, standalone_cluster
from tests.support.waiting import wait_until

# A shorter Java, and one executor on each worker.
CONF = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


@dataclass(slots=True)
class Setup:
    shop: Shop
    folder: Path
    cluster: Cluster
    env: dict[str, str]

    def redolake(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the command in a process of its own, as in a terminal."""
        command = [str(Path(sys.executable).with_name("redolake")), *words]
        return subprocess.run(command, env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=400, check=False)

    def write_file(self, **spark: object) -> None:
        pipeline = {
            "source": {"connection": "oracle_shop", "container": "FREEPDB1"},
            "landing": str(self.folder / "landing"),
            "lake": str(self.folder / "lake"),
            "schedule": None,
            "spark": spark,
            "tables": ["SHOP.CUSTOMERS", "SHOP.PAYMENTS"],
        }
        (self.folder / "pipelines.yml").write_text(yaml.safe_dump({"pipelines": {"shop": pipeline}}))


@pytest.fixture
def setup(shop: Shop, tmp_path: Path) -> Iterator[Setup]:
    (tmp_path / "cluster").mkdir()
    params = shop.params
    connection = {"conn_type": "oracle", "login": params.user, "password": params.password, "extra": {"dsn": params.dsn}}
    variables = {"AIRFLOW_CONN_ORACLE_SHOP": json.dumps(connection), "COLUMNS": "200", TOKEN: uuid.uuid4().hex}
    with standalone_cluster(tmp_path / "cluster") as cluster:
        yield Setup(shop, tmp_path, cluster, {**environment(), **variables})


def test_the_package_travels_to_hosts_that_do_not_have_it(setup: Setup) -> None:
    setup.write_file(
        mode="submit", master=setup.cluster.master, conf={**CONF, WORKERS_PYTHON: os.path.realpath(sys.executable)}
    )
    bare = setup.redolake("validate", "--spark")
    assert bare.returncode == 2, bare.stdout + bare.stderr
    assert "Python of Spark's workers: " in bare.stdout
    assert "do this: give Spark's hosts the same Redolake" in bare.stdout

    packed = setup.redolake("spark", "pack")
    assert packed.returncode == 0, packed.stdout + packed.stderr
    conf = settings_of(str(setup.folder / "redolake-spark.tar.gz"))
    assert all(f"      {name}: {value}" in packed.stdout for name, value in conf.items())

    (printed,) = [line.split() for line in packed.stdout.splitlines() if line.startswith("  redolake spark serve ")]
    port = free_port()
    serve = [*printed[1:], "--master", setup.cluster.master, "--port", str(port)]
    serve += [word for name, value in CONF.items() for word in ("--conf", f"{name}={value}")]
    setup.cluster.processes.start("connect", [str(Path(sys.executable).with_name("redolake")), *serve], setup.env, setup.folder)
    wait_until(lambda: listens(port), 120, 0.2, "the Connect server")
    setup.env["REDOLAKE_SPARK_REMOTE"] = f"sc://127.0.0.1:{port}"
    setup.write_file(mode="connect", connection="spark")
    setup.shop.work(20)
    setup.shop.switch_logs()
    for number, words in enumerate((["validate", "--spark"], ["run"], ["verify"])):
        done = setup.redolake(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        setup.shop.work(20, seed=number)
        setup.shop.switch_logs()
