"""Airflow connections, wherever they are stored, become arguments of the steps."""

import json
import os
from unittest.mock import Mock
from urllib.parse import quote

import pytest

from redolake.errors import ConfigurationError
from redolake.steps.capture.windows import PlanOutcome

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]
PASSWORD = "p@ss/wörd"
URL = "postgresql+psycopg://lake:p%40ss%2Fw%C3%B6rd@db.example:5433/ledger?sslmode=require"


@pytest.fixture
def pipeline(settings):
    from redolake.config import LedgerSettings

    return settings().model_copy(update={"ledger": LedgerSettings(connection="the_ledger")})


def in_the_database(**values):
    from airflow.models import Connection
    from airflow.utils.session import create_session

    with create_session() as session:
        session.query(Connection).filter(Connection.conn_id == "the_ledger").delete()
        session.add(Connection(conn_id="the_ledger", **values))


def url_in_a_task(pipeline):
    from redolake.airflow.connections import resolved_pipeline
    from redolake.context import ledger_url

    with resolved_pipeline(pipeline) as resolved:
        return ledger_url(resolved), repr(resolved)


@pytest.mark.parametrize(
    "text",
    [
        "postgres://lake:p%40ss%2Fw%C3%B6rd@db.example:5433/ledger?sslmode=require",
        '{"conn_type": "postgres", "login": "lake", "password": "p@ss/wörd", "host": "db.example", "port": 5433, '
        '"schema": "ledger", "extra": {"sslmode": "require"}}',
    ],
    ids=["URI", "JSON"],
)
def test_a_ledger_connection_in_the_environment_is_read_in_both_forms(pipeline, monkeypatch, text):
    from redolake.context import ledger_url

    monkeypatch.setenv("AIRFLOW_CONN_THE_LEDGER", text)

    assert ledger_url(pipeline) == URL
    assert url_in_a_task(pipeline)[0] == URL


def test_a_terminal_reads_connections_of_airflows_database_where_the_environment_has_none(monkeypatch, tmp_path):
    from redolake.cli.connections import read_from_airflow
    from redolake.source import connect_params

    in_the_database(conn_type="oracle", login="u", password=PASSWORD, host="db.example", schema="FREE")
    monkeypatch.setenv("AIRFLOW_CONN_THE_LEDGER", "oracle://mine:word@db.example/FREE")
    read_from_airflow("the_ledger", None)
    mine = connect_params("the_ledger", os.environ)
    monkeypatch.setenv("AIRFLOW_CONN_THE_LEDGER", "")
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", os.environ.get("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "set"))
    read_from_airflow("the_ledger", "no_such_connection")

    assert mine.user == "mine"
    assert connect_params("the_ledger", os.environ).password == PASSWORD
    assert "AIRFLOW_CONN_NO_SUCH_CONNECTION" not in os.environ


def test_a_ledger_connection_of_airflows_database_is_found_by_tasks_and_shows_in_no_repr(
    pipeline, steps, monkeypatch, tmp_path
):
    from redolake.airflow.capture import capture_dag
    from redolake.config import Pipeline

    in_the_database(
        conn_type="postgres", login="lake", password=PASSWORD, host="db.example", port=5433, schema="ledger",
        extra='{"sslmode": "require"}',
    )  # fmt: skip
    monkeypatch.setenv("REDOLAKE_CONFIG", str(tmp_path / "pipelines.yml"))
    given: list[Pipeline] = []
    nothing = PlanOutcome("nothing", "no new sealed log")
    steps.plan_next_window = lambda run: given.append(run.pipeline) or nothing

    ran = capture_dag(pipeline).test()

    assert ran.state == "success"
    assert [resolved.ledger_url for resolved in given] == [URL]
    assert "p%40ss" not in repr(given)


def test_an_unknown_ledger_connection_is_a_finding(pipeline):
    from airflow.sdk.exceptions import AirflowFailException

    other = pipeline.model_copy(update={"ledger": pipeline.ledger.model_copy(update={"connection": "no_such_ledger"})})

    with pytest.raises(AirflowFailException, match="no_such_ledger: does not exist in Airflow"):
        url_in_a_task(other)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mysql://u:secret@h/db", "is of type 'mysql'"),
        ("postgres://u:secret@h", "names no database"),
        ("postgres://u:secret@h:port/db", "is no database URL"),
        ('{"conn_type": "postgres", "password": "secret"', "is not the JSON"),
    ],
)
def test_a_connection_that_cannot_be_a_ledger_is_refused_without_showing_it(text, message):
    from redolake.ledger.connection import url_of_connection

    with pytest.raises(ConfigurationError, match=message) as refused:
        url_of_connection(text, "AIRFLOW_CONN_X")
    assert "secret" not in str(refused.value)


