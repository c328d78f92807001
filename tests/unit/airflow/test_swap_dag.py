"""`<name>_swap` as a user meets it: what the form gives to each swap, what it refuses, and what the run returns."""

from __future__ import annotations

import pytest

from redolake.steps.ranges.swap import SwappedTable
from tests.unit.airflow.test_dag_runs import run

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]

__all__ = ["run"]

COPY = "100-200-copy"
FORM = {"tables": ["SHOP.ORDERS", "SHOP.ORDER_LINES"], "reason": "a bug", "dry_run": False}


@pytest.mark.parametrize(
    ("form", "state", "copy"),
    [
        ({"shadow": f" {COPY} "}, "success", COPY),
        ({"shadow": COPY, "dry_run": True}, "success", COPY),
        ({"choice": "undo"}, "success", None),
        ({"choice": "undo", "shadow": COPY}, "failed", None),
        ({}, "failed", None),
    ],
)
def test_each_table_is_swapped_with_the_named_copy_or_with_what_the_last_swap_has_kept(run, steps, form, state, copy):
    from redolake.airflow.swap import swap_dag

    executed = not form.get("dry_run")
    kept = "199-7-replaced" if executed else ""
    steps.answers("swap_table", lambda table, name: SwappedTable(table, str(name), 199, 199, 0, kept, 5 if executed else None))

    states, ran = run(swap_dag, {**FORM, **form})

    assert states == {("swap", -1): state}
    wanted = [(table, copy) for table in FORM["tables"]] if state == "success" else []
    assert [given for _, given, _ in steps.calls] == wanted
    assert {(how["reason"], how["execute"]) for _, _, how in steps.calls} == ({("a bug", executed)} if wanted else set())
    if wanted:
        assert ran.get_task_instance("swap").xcom_pull("swap") == ([kept] * 2 if executed else [])
