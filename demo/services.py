"""The services of the demo: folder, ports, pipeline file, and the environment and command line of each process.

This module starts no process.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote

from redolake.config import CONFIG_VARIABLE
from redolake.host.runtime import environment as spark_environment
from redolake.source.olr import needed_configuration

from .own_database import OwnDatabase

PIPELINE = "shop"
SCHEMA, CONTAINER = "SHOP", "FREEPDB1"
PASSWORD = "only-for-the-demo"  # Airflow masks it in every log, so it is no word that logs contain
LOGIN = "admin"
INSTANCES = 2
ADDRESS_FILE = "source.address"  # of the PDB, for `make sql`
RESTARTED, DEAD_SECONDS = ("airflow", "spark"), 20  # what `make kill` ends, and when a kept demo starts it again
OLR_ALIAS = "SHOP_DB"
# Half of a short run is the loading of 30,000 classes; those of the pinned packages need no verification.
JAVA = "-XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
# With the first compiler alone the default code cache is 48 MB. Some batches fill it, and Java then stops compiling.
QUICK_JAVA = f"{JAVA} -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
HERE = Path(__file__).resolve().parent
IN_WHEEL = (HERE / "dags").exists()  # the demo's own wheel has the DAG and plugin files; a checkout has them beside the demo
FILES = HERE if IN_WHEEL else HERE.parent
COMMANDS = (
    {"keep": "redolake demo --keep", "sql": "redolake demo sql", "stop": "redolake demo stop"}
    if IN_WHEEL
    else {"keep": "make demo KEEP=1", "sql": "make sql", "stop": "make stop"}
)

PIPELINE_FILE = """\
# Written by the demo.
pipelines:
  {pipeline}:
    source: {{connection: demo_oracle, container: {container}{stream}}}
    landing: {folder}/landing
    lake: {folder}/lake
    schedule: every 10s
    spark: {{mode: connect, connection: demo_spark}}
    retry: {{attempts: 3}}
    tables:
      - {{table: SHOP.CUSTOMERS, history: changes}}
      - SHOP.ORDERS
      - SHOP.ORDER_LINES
      - SHOP.PAYMENTS
      # NUMBER without precision holds up to 40 digits with any scale: these are counts, those below only a text holds.
      - {{table: SHOP.STOCK, columns: {{ON_HAND: integer}}}}
      # Quotes, extreme dates, 40 digits: what breaks naive readers. The other tables read as a shop's.
      - {{table: SHOP.EDGE_VALUES, columns: {{ANY_NUMBER: string}}}}
