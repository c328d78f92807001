"""An unmodified Debezium in a Java process of its own, driven through py4j: its engine, its Oracle connector, Oracle's JDBC.

Maven brings the jars (pom.xml beside this file) into the environment, once.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import CallbackServerParameters, GatewayParameters, JavaGateway, launch_gateway

from redolake.host.runtime import find_java
from standin.serve import StandIn
from tests.support.waiting import wait_until

POM = Path(__file__).parent / "pom.xml"
USER = "C##DBZUSER"
# The privileges that Debezium's documentation asks for.
GRANTS = (
    "CREATE SESSION", "SET CONTAINER", "SELECT ON V_$DATABASE", "FLASHBACK ANY TABLE", "SELECT ANY TABLE",
    "SELECT_CATALOG_ROLE", "EXECUTE_CATALOG_ROLE", "SELECT ANY TRANSACTION", "LOGMINING", "CREATE TABLE", "LOCK ANY TABLE",
    "CREATE SEQUENCE", "EXECUTE ON DBMS_LOGMNR", "EXECUTE ON DBMS_LOGMNR_D", "SELECT ON V_$LOG", "SELECT ON V_$LOG_HISTORY",
    "SELECT ON V_$LOGMNR_LOGS", "SELECT ON V_$LOGMNR_CONTENTS", "SELECT ON V_$LOGMNR_PARAMETERS", "SELECT ON V_$LOGFILE",
    "SELECT ON V_$ARCHIVED_LOG", "SELECT ON V_$ARCHIVE_DEST_STATUS", "SELECT ON V_$TRANSACTION", "SELECT ON V_$MYSTAT",
    "SELECT ON V_$STATNAME",
)  # fmt: skip


def jars() -> str:
    """Return the class path. Skip the test where Maven is missing; fail where it cannot bring a jar."""
    folder = Path(sys.prefix) / "share" / "redolake" / f"debezium-{POM.stat().st_size}"
    if not folder.is_dir():
        if shutil.which("mvn") is None:
            pytest.skip("Maven, which brings Debezium, is not installed")
        partial = folder.with_suffix(".partial")
        command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={partial}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stdout[-3000:]
        partial.rename(folder)
    return ":".join(map(str, sorted(folder.glob("*.jar"))))


@dataclass(slots=True)
class Event:
    """One event of Debezium's: `op` is r, c, u, d or t; the key has the columns of the primary key."""

    table: str
    op: str
    key: dict[str, Any]
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    source: dict[str, Any]


@dataclass(slots=True)
class Engine:
    """A running engine: the events so far, and why it has ended."""

    log: Path
    events: list[Event] = field(default_factory=list)
    failure: str | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def accept(self, event: Any) -> None:
        """Called by Java for each event; a tombstone has no value."""
        key, value = event.key(), event.value()
        body = json.loads(value) if value else {}
        if "op" in body:
            source = body["source"]
            self.events.append(
                Event(source["table"], body["op"], json.loads(key) if key else {}, body["before"], body["after"], source)
            )

    def handle(self, success: bool, message: str, error: Any) -> None:
        """Called by Java when the engine has ended."""
        if not success:
            causes = [str(message)]
            while error is not None:
                causes.append(str(error.toString()))
                error = error.getCause()
            self.failure = "\n".join(causes)[:4000]
        self.ended.set()

    @property
    def is_streaming(self) -> bool:
        return self.log.is_file() and "Starting streaming" in self.log.read_text(errors="replace")

    def wait_for(self, condition: Callable[[list[Event]], bool], seconds: float = 120) -> None:
        """Wait until the events fulfil a condition. Raise AssertionError with Debezium's own error if it has ended."""
        wait_until(lambda: condition(self.events) or self.ended.is_set(), seconds)
        assert not self.ended.is_set(), f"Debezium has ended: {self.failure}; see {self.log}"

    class Java:
        implements = ("java.util.function.Consumer", "io.debezium.engine.DebeziumEngine$CompletionCallback")


def grant_user(oracle: StandIn) -> None:
    with oracle.connect("SYS") as connection, connection.cursor() as cursor:
        cursor.execute(f'CREATE USER {USER} IDENTIFIED BY "oracle" CONTAINER=ALL')
        for privilege in GRANTS:
            cursor.execute(f"GRANT {privilege} TO {USER} CONTAINER=ALL")


def properties(oracle: StandIn, folder: Path, tables: str) -> dict[str, str]:
    """Return the connector's configuration: values as text, no waits between looks."""
    state = oracle.database.state
    return {
        "name": "witness",
        "connector.class": "io.debezium.connector.oracle.OracleConnector",
        "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
        "offset.storage.file.filename": str(folder / "offsets.dat"),
        "offset.flush.interval.ms": "0",
        "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
        "schema.history.internal.file.filename": str(folder / "history.dat"),
        "topic.prefix": "witness",
        "database.hostname": "127.0.0.1",
        "database.port": str(oracle.port),
        "database.user": USER,
        "database.password": "oracle",
        "database.dbname": state.name,
        "database.pdb.name": state.pdb_name,
        "table.include.list": tables,
        "log.mining.strategy": "online_catalog",
        "log.mining.sleep.time.min.ms": "0",
        "log.mining.sleep.time.default.ms": "100",
        "log.mining.sleep.time.max.ms": "200",
        "decimal.handling.mode": "string",
        "binary.handling.mode": "hex",
        "interval.handling.mode": "string",
        "converter.schemas.enable": "false",
    }


@contextmanager
def debezium(oracle: StandIn, folder: Path, tables: str = r"SHOP\..*", **settings: str) -> Iterator[Engine]:
    """Run Debezium over tables of the stand-in. Settings have `_` in place of dots."""
    folder.mkdir(parents=True, exist_ok=True)
    changed: Mapping[str, str] = {name.replace("_", "."): value for name, value in settings.items()}
    engine = Engine(folder / "log.txt")
    java = [f"-Dorg.slf4j.simpleLogger.logFile={engine.log}", "-Xmx700m"]
    with (folder / "java.txt").open("w") as output:
        port, process = launch_gateway(
            classpath=jars(), java_path=f"{find_java()}/bin/java", javaopts=java, die_on_exit=True, redirect_stdout=output,
            redirect_stderr=output, return_proc=True,
        )  # fmt: skip
        gateway = JavaGateway(
            gateway_parameters=GatewayParameters(port=port), callback_server_parameters=CallbackServerParameters(port=0)
        )
        try:
            _listen(gateway)
            java_engine = _built(gateway, {**properties(oracle, folder, tables), **changed}, engine)
            gateway.jvm.java.lang.Thread(java_engine).start()
            yield engine
            if not engine.ended.is_set():
                java_engine.close()
        finally:
            gateway.shutdown()
            process.terminate()
            process.wait(30)
            process.stdin.close()  # with which Java would have noticed the end of Python


def _listen(gateway: JavaGateway) -> None:
    """Tell Java at which port Python listens for its calls."""
    server = gateway.java_gateway_server
    server.resetCallbackClient(server.getCallbackClient().getAddress(), gateway.get_callback_server().get_listening_port())


def _built(gateway: JavaGateway, settings: Mapping[str, str], engine: Engine) -> Any:
    jvm = gateway.jvm
    given = jvm.java.util.Properties()
    for name, value in settings.items():
        given.setProperty(name, value)
    kind = jvm.java.lang.Class.forName("io.debezium.engine.format.Json")
    return jvm.io.debezium.engine.DebeziumEngine.create(kind).using(given).using(engine).notifying(engine).build()
