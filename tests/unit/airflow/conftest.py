"""An Airflow of its own in a temporary folder; it must be named before airflow is imported for the first time."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

if "airflow" not in sys.modules:
    for name in [name for name in os.environ if name.startswith(("AIRFLOW__", "AIRFLOW_CONN_"))]:
        del os.environ[name]
    HOME = tempfile.mkdtemp(prefix="redolake-airflow-")
    atexit.register(shutil.rmtree, HOME, ignore_errors=True)
    os.environ |= {
        "AIRFLOW_HOME": HOME,
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(Path(__file__).parents[3] / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(Path(HOME, "plugins")),
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
    }

SETTINGS = """
pipelines:
  shop:
    source: {{connection: shop_oracle, container: FREEPDB1}}
    landing: {folder}/landing
    lake: {folder}/lake
    ledger: {{url: "postgresql+psycopg://redolake:{secret}@db/ledger"}}
    schedule: "*/5 * * * *"
    spark: {{mode: {mode}, connection: spark_somewhere}}
    retry: {{attempts: 3, first_seconds: 1, most_seconds: 60}}
    tables: [SHOP.ORDERS, SHOP.ORDER_LINES]
"""
SECRET = "a-ledger-password"


@pytest.fixture
def ledger_password():
    return SECRET


@pytest.fixture
def settings(tmp_path):
    """`settings(mode)` writes pipelines.yml and returns its one pipeline."""
    from pipelines.config import load_pipeline

    def write(mode="connect"):
        file = tmp_path / "pipelines.yml"
        file.write_text(SETTINGS.format(folder=tmp_path, secret=SECRET, mode=mode))
        return load_pipeline("shop", file)

    return write


@pytest.fixture(scope="session")
def airflow_db():
    from airflow.utils.db import initdb

    initdb()


@pytest.fixture
def steps(monkeypatch):
    """Stands for `pipelines.steps`; what a test puts on it is called by the tasks."""
    import pipelines

    calls = []
    stub = SimpleNamespace(calls=calls)
    monkeypatch.setattr(pipelines, "steps", stub, raising=False)
    monkeypatch.setitem(sys.modules, "pipelines.steps", stub)
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_ORACLE", "oracle://c%23%23reader:hidden-word@db.example:1521/FREE")

    def answers(name, answer):
        def step(*args, **kwargs):
            calls.append((name, args[1:], kwargs))
            if isinstance(answer, Exception):
                raise answer
            return answer(*args[1:]) if callable(answer) else answer

        setattr(stub, name, step)

    stub.answers = answers
    return stub
