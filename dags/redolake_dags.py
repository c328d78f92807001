"""Where Airflow finds Redolake: the DAGs for each pipeline of pipelines.yml."""

from pathlib import Path

from redolake.airflow.factory import build_dags

globals().update(build_dags(Path(__file__)))
