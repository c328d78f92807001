"""`<name>_fill_columns` as a user meets it: what the form gives to each table, and what the run returns."""

from __future__ import annotations

import pytest

from redolake.steps.proof.fill_columns import FilledColumns
from tests.unit.airflow.test_dag_runs import run

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]

__all__ = ["run"]

TABLES = ["SHOP.ORDERS", "SHOP.ORDER_LINES"]


@pytest.mark.parametrize("dry_run", [True, False])
def test_the_columns_of_each_table_are_filled_or_shown(run, steps, dry_run):
    from redolake.airflow.fill_columns import fill_columns_dag

    version = None if dry_run else 7
    steps.answers("fill_columns", lambda table: FilledColumns(table, ("PLACE",), 199, 3, version))

    states, ran = run(fill_columns_dag, {"tables": TABLES, "reason": "wanted now", "dry_run": dry_run})

    assert states == {("fill", -1): "success"}
    assert [table for _, (table,), _ in steps.calls] == TABLES
    assert {(how["reason"], how["execute"]) for _, _, how in steps.calls} == {("wanted now", not dry_run)}
    assert ran.get_task_instance("fill").xcom_pull("fill") == ([] if dry_run else TABLES)
