"""Redolake's DAGs: tasks are named and arrows drawn here, the work is in `pipelines.steps`. No other folder imports airflow."""
