"""A pipeline's settings, and steps that only answer what a test tells them to."""

import sys
from types import SimpleNamespace

import pytest

from redolake.steps import AlreadyLanded, AwaitedLog, LogsToRead, logs_to_read, range_of, refuse_unused
from redolake.steps.recovery.runway import RunwayReport
from tests.fixtures.airflow import airflow_db

__all__ = ["airflow_db"]

SETTINGS = """
pipelines:
  shop:
    source: {{connection: shop_oracle, container: FREEPDB1}}
    landing: {folder}/landing
    lake: {folder}/lake
    ledger: {{url: "postgresql+psycopg://redolake:{secret}@db/ledger"}}
    schedule: "*/5 * * * *"
    spark: {{mode: {mode}, connection: spark_somewhere}}
    retry: {{attempts: 3, initial_seconds: 1, max_seconds: 60}}
    tables: [SHOP.ORDERS, SHOP.ORDER_LINES]
"""
SECRET = "a-ledger-password"
RUNWAY = RunwayReport(
    pipeline="shop",
    state="enough",
    summary="30 hours are left",
    standing="",
    needed_by="position",
    needed_scn=100,
    hours_left=30,
    at_least=False,
    bytes_left=0,
    behind_hours=None,
    unread_bytes=0,
    bytes_per_hour=None,
    threads=(),
    held_back_by=(),
    lost=None,
    archive_lag_target_seconds=None,
    recovery_area=None,
    warn_below_hours=12,
    warn_below_bytes=None,
    findings=(),
)


@pytest.fixture
def ledger_password():
    return SECRET


@pytest.fixture
def settings(tmp_path):
    """`settings(mode)` writes pipelines.yml and returns its one pipeline."""
    from redolake.config import load_pipeline

    def write(mode="connect"):
        file = tmp_path / "pipelines.yml"
        file.write_text(SETTINGS.format(folder=tmp_path, secret=SECRET, mode=mode))
        return load_pipeline("shop", file)

    return write


class TaskRun:
    """Stands for the Run of a task: it opens nothing."""

    def __init__(self, pipeline, source=None, spark=None, **others):
        self.pipeline, self.source, self.spark = pipeline, source, spark
        self.__dict__.update(others)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.fixture
def steps(monkeypatch):
    """Stands for `redolake.steps`; what a test puts on it is called by the tasks."""
    import redolake

    calls = []
    known = {one.__name__: one for one in (AlreadyLanded, AwaitedLog, LogsToRead, logs_to_read, range_of, refuse_unused)}
    stub = SimpleNamespace(calls=calls, Run=TaskRun, runs=[], **known)
    monkeypatch.setattr(redolake, "steps", stub, raising=False)
    monkeypatch.setitem(sys.modules, "redolake.steps", stub)
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_ORACLE", "oracle://c%23%23reader:hidden-word@db.example:1521/FREE")

    stub.measure_runway = lambda *_, **__: RUNWAY  # runs in parallel in every capture run

    stub.read_column_lineage = lambda *_: []
    stub.read_complete_to = lambda *_: {"SHOP.ORDERS": 199, "SHOP.ORDER_LINES": 149}  # runs in every `record`

    def answers(name, answer):
        def step(*args, **kwargs):
            calls.append((name, args[1:], kwargs))
            stub.runs += [one for one in args[:1] if isinstance(one, TaskRun)]
            if isinstance(answer, Exception):
                raise answer
            return answer(*args[1:]) if callable(answer) else answer

        setattr(stub, name, step)

    stub.answers = answers
    return stub
