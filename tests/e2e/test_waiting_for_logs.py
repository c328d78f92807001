"""An archiver that lags: the run waits without a worker and mines when the log arrives; an overdue log fails the run."""

import pytest
import yaml

from redolake import steps
from redolake.context import Run
from redolake.land import layout
from redolake.records.handover import FirstPosition
from redolake.steps import run as run_steps
from redolake.values.redo import Encoding

pytestmark = pytest.mark.airflow


@pytest.fixture
def pipeline(shop, monkeypatch, airflow_db):
    """A pipeline positioned after the CREATE TABLE, as a snapshot would leave it."""
    from redolake.config import load_pipeline

    shop.run_sql(
        "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))",
        "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    )
    shop.switch_logs()
    settings = {
        "source": {"connection": "waiting_oracle", "container": "FREEPDB1"},
        "landing": str(shop.folder / "landing"),
        "lake": str(shop.folder / "lake"),
        "schedule": None,
        "wait_max_pause_seconds": 0.05,
        "retry": {"attempts": 3, "initial_seconds": 0.1, "max_seconds": 0.1},
        "tables": ["SHOP.PARTS"],
    }
    file = shop.folder / "pipelines.yml"
    file.write_text(yaml.safe_dump({"pipelines": {"parts": settings}}))
    oracle = shop.params.dsn.replace("//", "")
    uri = f"oracle://{shop.params.user.replace('#', '%23')}:{shop.params.password}@{oracle}"
    monkeypatch.setenv("REDOLAKE_CONFIG", str(file))
    monkeypatch.setenv("AIRFLOW_CONN_WAITING_ORACLE", uri)
    made = load_pipeline("parts", file)
    state = shop.oracle.database.state
    with Run(made) as context:
        scn = shop.oracle.database.clock.scn
        start = FirstPosition(state.dbid, state.incarnation.resetlogs_id, scn, Encoding(), shop.container())
        context.landing.files.write_record_once(layout.HANDOVER, start)
    return made


@pytest.fixture
def lagging(shop, pipeline):
    """Write rows on thread 1 while the archiver of thread 2 lags: nothing can be mined although thread 1 is archived."""
    shop.oracle.faults.lag_archiver(thread=2)
    shop.run_sql("INSERT INTO parts VALUES (1, 'shelf')", "INSERT INTO parts VALUES (2, 'floor')")
    shop.switch_logs()
    return shop


def run_capture(pipeline, **changes):
    from redolake.airflow.capture import capture_dag

    ran = capture_dag(pipeline.model_copy(update=changes)).test()
    return str(ran.state), {t.task_id: str(t.state) for t in ran.get_task_instances()}


@pytest.fixture
def checks(monkeypatch, lagging):
    """Record the answer of each check; the archiver catches up after the second one."""
    answers, check = [], steps.is_still_awaited

    def counted(*args):
        answers.append(check(*args))
        if len(answers) == 2:
            lagging.oracle.faults.catch_up_archiver(thread=2)
        return answers[-1]

    monkeypatch.setattr(steps, "is_still_awaited", counted)
    monkeypatch.setattr("redolake.steps.shared.wait.is_still_awaited", counted)
    return answers


def test_a_run_with_a_lagging_archiver_is_deferred_and_then_mines_and_lands(pipeline, checks):
    state, tasks = run_capture(pipeline)

    assert (state, tasks["plan"], tasks["land"]) == ("success", "success", "success")
    assert checks == [True, True, False]
    (window,) = steps.list_windows(pipeline, 10)
    assert (window.rows > 0, steps.plan_next_window(pipeline).outcome) == (True, "nothing")


def test_an_overdue_log_fails_the_run_and_the_next_one_mines_it(pipeline, lagging):
    state, tasks = run_capture(pipeline, wait_max_minutes=0.005)

    assert (state, tasks["plan"], tasks["mine"], tasks["land"]) == ("failed", "failed", "upstream_failed", "upstream_failed")
    assert steps.list_windows(pipeline, 10) == []

    lagging.oracle.faults.catch_up_archiver(thread=2)
    assert run_capture(pipeline)[0] == "success"
    assert len(steps.list_windows(pipeline, 10)) == 1


def test_the_terminal_waits_with_the_option_wait(pipeline, checks, monkeypatch):
    """Run `redolake run --wait`, without the Spark that a snapshot would need."""
    monkeypatch.setattr(run_steps, "first_contents", lambda *_: None)
    monkeypatch.setattr(run_steps, "apply", lambda *_: False)
    lines = []

    once = steps.run_pipeline(pipeline)
    waited = steps.run_pipeline(pipeline, wait=True, report=lines.append)

    assert (once.outcome, once.windows) == ("wait", 0)
    assert "redo thread 2" in once.reason
    assert (waited.windows, checks) == (1, [True, True, False])
    assert any(line.startswith("waiting for the archived log with sequence") for line in lines)
