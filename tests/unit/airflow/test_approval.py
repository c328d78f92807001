"""A choice that cannot be undone: confirmed by the form, else approved by a person. Without either, nothing is done."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace
from unittest import mock

import pytest

from redolake.steps.apply.transactions import DropCost
from tests.unit.airflow.test_dag_runs import names, run
from tests.unit.airflow.test_recover_dag import recovery

__all__ = ["recovery", "run"]

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]

DROP = {"mend": "tx drop", "xid": "3.12.45", "reason": "a forgotten session", "dry_run": False}
COST = DropCost(3, "3.12.45", 2, 150, None, 7, 90, None, {"SHOP.ORDERS": 7})


@contextmanager
def person(option, **fields):
    """Answer the question of a run in this process as Airflow's API does, for the user `ann`: the run pauses while it waits.
    Yields the question."""
    asked, here, sleep = SimpleNamespace(), threading.current_thread(), time.sleep

    def pause(seconds):
        if threading.current_thread() is here and seconds == 1:
            answer(asked, option, fields)
        else:
            sleep(seconds)

    with mock.patch.object(time, "sleep", pause):
        yield asked


def answer(asked, option, fields):
    from airflow._shared.timezones.timezone import utcnow
    from airflow.models.hitl import HITLDetail
    from airflow.models.taskinstance import TaskInstance
    from airflow.models.trigger import handle_event_submit
    from airflow.triggers.base import TriggerEvent
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        waiting = session.scalars(select(TaskInstance).where(TaskInstance.state == "awaiting_input")).one()
        detail = session.get_one(HITLDetail, waiting.id)
        asked.subject, asked.body, asked.fields = detail.subject, detail.body, detail.params
        detail.chosen_options, detail.params_input = [option], fields
        detail.responded_by, detail.responded_at = {"id": "7", "name": "ann"}, utcnow()
        handle_event_submit(TriggerEvent(detail.as_resume_event_payload()), task_instance=waiting, session=session)


@pytest.fixture
def transactions(steps):
    steps.answers("look_up_transaction", COST)
    steps.answers("drop_transaction", None)
    steps.answers("record_rejection", None)
    return steps


def test_an_approved_drop_is_recorded_under_the_name_and_the_reason_of_who_approved(run, transactions):
    from redolake.airflow.mend import mend_dag

    with person("Approve", reason="agreed with the owner") as asked:
        states, _ = run(mend_dag, DROP)

    assert (states["approve", -1], states["mend", -1]) == ("success", "success")
    assert (asked.subject, asked.fields["reason"]["value"]) == ("shop: tx drop", "a forgotten session")
    assert "SHOP.ORDERS: 7 row(s)" in asked.body
    name, arguments, how = transactions.calls[-1]
    assert (name, arguments) == ("drop_transaction", ("3.12.45", 3))
    assert how == {"by": "ann, asked by dag_test", "reason": "agreed with the owner", "start_scn": 150}


def test_a_rejected_drop_is_recorded_and_drops_nothing(run, transactions):
    from redolake.airflow.mend import mend_dag

    with person("Reject"):
        states, ran = run(mend_dag, DROP)

    assert (states["mend", -1], ran.state) == ("skipped", "success")
    assert names(transactions) == ["look_up_transaction", "record_rejection"]
    assert transactions.calls[-1][1:] == (
        ("shop: tx drop",),
        {"by": "ann, asked by dag_test", "reason": "a forgotten session"},
    )


def test_an_approved_gap_is_declared_only_at_the_cost_that_was_shown(run, recovery):
    from redolake.airflow.recover import recover_dag

    with person("Approve", reason="tapes are gone") as asked:
        states, _ = run(recover_dag, {"choice": "gap"})

    assert (states["decide", -1], states["snapshot", -1]) == ("success", "skipped")
    assert "declare the gap, SCN 10 to 20" in asked.body
    assert names(recovery) == ["inspect_redo_loss", "declare_gap"]
    _, (kind, _), how = recovery.calls[-1]
    assert (kind, how["by"], how["reason"]) == ("gap", "ann, asked by dag_test", "tapes are gone")
    assert how["approved"] == "gap: declare the gap, SCN 10 to 20"


def test_a_ddl_choice_waits_for_an_approval_and_a_plain_resume_does_not(run, steps):
    from redolake.airflow.mend import mend_dag

    steps.answers("look_up_held", lambda table, _: SimpleNamespace(table=table, text="TRUNCATE TABLE orders", address="at 120"))
    steps.answers("approve_ddl", SimpleNamespace(table="SHOP.ORDERS"))
    steps.answers("resume_tables", ("SHOP.ORDERS",))

    run(mend_dag, {"tables": ["SHOP.ORDERS"], "dry_run": False})
    with person("Approve", reason="asked for") as asked:
        run(mend_dag, {"tables": ["SHOP.ORDERS"], "ddl": "follow", "dry_run": False})

    assert names(steps) == ["resume_tables", "look_up_held", "approve_ddl"]
    assert "SHOP.ORDERS: TRUNCATE TABLE orders" in asked.body
    assert steps.calls[-1][2] == {"by": "ann, asked by dag_test", "reason": "asked for", "address": "at 120"}


def test_nothing_is_done_where_neither_the_form_nor_a_person_has_confirmed(settings):
    from airflow.sdk.exceptions import AirflowFailException

    from redolake.airflow.approval import find_decision

    answers = {"return_value": {"chosen_options": ["Reject"]}, "asked": {"subject": "a gap", "shown": "its cost"}}
    for found in ({}, {"asked": answers["asked"]}, answers):
        context = {
            "params": {"confirm": None, "reason": "why not"},
            "ti": SimpleNamespace(xcom_pull=lambda task_ids, key, found=found: found.get(key)),
        }
        with pytest.raises(AirflowFailException, match="not confirmed"):
            find_decision(settings(), context)