def test_what_only_airflows_hook_knows_is_no_setting_of_the_ledgers_driver():
    from redolake.ledger.connection import url_of_connection

    extra = {
        "sslmode": "require",
        "cursor": "dictcursor",
        "iam": False,
        "enable_log_db_messages": True,
        "__extra__": "{}",
        "x": None,
    }
    text = json.dumps({"conn_type": "postgres", "host": "h", "schema": "db", "extra": json.dumps(extra)})

    assert url_of_connection(text, "AIRFLOW_CONN_X") == "postgresql+psycopg://h/db?sslmode=require"


@pytest.mark.parametrize("executor", ["CeleryExecutor", "LocalExecutor,a.b.KubernetesExecutor"])
def test_a_sqlite_ledger_is_refused_where_tasks_run_on_several_hosts(pipeline, monkeypatch, tmp_path, executor):
    from redolake.config import LedgerSettings

    monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", executor)
    own_file = pipeline.model_copy(update={"ledger": LedgerSettings()})

    with pytest.raises(Exception, match="may run tasks on several hosts") as refused:
        url_in_a_task(own_file)
    assert executor.rpartition(",")[2] in str(refused.value)
    assert not (tmp_path / "landing").exists()


def test_a_sqlite_ledger_works_where_all_tasks_run_on_one_host(pipeline, monkeypatch):
    from redolake.config import LedgerSettings

    monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", "LocalExecutor")

    url, _ = url_in_a_task(pipeline.model_copy(update={"ledger": LedgerSettings()}))

    assert url.startswith("sqlite:")


@pytest.mark.parametrize("setting", ["mask_key", "landing_key"])
def test_a_key_is_found_by_tasks_and_by_a_terminal_where_airflows_database_has_it(settings, monkeypatch, setting):
    from redolake.airflow.connections import resolved_pipeline
    from redolake.cli.connections import resolve_connections
    from redolake.config.mapping import KeySource
    from redolake.host.secrets import find_key
    from redolake.values.mapping import SecretName

    in_the_database(conn_type="generic", password=PASSWORD)
    variable, name = "AIRFLOW_CONN_THE_LEDGER", SecretName(connection="the_ledger")
    masked = settings().model_copy(update={setting: KeySource(connection="the_ledger")})
    monkeypatch.setenv(variable, "")
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", os.environ.get("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "set"))
    before = find_key(name)
    resolve_connections(masked)
    in_terminal = find_key(name)
    with resolved_pipeline(masked):
        in_task = find_key(name)

    assert (before, in_terminal, in_task) == (None, PASSWORD.encode(), PASSWORD.encode())
    assert PASSWORD not in repr(masked)


def test_the_primary_of_a_standby_is_found_by_tasks_and_in_a_terminal(settings, monkeypatch):
    from redolake.airflow.connections import source_of
    from redolake.cli.connections import resolve_connections
    from redolake.context import pipeline_params

    in_the_database(conn_type="oracle", login="asks", password=PASSWORD, host="db.example", port=1521, schema="PROD")
    monkeypatch.setenv("AIRFLOW_CONN_THE_LEDGER", "")
    monkeypatch.setenv("AIRFLOW_CONN_STANDBY", "oracle://reads:secret@stby.example/STBY")
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", os.environ.get("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "set"))
    both = settings()
    source = both.source.model_copy(update={"connection": "standby", "primary": "the_ledger"})
    both = both.model_copy(update={"source": source})

    found = [pipeline_params(resolve_connections(both))]
    monkeypatch.setenv("AIRFLOW_CONN_THE_LEDGER", f"oracle://asks:{quote(PASSWORD, safe='')}@db.example/PROD")
    found.append(source_of(both))

    assert [(one.user, one.primary.user, one.primary.dsn) for one in found] == [("reads", "asks", "db.example:1521/PROD")] * 2
    assert PASSWORD not in repr(found)
    alone = both.model_copy(update={"source": source.model_copy(update={"primary": None})})
    assert source_of(alone).primary is None


def test_a_missing_primary_of_a_standby_ends_the_first_task_of_capture_with_the_setting_that_names_it(
    settings, steps, monkeypatch, tmp_path
):
    from airflow.sdk.exceptions import AirflowFailException

    from redolake.airflow.capture import capture_dag

    monkeypatch.setenv("REDOLAKE_CONFIG", str(tmp_path / "pipelines.yml"))
    monkeypatch.setenv("AIRFLOW_CONN_STANDBY", "oracle://reads:secret@stby.example/STBY")
    pipeline = settings()
    source = pipeline.source.model_copy(update={"connection": "standby", "primary": "no_such_primary"})
    pipeline = pipeline.model_copy(update={"source": source})
    planned = []
    steps.plan_next_window = lambda run: planned.append(run)

    with pytest.raises(AirflowFailException, match=r"no_such_primary: .* in Airflow, and `source.primary` of") as failed:
        capture_dag(pipeline).task_dict["plan"].execute({"ti": Mock()})

    assert planned == []
    assert "AIRFLOW_CONN_NO_SUCH_PRIMARY" in str(failed.value)
