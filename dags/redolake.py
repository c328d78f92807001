"""Where Airflow finds Redolake: eleven DAGs for each pipeline of pipelines.yml."""

from pathlib import Path

from pipelines.airflow.factory import build_dags

globals().update(build_dags(Path(__file__)))
