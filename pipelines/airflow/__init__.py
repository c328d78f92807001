"""Redolake's DAGs: tasks and their order. The work is in `pipelines.steps`; only this room imports airflow."""
