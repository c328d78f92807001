"""An Airflow of the tests' own, in a temporary folder; imported before airflow itself, which reads the environment then."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

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
