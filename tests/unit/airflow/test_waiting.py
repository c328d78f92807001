"""A log that is due is awaited without a worker, reported when it is overdue, and mined when it arrives."""

import asyncio
import json
import threading
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import pytest

from redolake.config import Retry
from redolake.errors import SourceUnavailable
from redolake.steps.capture.windows import AlreadyLanded, LandedWindowReport, PlanOutcome
from redolake.steps.shared.wait import AwaitedLog, log_overdue

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]

AWAITED = AwaitedLog(dbid=7, resetlogs_id=11, position=100, thread=2, sequence=57, scn=100)
WAIT = PlanOutcome("wait", "redo thread 2: log 57 is switched", awaited=AWAITED)
PLANNED = PlanOutcome("window", "2 logs", "0000000011-00000000000000000100-00000000000000000200", (0,))
LANDED = LandedWindowReport("11-100-200", 100, 200, 7, "/l/manifest.json")


def in_minutes(minutes):
    return (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()


def waiting(until=60, every=0.001):
    """Return the trigger as the triggerer builds it from its serialised form, as after a restart."""
    from airflow.sdk._shared.module_loading import import_string

    from redolake.airflow.triggers import ArchivedLogTrigger

    made = ArchivedLogTrigger("shop", "shop_oracle", asdict(AWAITED), every, in_minutes(until))
    path, kept = made.serialize()
    return import_string(path)(**json.loads(json.dumps(kept)))


def fired(trigger):
    return asyncio.run(asyncio.wait_for(anext(trigger.run()), 20)).payload


def in_turn(*answers):
    """Return a step that gives these answers in turn, and then always the last one."""
    left = list(answers)

    def step(*_):
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return step


def test_a_trigger_stores_only_numbers_and_names(steps):
    path, kept = waiting().serialize()

    assert path == "redolake.airflow.triggers.ArchivedLogTrigger"
    assert kept["awaited"] == asdict(AWAITED)
    assert "hidden-word" not in json.dumps(kept)


def test_the_trigger_checks_until_the_log_is_there(steps):
    steps.answers("is_still_awaited", in_turn(True, True, False))

    assert "sequence 57 of redo thread 2 (SCN 100) is no longer awaited" in fired(waiting())["because"]
    assert len(steps.calls) == 3


def test_a_log_that_is_being_archived_is_found_within_seconds_however_long_the_later_pauses(steps):
    steps.answers("is_still_awaited", in_turn(True, False))

    assert "is no longer awaited" in fired(waiting(every=600))["because"]


def test_the_trigger_uses_the_pipelines_connection(steps, monkeypatch):
    asked = []
    monkeypatch.setattr(steps, "is_still_awaited", lambda *args: asked.append(args) or False, raising=False)

    fired(waiting())

    ((awaited, source),) = asked
    assert (awaited, source.user, source.dsn) == (AWAITED, "c##reader", "db.example:1521/FREE")


def test_a_blocked_check_does_not_delay_other_triggers(steps, monkeypatch):
    asked, go_on, went_on = threading.Event(), threading.Event(), []

    def blocking(*_):
        asked.set()
        went_on.append(go_on.wait(5))
        return False

    monkeypatch.setattr(steps, "is_still_awaited", blocking, raising=False)

    async def both():
        one = asyncio.ensure_future(anext(waiting().run()))
        while not asked.is_set():
            await asyncio.sleep(0.001)  # reached only while the check is blocking
        go_on.set()
        return (await asyncio.wait_for(one, 20)).payload

    assert "no longer awaited" in asyncio.run(both())["because"]
    assert went_on == [True]


def test_the_trigger_ends_at_the_deadline_after_a_last_check(steps):
    steps.answers("is_still_awaited", True)

    assert "is overdue" in fired(waiting(until=0.01, every=60))["because"]
    assert len(steps.calls) == 2


def test_a_log_that_arrived_during_a_restart_after_the_deadline_is_not_overdue(steps):
    steps.answers("is_still_awaited", False)

    assert "no longer awaited" in fired(waiting(until=-5))["because"]


def test_an_error_of_the_source_ends_the_trigger_and_is_left_to_the_task(steps):
    steps.answers("is_still_awaited", SourceUnavailable("ORA-00257: Archiver error", ora_code=257))

    assert "ORA-00257" in fired(waiting())["because"]


@pytest.fixture
def run(settings, steps, monkeypatch, tmp_path):
    """Return `run(**changes)`, which runs the capture DAG with its trigger in this process."""
    from redolake.airflow.capture import capture_dag

    pipeline = settings()
    monkeypatch.setenv("REDOLAKE_CONFIG", str(tmp_path / "pipelines.yml"))

    def go(**changes):
        changes = {"wait_max_pause_seconds": 0.01, **changes}
        ran = capture_dag(pipeline.model_copy(update=changes)).test()
        return {t.task_id: str(t.state) for t in ran.get_task_instances()}, str(ran.state)

    return go


def counted(steps, name):
    return [called for called, _, _ in steps.calls].count(name)


def test_a_run_continues_to_mine_and_land_when_its_log_arrives(run, steps):
    steps.answers("plan_next_window", in_turn(WAIT, WAIT, PLANNED))
    steps.answers("is_still_awaited", in_turn(True, False))
    steps.answers("mine_window_slice", AlreadyLanded(0))
    steps.answers("land_window", LANDED)

    states, state = run()

    assert (state, states["plan"], states["land"]) == ("success", "success", "success")
    assert (counted(steps, "plan_next_window"), counted(steps, "is_still_awaited")) == (3, 3)


def test_an_overdue_log_fails_the_run_at_once_with_its_name_and_mines_nothing(run, steps):
    steps.answers("plan_next_window", WAIT)
    steps.answers("is_still_awaited", True)
    steps.log_overdue = log_overdue

    states, state = run(wait_max_minutes=0.001)

    assert (state, states["plan"], states["land"]) == ("failed", "failed", "upstream_failed")
    assert counted(steps, "plan_next_window") == 2  # no retry, although two are left


def test_the_overdue_message_names_thread_sequence_scn_and_where_to_look():
    text = str(log_overdue(AWAITED, 30))

    for part in ("Redo Thread 2: log 57", "30 minutes", "(sequence 57, scn 100)", "V$ARCHIVE_DEST_STATUS", "runway"):
        assert part in text


def deferred(operator, awaited, event):
    from airflow.sdk.exceptions import TaskDeferred

    with pytest.raises(TaskDeferred) as caught:
        operator.wait(awaited, event)
    assert caught.value.method_name == "plan_again"
    return datetime.fromisoformat(caught.value.trigger.until)


def test_the_same_log_keeps_its_deadline_and_another_gets_a_new_one(settings, steps):
    from airflow.sdk.exceptions import AirflowFailException

    from redolake.airflow.waiting import PlanWindow

    steps.log_overdue = log_overdue
    operator = PlanWindow(task_id="plan", pipeline=settings().model_copy(update={"wait_max_minutes": 30}))
    soon = in_minutes(3)
    other = replace(AWAITED, sequence=58)

    assert deferred(operator, AWAITED, {"awaited": asdict(AWAITED), "until": soon}) == datetime.fromisoformat(soon)
    assert deferred(operator, other, {"awaited": asdict(AWAITED), "until": in_minutes(-1)}) > datetime.now(UTC) + timedelta(
        minutes=29
    )
    with pytest.raises(AirflowFailException, match="log 57"):
        operator.wait(AWAITED, {"awaited": asdict(AWAITED), "until": in_minutes(-1)})


# --- a source that does not answer

AWAY = SourceUnavailable("the listener does not answer", cure="start it", ora_code=12541)


def test_an_outage_is_one_waiting_run_that_goes_on_when_the_source_answers(run, steps):
    steps.answers("plan_next_window", in_turn(AWAY, AWAY, PLANNED))
    steps.answers("is_source_back", in_turn(False, True))
    steps.answers("mine_window_slice", AlreadyLanded(0))
    steps.answers("land_window", LANDED)

    states, state = run(retry=Retry(attempts=3, initial_seconds=0.01, max_seconds=0.02))

    assert (state, states["plan"], states["land"]) == ("success", "success", "success")
    assert (counted(steps, "plan_next_window"), counted(steps, "is_source_back")) == (3, 3)


def test_the_pauses_between_looks_at_a_source_double_up_to_the_longest(steps, monkeypatch):
    from redolake.airflow.triggers import SourceTrigger

    slept = []

    async def sleep(seconds):
        slept.append(round(seconds))

    steps.answers("is_source_back", in_turn(False, False, False, False, True))
    monkeypatch.setattr("redolake.airflow.triggers.asyncio.sleep", sleep)

    said = fired(SourceTrigger("shop", "shop_oracle", 1, 5, in_minutes(60)))["because"]

    assert (slept, said) == ([1, 2, 4, 5, 5], "Oracle answers again")


def test_an_outage_fails_the_run_once_at_its_deadline(run, steps):
    steps.answers("plan_next_window", AWAY)
    steps.answers("is_source_back", False)

    states, state = run(retry=Retry(attempts=3, initial_seconds=0.01, max_seconds=0.02), wait_max_minutes=0.001)

    assert (state, states["plan"], states["land"]) == ("failed", "failed", "upstream_failed")
    assert counted(steps, "plan_next_window") == 2  # no retry, although two are left
