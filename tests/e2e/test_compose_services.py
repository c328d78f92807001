"""docs/first-day.md, walked: the commands of docker-compose.yml as processes of this machine, on PostgreSQL and S3, with the
stand-in for Oracle. Each service passes its own health check; then the steps of the page are done, and each ends in its check.

The steps are in one test, for each needs the one before.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.airflow_api import AirflowApi, AirflowUnavailable
from demo.services import QUICK_JAVA
from redolake.host.runtime import environment
from standin.serve import StandIn, standin
from tests.fixtures.postgres import Postgres, free_port
from tests.fixtures.s3 import S3
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.airflow,
    pytest.mark.skipif("REDOLAKE_ALL_KILLS" not in os.environ, reason="starts eight servers; `make soak` runs it"),
]
ROOT = Path(__file__).parents[2]
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
# What compose starts at the same time, by `depends_on`.
TOGETHER = (
    ("airflow-api", "airflow-scheduler", "airflow-dag-processor", "airflow-triggerer", "spark-master", "metrics"),
    ("spark-worker",),
    ("spark-connect",),
)
PORTS = ("8080", "8081", "8974", "7077", "15002", "9108")
PASSWORD = "only-for-tests"
ASKED = ":?copy .env.example to .env}"
SHOP = [
    line.rstrip(";")
    for line in (ROOT / "docker" / "first-day" / "shop.sql").read_text().splitlines()
    # The stand-in has a SHOP already, and no container to switch to in a session of the PDB.
    if line.startswith(("CREATE TABLE", "ALTER TABLE", "INSERT", "COMMIT"))
]


@dataclass(slots=True)
class Machine:
    """Replaces the containers' names, ports and folders by those of this machine."""

    home: Path
    replaced: dict[str, str]
    of_service: dict[str, dict[str, str]]
    also: dict[str, str]
    started: dict[str, subprocess.Popen[Any]] = field(default_factory=dict)

    def text(self, name: str, given: str) -> str:
        for old, new in {**self.replaced, **self.of_service.get(name, {})}.items():
            given = given.replace(old, new)
        return given.replace("$$", "$")

    def command(self, name: str, given: list[str]) -> list[str]:
        words = [self.text(name, word) for word in given]
        return [*words[1:]] if words[0] == "CMD" else ["sh", "-c", words[1]] if words[0] == "CMD-SHELL" else words

    def env(self, name: str) -> dict[str, str]:
        own = {key: self.text(name, str(value)) for key, value in SERVICES[name].get("environment", {}).items()}
        config = {"REDOLAKE_CONFIG": str(ROOT / "docker" / "first-day" / "pipelines.yml")}
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("AIRFLOW_", "SPARK_", "AWS_"))}
        home = {"AIRFLOW_HOME": str(self.home), "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags")}
        return {**environment(clean), "AIRFLOW__CORE__LOAD_EXAMPLES": "False", **own, **config, **home, **self.also}

    def run(self, name: str, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, env=self.env(name), cwd=self.home, capture_output=True, text=True, timeout=300, check=False
        )

    def redolake(self, *words: str) -> Any:
        """Do what `docker compose exec airflow-scheduler redolake ..` does."""
        done = self.run("airflow-scheduler", ["redolake", *words, "--output", "json"])
        assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return json.loads(done.stdout)

    def start(self, name: str, stack: ExitStack) -> None:
        log = stack.enter_context((self.home / f"{name}.log").open("wb"))
        command = self.command(name, SERVICES[name]["command"])
        self.started[name] = subprocess.Popen(command, env=self.env(name), cwd=self.home, stdout=log, stderr=log)
        stack.callback(stop, self.started[name])

    def is_healthy(self, name: str) -> bool:
        assert self.started[name].poll() is None, f"{name}: {(self.home / f'{name}.log').read_text()[-3000:]}"
        return self.run(name, self.command(name, SERVICES[name]["healthcheck"]["test"])).returncode == 0


@pytest.fixture
def oracle() -> Iterator[StandIn]:
    with standin(threads=1, log_bytes=64 * 1024, archive_lag_target=0) as started:
        yield started


