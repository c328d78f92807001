"""Two Airflow workers run the DAGs of one pipeline by turns: ledger in PostgreSQL, landing and lake on S3.

Spark runs on a Connect server, and once by spark-submit. A host is a process with its own working folder; it shares nothing
with the other but the pipeline file and these servers. One is killed with kill -9 between two tables, and one after the second
chunk of a table that is read in chunks.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from deltalake import DeltaTable
from typer.testing import CliRunner

from redolake.cli import app
from redolake.host.crash import VARIABLE
from redolake.host.runtime import environment
from tests.fixtures.postgres import Postgres
from tests.fixtures.s3 import S3
from tests.fixtures.shop import Shop
from tests.fixtures.spark import QUIET_AND_SHORT
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.airflow]

PARTS, BINS = "SHOP.PARTS", "SHOP.BINS"
READ_CHUNK = '\n  FROM "SHOP"."PARTS" AS OF SCN'
FIRST = 1001  # of the rows for which PARTS is read in chunks
ROOT = Path(__file__).parents[2]
SECONDS = 240.0
BOTH_SIDES = [("update", "before", 1), ("update", "after", 1)]
DONE = {"prepare": "success", "spark": "success", "record": "success"}


@dataclass(slots=True)
class Host:
    """A working folder, and the pipe to a worker of Airflow there."""

    folder: Path
    requests: int
    asked: int = 0

    def run_dag(self, part: str, file: Path, **conf: Any) -> dict[str, str]:
        """Run the DAG to its end; it must succeed. Return the states of its tasks."""
        answer = self.ask(part, file, **conf)
        wait_until(lambda: answer.exists() or self.ended.exists(), SECONDS, 0.05, f"{part} on {self.folder.name}")
        assert answer.exists(), self.said()
        state, tasks = json.loads(answer.read_text())
        assert state == "success", f"{part}: {tasks}\n{self.said()}"
        return dict(tasks)

    def ask(self, part: str, file: Path, **conf: Any) -> Path:
        """Let the worker begin to run a DAG; return the file that will hold its answer."""
        self.asked += 1
        answer = self.folder.with_name(f"{self.folder.name}-{self.asked}.json")
        request = {"dag": part, "conf": conf, "config": str(file), "answer": str(answer)}
        os.write(self.requests, f"{json.dumps(request)}\n".encode())
        return answer

    @property
    def ended(self) -> Path:
        return self.folder.with_suffix(".ended")

    @property
    def log(self) -> Path:
        return self.folder.with_suffix(".log")

    def said(self) -> str:
        return "".join(file.read_text()[-6000:] for file in (self.folder.with_name("workers.log"), self.log) if file.exists())


@dataclass(slots=True)
class Setup:
    shop: Shop
    bucket: str
    hosts: tuple[Host, Host, Host]
    file: Path
    by_submit: Path  # another pipelines.yml, for the same pipeline

    def change(self, number: int) -> None:
        self.shop.run_sql(
            *(f"INSERT INTO {table} VALUES ({number}, 'shelf', {number})" for table in ("parts", "bins")),
            *(f"UPDATE {table} SET quantity = quantity + {number} WHERE id = 1" for table in ("parts", "bins")),
        )
        self.shop.switch_logs()

    def chunks(self, s3: S3) -> dict[str, bytes]:
        """Return the manifests of the chunks of PARTS."""
        found = [key for key in s3.keys(self.bucket) if "/chunk-" in key]
        return {key: s3.client().get_object(Bucket=self.bucket, Key=key)["Body"].read() for key in found}

    def commits(self, s3: S3) -> list[int]:
        """Return the number of commits of each Delta table."""
        keys = [key for key in s3.keys(self.bucket) if key.endswith(".json")]
        return [sum(f"lake/shop/{table}/_delta_log/" in key for key in keys) for table in ("parts", "bins")]

    def shadow(self, s3: S3) -> str:
        (shadow,) = {
            key.partition("/_delta_log/")[0]
            for key in s3.keys(self.bucket)
            if key.startswith("lake/_shadow/") and "_delta_log" in key
        }
        return shadow

    def delta_table(self, s3: S3, path: str) -> DeltaTable:
        return DeltaTable(f"s3://{self.bucket}/{path}", storage_options={**s3.environment, "AWS_ALLOW_HTTP": "true"})


@pytest.fixture
def two_hosts(
    shop: Shop, s3: S3, bucket: str, postgres: Postgres, connect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Setup]:
    for table in ("parts", "bins"):
        shop.run_sql(
            f"CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20), quantity NUMBER(9,2))",
            f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            f"INSERT INTO {table} VALUES (1, 'floor', 1)",
        )
    shop.run_sql(f"INSERT INTO parts SELECT {FIRST - 1} + LEVEL, 'W' || LEVEL, LEVEL FROM dual CONNECT BY LEVEL <= 5000")
    shop.run_sql("GRANT SELECT ON dba_extents TO c##redolake", "GRANT SELECT ON dba_segments TO c##redolake", user="SYS")
    pipeline: dict[str, Any] = {
        "source": {"connection": "oracle_shop", "container": "FREEPDB1"},
        "landing": f"s3://{bucket}/landing",
        "lake": f"s3://{bucket}/lake",
        "ledger": {"url": postgres.new_database()},
        "schedule": None,
        "retry": {"initial_seconds": 0.1},
        "snapshot": {"chunk_bytes": "64KiB", "sessions": 2},
        "tables": [PARTS, BINS],
        "history": "changes",
    }
    on_server = {"mode": "connect", "connection": "spark", "parallel_tables": 1}  # a worker is killed between two of them
    by_submit = {"mode": "submit", "connection": "submit", "conf": QUIET_AND_SHORT}
    files = tmp_path / "pipelines.yml", tmp_path / "by-submit.yml"
    for file, spark in zip(files, (on_server, by_submit), strict=True):
        file.write_text(yaml.safe_dump({"pipelines": {"shop": {**pipeline, "spark": spark}}}))
    user = shop.oracle.capture_user
    oracle = {"conn_type": "oracle", "login": user, "password": shop.oracle.passwords[user], "extra": {"dsn": shop.params.dsn}}
    connections = {
        "AIRFLOW_CONN_ORACLE_SHOP": json.dumps(oracle),
        "AIRFLOW_CONN_SPARK": connect,
        "AIRFLOW_CONN_SUBMIT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
        "REDOLAKE_CONFIG": str(files[0]),
    }
    for name, value in connections.items():
        monkeypatch.setenv(name, value)
    database = postgres.new_database().replace("postgresql", "postgresql+psycopg", 1)
    airflow = {f"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN{kind}": database for kind in ("", "_ASYNC")}
    with ExitStack() as stack:
        hosts = start_hosts(tmp_path, {**connections, **s3.environment, **airflow}, stack)
        yield Setup(shop, bucket, hosts, *files)


def start_hosts(folder: Path, variables: dict[str, str], stack: ExitStack) -> tuple[Host, Host, Host]:
    """Start the workers `here`, `there` and `early`; `there` is killed between two tables, `early` after a second chunk."""
    hosts, orders, ends = [], [], []
    for name, own in (("here", {}), ("there", {VARIABLE: "merge"}), ("early", {VARIABLE: "publish *.json#2"})):
        reads, writes = os.pipe()
        host = Host(folder / name, writes)
        host.folder.mkdir()
        hosts.append(host)
        ends.append(reads)
        places = {"folder": str(host.folder), "log": str(host.log), "ended": str(host.ended)}
        orders.append({**places, "requests": reads, "variables": own})
    log = stack.enter_context((folder / "workers.log").open("w"))
    command = [sys.executable, "-m", "tests.e2e.dag_worker"]
    env = {**environment(), "PYTHONPATH": f"{ROOT}/pipelines:{ROOT}"}
    workers = subprocess.Popen(
        command, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=log, stderr=log, pass_fds=ends, start_new_session=True
    )
    stack.callback(workers.wait)
    stack.callback(os.killpg, workers.pid, signal.SIGKILL)
    for host, end in zip(hosts, ends, strict=True):
        stack.callback(os.close, host.requests)
        os.close(end)
    assert workers.stdin is not None
    workers.stdin.write(json.dumps({"variables": variables, "hosts": orders}).encode() + b"\n")
    workers.stdin.close()
    return hosts[0], hosts[1], hosts[2]


def redolake(*words: str) -> Any:
    """Run the command in this process, with the variables of a terminal on one of the hosts."""
    done = CliRunner().invoke(app, [*words, "--output", "json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_snapshot_windows_a_kill_a_backfill_and_verify_on_two_hosts(
    two_hosts: Setup, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there, early = two_hosts.hosts
    file, shop = two_hosts.file, two_hosts.shop
    monkeypatch.chdir(there.folder)
    redolake("doctor")
    with shop.oracle.connect("SHOP") as connection:
        connection.cursor().execute("INSERT INTO parts VALUES (100, 'long', 100)")
        two_hosts.change(2)
        read_in_chunks(two_hosts, s3, early, here)
        there.run_dag("capture", file)  # the transaction stays open in this window
        here.run_dag("apply", file)
        begin = redolake("tables")[0]["complete_to_scn"] + 1
        two_hosts.change(3)
        connection.commit()
    two_hosts.change(4)

    before = two_hosts.commits(s3)
    there.run_dag("capture", file)
    there.ask("apply", file)
    wait_until(there.ended.exists, SECONDS, 0.05, "the kill")
    assert json.loads(there.ended.read_text()) == -signal.SIGKILL, there.said()
    assert sorted(now - then for now, then in zip(two_hosts.commits(s3), before, strict=True)) == [0, 1]
    here.run_dag("apply", file)
    assert any("carry-" in key for key in s3.keys(two_hosts.bucket))

    end = redolake("windows")[-1]["last_scn"] + 1
    commits = two_hosts.commits(s3)
    for _ in range(2):
        here.run_dag("backfill", file, from_scn=begin, to_scn=end, tables=[PARTS], dry_run=False)
        shadow = two_hosts.delta_table(s3, two_hosts.shadow(s3))
        assert shadow.version() == 2, "made empty, marked with its owner, and merged once"
        assert keys_of(shadow) == [1, 3, 4, 100]  # those that changed since
    assert two_hosts.commits(s3) == commits

    shop.run_sql("UPDATE parts SET place = 'it''s here' WHERE id = 1", "DELETE FROM parts WHERE id = 2")
    shop.run_sql("INSERT INTO parts VALUES (5, NULL, -0.25)")
    shop.switch_logs()
    here.run_dag("capture", two_hosts.by_submit)
    assert here.run_dag("apply", two_hosts.by_submit).items() >= DONE.items()
    assert here.run_dag("apply", two_hosts.by_submit)["spark"] == "skipped"

    here.run_dag("verify", file)
    (compared,) = redolake("verify", BINS)["tables"]
    assert compared["history"] == {"missing_rows": 0, "extra_rows": 0, "waits": None}
    history = two_hosts.delta_table(s3, "lake/_history/shop/bins").to_pyarrow_table().to_pylist()
    once = Counter((row["_op"], row["_image"], int(row["ID"])) for row in history if row["_op"] in ("insert", "update"))
    assert once == {("insert", "after", 3): 1, ("insert", "after", 4): 1, **dict.fromkeys(BOTH_SIDES, 2)}
    (hashed,) = redolake("verify", PARTS, "--method", "buckets")["tables"]
    repaired = redolake("repair", PARTS, "--key", "ID=1", "--reason", "a try on S3", "--execute")
    assert (hashed["method"], hashed["differing_buckets"], hashed["source_rows_read"]) == ("buckets", 0, 0)
    assert (repaired["equal"], repaired["updated"], repaired["source_rows_read"]) == (True, 1, 1)
    swap_and_back(two_hosts, s3)
    assert keys_of(two_hosts.delta_table(s3, "lake/shop/parts")) == [1, 3, 4, 5, 100]
    assert keys_of(two_hosts.delta_table(s3, "lake/shop/bins")) == [1, 2, 3, 4]
    assert [list(host.folder.rglob("*.parquet")) for host in two_hosts.hosts] == [[], [], []]


def swap_and_back(two_hosts: Setup, s3: S3) -> None:
    """Put a whole copy of BINS in its place by the forms, and put back what it has replaced."""
    here, file = two_hosts.hosts[0], two_hosts.file
    (load,) = {key.partition("/loads/")[2].partition("/")[0] for key in s3.keys(two_hosts.bucket) if "/loads/" in key}
    snapshot_scn = int(load.partition("-")[0])
    here.run_dag("backfill", file, from_scn=snapshot_scn, to_scn="now", tables=[BINS], target="copy", dry_run=False)
    (name,) = {key.split("/")[2] for key in s3.keys(two_hosts.bucket) if key.startswith("lake/_shadow/") and "-copy/" in key}
    before = two_hosts.delta_table(s3, "lake/shop/bins").version()
    for choice in ({"copy": name}, {"undo": True}):
        here.run_dag("mend", file, mend="swap", tables=[BINS], reason="a try on S3", dry_run=False, **choice)
        assert redolake("verify", BINS)["tables"][0]["differing_cells"] == 0
    assert two_hosts.delta_table(s3, "lake/shop/bins").version() == before + 2


def read_in_chunks(two_hosts: Setup, s3: S3, early: Host, here: Host) -> None:
    """Take the first snapshot. A worker is killed after two chunks; then a mapped task fails and is retried for the rest."""
    early.ask("snapshot", two_hosts.file)
    wait_until(early.ended.exists, SECONDS, 0.05, "the kill in a chunk")
    assert json.loads(early.ended.read_text()) == -signal.SIGKILL, early.said()
    read = two_hosts.chunks(s3)
    two_hosts.shop.oracle.faults.fail_statements(3113, READ_CHUNK)
    assert here.run_dag("snapshot", two_hosts.file).items() >= DONE.items()
    there = two_hosts.chunks(s3)
    again = [key for key in read if there[key] != read[key]]
    assert (len(read), len(there), again) == (2, 4, [])
    assert here.log.read_text().count("ORA-03113") > 0, "no task had to be retried"


def keys_of(table: DeltaTable) -> list[int]:
    """Return the keys of the rows that change."""
    return sorted(int(key) for key in table.to_pyarrow_table(columns=["ID"])["ID"].to_pylist() if key < FIRST)