"""


class Source(StrEnum):
    """Who reads the redo."""

    logminer = "logminer"
    olr = "olr"
    standby = "standby"
    standby_alone = "standby-alone"


@dataclass(frozen=True, slots=True)
class Services:
    """Oracle stand-in, Spark Connect and Airflow, each on a port of 127.0.0.1, with all files in `folder`.

    With a database of one's own there is no stand-in. With ports for OpenLogReplicator the stand-in serves one per redo thread
    too.
    """

    folder: Path
    oracle_port: int
    spark_port: int
    airflow_port: int
    database: OwnDatabase | None = None
    olr_ports: tuple[int, ...] = ()  # by redo thread
    on_standby: bool = False  # the pipeline reads the stand-in's standby
    asks_primary: bool = False  # for open transactions, and for nothing else

    def olr_file(self, thread: int) -> Path:
        return self.folder / f"OpenLogReplicator-{thread}.json"

    @property
    def pipeline_file(self) -> Path:
        return self.folder / "pipelines.yml"

    @property
    def process_record(self) -> Path:
        return process_record_file(self.folder)

    @property
    def comparison_file(self) -> Path:
        return self.folder / "compared.json"

    @property
    def pdb_dsn(self) -> str:
        return self.database.pdb_dsn if self.database else f"127.0.0.1:{self.oracle_port}/{CONTAINER}"

    @property
    def oracle_connection(self) -> str:
        """Return the connection of Redolake's user as Airflow writes it."""
        if (own := self.database) is None:
            return f"oracle://{quote('C##REDOLAKE')}:{PASSWORD}@127.0.0.1:{self.oracle_port}/FREE"
        return f"oracle://{quote(own.user, safe='')}:{quote(own.user_password, safe='')}@{own.root_dsn}"

    @property
    def airflow_url(self) -> str:
        return f"http://127.0.0.1:{self.airflow_port}"

    @property
    def spark_remote(self) -> str:
        return f"sc://127.0.0.1:{self.spark_port}"

    def write_files(self) -> None:
        """Write the pipeline file, Airflow's passwords, and `env`, which a shell can source."""
        container = self.database.container if self.database else CONTAINER
        streams = []
        for thread, port in enumerate(self.olr_ports, 1):
            address = f"127.0.0.1:{port}"
            streams.append(f"{{thread: {thread}, address: '{address}'}}")
            self.olr_file(thread).write_text(json.dumps(needed_configuration(OLR_ALIAS, address, []), indent=2))
        kind = f", kind: openlogreplicator, database: {OLR_ALIAS}, streams: [{', '.join(streams)}]" if streams else ""
        kind += ", primary: demo_primary" if self.asks_primary else ""
        text = PIPELINE_FILE.format(pipeline=PIPELINE, folder=self.folder, container=container, stream=kind)
        self.pipeline_file.write_text(text)
        home = self.folder / "airflow"
        home.mkdir(parents=True, exist_ok=True)
        (home / "passwords.json").write_text(json.dumps({LOGIN: LOGIN}))
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in self.connection_variables().items())
        (self.folder / ADDRESS_FILE).write_text(self.pdb_dsn)
        (self.folder / "env").touch(mode=0o600)  # it has a password
        (self.folder / "env").write_text(
            f"# `. {self.folder / 'env'}` lets redolake connect to this demo while it runs.\n{exports}"
        )

    def connection_variables(self) -> dict[str, str]:
        """Return the variables through which redolake finds the pipeline file, Oracle and Spark."""
        return {
            CONFIG_VARIABLE: str(self.pipeline_file),
            "AIRFLOW_CONN_DEMO_ORACLE": self.oracle_connection + ("_STBY" if self.on_standby else ""),
            **({"AIRFLOW_CONN_DEMO_PRIMARY": self.oracle_connection} if self.asks_primary else {}),
            # URL schemes allow no underscore; Airflow reads the hyphen as one.
            "AIRFLOW_CONN_DEMO_SPARK": f"spark-connect://127.0.0.1:{self.spark_port}",
            "REDOLAKE_SPARK_REMOTE": self.spark_remote,
        }

    def environment(self) -> dict[str, str]:
        """Return the environment of every process except Airflow."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("AIRFLOW_", "SPARK_"))}
        return {
            **spark_environment(clean),
            **self.connection_variables(),
            # Airflow is found in an environment that is not active, too.
            "PATH": f"{sys.prefix}/bin:{os.environ.get('PATH', os.defpath)}",
            "STANDIN_PASSWORD": PASSWORD,
            "PYTHONUNBUFFERED": "1",
        }

    def airflow_environment(self) -> dict[str, str]:
        home = self.folder / "airflow"
        return {
            **self.environment(),
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(FILES / "dags"),
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(FILES / "plugins"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{LOGIN}:admin",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(self.airflow_port),
            # Tasks find the API by this URL, not by the port.
            "AIRFLOW__API__BASE_URL": self.airflow_url,
            "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "1",
            "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.2",
            # Tasks of a killed Airflow are tried again after half a minute, not after five.
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "30",
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
            "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "1",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO",
        }

    # --- command lines ---

    def standin_command(self) -> list[str]:
        command = [sys.executable, "-m", "standin", "start", "--port", str(self.oracle_port)]
        command += ["--threads", str(INSTANCES), "--archive-lag-target", "8"]
        command += ["--count-statements"] if self.on_standby else []
        for thread in range(1, len(self.olr_ports) + 1):
            command += ["--olr", str(self.olr_file(thread))]
        return [*command, "--archive-dest", str(self.folder / "archive"), "--port-file", str(self.folder / "standin.port")]

    def workload_command(self, seconds: int, rate: float, *options: str) -> list[str]:
        command = [sys.executable, "-m", "standin", "workload", "--dsn", self.pdb_dsn, "--output", "json"]
        return [*command, "--seconds", str(seconds), "--rate", str(rate), "--sessions", "3", *options]

    def spark_settings(self) -> dict[str, str]:
        """Return the settings of a server that runs for minutes over thousands of rows: compiling costs more than it saves."""
        return {
            "spark.driver.extraJavaOptions": QUICK_JAVA,
            "spark.default.parallelism": "2",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.adaptive.enabled": "false",
        }

    def spark_command(self) -> list[str]:
        warehouse = str(self.folder / "spark-warehouse")
        settings = {"spark.log.level": "WARN", "spark.sql.warehouse.dir": warehouse, **self.spark_settings()}
        command = [f"{sys.prefix}/bin/redolake", "spark", "serve", "--port", str(self.spark_port), "--memory", "1g"]
        return [*command, *(f"--conf={key}={value}" for key, value in settings.items())]

    def warm_up_command(self) -> list[str]:
        return [sys.executable, "-m", f"{__package__}.warm_up", self.spark_remote, str(self.folder / "warm-up")]

    def verify_command(self) -> list[str]:
        return [sys.executable, "-m", f"{__package__}.compare", PIPELINE, str(self.comparison_file)]

    def airflow_command(self) -> list[str]:
        return ["airflow", "standalone"]


def process_record_file(folder: Path) -> Path:
    return folder / "processes.json"


def new_services(folder: Path, database: OwnDatabase | None = None, source: Source = Source.logminer) -> Services:
    """Choose free ports. Each stays bound until all are found, so that they differ."""
    probes = [socket.socket() for _ in range(3 + INSTANCES)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        ports = [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()
    oracle, spark, airflow, *olr = ports
    streams = tuple(olr) if source is Source.olr else ()
    on_standby = source in (Source.standby, Source.standby_alone)
    asks_primary = source is Source.standby
    return Services(folder.resolve(), oracle, spark, airflow, database, streams, on_standby, asks_primary)
