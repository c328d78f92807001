"""What the DAGs do when they run, with the steps replaced: task order, early ends, assets, failures."""

import json
from dataclasses import replace
from unittest.mock import Mock

import pytest

from redolake.errors import ConfigurationError, Finding, RedoLost, SourceRefused, SourceUnavailable, TableHeld, plain_lines
from redolake.records.windows import LogIdentity, LogTally, SliceRecord
from redolake.steps.apply.batch import AppliedTable, PreparedBatch, RecordedBatch
from redolake.steps.capture.receive import CapturedWindow
from redolake.steps.capture.windows import AlreadyLanded, LandedWindowReport, PlanOutcome
from redolake.steps.proof.repair import ReadAgain
from redolake.steps.ranges.live import LiveBackfill
from redolake.steps.ranges.range_ends import RangeEnd
from redolake.steps.ranges.shadows import PreparedBackfill, RecordedBackfill
from redolake.steps.ranges.swap import CopiedTable, Copies
from redolake.steps.snapshots.begin import BegunSnapshot
from redolake.steps.snapshots.load import LoadedSnapshot
from redolake.steps.snapshots.read import TableSnapshot
from tests.fixtures.airflow import write_dags
from tests.unit.airflow.conftest import RUNWAY

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]

NAME = "0000000011-00000000000000000100-00000000000000000200"
PLANNED = PlanOutcome("window", "2 logs", NAME, (0, 1))
NOTHING_NEW = PlanOutcome("nothing", "no new sealed log")
LANDED = LandedWindowReport(NAME, 100, 200, 7, "/l/manifest.json", ends_at="2026-11-22T12:00:03+00:00")
BATCH = PreparedBatch("/l/batch.json", "1 window", ("SHOP.ORDERS", "SHOP.ORDER_LINES"), 100, 200)
LOST = RedoLost("Redo Thread 1 is inconsistent", cure="restore sequence 12345, or snapshot again", thread=1, sequence=12345)


@pytest.fixture
def run(settings, steps, monkeypatch, tmp_path):
    """Return `run(build, conf)`, which runs one DAG in this process and returns the states of its tasks."""
    from redolake.airflow import spark

    monkeypatch.setattr(spark, "run_through_connect", lambda pipeline, batch: steps.calls.append(("spark", (batch,), {})))
    pipeline = settings()
    monkeypatch.setenv("REDOLAKE_CONFIG", str(tmp_path / "pipelines.yml"))

    def go(build, conf=None, attempts=1):
        retry = pipeline.retry.model_copy(update={"attempts": attempts})
        ran = build(pipeline.model_copy(update={"retry": retry})).test(run_conf=conf)
        return {(t.task_id, t.map_index): t.state for t in ran.get_task_instances()}, ran

    return go


def always(error):
    """Return a step that raises each time it runs, after its work is done."""

    def step(*_):
        raise error

    return step


def mined(number, *sequences):
    logs = tuple(LogTally(LogIdentity(2, sequence, 11, 100, 200), 3, "hash") for sequence in sequences)
    return SliceRecord(NAME, number, "token", (), (), logs, {}, ())


def names(steps):
    return [name for name, _, _ in steps.calls]


def test_a_window_is_planned_mined_slice_by_slice_and_landed(run, steps):
    from redolake.airflow.capture import capture_dag

    steps.answers("plan_next_window", PLANNED)
    steps.answers("mine_window_slice", lambda window, number: mined(number))
    steps.answers("land_window", LANDED)

    states, _ = run(capture_dag)

    assert set(states.values()) == {"success"}
    assert {("plan", -1), ("mine", 0), ("mine", 1), ("land", -1), ("runway", -1)} == set(states)
    assert steps.calls[-1][1] == (NAME, [mined(0), mined(1)])
    assert len(steps.runs) == len(steps.calls)
    source = steps.runs[0].source
    assert [run.source for run in steps.runs] == [source] * 4
    assert (source.user, source.password, source.dsn) == ("c##reader", "hidden-word", "db.example:1521/FREE")


