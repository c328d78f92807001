"""`<name>_recover` and `<name>_doctor` as a user meets them: forms, confirmation, and their ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redolake.errors import Finding
from redolake.records.shown_facts import Choice
from redolake.steps.checks.doctor_report import DoctorReport
from redolake.steps.proof.repair import ReadAgain
from redolake.steps.ranges.close_gap import GapClosing
from redolake.steps.recovery.recover import RecoveryReport, recovery_text
from redolake.steps.shared.status import DeclaredGapReport, GapTransaction
from redolake.values.redo import Position
from tests.unit.airflow.test_dag_runs import names, noted, run

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]

__all__ = ["run"]

MADE = DeclaredGapReport(
    "gap", 10, 20, 1, "tapes are gone", "test", "", "log 7 is gone", (), 4, (GapTransaction(3, "1.2.3", 1, 5, 4),)
)


def look(lost):
    error = {"code": "RedoLost", "what": "log 7 is gone", "where": {}, "cure": ""} if lost else None
    return RecoveryReport("shop", lost, Position(1, 1, 10), error)


@pytest.fixture
def recovery(steps):
    steps.answers("inspect_redo_loss", look(True))
    steps.answers("recheck_redo_loss", look(False))
    steps.answers("declare_gap", MADE)
    steps.cost_of = lambda found, kind: f"{kind}: declare the gap, SCN 10 to 20"
    steps.recovery_text = lambda found, how: "log 7 is gone: choose" if found.lost else "nothing is lost"
    return steps


def test_a_look_fails_while_redo_is_lost_and_changes_nothing(run, recovery):
    from redolake.airflow.recover import recover_dag

    states, ran = run(recover_dag)

    assert states["decide", -1] == "failed"
    assert ran.state == "failed"
    assert names(recovery) == ["inspect_redo_loss"]


def test_the_form_names_its_own_choices_and_a_terminal_the_commands():
    from redolake.operations.recover import in_form

    offered = ("restore", "snapshot", "gap", "position", "connection", "new-pipeline")
    found = replace(look(True), choices=tuple(Choice(name, "what", "costs", f"redolake {name}") for name in offered))

    terminal, form = recovery_text(found), recovery_text(found, in_form)

    assert all(f"   redolake {name}" in terminal for name in offered)
    assert "   trigger this DAG again with *Choice* gap, a *Reason*, and without *Dry run*" in form
    assert "   trigger this DAG again with *Restored*" in form
    assert [line for line in form.splitlines() if "redolake " in line] == ["   redolake new-pipeline"]


def test_checking_again_succeeds_when_no_redo_is_lost(run, recovery):
    from redolake.airflow.recover import recover_dag

    states, _ = run(recover_dag, {"restored": True})

    assert (states["decide", -1], states["snapshot", -1]) == ("success", "skipped")
    assert names(recovery) == ["recheck_redo_loss"]


@pytest.mark.parametrize(("choice", "written"), [("snapshot", "shop2"), ("gap", "shopp"), ("position", "yes")])
def test_a_choice_that_is_confirmed_by_another_text_is_refused(run, recovery, choice, written):
    from redolake.airflow.recover import recover_dag

    states, _ = run(
        recover_dag,
        {"choice": choice, "reason": "lost", "scn": None if choice == "snapshot" else 5, "confirm": written, "dry_run": False},
    )

    assert (states["approve", -1], states["decide", -1]) == ("failed", "upstream_failed")
    assert names(recovery) == []


def test_a_confirmed_gap_is_declared_and_reads_no_table(run, recovery):
    from redolake.airflow.recover import recover_dag

    states, _ = run(recover_dag, {"choice": "gap", "reason": "tapes are gone", "confirm": "shop", "dry_run": False})

    assert (states["decide", -1], states["snapshot", -1]) == ("success", "skipped")
    ((_, (kind,), how),) = recovery.calls
    assert (kind, how["scn"], recovery.runs[-1].reason) == ("gap", None, "tapes are gone")


def test_the_snapshot_that_follows_gets_the_tables_and_replaces_them(settings, monkeypatch, tmp_path):
    from airflow.sdk.definitions.xcom_arg import XComArg

    from redolake.airflow.recover import recover_dag

    pipeline = settings()
    monkeypatch.setenv("REDOLAKE_CONFIG", str(tmp_path / "pipelines.yml"))
    dag = recover_dag(pipeline)
    trigger = dag.get_task("snapshot")

    assert trigger.trigger_dag_id == "shop_snapshot"
    assert trigger.conf["replace"] is True
    assert isinstance(trigger.conf["tables"], XComArg)
    assert dag.params["choice"] is None


def test_doctor_fails_with_the_errors_alone(run, steps):
    from redolake.airflow.doctor import doctor_dag

    errors = (Finding("database FREE", "runs in NOARCHIVELOG mode", "ALTER DATABASE ARCHIVELOG"), Finding("x", "y", "", "note"))
    steps.answers("examine", DoctorReport(False, errors, (), ()))
    failed, with_errors = run(doctor_dag)
    steps.answers("examine", DoctorReport(True, errors[1:], (), ()))
    good, without = run(doctor_dag)

    assert (failed["doctor", -1], good["doctor", -1]) == ("failed", "success")
    said = noted(with_errors)
    assert "NOARCHIVELOG" in said
    assert said.endswith(DoctorReport(False, errors, (), ()).closing)
    assert noted(without) == DoctorReport(True, errors[1:], (), ()).closing


@pytest.mark.parametrize(
    ("dry_run", "why_not", "state"), [(True, "", "success"), (False, "", "success"), (False, "a DDL", "failed")]
)
def test_a_gap_is_closed_from_the_form_and_the_run_fails_while_a_table_stays_as_it_is(run, recovery, dry_run, why_not, state):
    from redolake.airflow.mend import mend_dag

    table = ReadAgain("SHOP.ORDERS", equal=not why_not, why_not=why_not)
    recovery.answers("close_gap", GapClosing("shop", 10, 20, 1, 0, 2, 9, tables=(table,)))

    states, _ = run(mend_dag, {"mend": "close-gap", "scn": 10, "reason": "tapes came back", "dry_run": dry_run})

    assert (states["approve", -1], states["mend", -1]) == ("success", state)
    (asked,) = recovery.runs
    assert (asked.execute, asked.reason) == (not dry_run, "tapes came back")
