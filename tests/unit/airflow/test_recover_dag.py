"""`<name>_recover` as a user meets it: its form, its confirmation, and how a look ends."""

from __future__ import annotations

import pytest

from pipelines.redo import Position
from pipelines.steps.recover import RecoveryReport
from pipelines.steps.redo_loss import ErrorReport
from pipelines.steps.status import DeclaredGapReport, GapTransaction
from tests.unit.airflow.test_dag_runs import names, run

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]

__all__ = ["run"]

MADE = DeclaredGapReport(
    "gap", 10, 20, 1, "tapes are gone", "test", "", "log 7 is gone", (), 4, (GapTransaction(3, "1.2.3", 1, 5, 4),)
)


def look(lost):
    error = ErrorReport("RedoLost", "log 7 is gone", {}, "") if lost else None
    return RecoveryReport("shop", lost, Position(1, 1, 10), error)


@pytest.fixture
def recovery(steps):
    steps.answers("inspect_redo_loss", look(True))
    steps.answers("recheck_redo_loss", look(False))
    steps.answers("declare_gap", MADE)
    steps.recovery_text = lambda found: "log 7 is gone: choose" if found.lost else "nothing is lost"
    return steps


def test_a_look_fails_while_redo_is_lost_and_changes_nothing(run, recovery):
    from pipelines.airflow.recover import recover_dag

    states, ran = run(recover_dag)

    assert states["decide", -1] == "failed"
    assert ran.state == "failed"
    assert names(recovery) == ["inspect_redo_loss"]


def test_checking_again_succeeds_when_no_redo_is_lost(run, recovery):
    from pipelines.airflow.recover import recover_dag

    states, _ = run(recover_dag, {"choice": "restored"})

    assert (states["decide", -1], states["snapshot", -1]) == ("success", "skipped")
    assert names(recovery) == ["recheck_redo_loss"]


@pytest.mark.parametrize(("choice", "written"), [("snapshot", ""), ("gap", "shopp"), ("position", "yes")])
def test_a_choice_that_cannot_be_undone_needs_the_pipelines_name(run, recovery, choice, written):
    from pipelines.airflow.recover import recover_dag

    states, _ = run(recover_dag, {"choice": choice, "reason": "lost", "scn": 5, "confirm": written})

    assert states["decide", -1] == "failed"
    assert names(recovery) == []


def test_a_confirmed_gap_is_declared_and_reads_no_table(run, recovery):
    from pipelines.airflow.recover import recover_dag

    states, _ = run(recover_dag, {"choice": "gap", "reason": "tapes are gone", "confirm": "shop"})

    assert (states["decide", -1], states["snapshot", -1]) == ("success", "skipped")
    ((_, (kind, _), how),) = recovery.calls
    assert (kind, how["scn"], how["reason"]) == ("gap", None, "tapes are gone")


def test_the_snapshot_that_follows_gets_the_tables_and_replaces_them(settings, monkeypatch, tmp_path):
    from airflow.sdk.definitions.xcom_arg import XComArg

    from pipelines.airflow.recover import recover_dag

    pipeline = settings()
    monkeypatch.setenv("REDOLAKE_CONFIG", str(tmp_path / "pipelines.yml"))
    dag = recover_dag(pipeline)
    trigger = dag.get_task("snapshot")

    assert trigger.trigger_dag_id == "shop_snapshot"
    assert trigger.conf["replace"] is True
    assert isinstance(trigger.conf["tables"], XComArg)
    assert dag.params["choice"] == "look"
