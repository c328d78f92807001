"""`<name>_repair` as a user meets it: what the form gives to each repair, and how the run ends."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from redolake.steps.proof.repair import RepairedTable
from tests.unit.airflow.test_dag_runs import names, run

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]

__all__ = ["run"]

REPAIRED = RepairedTable("SHOP.ORDERS", 99, 1, 0, 1, 0, 7, True, False, 1.0, 1, 98, 1000, "ann", "by hand")
FORM = {"tables": ["SHOP.ORDERS", "SHOP.ORDER_LINES"], "reason": "changed by hand"}


def repaired(steps: SimpleNamespace, **differs: bool) -> None:
    steps.answers("repair_table", lambda table: replace(REPAIRED, table=table, equal=not differs.get(table.rpartition(".")[2])))


def test_each_table_of_the_form_is_repaired_with_its_reason(run, steps):
    from redolake.airflow.repair import repair_dag

    repaired(steps)
    states, ran = run(repair_dag, FORM)

    assert states == {("repair", -1): "success"}
    assert [table for _, (table,), _ in steps.calls] == FORM["tables"]
    assert {how["reason"] for _, _, how in steps.calls} == {"changed by hand"}
    assert ran.get_task_instance("repair").xcom_pull("repair") == FORM["tables"]


def test_rows_that_still_differ_fail_the_run_after_all_tables_were_repaired(run, steps):
    from redolake.airflow.repair import repair_dag

    repaired(steps, ORDERS=True)
    states, _ = run(repair_dag, FORM)

    assert states == {("repair", -1): "failed"}
    assert names(steps) == ["repair_table", "repair_table"]
