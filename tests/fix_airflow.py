"""A separate Airflow for the tests, in a temporary folder. Import this before airflow, which reads the environment on import.

And how a test uses it: a pipeline as a user configures it, and a run of one of its DAGs in this process.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipelines.config import Pipeline, load_pipeline
from tests.fix_shop import Shop

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
