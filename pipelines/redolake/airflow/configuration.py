"""Where an Airflow process finds pipelines.yml: the working folders of Airflow's processes differ."""

from __future__ import annotations

import os
from pathlib import Path

from airflow.configuration import conf

from redolake.config import CONFIG_VARIABLE, DEFAULT_FILE

DAG_FILE = "redolake_dags.py"


def configuration_file(dag_file: Path) -> Path:
    """Return REDOLAKE_CONFIG, else pipelines.yml beside the DAG file or one folder above."""
    if named := os.environ.get(CONFIG_VARIABLE):
        return Path(named)
    beside = dag_file.resolve().parent
    return next((f for f in (beside / DEFAULT_FILE, beside.parent / DEFAULT_FILE) if f.exists()), beside / DEFAULT_FILE)


def configuration_of_airflow() -> Path:
    """Return the file for a process that runs no DAG file: the API server, the triggerer."""
    return configuration_file(Path(conf.get_mandatory_value("core", "dags_folder")) / DAG_FILE)