@pytest.fixture
def machine(tmp_path: Path, postgres: Postgres, s3: S3, oracle: StandIn) -> Machine:
    ports = {port: str(free_port()) for port in PORTS}
    spark_page = str(free_port())  # 8080 as well, which is Airflow's port on another host
    airflow, ledger = postgres.new_database(), postgres.new_database()
    names = {
        f"${{AIRFLOW_PASSWORD{ASKED}": "word",
        f"${{ORACLE_PASSWORD{ASKED}": oracle.passwords[oracle.capture_user],
        f"${{MINIO_PASSWORD{ASKED}": PASSWORD,
        f"${{AIRFLOW_JWT_SECRET{ASKED}": "secret-of-the-test-" * 4,
        f"${{POSTGRES_PASSWORD{ASKED}": "redolake",
        "${POSTGRES_PASSWORD}": "redolake",
        "oracle:1521/FREE": oracle.root_dsn.replace("//", ""),
        "postgres:5432/airflow": airflow.partition("@")[2],
        "postgres:5432/redolake": ledger.partition("@")[2],
        "http://minio:9000": s3.endpoint,
        "/opt/airflow": str(tmp_path),
        "://spark-connect": "://127.0.0.1",  # the scheme has the same name
        **dict.fromkeys(("airflow-api", "spark-master"), "127.0.0.1"),
        "0.0.0.0": "127.0.0.1",
    }
    also = {
        "SPARK_MASTER_WEBUI_PORT": spark_page,
        "SPARK_WORKER_WEBUI_PORT": ports["8081"],
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JAVA_TOOL_OPTIONS": QUICK_JAVA,  # four Javas that live for minutes
        "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_PORT": ports["8974"],
    }
    return Machine(tmp_path, names | ports, {"spark-master": {"8080": spark_page}}, also)


def stop(process: subprocess.Popen[Any]) -> None:
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def test_a_new_user_walks_the_first_day(machine: Machine, s3: S3, oracle: StandIn) -> None:
    with ExitStack() as stack:
        start_everything(machine, s3, stack)
        create_the_shop(machine, oracle)
        api = AirflowApi(f"http://127.0.0.1:{machine.replaced['8080']}", "admin", "word")
        snapshot(api, machine)
        change(machine, oracle)
        proved = machine.redolake("verify")
        assert (proved["equal"], sorted(t["table"] for t in proved["tables"])) == (True, ["SHOP.CUSTOMERS", "SHOP.ORDERS"])
        assert any(key.startswith("lake/") for key in s3.keys("redolake"))


def start_everything(machine: Machine, s3: S3, stack: ExitStack) -> None:
    """Step 2: docker compose up."""
    done = machine.run("setup", machine.command("setup", SERVICES["setup"]["command"]))
    assert done.returncode == 0, done.stderr[-3000:]
    assert "redolake" in [bucket["Name"] for bucket in s3.client().list_buckets()["Buckets"]]
    for names in TOGETHER:
        for name in names:
            machine.start(name, stack)
        for name in names:
            wait_until(lambda name=name: machine.is_healthy(name), 120, every=0.5, what=name)
    assert json.loads((machine.home / "passwords.json").read_text()) == {"admin": "word"}


def create_the_shop(machine: Machine, oracle: StandIn) -> None:
    """Step 3: a schema to replicate."""
    run_sql(oracle, "SHOP", *SHOP)
    found = machine.redolake("doctor")
    assert [f for f in found["findings"] if f["severity"] == "error"] == []


def snapshot(api: AirflowApi, machine: Machine) -> None:
    """Step 4: snapshot and first window."""
    api.login()
    wait_until(lambda: {"shop_capture", "shop_apply", "shop_snapshot"} <= api.dags(), 60)
    for part in ("capture", "apply"):
        api.unpause(f"shop_{part}")
    run = api.trigger("shop_snapshot")
    wait_until(lambda: state_of(api, "shop_snapshot", run) in ("success", "failed"), 300, every=1)
    assert api.run_state("shop_snapshot", run) == "success", api.failure_messages("shop_snapshot", run)
    shown = api.request("GET", "/redolake/api/pipelines/shop")
    assert [table["table"] for table in shown["tables"]] == ["SHOP.CUSTOMERS", "SHOP.ORDERS"]


def state_of(api: AirflowApi, dag: str, run: str) -> str:
    try:
        return api.run_state(dag, run)
    except AirflowUnavailable:  # eight servers share this machine
        return ""


def change(machine: Machine, oracle: StandIn) -> None:
    """Step 5: a change arrives."""
    run_sql(oracle, "SHOP", "UPDATE orders SET total = 99 WHERE id = 1", "COMMIT")
    run_sql(oracle, "SYS", "ALTER SYSTEM ARCHIVE LOG CURRENT")

    def applied() -> int:
        windows = machine.redolake("windows")
        return sum((window["account"] or {}).get("applied", 0) for window in windows)

    wait_until(lambda: applied() == 1, 300, every=1)


def run_sql(oracle: StandIn, user: str, *statements: str) -> None:
    with oracle.connect(user) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
