"""Two Airflow workers run the DAGs of one pipeline by turns: ledger in PostgreSQL, landing and lake on S3, Spark on a server.

A host is a process with its own working folder; it shares nothing with the other but the pipeline file and these servers. One
is killed with kill -9 between two tables. At last a terminal there compares, with a Spark of its own.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable

from demo.walkthrough import listens
from pipelines.crash import VARIABLE
from pipelines.runtime import environment
from tests.fix_postgres import Postgres, free_port
from tests.fix_s3 import S3
from tests.fix_shop import Shop
from tests.fix_spark import QUIET
from tests.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.airflow]

PARTS, BINS = "SHOP.PARTS", "SHOP.BINS"
ROOT = Path(__file__).parents[2]
SECONDS = 240.0


@dataclass(slots=True)
class Host:
    """A working folder with a worker of Airflow, and a terminal."""

    folder: Path
    settings: dict[str, str]
    worker: subprocess.Popen[str]
    asked: int = 0

    def run_dag(self, part: str, **conf: Any) -> None:
        """Run the DAG to its end; it must succeed."""
        answer = self.ask(part, **conf)
        wait_until(lambda: answer.exists() or self.worker.poll() is not None, SECONDS, what=f"{part} on {self.folder.name}")
        assert answer.exists(), self.log()
        state, tasks = json.loads(answer.read_text())
        assert state == "success", f"{part}: {tasks}\n{self.log()}"

    def ask(self, part: str, **conf: Any) -> Path:
        """Let the worker begin to run a DAG; return the file that will hold its answer."""
        self.asked += 1
        answer = self.folder.with_name(f"{self.folder.name}-{self.asked}.json")
        self.tell({"dag": part, "conf": conf, "answer": str(answer)})
        return answer

    def tell(self, value: dict[str, Any]) -> None:
        assert self.worker.stdin is not None
        self.worker.stdin.write(json.dumps(value) + "\n")
        self.worker.stdin.flush()

    def log(self) -> str:
        return self.folder.with_suffix(".log").read_text()[-6000:]

    def redolake(self, *words: str, **more: str) -> Any:
        command = [str(Path(sys.executable).with_name("redolake")), *words, "--output", "json"]
        env = {**environment(), **self.settings, **more}
        done = subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout[-1000:]}{done.stderr[-4000:]}"
        return json.loads(done.stdout)


@dataclass(slots=True)
class Setup:
    shop: Shop
    bucket: str
    hosts: tuple[Host, Host]
    with_own_spark: Path  # another pipelines.yml, for the same pipeline

    def change(self, number: int) -> None:
        self.shop.run_sql(
            *(f"INSERT INTO {table} VALUES ({number}, 'shelf', {number})" for table in ("parts", "bins")),
            *(f"UPDATE {table} SET quantity = quantity + {number} WHERE id = 1" for table in ("parts", "bins")),
        )
        self.shop.switch_logs()

    def commits(self, s3: S3) -> list[int]:
        """Return the number of commits of each Delta table."""
        keys = [key for key in s3.keys(self.bucket) if key.endswith(".json")]
        return [sum(f"/{table}/_delta_log/" in key for key in keys) for table in ("parts", "bins")]

    def keys_in_shadow(self, s3: S3) -> list[int]:
        """Return the keys of the rows in the only shadow table."""
        (shadow,) = {
            key.partition("/_delta_log/")[0]
            for key in s3.keys(self.bucket)
            if key.startswith("lake/_shadow/") and "_delta_log" in key
        }
        options = {**s3.environment, "AWS_ALLOW_HTTP": "true"}
        rows = DeltaTable(f"s3://{self.bucket}/{shadow}", storage_options=options).to_pyarrow_table()
        return sorted(map(int, rows["ID"].to_pylist()))


@pytest.fixture
def spark_server(s3: S3, tmp_path: Path) -> Iterator[int]:
    """Start a Connect server that reads and writes S3; yield its port."""
    port = free_port()
    command = [sys.executable, "-m", "pipelines.job.connect_server", "--port", str(port), "--s3"]
    command += [f"--conf={key}={value}" for key, value in QUIET.items()]
    with (tmp_path / "spark.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=log, stderr=log)
    try:
        wait_until(lambda: listens(port) or server.poll() is not None, SECONDS, every=0.1, what="the Connect server")
        assert server.poll() is None, (tmp_path / "spark.log").read_text()[-3000:]
        yield port
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture
def two_hosts(shop: Shop, s3: S3, bucket: str, postgres: Postgres, spark_server: int, tmp_path: Path) -> Iterator[Setup]:
    for table in ("parts", "bins"):
        shop.run_sql(
            f"CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20), quantity NUMBER(9))",
            f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            f"INSERT INTO {table} VALUES (1, 'floor', 1)",
        )
    pipeline: dict[str, Any] = {
        "source": {"connection": "oracle_shop", "container": "FREEPDB1"},
        "landing": f"s3://{bucket}/landing",
        "lake": f"s3://{bucket}/lake",
        "ledger": {"url": postgres.new_database()},
        "schedule": None,
        "tables": [PARTS, BINS],
    }
    tables_in_order = {"conf": dict(QUIET), "tables_at_once": 1}  # a worker is killed between two of them
    on_server = {**pipeline, "spark": {**tables_in_order, "mode": "connect", "connection": "spark"}}
    files = tmp_path / "pipelines.yml", tmp_path / "own-spark.yml"
    for file, one in zip(files, (on_server, {**pipeline, "spark": tables_in_order}), strict=True):
        file.write_text(yaml.safe_dump({"pipelines": {"shop": one}}))
    user = shop.oracle.capture_user
    oracle = {"conn_type": "oracle", "login": user, "password": shop.oracle.passwords[user], "extra": {"dsn": shop.params.dsn}}
    settings = {
        "REDOLAKE_CONFIG": str(files[0]),
        "AIRFLOW_CONN_ORACLE_SHOP": json.dumps(oracle),
        "AIRFLOW_CONN_SPARK": f"spark-connect://127.0.0.1:{spark_server}",
        **s3.environment,
    }
    database = postgres.new_database().replace("postgresql", "postgresql+psycopg", 1)
    airflow = {f"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN{kind}": database for kind in ("", "_ASYNC")}
    with ExitStack() as stack:
        here = start_host(tmp_path / "here", settings, airflow, stack)
        there = start_host(tmp_path / "there", settings, {**airflow, VARIABLE: "merge"}, stack)
        yield Setup(shop, bucket, (here, there), files[1])


def start_host(folder: Path, settings: dict[str, str], variables: dict[str, str], stack: ExitStack) -> Host:
    folder.mkdir()
    log = stack.enter_context(folder.with_suffix(".log").open("w"))
    command = [sys.executable, "-m", "tests.e2e.dag_worker"]
    env = {**environment(), "PYTHONPATH": str(ROOT)}
    worker = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=log, stderr=log, text=True)
    stack.callback(worker.wait)
    stack.callback(worker.kill)
    host = Host(folder, settings, worker)
    host.tell({**settings, **variables})
    return host


def test_snapshot_windows_a_kill_a_backfill_and_verify_on_two_hosts(two_hosts: Setup, s3: S3) -> None:
    here, there = two_hosts.hosts
    here.redolake("doctor")
    with two_hosts.shop.oracle.connect("SHOP") as connection:
        connection.cursor().execute("INSERT INTO parts VALUES (100, 'long', 100)")
        two_hosts.change(2)
        here.run_dag("snapshot")
        there.run_dag("capture")  # the transaction stays open in this window
        here.run_dag("apply")
        begin = there.redolake("tables")[0]["complete_to"] + 1
        two_hosts.change(3)
        connection.commit()
    two_hosts.change(4)

    before = two_hosts.commits(s3)
    there.run_dag("capture")
    there.ask("apply")
    assert there.worker.wait(SECONDS) == -signal.SIGKILL, there.log()
    assert sorted(now - then for now, then in zip(two_hosts.commits(s3), before, strict=True)) == [0, 1]
    here.run_dag("apply")

    here.run_dag("verify")
    end = there.redolake("windows")[-1]["end"]
    here.run_dag("backfill", from_scn=begin, to_scn=end, tables=[PARTS], dry_run=False)
    verified = there.redolake("verify", REDOLAKE_CONFIG=str(two_hosts.with_own_spark))
    assert [(t["source_rows"], t["delta_rows"], t["differing_cells"]) for t in verified["tables"]] == [(5, 5, 0), (4, 4, 0)]
    assert two_hosts.keys_in_shadow(s3) == [1, 3, 4, 100]  # those that changed since
    assert any("carry-" in key for key in s3.keys(two_hosts.bucket))
    assert [list(host.folder.rglob("*.parquet")) for host in two_hosts.hosts] == [[], []]
