"""A separate Airflow for the tests, in a temporary folder. Import this before airflow, which reads the environment on import.

And how a test uses it: a pipeline as a user configures it, and a run of one of its DAGs in this process.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import yaml

from pipelines.config import Pipeline, load_pipeline
from pipelines.host.runtime import environment
from tests.fix_postgres import free_port
from tests.fix_shop import Shop
from tests.waiting import wait_until

REPOSITORY = Path(__file__).parents[1]


def own_home() -> None:
    if "airflow" in sys.modules:
        raise RuntimeError("airflow was imported before tests.fix_airflow: it may point at a user's own Airflow")
    for name in [name for name in os.environ if name.startswith("AIRFLOW_")]:
        del os.environ[name]
    home = tempfile.mkdtemp(prefix="redolake-airflow-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    os.environ |= {
        "AIRFLOW_HOME": home,
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL": "0",  # the next test has other tables, and is not 30 s later
        "AIRFLOW__CORE__DAGS_FOLDER": str(REPOSITORY / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(REPOSITORY / "plugins"),
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
    }


own_home()


@pytest.fixture(scope="session")
def airflow_db() -> None:
    from airflow.utils.db import initdb

    initdb()


def configure(
    shop: Shop, patch: pytest.MonkeyPatch, tables: Sequence[Any], spark: dict[str, Any], spark_connection: str
) -> Pipeline:
    """Write pipelines.yml with the pipeline `e2e`, and put its two connections into the environment."""
    settings = {
        "source": {"connection": "e2e_oracle", "container": "FREEPDB1"},
        "landing": str(shop.folder / "landing"),
        "lake": str(shop.folder / "lake"),
        "schedule": None,
        "wait_looks_every_seconds": 0.05,
        "spark": {"connection": "e2e_spark", **spark},
        "window": {"slice_bytes": "100KiB"},
        "tables": list(tables),
    }
    file = shop.folder / "pipelines.yml"
    file.write_text(yaml.safe_dump({"pipelines": {"e2e": settings}}))
    params = shop.params
    address = f"{params.user.replace('#', '%23')}:{params.password}@{params.dsn.replace('//', '')}"
    patch.setenv("REDOLAKE_CONFIG", str(file))
    patch.setenv("AIRFLOW_CONN_E2E_ORACLE", f"oracle://{address}")
    patch.setenv("AIRFLOW_CONN_E2E_SPARK", spark_connection)
    return load_pipeline("e2e", file)


def run_dag(pipeline: Pipeline, part: str, conf: dict[str, Any] | None = None) -> tuple[str, dict[str, str]]:
    """Return the state of the run and of each task; of a mapped task, that of its last instance."""
    from pipelines.airflow import factory

    build = {build.__name__: build for build in factory.BUILDERS}[f"{part}_dag"]
    ran = build(pipeline).test(run_conf=conf)
    return str(ran.state), {t.task_id: str(t.state) for t in ran.get_task_instances()}


def write_dags() -> None:
    """Store the DAGs as a DAG processor does."""
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
    from airflow.models.dagbundle import DagBundleModel
    from airflow.utils.session import create_session

    with create_session() as session:
        if session.get(DagBundleModel, "dags-folder") is None:
            session.add(DagBundleModel(name="dags-folder"))
    found = DagBag(REPOSITORY / "dags")
    assert found.import_errors == {}
    sync_bag_to_db(found, "dags-folder", None)


@contextmanager
def open_server(patch: pytest.MonkeyPatch, log: Path) -> Iterator[str]:
    """Start Airflow's API server, without the API of tasks. Its every visitor is an administrator."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    patch.setenv("AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS", "True")
    patch.setenv("AIRFLOW__API__BASE_URL", url)
    patch.setenv("AIRFLOW__API__AUTO_REFRESH_INTERVAL", "3600")  # runs that a form starts stay queued, and no run is awaited
    command = [str(Path(sys.executable).with_name("airflow")), "api-server", "--host", "127.0.0.1", "--port", str(port)]
    with log.open("wb") as out:
        server = subprocess.Popen([*command, "--workers", "1", "--apps", "core"], env=environment(), stdout=out, stderr=out)
    try:
        wait_until(lambda: server.poll() is not None or answers(url), 90, 0.1)
        assert server.poll() is None, log.read_text()[-3000:]
        yield url
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:  # it waits for the connections that a browser keeps
            server.kill()
            server.wait(30)


def answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/api/v2/monitor/health", timeout=5):
            return True
    except URLError:
        return False
