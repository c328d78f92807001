"""What a user sees after putting pipelines.yml beside dags/: DAGs, forms, texts, import errors."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.airflow
DAG_FILE = Path(__file__).parents[3] / "dags" / "redolake_dags.py"
HEAVY = ("pyspark", "oracledb", "pyarrow", "duckdb", "pandas", "numpy", "sqlglot")
BUILDS = (
    "capture",
    "apply",
    "snapshot",
    "backfill",
    "verify",
    "doctor",
    "mend",
    "recover",
    "maintain",
)


def bag(monkeypatch, folder, text):
    from airflow.dag_processing.dagbag import DagBag

    (folder / "pipelines.yml").write_text(text)
    monkeypatch.setenv("REDOLAKE_CONFIG", str(folder / "pipelines.yml"))
    return DagBag(str(DAG_FILE))


@pytest.fixture
def dags(settings, monkeypatch, tmp_path):
    from redolake.airflow.factory import build_dags

    settings()
    monkeypatch.setenv("REDOLAKE_CONFIG", str(tmp_path / "pipelines.yml"))
    return build_dags(DAG_FILE)


def edges(dag):
    return {(task.task_id, below) for task in dag.tasks for below in task.downstream_task_ids}


def test_parsing_the_dag_file_loads_no_heavy_module(settings, tmp_path):
    settings("submit")
    code = (
        f"import runpy, sys; found = runpy.run_path({str(DAG_FILE)!r}); "
        f"import json; print(json.dumps([sorted(k for k in found if k.startswith('shop_')), "
        f"[m for m in {HEAVY!r} if m in sys.modules]]))"
    )
    env = dict(os.environ, REDOLAKE_CONFIG=str(tmp_path / "pipelines.yml"))

    answer = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, timeout=60)

    assert [sorted(f"shop_{part}" for part in BUILDS), []] == json.loads(answer.stdout.splitlines()[-1])


def test_every_pipeline_becomes_nine_dags_that_airflow_imports_without_errors(settings, monkeypatch, tmp_path, airflow_db):
    settings("submit")

    found = bag(monkeypatch, tmp_path, (tmp_path / "pipelines.yml").read_text())

    assert found.import_errors == {}
    assert {f"shop_{part}" for part in BUILDS} == set(found.dags)


def test_a_broken_pipelines_file_is_one_import_error_with_all_findings(monkeypatch, tmp_path, airflow_db):
    found = bag(monkeypatch, tmp_path, "pipelines: {shop: {source: {connection: x}, lake: /lake, tables: [ORDERS], typo: 1}}")

    (error,) = found.import_errors.values()
    for part in ("pipelines.shop.landing", "pipelines.shop.typo", "pipelines.shop.tables[0]", "do this"):
        assert part in error


def test_one_wrong_pipeline_leaves_the_dags_of_the_others(settings, monkeypatch, tmp_path, airflow_db):
    settings("submit")
    text = (tmp_path / "pipelines.yml").read_text() + "  broken: {source: {connection: x}, lake: /other, tables: [ORDERS]}\n"

    found = bag(monkeypatch, tmp_path, text)

    assert found.import_errors == {}
    assert {f"shop_{part}" for part in BUILDS} | {"broken_misconfigured"} == set(found.dags)
    for part in ("pipelines.broken.landing", "pipelines.broken.tables[0]"):
        assert part in found.dags["broken_misconfigured"].doc_md


def with_pipelines(tmp_path, monkeypatch, *names):
    """Write pipelines.yml with copies of `shop` and with `broken`, which cannot be built."""
    shop = (tmp_path / "pipelines.yml").read_text().split("  shop:\n")[1]
    bodies = [f"  {name}:\n{shop.replace(str(tmp_path), f'{tmp_path}/{name}')}" for name in names]
    (tmp_path / "pipelines.yml").write_text("pipelines:\n" + "".join(bodies) + "  broken: {lake: /other, tables: [ORDERS]}\n")
    monkeypatch.setenv("REDOLAKE_CONFIG", str(tmp_path / "pipelines.yml"))


def built(*names):
    from redolake.airflow.factory import build_dags

    return {
        dag.removesuffix(f"_{part}")
        for dag in build_dags(DAG_FILE, *names)
        for part in ("capture", "misconfigured")
        if dag.endswith(part)
    }


def test_many_pipelines_are_divided_over_dag_files_by_their_names(settings, monkeypatch, tmp_path):
    from redolake.errors import ConfigurationError

    settings("submit")
    with_pipelines(tmp_path, monkeypatch, "eu_shop", "eu_crm", "us_shop")

    assert built() == {"eu_shop", "eu_crm", "us_shop", "broken"}
    assert built("eu_*") == {"eu_shop", "eu_crm"}
    assert built("us_shop", "b*") == {"us_shop", "broken"}
    with pytest.raises(ConfigurationError, match=r"has no pipeline ap_\*, which .*redolake_dags\.py builds"):
        built("eu_*", "ap_*")


@pytest.mark.parametrize(
    ("wanted", "expected"), [("eu_crm_apply", {"eu_crm"}), ("broken_misconfigured", {"broken"}), ("eu_x", set())]
)
def test_a_tasks_process_builds_the_dags_of_its_own_pipeline_alone(settings, monkeypatch, tmp_path, wanted, expected):
    settings("submit")
    with_pipelines(tmp_path, monkeypatch, "eu_shop", "eu_crm")
    monkeypatch.setenv("_AIRFLOW_PARSING_CONTEXT_DAG_ID", wanted)  # Airflow's own context manager never takes it away

    assert built() == expected


def test_an_invalid_schedule_is_reported_with_its_place(settings):
    from redolake.airflow.schedule import capture_schedule
    from redolake.errors import ConfigurationError

    wrong = settings().model_copy(update={"schedule": "now and then"})

    with pytest.raises(ConfigurationError, match=r"pipelines\.shop\.schedule.*now and then"):
        capture_schedule(wrong)


@pytest.mark.parametrize(("schedule", "seconds"), [("every 10s", 10), ("every 2 minutes", 120), ("every 1h", 3600)])
def test_intervals_shorter_than_a_minute_are_accepted(schedule, seconds):
    from redolake.airflow.schedule import interval_of

    assert seconds == interval_of(schedule).total_seconds()


@pytest.mark.parametrize(
    ("part", "arrows"),
    [
        ("capture", {("plan", "mine"), ("plan", "land"), ("mine", "land")}),
        ("apply", {("prepare", "spark"), ("prepare", "record"), ("spark", "record"), ("record", "check")}),
        (
            "snapshot",
            {("begin", "read"), ("begin", "prepare"), ("read", "prepare"), ("prepare", "spark"), ("spark", "record")}
            | {("prepare", "record"), ("begin", "record"), ("record", "check")},
        ),
        ("backfill", {("prepare", "spark"), ("prepare", "record"), ("spark", "record")}),
        ("recover", {("approve", "decide"), ("decide", "snapshot")}),
    ],
)
@pytest.mark.parametrize("mode", ["submit", "connect"])
def test_tasks_follow_each_other_in_the_order_of_the_data(settings, monkeypatch, tmp_path, part, arrows, mode):
    from redolake.airflow import factory

    settings(mode)
    monkeypatch.setenv("REDOLAKE_CONFIG", str(tmp_path / "pipelines.yml"))

    assert arrows == edges(factory.build_dags(DAG_FILE)[f"shop_{part}"])


def test_tables_that_join_by_a_pattern_get_their_snapshot_after_the_window_that_has_them(settings):
    from redolake.airflow.capture import capture_dag
    from redolake.airflow.snapshot import snapshot_dag
    from redolake.config import Pipeline

    body = settings().model_dump(exclude={"tables", "matches"}, exclude_unset=True)
    joining = Pipeline.model_validate({**body, "tables": ["SHOP.*"], "new_tables": "capture"})

    added = edges(capture_dag(joining)) - edges(capture_dag(settings()))

    assert added == {("land", "new_tables"), ("new_tables", "snapshot")}
    assert snapshot_dag(joining).params.get_param("tables").schema["items"] == {"type": "string"}
    assert edges(capture_dag(joining.model_copy(update={"new_tables": "announce"}))) == edges(capture_dag(settings()))


def test_held_tables_are_snapshotted_beside_the_batches_if_a_policy_says_so(settings):
    from redolake.airflow.apply import apply_dag
    from redolake.config.on_ddl import OnDdl

    with_policy = settings().model_copy(update={"on_ddl": OnDdl(recreate="resnapshot")})

    assert edges(apply_dag(with_policy)) - edges(apply_dag(settings())) == {("held_tables", "snapshot")}


def test_dags_run_one_at_a_time_and_retry_as_configured(dags):
    for dag in dags.values():
        assert (dag.max_active_runs, dag.catchup) == (1, False)
        for task in dag.tasks:
            assert (
                task.retries,
                task.retry_exponential_backoff,
                task.retry_delay.total_seconds(),
                task.max_retry_delay.total_seconds(),
            ) == (
                0 if task.task_id in ("runway", "verify", "mend", "doctor") else 2,
                2.0,
                1.0,
                60.0,
            )


def test_a_backfill_waits_behind_the_stream_where_a_pool_is_full(dags):
    weights = {part: {task.priority_weight for task in dags[f"shop_{part}"].tasks} for part in ("backfill", "capture", "apply")}

    assert weights == {"backfill": {0}, "capture": {1}, "apply": {1}}


def test_a_result_is_one_value_unless_another_task_needs_one_key_of_it(dags):
    split = {
        (dag.dag_id, task.task_id) for dag in dags.values() for task in dag.tasks if getattr(task, "multiple_outputs", False)
    }
    mapped = {
        (dag.dag_id, task.task_id)
        for dag in dags.values()
        for task in dag.tasks
        if getattr(task, "partial_kwargs", {}).get("multiple_outputs")
    }

    assert split == {(f"shop_{part}", "prepare") for part in ("apply", "snapshot", "backfill", "maintain")}
    assert mapped == set()


def test_owner_tags_pool_and_queue_are_those_of_the_pipeline(settings):
    from redolake.airflow.capture import capture_dag
    from redolake.airflow.mend import mend_dag
    from redolake.config import AirflowSettings

    chosen = AirflowSettings(owner="finance", tags=["gold"], pool="oracle", queue="near")
    dag = capture_dag(settings().model_copy(update={"airflow": chosen}))

    assert {"redolake", "shop", "gold", "runs by itself"} == set(dag.tags)
    assert {("finance", "oracle", "near")} == {(task.owner, task.pool, task.queue) for task in dag.tasks}
    assert "by hand" in mend_dag(settings()).tags
    assert dag.description == "Reads the redo of shop and lands it; shop_backfill applies an old range again"


def test_apply_is_started_by_the_landing_and_by_time(dags):
    (outlet,) = dags["shop_capture"].get_task("land").outlets
    (alias,) = dags["shop_apply"].get_task("record").outlets
    schedule = dags["shop_apply"].timetable

    assert (outlet.group, alias.group) == ("redolake.shop", "redolake.shop")
    assert schedule.asset_condition == outlet
    assert schedule.timetable.expression == "*/5 * * * *"


def test_every_dag_and_task_has_a_description_and_none_shows_a_secret(dags, ledger_password):
    from airflow.serialization.serialized_objects import DagSerialization

    for dag in dags.values():
        body = DagSerialization.to_dict(dag)
        assert "SHOP.ORDER_LINES" in dag.doc_md
        assert all(task.doc_md for task in dag.tasks)
        assert ledger_password not in json.dumps(body, default=str)
        assert set(dag.task_ids) == set(DagSerialization.from_dict(body).task_ids)


def test_the_backfill_form_takes_moments_and_known_tables_and_defaults_to_a_dry_run(dags):
    from airflow.sdk.exceptions import ParamValidationError

    params = dags["shop_backfill"].params

    assert params["dry_run"] is True
    assert params["tables"] == []
    for name, wrong in (
        ("from_scn", "yesterday"),
        ("from_scn", -1),
        ("to_scn", 1.5),
        ("to_scn", "1.5"),
        ("tables", ["SHOP.X"]),
    ):
        with pytest.raises((ParamValidationError, ValueError)):
            dags["shop_backfill"].params.get_param(name).resolve(wrong)


def test_each_form_can_be_submitted_as_it_opens_but_for_what_only_a_person_knows(dags):
    """Airflow's form counts an empty text as missing, and disables Trigger, unless the field's type allows null."""
    missing = []
    for dag in dags.values():
        for name in dag.params:
            field = dag.params.get_param(name)
            value = field.resolve(suppress_exception=True)
            if value in (None, "") and "null" not in field.schema["type"]:
                missing.append((dag.dag_id, name))

    assert missing == [
        ("shop_backfill", "from_scn"),
        ("shop_backfill", "to_scn"),
    ]
