"""Whom Airflow notifies: as pipelines.yml says; a mistake there is shown for its pipeline only."""

from __future__ import annotations

import pytest
import yaml

from redolake.config import Pipeline, parse_configuration
from redolake.errors import ConfigurationError
from tests.unit.airflow.test_dag_runs import LOST

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_db")]

PATH = "tests.support.notifier.FileNotifier"


def notified(settings, **airflow):
    """Return the pipeline with these settings of Airflow."""
    body = settings().model_dump(exclude={"matches"}, exclude_unset=True)
    return Pipeline.model_validate({**body, "airflow": airflow})


def file_notifier(tmp_path, text):
    return {"notifier": PATH, "file": str(tmp_path / "notices"), "text": text}


def test_a_task_that_fails_notifies_with_its_error(settings, steps, tmp_path, monkeypatch):
    from redolake.airflow.capture import capture_dag

    steps.answers("plan_next_window", LOST)
    monkeypatch.setenv("REDOLAKE_CONFIG", str(tmp_path / "pipelines.yml"))
    chosen = [file_notifier(tmp_path, "{{ ti.dag_id }}.{{ ti.task_id }}: {{ exception }}")]

    capture_dag(notified(settings, on_failure=chosen)).test()

    first, *_ = (tmp_path / "notices").read_text().splitlines()
    assert first == f"shop_capture.plan: {str(LOST).splitlines()[0]}"


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ({"notifier": "no.such.Module"}, "No module named 'no'"),
        ({"notifier": "pathlib.Path"}, "it is no subclass of BaseNotifier"),
        ({"notifier": PATH, "where": "x"}, "unexpected keyword argument 'where'"),
    ],
    ids=["unknown module", "another class", "wrong argument"],
)
def test_a_wrong_notifier_is_shown_in_place_of_its_pipelines_dags_and_leaves_the_others(
    settings, monkeypatch, tmp_path, setting, why
):
    from redolake.airflow.factory import BUILDERS, build_dags

    settings()
    file = tmp_path / "pipelines.yml"
    body = yaml.safe_load(file.read_text())["pipelines"]["shop"]
    other = {**body, "landing": f"{tmp_path}/other", "lake": f"{tmp_path}/other-lake", "airflow": {"on_failure": [setting]}}
    file.write_text(yaml.safe_dump({"pipelines": {"shop": body, "other": other}}))
    monkeypatch.setenv("REDOLAKE_CONFIG", str(file))

    dags = build_dags(tmp_path / "redolake_dags.py")

    assert [dag for dag in dags if dag.startswith("other")] == ["other_misconfigured"]
    assert len([dag for dag in dags if dag.startswith("shop")]) == len(BUILDERS)
    for part in ("pipelines.other.airflow.on_failure[0]", why, "do this"):
        assert part in dags["other_misconfigured"].doc_md


def test_a_deadline_is_kept_with_names_only_and_needs_somebody_to_notify(settings, tmp_path):
    from redolake.airflow.apply import apply_dag
    from redolake.airflow.snapshot import snapshot_dag

    chosen = notified(settings, deadline_minutes=5, on_deadline=[file_notifier(tmp_path, "a secret")])
    (deadline,) = apply_dag(chosen).deadline

    assert (deadline.interval.total_seconds(), deadline.callback.kwargs) == (300, {"pipeline": "shop"})
    assert not snapshot_dag(chosen).deadline
    places = f"landing: {tmp_path}/a, lake: {tmp_path}/b"
    text = f"pipelines: {{shop: {{source: {{connection: x}}, {places}, tables: [S.T], airflow: %s}}}}"
    with pytest.raises(ConfigurationError, match="`deadline_minutes` and `on_deadline` need each other"):
        parse_configuration(text % "{deadline_minutes: 5}", {})
    with pytest.raises(ConfigurationError, match=r"pipelines\.shop\.airflow\.on_failure\[0\]"):
        parse_configuration(text % "{on_failure: [{file: x}]}", {})
