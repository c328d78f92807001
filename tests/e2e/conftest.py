"""Airflow in a folder of the tests' own; see tests/fix_airflow.py for what must happen first."""

from tests.fix_airflow import airflow_db

__all__ = ["airflow_db"]
