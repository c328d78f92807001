"""The whole chain on the database at hand: a fresh set-up, an open transaction, a kill, late mining, what doctor refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import oracledb
import pytest
import yaml

from pipelines import steps
from pipelines.config import Pipeline
from pipelines.source import open_source
from tests.oracle.conftest import Database
from tests.source_comparison import compare_with_source

pytestmark = [pytest.mark.oracle, pytest.mark.spark]
LOGGED = "ALTER TABLE {0} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS"


class Parts:
    """A table of the scratch schema, and the pipeline that copies it."""

    def __init__(self, database: Database, folder: Path, spark: Any) -> None:
        self.database, self.folder, self.spark = database, folder, spark
        self.pipeline = database.pipeline(folder, [f"{database.scratch.user}.PARTS"])

    def change(self, *statements: str) -> None:
        self.database.run(self.database.scratch, statements)

    def log_and_let_read(self) -> None:
        self.change(LOGGED.format("parts"), f"GRANT SELECT, FLASHBACK ON parts TO {self.database.reader.user}")

    def snapshot(self) -> None:
        steps.take_snapshot(self.pipeline, source=self.database.reader, spark=self.spark)

    def catch_up(self) -> None:
        self.database.archive_logs()
        steps.run_pipeline(self.pipeline, until_caught_up=True, wait=True, source=self.database.reader, spark=self.spark)

    def rows(self) -> int:
        """Return the number of rows, after each was found equal in source and Delta."""
        (table,) = compare_with_source(self.pipeline, self.database.reader).tables
        assert table.equal, str(table)
        return table.source_rows


@pytest.fixture
def parts(database: Database, spark: Any, tmp_path: Path) -> Iterator[Parts]:
    made = Parts(database, tmp_path, spark)
    made.change("CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(40), quantity NUMBER(9))")
    yield made
    made.change("DROP TABLE parts PURGE")


def test_the_root_and_the_pdb_are_each_read_over_a_connection_of_their_own(database: Database) -> None:
    for user in (database.reader.user.lower(), database.reader.user.upper()):
        with open_source(replace(database.reader, user=user)) as source:
            for container in (None, database.container, None, database.container):
                source.use_container(container)
                (found,) = source.query("current_container")
                assert found.container == (container or "CDB$ROOT")


def test_changes_from_before_logging_and_an_immediate_snapshot_do_no_harm(parts: Parts) -> None:
    parts.change("INSERT INTO parts VALUES (1, 'before logging', 1)", "INSERT INTO parts VALUES (2, 'before logging', 1)")
    parts.change("UPDATE parts SET quantity = 2 WHERE id = 1")
    parts.log_and_let_read()
    parts.snapshot()
    parts.change("UPDATE parts SET quantity = 3 WHERE id = 1", "INSERT INTO parts VALUES (3, 'after', 1)")
    parts.catch_up()

    assert parts.rows() == 3


def test_a_transaction_that_is_open_at_the_snapshot_arrives_when_it_commits(parts: Parts) -> None:
    parts.log_and_let_read()
    parts.change("INSERT INTO parts VALUES (1, 'there', 1)")
    scratch = parts.database.scratch
    with oracledb.connect(user=scratch.user, password=scratch.password, dsn=scratch.dsn) as long:
        long.cursor().execute("INSERT INTO parts VALUES (2, 'open', 1)")
        long.cursor().execute("UPDATE parts SET quantity = 2 WHERE id = 1")
        parts.snapshot()
        parts.catch_up()
        assert parts.rows() == 1
        long.cursor().execute("INSERT INTO parts VALUES (3, 'open', 1)")
        long.commit()
    parts.catch_up()

    assert parts.rows() == 3


def test_a_window_mined_again_after_many_switches_and_ddl_is_equal(parts: Parts) -> None:
    parts.log_and_let_read()
    parts.snapshot()
    parts.change("INSERT INTO parts VALUES (1, 'x', 1)")
    parts.catch_up()
    (landed, *_) = (w for w in steps.list_windows(parts.pipeline) if w.rows)
    for _ in range(3):
        parts.database.archive_logs()
    again = steps.remine_window(parts.pipeline, landed.name, source=parts.database.reader)

    assert again.equal, again.differs


def test_a_killed_run_is_continued_without_a_loss_or_a_second_copy(parts: Parts) -> None:
    parts.log_and_let_read()
    parts.snapshot()
    parts.change(*(f"INSERT INTO parts VALUES ({n}, 'x', {n})" for n in range(50)))
    parts.database.archive_logs()
    kill_after(parts, "landed SCN")
    parts.change("DELETE FROM parts WHERE id < 10", "UPDATE parts SET quantity = 0")
    parts.catch_up()

    assert parts.rows() == 40


def kill_after(parts: Parts, progress: str) -> None:
    """Start `redolake run`, and kill -9 it once it prints that."""
    file = parts.folder / "pipelines.yml"
    body = json.loads(parts.pipeline.model_dump_json(exclude={"name"}, exclude_none=True))
    file.write_text(yaml.safe_dump({"pipelines": {parts.pipeline.name: body}}))
    reader = parts.database.reader
    connection = {"conn_type": "oracle", "login": reader.user, "password": reader.password, "extra": {"dsn": reader.dsn}}
    env = dict(os.environ, AIRFLOW_CONN_REDOLAKE_TEST_ORACLE=json.dumps(connection), REDOLAKE_CONFIG=str(file))
    command = [sys.executable, "-c", "from pipelines.cli import main; main()", "run", "--wait"]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        printed = []
        for line in process.stderr:
            printed.append(line)
            if progress in line:
                break
        process.send_signal(signal.SIGKILL)
    assert progress in printed[-1], "".join(printed)


@pytest.mark.parametrize(
    ("create", "reason"),
    [
        ("CREATE TABLE refused (id NUMBER(9) PRIMARY KEY, amount BINARY_DOUBLE)", "BINARY_DOUBLE"),
        (f'CREATE TABLE refused (id NUMBER(9) PRIMARY KEY, "{"N" * 31}" NUMBER(9))', "30 bytes"),
    ],
    ids=["type", "long name"],
)
def test_doctor_refuses_what_logminer_cannot_show(database: Database, tmp_path: Path, create: str, reason: str) -> None:
    database.run(database.scratch, [create, LOGGED.format("refused")])
    try:
        database.run(database.scratch, [f"GRANT SELECT, FLASHBACK ON refused TO {database.reader.user}"])
        pipeline: Pipeline = database.pipeline(tmp_path, [f"{database.scratch.user}.REFUSED"])
        errors = [str(f) for f in steps.run_doctor(pipeline, database.reader) if f.severity == "error"]
    finally:
        database.run(database.scratch, ["DROP TABLE refused PURGE"])

    assert len(errors) == 1
    assert reason in errors[0]