@pytest.mark.parametrize("landed", [LANDED, None])
def test_a_window_of_a_stream_is_received_in_one_task_which_is_skipped_without_changes(run, steps, landed):
    from redolake.airflow.capture import capture_dag

    def streaming(pipeline):
        stream = {"kind": "openlogreplicator", "address": "host:5000", "database": "DB"}
        return capture_dag(pipeline.model_copy(update={"source": pipeline.source.model_copy(update=stream)}))

    steps.answers("receive_next_window", CapturedWindow(NOTHING_NEW if landed is None else PLANNED, landed))

    states, ran = run(streaming)

    assert states == {("receive", -1): "success" if landed else "skipped", ("runway", -1): "success"}
    assert {name: extra["to_scn"] for name, extra in events(ran).items()} == (
        {"redolake://shop/landing": 200} if landed else {}
    )


def test_the_note_of_a_run_and_the_event_of_the_landing_have_window_scns_and_time(run, steps):
    from redolake.airflow.capture import capture_dag

    steps.answers("plan_next_window", PLANNED)
    steps.answers("mine_window_slice", lambda window, number: mined(number))
    steps.answers("land_window", LANDED)

    _, ran = run(capture_dag)

    assert noted(ran) == "SCN 100 to 199, redo up to 2026-11-22 12:00:03 UTC, 7 rows"
    facts = {"window": NAME, "from_scn": 100, "to_scn": 200, "ends_at": "2026-11-22T12:00:03+00:00"}
    assert events(ran) == {"redolake://shop/landing": facts}


def test_the_logs_of_tasks_have_the_time_beside_the_scn(run, steps, caplog):
    from redolake.airflow.apply import apply_dag
    from redolake.airflow.snapshot import snapshot_dag

    at, shown = "2026-11-22T12:00:03+00:00", "(2026-11-22 12:00:03 UTC)"
    steps.answers("prepare_batch", replace(BATCH, ends_at=at))
    steps.answers("record_batch", RecordedBatch({}, (), 100, 200, ends_at=at))
    steps.answers("begin_snapshot", BegunSnapshot(90, ("SHOP.ORDERS",), replace=False, at=at))
    steps.answers("read_snapshot_table", TableSnapshot("SHOP.ORDERS", 90, 1, at))
    steps.answers("prepare_snapshot_load", "/l/snapshot.json")
    steps.answers("record_snapshot_load", LoadedSnapshot(90, (TableSnapshot("SHOP.ORDERS", 90, 1, at),)))
    caplog.set_level("INFO", "redolake.airflow")

    run(apply_dag)
    _, loaded = run(snapshot_dag)

    said = [record.getMessage() for record in caplog.records if record.name.startswith("redolake.airflow")]
    assert f"commits of SCN [100, 200) {shown}, 1 window: /l/batch.json" in said
    assert "SCN 100 to 199, redo up to 2026-11-22 12:00:03 UTC, 0 rows" in said
    assert f"AS OF SCN 90 {shown}: SHOP.ORDERS" in said
    assert said.count(f"SHOP.ORDERS: 1 rows AS OF SCN 90 {shown}") == 2
    assert noted(loaded) == f"SHOP.ORDERS: 1 rows AS OF SCN 90 {shown}\nSHOP.ORDERS"


def test_a_task_links_to_the_page_the_form_of_recover_and_the_window(run, steps):
    from redolake.airflow.capture import capture_dag

    steps.answers("plan_next_window", PLANNED)
    steps.answers("mine_window_slice", LOST)
    _, failed = run(capture_dag)
    steps.answers("mine_window_slice", lambda window, number: mined(number))
    steps.answers("land_window", LANDED)
    _, good = run(capture_dag)

    page, framed = "/dags/shop_capture/plugin/redolake-dag", "/plugin/redolake/redolake/pipelines/shop"
    window = f"{framed}?before=11-200"
    assert links(failed, "mine") == {"PageLink": page, "RecoverLink": f"{framed}#recover", "WindowLink": window}
    assert links(good, "land") == {"PageLink": page, "WindowLink": window}


