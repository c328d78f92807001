"""The whole chain on the database at hand: a fresh set-up, an open transaction, a kill, late mining, what doctor refuses.

On a real database with Spark and Delta. On the stand-in with a plain fold: tests/integration has these facts in Delta.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import oracledb
import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.context import Run
from redolake.source import open_source
from tests.oracle.command import REDOLAKE, environment
from tests.oracle.conftest import Database
from tests.oracle.parts import LOGGED, Parts
from tests.references.plain_lake import PlainLake
from tests.support.doctor import run_doctor

pytestmark = pytest.mark.oracle


@pytest.fixture
def spark_or_fold(database: Database, request: pytest.FixtureRequest) -> Iterator[Any]:
    if database.is_real:
        yield request.getfixturevalue("spark")
    else:
        with PlainLake().in_place_of_spark():
            yield "no Spark"


@pytest.fixture
def parts(database: Database, spark_or_fold: Any, tmp_path: Path) -> Iterator[Parts]:
    made = Parts(database, tmp_path, spark_or_fold)
    made.create()
    yield made
    made.drop()


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
    again = steps.remine_window(Run(parts.pipeline, parts.database.reader), landed.name)

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
    people = {parts.pipeline.source.connection: parts.database.reader}
    env = environment(parts.pipeline, parts.folder / "pipelines.yml", people)
    command = [*REDOLAKE, "run", "--wait"]
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
        ("CREATE TABLE refused (id NUMBER(9) PRIMARY KEY, notes CLOB)", "CLOB"),
        (f'CREATE TABLE refused (id NUMBER(9) PRIMARY KEY, "{"N" * 31}" NUMBER(9))', "30 bytes"),
    ],
    ids=["type", "long name"],
)
def test_doctor_refuses_what_logminer_cannot_show(database: Database, tmp_path: Path, create: str, reason: str) -> None:
    database.run(database.scratch, [create, LOGGED.format("refused")])
    try:
        database.run(database.scratch, [f"GRANT SELECT, FLASHBACK ON refused TO {database.reader.user}"])
        pipeline: Pipeline = database.pipeline(tmp_path, [f"{database.scratch.user}.REFUSED"])
        errors = [str(f) for f in run_doctor(pipeline, database.reader) if f.severity == "error"]
    finally:
        database.run(database.scratch, ["DROP TABLE refused PURGE"])

    assert len(errors) == 1
    assert reason in errors[0]
