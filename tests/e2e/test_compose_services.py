"""The commands of docker-compose.yml as processes of this machine, each with its own health check, on PostgreSQL and S3."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipelines.runtime import environment
from tests.fix_postgres import Postgres, free_port
from tests.fix_s3 import S3
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.airflow,
    pytest.mark.skipif("REDOLAKE_ALL_KILLS" not in os.environ, reason="starts eight servers; `make soak` runs it"),
]
ROOT = Path(__file__).parents[2]
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
ORDER = (
    "airflow-api", "airflow-scheduler", "airflow-dag-processor", "airflow-triggerer", "spark-master", "spark-worker",
    "spark-connect", "metrics",
)  # fmt: skip
PORTS = ("8080", "8081", "8974", "7077", "15002", "9108")


@dataclass(slots=True)
class Machine:
    """Replaces the containers' names, ports and folders by those of this machine."""

    home: Path
    replaced: dict[str, str]
    spark_ui: dict[str, str] = field(default_factory=dict)

    def text(self, given: str) -> str:
        for old, new in self.replaced.items():
            given = given.replace(old, new)
        return given.replace("$$", "$")

    def command(self, given: list[str]) -> list[str]:
        words = [self.text(word) for word in given]
        return [*words[1:]] if words[0] == "CMD" else ["sh", "-c", words[1]] if words[0] == "CMD-SHELL" else words

    def env(self, name: str) -> dict[str, str]:
        own = {key: self.text(str(value)) for key, value in SERVICES[name].get("environment", {}).items()}
        config = {"REDOLAKE_CONFIG": str(ROOT / "docker" / "first-day" / "pipelines.yml")}
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("AIRFLOW_", "SPARK_", "AWS_"))}
        home = {"AIRFLOW_HOME": str(self.home), "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags")}
        return {**environment(clean), "AIRFLOW__CORE__LOAD_EXAMPLES": "False", **own, **config, **home, **self.spark_ui}

    def run(self, name: str, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, env=self.env(name), cwd=self.home, capture_output=True, text=True, timeout=300, check=False
        )


@pytest.fixture
def machine(tmp_path: Path, postgres: Postgres, s3: S3) -> Machine:
    ports = {port: str(free_port()) for port in PORTS}
    airflow, ledger = postgres.new_database(), postgres.new_database()
    names = {
        "${AIRFLOW_PASSWORD:?copy .env.example to .env}": "word",
        "${MINIO_PASSWORD:?copy .env.example to .env}": "only-for-tests",
        "${AIRFLOW_JWT_SECRET:?copy .env.example to .env}": "secret-of-the-test-" * 4,
        "${POSTGRES_PASSWORD:?copy .env.example to .env}": "redolake",
        "${POSTGRES_PASSWORD}": "redolake",
        "postgres:5432/airflow": airflow.partition("@")[2],
        "postgres:5432/redolake": ledger.partition("@")[2],
        "http://minio:9000": s3.endpoint,
        "/opt/airflow": str(tmp_path),
        **dict.fromkeys(("airflow-api", "spark-master", "spark-connect"), "127.0.0.1"),
        "0.0.0.0": "127.0.0.1",
        **ports,
    }
    ui = {"SPARK_MASTER_WEBUI_PORT": ports["8080"], "SPARK_WORKER_WEBUI_PORT": ports["8081"], "SPARK_LOCAL_IP": "127.0.0.1"}
    health = {"AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_PORT": ports["8974"]}
    return Machine(tmp_path, names, ui | health)


def stop(process: subprocess.Popen[Any]) -> None:
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def test_every_command_becomes_healthy(machine: Machine, s3: S3) -> None:
    done = machine.run("setup", machine.command(SERVICES["setup"]["command"]))
    assert done.returncode == 0, done.stderr[-3000:]
    assert "redolake" in [bucket["Name"] for bucket in s3.client().list_buckets()["Buckets"]]
    with ExitStack() as stack:
        for name in ORDER:
            if name == "spark-master":  # its page has the port of Airflow's API, which has another host in Docker
                machine.replaced["8080"] = machine.spark_ui["SPARK_MASTER_WEBUI_PORT"] = str(free_port())
            log = stack.enter_context((machine.home / f"{name}.log").open("wb"))
            command = machine.command(SERVICES[name]["command"])
            process = subprocess.Popen(command, env=machine.env(name), cwd=machine.home, stdout=log, stderr=log)
            stack.callback(stop, process)
            check = machine.command(SERVICES[name]["healthcheck"]["test"])
            read = Path(log.name).read_text

            def healthy(name: str = name, check: list[str] = check, process: Any = process, read: Any = read) -> bool:
                assert process.poll() is None, f"{name}: {read()[-3000:]}"
                return machine.run(name, check).returncode == 0

            wait_until(healthy, 180)
        assert json.loads((machine.home / "passwords.json").read_text()) == {"admin": "word"}
