"""docker-compose.yml and the Dockerfile name files, versions, settings and commands that exist, and contain no secret."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from redolake.cli import app
from redolake.config import load_configuration
from redolake.errors import ConfigurationError
from redolake.host.runtime import environment

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
TEXT = COMPOSE.read_text()
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SECRET = re.compile(r"PASSWORD|SECRET|KEY$|_TOKEN$")
USERS = ("AWS_ACCESS_KEY_ID", "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE")


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_a_pinned_image_a_health_check_and_files_that_exist(name: str) -> None:
    service = SERVICES[name]
    volumes = [volume.split(":") for volume in service.get("volumes", ())]

    assert re.search(r":[^:]*\d|:first-day$", service["image"]), "no version"
    assert "healthcheck" in service or name == "setup"
    assert [host for host, *_ in volumes if host.startswith("./") and not (ROOT / host).exists()] == []
    assert [mode for host, _, *mode in volumes if host.startswith("./") and mode != ["ro"]] == []
    assert {host for host, *_ in volumes if not host.startswith("./")} <= set(yaml.safe_load(TEXT)["volumes"])
    assert set(service.get("depends_on", ())) <= set(SERVICES)
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), "open to other machines"


def test_the_database_outlives_its_container_as_the_lake_does_and_its_archived_logs_too() -> None:
    (kept,) = [volume.split(":")[1] for volume in SERVICES["oracle"]["volumes"] if not volume.startswith("./")]
    (archive,) = re.findall(r"ORACLE_ARCHIVE:-(\S+?)}", (ROOT / "docker" / "oracle" / "1_archivelog.sh").read_text())

    assert Path(archive).is_relative_to(kept)


AIRFLOW_DATABASE = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC"}
SPARK = {"REDOLAKE_SPARK_TOKEN"}
TOKENS, SOURCE = {"AIRFLOW__API_AUTH__JWT_SECRET"}, {"AIRFLOW_CONN_ORACLE_SHOP"}
LEDGER, STORE = {"AIRFLOW_CONN_REDOLAKE_LEDGER"}, {"AWS_SECRET_ACCESS_KEY"}
NEEDS = {
    "oracle": {"ORACLE_PASSWORD"},
    "postgres": {"POSTGRES_PASSWORD"},
    "minio": {"MINIO_ROOT_PASSWORD"},
    "setup": AIRFLOW_DATABASE | STORE,
    "airflow-api": AIRFLOW_DATABASE | TOKENS | LEDGER | {"AIRFLOW_PASSWORD"},
    "airflow-scheduler": AIRFLOW_DATABASE | TOKENS | SOURCE | LEDGER | STORE | SPARK,
    "airflow-dag-processor": AIRFLOW_DATABASE,
    "airflow-triggerer": AIRFLOW_DATABASE | TOKENS | SOURCE | LEDGER | STORE,
    "spark-worker": STORE,
    "spark-connect": STORE | SPARK,
    "metrics": LEDGER | STORE,
    "grafana": {"GF_SECURITY_ADMIN_PASSWORD"},
}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_the_secrets_that_it_needs_and_no_others(name: str) -> None:
    given = {key for key, value in SERVICES[name].get("environment", {}).items() if "${" in str(value)}

    assert given == NEEDS.get(name, set())


def test_no_secret_is_in_the_file_and_each_is_in_the_example() -> None:
    values = [(key, str(value)) for s in SERVICES.values() for key, value in s.get("environment", {}).items()]
    named = set(re.findall(r"\$\{(\w+)", TEXT))
    example = dict(
        line.split("=", 1) for line in (ROOT / ".env.example").read_text().splitlines() if "=" in line and line[0] != "#"
    )

    assert [key for key, value in values if SECRET.search(key) and key not in USERS and not value.startswith("${")] == []
    literal = [(key, re.sub(r"\$\{[^}]*\}", "", value)) for key, value in values]
    assert [key for key, value in literal if re.search(r"://[^/:@]*:[^/@]+@", value)] == []
    assert named == set(example)
    assert set(example.values()) == {""}
    assert ".env" in (ROOT / ".gitignore").read_text().splitlines()


def test_the_image_has_a_python_and_extras_that_the_project_names() -> None:
    (python,) = re.findall(r"^FROM python:([\d.]+)-", DOCKERFILE, re.MULTILINE)
    (extras,) = re.findall(r"'\.\[([\w,]+)\]'", DOCKERFILE)
    (java,) = re.findall(r"openjdk-(\d+)-jre", DOCKERFILE)

    assert Version(python) in SpecifierSet(PROJECT["requires-python"])
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    assert int(java) >= 17
    assert "-c constraints-hashes.txt --build-constraints constraints-hashes.txt" in DOCKERFILE
    assert re.findall(r"pip install (?!--no-cache-dir --require-hashes -r uv.txt)(?!--system --no-cache -c )", DOCKERFILE) == []
    copied = {part for line in re.findall(r"^COPY (.+)$", DOCKERFILE, re.MULTILINE) for part in line.split()[:-1]}
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert copied == kept
    assert all((ROOT / part).exists() for part in copied)


def test_each_command_is_one_that_the_image_has() -> None:
    words = {name: service["command"] for name, service in SERVICES.items() if service["image"].startswith("redolake")}
    known = {command.name or command.callback.__name__ for command in app.registered_commands}  # type: ignore[union-attr]
    known |= {
        f"{group.name} {command.name or command.callback.__name__}"
        for group in app.registered_groups
        for command in group.typer_instance.registered_commands
    }  # type: ignore[union-attr]
    path = environment()["PATH"]
    for name, command in words.items():
        assert shutil.which(command[0], path=path), name
        if command[0] == "redolake":
            assert known & {command[1], " ".join(command[1:3])}, name
        if command[:2] == ["python", "-m"]:
            assert (ROOT / f"{command[2].replace('.', '/')}.py").exists()


def test_the_connect_server_gets_the_jars_and_settings_of_delta_and_s3(monkeypatch: pytest.MonkeyPatch) -> None:
    from redolake.job.connect_server import server_command

    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://minio:9000")
    monkeypatch.setenv("REDOLAKE_DELTA_JARS", "s3://jars/delta.jar")
    command = server_command("spark://spark-master:7077", "0.0.0.0", 15002, "2g", True, ["spark.cores.max=2"])

    assert command[command.index("--jars") + 1].startswith("s3://jars/delta.jar")
    for setting in (
        "spark.connect.grpc.binding.address=0.0.0.0",
        "spark.hadoop.fs.s3a.endpoint=http://minio:9000",
        "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension",
        "spark.cores.max=2",
    ):
        assert setting in command


STRONG = "3f9c0b7a5de1482696c4f1d8a0b7e352"


@pytest.mark.parametrize(
    ("host", "conf", "environ", "says"),
    [
        ("0.0.0.0", [], {}, "runs code as this user"),
        ("spark-connect", [], {"REDOLAKE_SPARK_TOKEN": ""}, "runs code as this user"),
        ("::", [], {}, "runs code as this user"),
        ("127.0.0.1", ["spark.connect.grpc.binding.address=0.0.0.0"], {}, "--host 0.0.0.0"),
        ("127.0.0.1", [f"spark.connect.authenticate.token={STRONG}"], {}, "list processes"),
        ("0.0.0.0", [], {"REDOLAKE_SPARK_TOKEN": "short"}, "less than 16 bytes"),
        ("127.0.0.1", [], {"SPARK_CONNECT_AUTHENTICATE_TOKEN": "aaaaaaaaaaaaaaaaaaaa"}, "can be guessed"),
    ],
)
def test_a_connect_server_that_others_can_use_is_refused(
    host: str, conf: list[str], environ: dict[str, str], says: str
) -> None:
    from redolake.job.connect_server import server_token

    with pytest.raises(ConfigurationError, match=says) as refused:
        server_token(host, conf, environ)
    assert "openssl rand -hex 32" in str(refused.value)
    assert STRONG not in str(refused.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.8.8.8"])
def test_a_connect_server_on_loopback_needs_no_token(host: str) -> None:
    from redolake.job.connect_server import server_token

    assert server_token(host, [], {}) == ""


def test_the_token_is_in_the_servers_environment_and_in_no_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from redolake.job import connect_server

    started = list[tuple[list[str], dict[str, str]]]()
    monkeypatch.setenv("REDOLAKE_SPARK_TOKEN", STRONG)
    monkeypatch.setattr(connect_server.os, "execvpe", lambda _, command, env: started.append((command, env)))
    connect_server.serve("local[1]", "0.0.0.0", 15002, "1g", False, [])
    ((command, env),) = started

    assert STRONG not in " ".join(command)
    assert [name for name, value in env.items() if value == STRONG] == ["SPARK_CONNECT_AUTHENTICATE_TOKEN"]


def test_the_pipeline_file_is_valid_and_its_connections_are_in_the_environment() -> None:
    pipeline = load_configuration(ROOT / "docker" / "first-day" / "pipelines.yml").pipelines["shop"]
    given = SERVICES["airflow-scheduler"]["environment"]

    for connection in (pipeline.source.connection, pipeline.ledger.connection, pipeline.spark.connection):
        assert f"AIRFLOW_CONN_{str(connection).upper()}" in given
    assert pipeline.landing.removeprefix("s3://").split("/")[0] in " ".join(SERVICES["setup"]["command"])


def answers(command: list[str]) -> bool:
    return (
        shutil.which(command[0]) is not None
        and not subprocess.run([*command, "version"], capture_output=True, check=False).returncode
    )


def test_compose_itself_accepts_the_file(tmp_path: Path) -> None:
    """Debian's older `docker-compose` reads it too, and needs no daemon for it."""
    commands = (["docker", "compose"], ["docker-compose"])
    compose = next((one for one in commands if answers(one)), None)
    if compose is None:
        pytest.skip("docker compose is not installed")
    env = (ROOT / ".env.example").read_text().replace("=\n", "=word\n")
    (tmp_path / "env").write_text(env)

    command = [*compose, "--env-file", str(tmp_path / "env"), "--profile", "monitoring", "-f", str(COMPOSE), "config"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    read = yaml.safe_load(done.stdout)["services"]
    assert set(read) == set(SERVICES)
    assert {name: service.get("command") for name, service in read.items() if "$" not in str(service.get("command"))} == {
        name: service.get("command") for name, service in SERVICES.items() if "$" not in str(service.get("command"))
    }