def links(ran, task):
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    with create_session() as session:
        found = session.query(XComModel).filter(XComModel.run_id == ran.run_id, XComModel.task_id == task).all()
        return {
            one.key.removeprefix("_link_"): XComModel.deserialize_value(one) for one in found if one.key.startswith("_link_")
        }


def noted(ran):
    """Return the note that the scheduler writes when the run ends."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session

    from redolake.airflow.run_notes import write_note

    with create_session() as session:
        write_note(session.get_one(DagRun, ran.id))
    with create_session() as session:
        return session.get_one(DagRun, ran.id).note


def test_only_a_text_of_a_pipelines_own_dag_becomes_the_note_of_a_run(run, steps, monkeypatch):
    from redolake.airflow import capture

    steps.answers("plan_next_window", PLANNED)
    steps.answers("mine_window_slice", lambda window, number: mined(number))
    steps.answers("land_window", LANDED)
    settings = capture.dag_settings

    def note(left, tags=("redolake", "shop")):
        monkeypatch.setattr(capture, "window_note", lambda *_: left)
        monkeypatch.setattr(capture, "dag_settings", lambda *given: {**settings(*given), "tags": [*tags]})
        return noted(run(capture.capture_dag)[1])

    assert note("x" * 2000) == "x" * 1000
    assert [note(left) for left in ({"a": 1}, 7, ["text"])] == [None] * 3
    assert note("a\x00b\nc") == "a\\x00b\nc"  # PostgreSQL takes no NUL in a text: each flush of the scheduler would fail
    assert note("\U0001f600" * 2000) == "\U0001f600" * 1000
    assert [note(left) for left in (["a", ["b"]], [{"a": "x" * 5000}], ("a", "b"))] == [None] * 3
    assert [note("a text", tags) for tags in ([], ["shop"], ["redolake", "other"])] == [None] * 3


def test_a_mapped_task_is_named_after_the_logs_it_read(run, steps):
    from redolake.airflow.capture import capture_dag

    steps.answers("plan_next_window", PLANNED)
    steps.answers("mine_window_slice", lambda window, number: mined(number, *(7, 8)[: 2 - number]))
    steps.answers("land_window", LANDED)

    _, ran = run(capture_dag)

    called = {t.map_index: t.rendered_map_index for t in ran.get_task_instances() if t.task_id == "mine"}
    assert called == {0: "redo thread 2, logs 7-8", 1: "redo thread 2, log 7"}


def test_a_run_that_is_repeated_after_its_window_landed_keeps_the_names_and_adds_no_rows_to_xcom(run, steps):
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    from redolake.airflow.capture import capture_dag

    steps.answers("plan_next_window", PLANNED)
    steps.answers("mine_window_slice", lambda window, number: AlreadyLanded(number, f"redo thread 2, log {7 + number}"))
    steps.answers("land_window", LANDED)

    _, ran = run(capture_dag)

    called = {t.map_index: t.rendered_map_index for t in ran.get_task_instances() if t.task_id == "mine"}
    assert called == {0: "redo thread 2, log 7", 1: "redo thread 2, log 8"}
    with create_session() as session:
        found = session.query(XComModel).filter(XComModel.run_id == ran.run_id).all()
        rows = sorted((row.task_id, row.key) for row in found if not row.key.startswith("_link_") and row.map_index < 1)
    assert rows == [("land", "note"), ("land", "return_value"), ("mine", "return_value"), ("plan", "return_value")]


def test_without_a_new_log_the_run_succeeds_and_mines_nothing(run, steps):
    from redolake.airflow.capture import capture_dag

    steps.answers("plan_next_window", NOTHING_NEW)

    states, ran = run(capture_dag)

    assert (ran.state, names(steps)) == ("success", ["plan_next_window"])
    assert states["land", -1] == "skipped"


def test_a_short_runway_fails_its_task_and_not_the_run_that_landed(run, steps):
    from redolake.airflow.capture import capture_dag

    steps.answers("plan_next_window", PLANNED)
    steps.answers("mine_window_slice", lambda window, number: mined(number))
    steps.answers("land_window", LANDED)
    finding = Finding("redo thread 1", "log 5 may be deleted in 2 hours", "keep longer", "warning")
    steps.answers("measure_runway", replace(RUNWAY, state="low", summary="2 hours are left", findings=(finding,)))

    states, ran = run(capture_dag, attempts=3)

    assert (ran.state, states["land", -1], states["runway", -1]) == ("success", "success", "failed")
    assert names(steps).count("measure_runway") == 1


def test_runway_is_measured_when_nothing_lands_and_delays_nothing(run, steps):
    from redolake.airflow.capture import capture_dag

    steps.answers("plan_next_window", NOTHING_NEW)
    steps.answers("measure_runway", SourceUnavailable("the listener does not answer", ora_code=12541))

    states, ran = run(capture_dag, attempts=3)

    assert (ran.state, states["plan", -1], states["land", -1], states["runway", -1]) == (
        "success",
        "success",
        "skipped",
        "failed",
    )
    assert names(steps).count("measure_runway") == 1


def test_a_terminal_error_fails_the_run_without_a_retry(run, steps):
    from redolake.airflow.capture import capture_dag

    steps.answers("plan_next_window", LOST)

    _, ran = run(capture_dag, attempts=3)

    assert (ran.state, names(steps)) == ("failed", ["plan_next_window"])
    assert noted(ran) == "\n".join(plain_lines(str(LOST).split("\n")))[:1000], (
        "why, and what to do, without a look into the log"
    )


def test_the_first_line_of_a_note_says_what_is_wrong():
    from airflow.sdk.exceptions import AirflowException

    from redolake.airflow.failures import airflow_failures, why_in_note

    ti = Mock()
    with pytest.raises(AirflowException), why_in_note({"ti": ti}), airflow_failures():
        raise ConfigurationError([Finding("replace", "no table is named", "name it")])

    assert ti.xcom_push.call_args.args == ("note", "replace: no table is named\n    do this: name it")


def test_terminal_errors_are_not_retried_and_transient_ones_are():
    from airflow.sdk.exceptions import AirflowException, AirflowFailException

    from redolake.airflow.failures import airflow_failures

    with pytest.raises(AirflowFailException) as terminal, airflow_failures():
        raise LOST
    with pytest.raises(AirflowException) as transient, airflow_failures():
        raise SourceUnavailable("the listener does not answer", ora_code=12541)

    assert str(LOST) == str(terminal.value)
    for part in ("Redo Thread 1 is inconsistent", "sequence 12345", "do this: restore"):
        assert part in str(terminal.value)
    assert not isinstance(transient.value, AirflowFailException)


def events(ran):
    from airflow.models.asset import AssetEvent
    from airflow.utils.session import create_session

    with create_session() as session:
        found = session.query(AssetEvent).filter(AssetEvent.source_run_id == ran.run_id).all()
        return {event.uri: event.extra for event in found}


def test_only_tables_that_advanced_publish_an_event_and_a_held_one_fails_the_run(run, steps):
    from redolake.airflow.apply import apply_dag

    tables = {
        "SHOP.ORDERS": AppliedTable("applied", 199, inserted=1, updated=0, deleted=0),
        "SHOP.ORDER_LINES": AppliedTable("held", 149, inserted=0, updated=0, deleted=0),
    }
    result = RecordedBatch(tables, ("SHOP.ORDER_LINES",), 100, 200)
    steps.answers("prepare_batch", BATCH)
    held = TableHeld([Finding("SHOP.ORDER_LINES", "column X is absent", "snapshot it")], result)
    steps.answers("record_batch", always(held))

    states, ran = run(apply_dag)

    assert names(steps) == ["prepare_batch", "spark", "record_batch"]
    assert {uri: {k: v for k, v in extra.items() if k == "complete_to_scn"} for uri, extra in events(ran).items()} == {
        "redolake://shop/SHOP.ORDERS": {"complete_to_scn": 199}
    }
    assert (states["record", -1], states["check", -1], ran.state) == ("success", "failed", "failed")


@pytest.mark.parametrize("more", [True, False])
def test_apply_runs_again_at_once_where_landed_windows_wait_for_another_batch(run, steps, more):
    from redolake.airflow.apply import apply_dag

    steps.answers("prepare_batch", BATCH)
    done = AppliedTable("applied", 199, inserted=1, updated=0, deleted=0)
    steps.answers("record_batch", RecordedBatch({"SHOP.ORDERS": done}, (), 100, 200, more))

    _, ran = run(apply_dag)

    landing = {uri: extra for uri, extra in events(ran).items() if uri == "redolake://shop/landing"}
    assert [extra["waiting_from"] for extra in landing.values()] == ([200] if more else [])


def test_the_event_of_an_older_batch_that_is_recorded_again_has_the_present_scn(run, steps):
    from redolake.airflow.apply import apply_dag

    steps.answers("prepare_batch", BATCH)
    older = AppliedTable("applied", 150, inserted=1, updated=0, deleted=0)
    steps.answers("record_batch", RecordedBatch({"SHOP.ORDERS": older}, (), 100, 151))

    _, ran = run(apply_dag)

    extra = {"complete_to_scn": 199, "batch_from_scn": 100, "batch_to_scn": 151, "batch_ends_at": None}
    assert events(ran) == {"redolake://shop/SHOP.ORDERS": extra}
    assert noted(ran) == "SCN 100 to 150, 1 row"


def test_apply_with_nothing_landed_starts_no_spark(run, steps):
    from redolake.airflow.apply import apply_dag

    steps.answers("prepare_batch", PreparedBatch(None, "every landed window is applied"))

    _, ran = run(apply_dag)

    assert (ran.state, names(steps)) == ("success", ["prepare_batch"])


def test_a_snapshot_loads_each_table_with_the_scn_that_its_read_returned(run, steps):
    from redolake.airflow.snapshot import snapshot_dag

    steps.answers("begin_snapshot", BegunSnapshot(90, ("SHOP.ORDERS", "SHOP.ORDER_LINES"), replace=False))
    steps.answers("read_snapshot_table", lambda scn, table: TableSnapshot(table, scn + ("LINES" in table), 1))
    steps.answers("prepare_snapshot_load", "/l/snapshot.json")
    steps.answers("record_snapshot_load", LoadedSnapshot(90, ()))

    _, ran = run(snapshot_dag)

    read = sorted(args for name, args, _ in steps.calls if name == "read_snapshot_table")
    (loaded,) = (args for name, args, _ in steps.calls if name == "prepare_snapshot_load")
    assert read == [(90, "SHOP.ORDERS"), (90, "SHOP.ORDER_LINES")]
    assert loaded == ({"SHOP.ORDERS": 90, "SHOP.ORDER_LINES": 91},)
    assert names(steps)[-3:] == ["prepare_snapshot_load", "spark", "record_snapshot_load"]
    assert ran.state == "success"


def test_a_table_in_chunks_is_read_by_a_task_for_each_session_and_loaded_once(run, steps):
    """The worker that ends last sees all chunks."""
    from redolake.airflow.snapshot import snapshot_dag

    steps.answers("begin_snapshot", BegunSnapshot(90, ("SHOP.ORDERS",), replace=False, chunks=(("SHOP.ORDERS", 3),)))
    ended = []

    def read(scn, table):
        ended.append(table)
        return TableSnapshot(table, scn, 7, complete=len(ended) == 3)

    steps.answers("read_snapshot_table", read)
    steps.answers("prepare_snapshot_load", "/l/snapshot.json")
    steps.answers("record_snapshot_load", LoadedSnapshot(90, ()))

    _, ran = run(snapshot_dag)

    workers = sorted(more["worker"] for name, _, more in steps.calls if name == "read_snapshot_table")
    assert workers == [(0, 3), (1, 3), (2, 3)]
    assert [args[0] for name, args, _ in steps.calls if name == "prepare_snapshot_load"] == [{"SHOP.ORDERS": 90}]
    assert ran.state == "success"


def test_a_table_that_cannot_be_captured_fails_the_run_after_the_others_are_loaded(run, steps):
    from redolake.airflow.snapshot import snapshot_dag

    held = (Finding("SHOP.ORDER_LINES", "has no key", "declare one"),)
    steps.answers("begin_snapshot", BegunSnapshot(90, ("SHOP.ORDERS",), replace=False, held=held))
    steps.answers("read_snapshot_table", lambda scn, table: TableSnapshot(table, scn, 1))
    steps.answers("prepare_snapshot_load", "/l/snapshot.json")
    steps.answers("record_snapshot_load", LoadedSnapshot(90, ()))

    states, ran = run(snapshot_dag)

    assert (states["record", -1], states["check", -1], ran.state) == ("success", "failed", "failed")
    assert names(steps)[-1] == "record_snapshot_load"


def test_a_table_that_cannot_be_read_does_not_stop_the_others_of_a_snapshot(run, steps):
    from redolake.airflow.snapshot import snapshot_dag

    def read(scn, table):
        if table == "SHOP.ORDERS":
            raise SourceRefused("table or view does not exist", cure="grant it", table=table)
        return TableSnapshot(table, scn, 1)

    steps.answers("begin_snapshot", BegunSnapshot(90, ("SHOP.ORDERS", "SHOP.ORDER_LINES"), replace=False))
    steps.answers("read_snapshot_table", read)
    steps.answers("prepare_snapshot_load", "/l/snapshot.json")
    steps.answers("record_snapshot_load", LoadedSnapshot(90, ()))

    states, ran = run(snapshot_dag)

    assert sorted(states["read", number] for number in (0, 1)) == ["failed", "success"]
    assert [args[0] for name, args, _ in steps.calls if name == "prepare_snapshot_load"] == [{"SHOP.ORDER_LINES": 90}]
    assert (states["record", -1], states["check", -1], ran.state) == ("success", "failed", "failed")


@pytest.mark.parametrize(
    ("dry_run", "expected"), [(True, ["prepare_backfill"]), (False, ["prepare_backfill", "spark", "record_backfill"])]
)
def test_a_backfill_runs_spark_only_without_dry_run(run, steps, dry_run, expected):
    from redolake.airflow.backfill import backfill_dag

    steps.answers("prepare_backfill", PreparedBackfill("3 windows", None if dry_run else "/l/backfill.json", ("SHOP.ORDERS",)))
    steps.answers("record_backfill", RecordedBackfill(200, ()))

    _, ran = run(
        backfill_dag, {"from_scn": 100, "to_scn": 200, "tables": ["SHOP.ORDERS"], "dry_run": dry_run, "schema": "historic"}
    )

    assert ("success", expected) == (ran.state, names(steps))
    assert noted(ran).splitlines()[-1] == "3 windows", "a dry run answers in its note"
    assert (100, 200, ["SHOP.ORDERS"], dry_run, "historic", None) == steps.calls[0][1][:6]


def test_a_backfill_from_logs_reads_the_files_that_are_named(run, steps):
    from redolake.airflow.backfill import backfill_dag

    steps.answers("prepare_backfill", PreparedBackfill("3 windows", None, ("SHOP.ORDERS",)))

    _, ran = run(
        backfill_dag,
        {
            "from_scn": "100",
            "to_scn": "200",
            "from_logs": True,
            "logs": ["/restored", " ", "/a.arc "],
            "target": "files",
            "folder": "/out",
        },
    )

    given, *into = steps.calls[0][1][5], *steps.calls[0][1][6:]
    assert into == ["files", "/out"]
    assert (ran.state, given.logs, given.source.dsn) == ("success", ("/restored", "/a.arc"), steps.runs[0].source.dsn)


@pytest.mark.parametrize(
    ("dry_run", "why_not", "state"), [(True, "", "success"), (False, "", "success"), (False, "a DDL", "failed")]
)
def test_a_backfill_into_live_tables_fails_while_one_stays_as_it_is(run, steps, dry_run, why_not, state):
    from redolake.airflow.backfill import backfill_dag

    ends = RangeEnd("100", 100), RangeEnd("200", 200)
    table = ReadAgain("SHOP.ORDERS", equal=not why_not, why_not=why_not)
    steps.answers("backfill_live", LiveBackfill("shop", *ends, tables=(table,)))

    chosen = {"from_scn": 100, "to_scn": 200, "tables": ["SHOP.ORDERS"], "target": "live", "reason": "a bug"}
    _, ran = run(backfill_dag, {**chosen, "dry_run": dry_run})

    ((name, positional, asked),) = steps.calls
    assert (name, positional, ran.state) == ("backfill_live", (100, 200, ["SHOP.ORDERS"]), state)
    (one,) = steps.runs
    assert (one.execute, one.reason, asked["from_logs"]) == (not dry_run, "a bug", None)


@pytest.mark.parametrize(("form", "state"), [({"dry_run": True}, "success"), ({}, "success"), ({"from_logs": True}, "failed")])
def test_whole_copies_are_made_in_one_task_from_what_has_landed(run, steps, form, state):
    from redolake.airflow.backfill import backfill_dag

    steps.answers("copy_tables", Copies("100-200-copy", 1, (CopiedTable("SHOP.ORDERS", "/lake/copy", 3, 99, 199),)))
    chosen = {"from_scn": 100, "to_scn": "now", "tables": ["SHOP.ORDERS"], "target": "copy", "dry_run": False}
    states, ran = run(backfill_dag, {**chosen, **form})

    assert (ran.state, states["record", -1]) == (state, "skipped" if state == "success" else "upstream_failed")
    made = [(name, given, one.execute) for (name, given, _), one in zip(steps.calls, steps.runs, strict=True)]
    wanted = ("copy_tables", (100, "now", ["SHOP.ORDERS"]), not form.get("dry_run"))
    assert made == ([wanted] if state == "success" else [])


def test_no_secret_travels_between_tasks(run, steps):
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    from redolake.airflow.capture import capture_dag

    steps.answers("plan_next_window", PLANNED)
    steps.answers("mine_window_slice", lambda window, number: mined(number))
    steps.answers("land_window", LANDED)
    _, ran = run(capture_dag)

    with create_session() as session:
        values = [row.value for row in session.query(XComModel).filter(XComModel.run_id == ran.run_id)]
    assert values
    assert "hidden-word" not in json.dumps(values, default=str)


@pytest.fixture
def two_at_most(monkeypatch):
    monkeypatch.setenv("AIRFLOW__CORE__MAX_MAP_LENGTH", "2")


@pytest.mark.usefixtures("two_at_most")
def test_more_slices_than_airflow_may_map_are_mined_in_groups(run, steps):
    from redolake.airflow.capture import capture_dag

    steps.answers("plan_next_window", replace(PLANNED, slices=(0, 1, 2, 3, 4)))
    steps.answers("mine_window_slice", lambda window, number: mined(number, 7 + number))
    steps.answers("land_window", LANDED)

    states, ran = run(capture_dag)

    assert (ran.state, [key for key in states if key[0] == "mine"]) == ("success", [("mine", 0), ("mine", 1)])
    landed = next(args for name, args, _ in steps.calls if name == "land_window")
    assert landed[1] == [mined(number, 7 + number) for number in range(5)]
    called = {t.map_index: t.rendered_map_index for t in ran.get_task_instances() if t.task_id == "mine"}
    assert called == {0: "redo thread 2, log 7 and 1 more", 1: "redo thread 2, log 9 and 2 more"}


MANY = ("SHOP.A", "SHOP.B", "SHOP.C", "SHOP.D", "SHOP.E")


def read_but(steps, *errors):
    """Let a snapshot of five tables begin. SHOP.D raises these errors, one for each time that it is read, before it is read."""
    left = list(errors)

    def read(scn, table):
        if table == "SHOP.D" and left:
            raise left.pop(0)
        return TableSnapshot(table, scn, 1)

    steps.answers("begin_snapshot", BegunSnapshot(90, MANY, replace=False))
    steps.answers("read_snapshot_table", read)
    steps.answers("prepare_snapshot_load", "/l/snapshot.json")
    steps.answers("record_snapshot_load", LoadedSnapshot(90, ()))


REFUSED = SourceRefused("table or view does not exist", cure="grant it", table="SHOP.D")
AWAY = SourceUnavailable("the listener does not answer", ora_code=12541)


@pytest.mark.usefixtures("two_at_most")
@pytest.mark.parametrize(
    ("errors", "attempts", "loaded", "state"),
    [
        ((), 1, MANY, "success"),
        ((REFUSED,), 1, ("SHOP.A", "SHOP.B", "SHOP.C", "SHOP.E"), "failed"),
        ((AWAY,), 2, MANY, "success"),
        ((AWAY, AWAY), 2, ("SHOP.A", "SHOP.B", "SHOP.C", "SHOP.E"), "failed"),
    ],
    ids=["all are read", "one is refused", "one is read by the second try", "one is not read by the last try"],
)
def test_more_tables_than_airflow_may_map_are_read_in_groups(run, steps, errors, attempts, loaded, state):
    from redolake.airflow.snapshot import snapshot_dag

    read_but(steps, *errors)

    states, ran = run(snapshot_dag, attempts=attempts)

    assert [key for key in states if key[0] == "read"] == [("read", 0), ("read", 1)]
    assert [args[0] for name, args, _ in steps.calls if name == "prepare_snapshot_load"] == [dict.fromkeys(loaded, 90)]
    assert (states["record", -1], ran.state) == ("success", state)
    called = {t.map_index: t.rendered_map_index for t in ran.get_task_instances() if t.task_id == "read"}
    assert called == {0: "SHOP.A and 1 more", 1: "SHOP.C and 2 more"}


@pytest.mark.usefixtures("two_at_most")
def test_more_held_tables_than_airflow_may_map_are_snapshotted_again_in_groups(settings, steps):
    from redolake.airflow.apply import apply_dag

    pipeline = settings()
    policies = pipeline.on_ddl.model_copy(update={"unknown_ddl": "resnapshot"})
    steps.answers("begin_resnapshots", MANY)

    found = apply_dag(pipeline.model_copy(update={"on_ddl": policies})).get_task("held_tables").python_callable()

    assert [one["tables"] for one in found] == [["SHOP.A", "SHOP.B"], ["SHOP.C", "SHOP.D", "SHOP.E"]]


def test_a_backfill_by_date_starts_no_run_of_any_dag(settings, monkeypatch, tmp_path):
    from datetime import UTC, datetime

    from airflow.models.backfill import DagRunTypeNotAllowed, ReprocessBehavior, _create_backfill
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session

    settings()
    text = (tmp_path / "pipelines.yml").read_text()
    (tmp_path / "pipelines.yml").write_text(f"{text}    verify_schedule: '@daily'\n")
    monkeypatch.setenv("REDOLAKE_CONFIG", str(tmp_path / "pipelines.yml"))
    write_dags()

    for part in ("capture", "apply", "verify"):
        with pytest.raises(DagRunTypeNotAllowed):
            _create_backfill(
                dag_id=f"shop_{part}",
                from_date=datetime(2026, 11, 1, tzinfo=UTC),
                to_date=datetime(2026, 11, 2, tzinfo=UTC),
                max_active_runs=10,
                reverse=False,
                dag_run_conf={},
                reprocess_behavior=ReprocessBehavior.NONE,
                triggering_user_name="somebody",
            )
    with create_session() as session:
        assert session.query(DagRun).filter(DagRun.run_type == "backfill").count() == 0
