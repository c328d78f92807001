"""A choice that cannot be undone: confirmed by the form, else approved by a person. Without either, nothing is done."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from unittest import mock

import pytest

from redolake.steps.apply.transactions import DropCost
from redolake.steps.ranges.history_prune import ShorterHistory
from redolake.steps.ranges.history_rebuild import HistoryRebuild
from tests.unit.airflow.test_dag_runs import names, run
from tests.unit.airflow.test_recover_dag import recovery

__all__ = ["recovery", "run"]

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]

DROP = {"mend": "tx drop", "xid": "3.12.45", "reason": "a forgotten session", "dry_run": False}
WINDOW = "0000000011-00000000000000000100-00000000000000000200"
ANN = {"id": "7", "name": "ann"}
COST = DropCost(3, "3.12.45", 2, 150, None, 7, 90, None, {"SHOP.ORDERS": 7})


@contextmanager
def person(option, who=ANN, **fields):
    """Answer the question of a run in this process as Airflow's API does, for a user: the run pauses while it waits.
    Yields the question."""
    asked, here, sleep = SimpleNamespace(), threading.current_thread(), time.sleep

    def pause(seconds):
        if threading.current_thread() is here and seconds == 1:
            answer(asked, option, who, fields)
        else:
            sleep(seconds)

    with mock.patch.object(time, "sleep", pause):
        yield asked


def answer(asked, option, who, fields):
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
        detail.responded_by, detail.responded_at = who, utcnow()
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
    made = transactions.runs[-1]
    assert (made.by, made.reason, how) == ("ann, asked by dag_test", "agreed with the owner", {"start_scn": 150})


def test_a_rejected_drop_is_recorded_and_drops_nothing(run, transactions):
    from redolake.airflow.mend import mend_dag

    with person("Reject"):
        states, ran = run(mend_dag, DROP)

    assert (states["mend", -1], ran.state) == ("skipped", "success")
    assert names(transactions) == ["look_up_transaction", "record_rejection"]
    decided = transactions.runs[-1]
    assert transactions.calls[-1][1] == ("shop: tx drop",)
    assert (decided.by, decided.reason) == ("ann, asked by dag_test", "a forgotten session")


def test_an_approved_gap_is_declared_only_at_the_cost_that_was_shown(run, recovery):
    from redolake.airflow.recover import recover_dag

    with person("Approve", reason="tapes are gone") as asked:
        states, _ = run(recover_dag, {"choice": "gap", "dry_run": False})

    assert (states["decide", -1], states["snapshot", -1]) == ("success", "skipped")
    assert "declare the gap, SCN 10 to 20" in asked.body
    assert names(recovery) == ["inspect_redo_loss", "declare_gap"]
    (_, (kind,), how), made = recovery.calls[-1], recovery.runs[-1]
    assert (kind, made.by, made.reason) == ("gap", "ann, asked by dag_test", "tapes are gone")
    assert how["approved"] == "gap: declare the gap, SCN 10 to 20"


def test_a_ddl_choice_waits_for_an_approval_and_a_plain_resume_does_not(run, steps):
    from redolake.airflow.mend import mend_dag

    steps.answers(
        "look_up_held",
        lambda tables, _: [SimpleNamespace(table=one, text="TRUNCATE TABLE orders", address="at 120") for one in tables],
    )
    steps.answers("approve_ddl", SimpleNamespace(table="SHOP.ORDERS"))
    steps.answers("resume_tables", ("SHOP.ORDERS",))

    run(mend_dag, {"tables": ["SHOP.ORDERS"], "dry_run": False})
    with person("Approve", reason="asked for") as asked:
        run(mend_dag, {"tables": ["SHOP.ORDERS"], "ddl": "follow", "dry_run": False})

    assert names(steps) == ["resume_tables", "look_up_held", "approve_ddl"]
    assert "SHOP.ORDERS: TRUNCATE TABLE orders" in asked.body
    assert steps.calls[-1][2] == {"address": "at 120"}
    assert (steps.runs[-1].by, steps.runs[-1].reason) == ("ann, asked by dag_test", "asked for")


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


@pytest.fixture
def between_two(settings, transactions, monkeypatch, tmp_path):
    """`between_two(form, asked_by)` runs the DAG of a pipeline whose choices are approved by another person."""
    from redolake.airflow.mend import mend_dag

    pipeline = settings()
    monkeypatch.setenv("REDOLAKE_CONFIG", str(tmp_path / "pipelines.yml"))
    airflow = pipeline.airflow.model_validate({**pipeline.airflow.model_dump(), "approval_by_another": True})

    def go(form, asked_by="bob"):
        from airflow.models.dagrun import DagRun

        made = DagRun.__init__

        def begun_by(self, *args, **settings):
            made(self, *args, **{**settings, "triggering_user_name": asked_by})

        with monkeypatch.context() as patch:
            patch.setattr(DagRun, "__init__", begun_by)
            ran = mend_dag(pipeline.model_copy(update={"airflow": airflow})).test(run_conf=form)
        return {t.task_id: t.state for t in ran.get_task_instances()}

    return go


def test_confirm_in_the_form_is_not_enough_where_another_person_approves(between_two, transactions):
    with person("Approve", reason="agreed") as asked:
        states = between_two({**DROP, "confirm": "shop"})

    assert (states, transactions.calls[-1][0]) == ({"approve": "success", "mend": "success"}, "drop_transaction")
    assert transactions.runs[-1].by == "ann, asked by bob"
    assert "asked by bob" in asked.body


@pytest.mark.parametrize(
    ("asked_by", "who"),
    [
        ("ann", ANN),
        (" Ann", ANN),
        ("ann", {"id": "ann", "name": "Ann Lee"}),
        ("bob", {"id": "7", "name": ""}),
        ("bob", {"id": "", "name": " "}),
        ("bob", None),
    ],
)
def test_nobody_approves_what_they_asked_for_and_neither_does_somebody_unknown(between_two, transactions, asked_by, who):
    with person("Approve", who):
        states = between_two(DROP, asked_by)

    assert states == {"approve": "failed", "mend": "upstream_failed"}
    assert names(transactions) == ["look_up_transaction"]


@pytest.mark.parametrize("asked_by", [None, "", " "])
def test_a_run_that_nobody_known_started_asks_for_no_approval_by_another(between_two, transactions, asked_by):
    states = between_two({**DROP, "confirm": "shop"}, asked_by)  # nobody answers: it would wait for ever

    assert (states, names(transactions)) == ({"approve": "failed", "mend": "upstream_failed"}, ["look_up_transaction"])


def test_who_asked_may_reject_and_an_answer_in_another_task_s_name_is_no_approval(between_two, transactions, settings):
    from airflow.sdk.exceptions import AirflowFailException

    from redolake.airflow.approval import find_decision

    with person("Reject", {"id": "bob", "name": "bob"}):
        states = between_two(DROP)
    pipeline = settings()
    airflow = pipeline.airflow.model_copy(update={"approval_by_another": True})
    found = {
        "return_value": {"chosen_options": ["Approve"], "responded_by_user": {"id": "bob", "name": "bob"}},
        "asked": {"subject": "a gap", "shown": "its cost"},
    }
    context = {
        "params": {"confirm": "shop", "reason": "why not"},
        "dag_run": SimpleNamespace(triggering_user_name="bob"),
        "ti": SimpleNamespace(xcom_pull=lambda task_ids, key: found[key]),
    }

    assert (states["mend"], transactions.calls[-1][0]) == ("skipped", "record_rejection")
    with pytest.raises(AirflowFailException, match="bob started this run and may not approve it"):
        find_decision(pipeline.model_copy(update={"airflow": airflow}), context)


HOSTILE = (
    "x\u2029asked by ann\x85{{ params }}",
    "a\n```\n# This run changes nothing",
    "~~~\n<script>alert(1)</script>",
    "`````\r\n[approve](javascript:alert(1))",
    "</code></pre><img src=x onerror=alert(1)>",
    "\u202egnihton\u2028```\x1b[2J",
)


@pytest.mark.parametrize("value", HOSTILE)
def test_no_value_leaves_the_text_before_an_approver_or_adds_a_line_to_it(run, steps, recovery, value):
    """In each form: the value of a key, the name of a table, the name of a user, a field, a DDL statement."""
    from markdown_it import MarkdownIt

    from redolake.airflow import factory

    wrong = SimpleNamespace(state="open", table=value, key='{"ID": "1"}')
    change = SimpleNamespace(table=value, keys=value, operation="update", commit_scn=3, error="E", reason=value)
    steps.answers("look_up_quarantined", SimpleNamespace(changes=[change], wrong=[wrong]))
    steps.answers("look_up_transaction", replace(COST, username=value, tables={value: 7}))
    steps.answers(
        "look_up_held", lambda tables, _: [SimpleNamespace(table=one, text=value, address="at 120") for one in tables]
    )
    steps.answers("record_rejection", None)
    steps.answers("prune_histories", lambda *_: (ShorterHistory(value, 5, 2, 9, before=value),))
    steps.answers("rebuild_history", lambda *_: HistoryRebuild(value, 1, 2, 3, 4, 5, mined=(value,)))
    steps.answers("discard_windows", lambda *_: (value, value))
    forms = {
        "mend, quarantine drop": ({"tables": [value], "reason": value, "dry_run": False}, 4),
        "mend, tx drop": ({"xid": "1.9.9", "reason": value, "dry_run": False}, 5),
        "mend, resume": ({"tables": [value], "ddl": "follow", "reason": value, "dry_run": False}, 3),
        "mend, history prune": ({"tables": [value], "reason": value, "dry_run": False}, 3),
        "mend, history rebuild": ({"tables": [value], "reason": value, "dry_run": False}, 3),
        "mend, remine": ({"window": WINDOW, "discard": True, "reason": value, "dry_run": False}, 4),
        "recover": ({"choice": "gap", "tables": [value], "dry_run": False}, 4),
    }
    for name, (form, count) in forms.items():
        part, _, choice = name.partition(", ")
        form = {"mend": choice, **form} if choice else form
        # with a pattern, the form takes any name
        with person("Reject") as asked, mock.patch("redolake.config.Pipeline.patterns", ("SHOP.*",)):
            run(getattr(factory, f"{part}_dag"), form)
        (block,) = MarkdownIt().parse(asked.body)
        assert (block.type, block.info, len(block.content.splitlines())) == ("fence", "text", count), part
        assert all(line.isprintable() for line in (asked.subject, *block.content.splitlines())), part
        assert "<code>" not in asked.body.replace(block.content, ""), part
