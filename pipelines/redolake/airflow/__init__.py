"""Redolake's DAGs: tasks and their order. The work is in `redolake.steps`; only this room imports airflow."""
