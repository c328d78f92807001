"""Airflow with its scheduler, triggerer and API server: choices that wait for a person, notices, deadlines."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from demo.airflow_api import AirflowApi, AirflowUnavailable, errors_of
from demo.processes import DemoProcesses
from demo.services import new_services
from redolake import steps
from redolake.config import Pipeline, load_configuration
from redolake.context import Run
from redolake.records.gaps import DeclaredGap
from tests.fixtures.airflow import REPOSITORY, configure
from tests.fixtures.shop import open_shop
from tests.support.waiting import wait_until

pytestmark = pytest.mark.airflow

SPARK = '{"conn_type": "spark", "host": "local[2]"}'
PATIENT, HASTY = "e2e", "hasty"
SOME = 0.3  # seconds: Airflow needs CPU time for each answer
QUICK = {
    "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "ann:admin,bob:admin",
    "AIRFLOW__SCHEDULER__TRIGGER_TIMEOUT_CHECK_INTERVAL": "1",
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "INFO",
    "PYTHONPATH": f"{REPOSITORY}/pipelines:{REPOSITORY}",
}


@dataclass(slots=True)
class Running:
    """Airflow with two pipelines whose redo is lost: one waits long for an approval, the other hardly."""

    ann: AirflowApi
    bob: AirflowApi
    pipelines: dict[str, Pipeline]
    notices: Path
    log: Path

    def run(self, dag: str, conf: dict[str, Any] | None = None) -> str:
        """Start a run as bob."""
        return self.bob.trigger(dag, conf)

    def finish(self, dag: str, run: str) -> str:
        wait_until(lambda: self.bob.run_state(dag, run) in ("success", "failed"), 90, SOME)
        return self.bob.run_state(dag, run)

    def task(self, dag: str, run: str, task: str) -> str:
        return f"/api/v2/dags/{dag}/dagRuns/{quote(run)}/taskInstances/{task}"

    def question(self, dag: str, run: str) -> str:
        """Wait until the run asks for an approval; return the address of the question. The scheduler must have seen the task
        pause: Airflow 3.3.2 takes one that is answered before for a killed one, and repeats it."""
        path, paused = (
            self.task(dag, run, "approve"),
            re.compile(rf"Received executor event with state success .*'{re.escape(run)}'"),
        )
        wait_until(lambda: self.bob.request("GET", path)["state"] == "awaiting_input", 60, SOME)
        wait_until(lambda: paused.search(self.log.read_text()) is not None, 60, SOME)
        return f"{path}/-1/hitlDetails"

    def answer(self, dag: str, run: str, option: str, reason: str) -> str:
        """Answer as ann; return the state in which the run ends."""
        body = {"chosen_options": [option], "params_input": {"reason": reason}}
        self.ann.request("PATCH", self.question(dag, run), body)
        return self.finish(dag, run)

    def states(self, dag: str, run: str) -> dict[str, str]:
        found = self.bob.request("GET", f"/api/v2/dags/{dag}/dagRuns/{quote(run)}/taskInstances")["task_instances"]
        return {task["task_id"]: task["state"] for task in found}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("running")
    services, notices = new_services(folder / "services"), folder / "notices"
    services.folder.mkdir()
    processes = DemoProcesses(services.process_record, services.folder / "logs")
    with pytest.MonkeyPatch.context() as patch, open_shop(folder) as shop:
        configure(shop, patch, ["SHOP.PAYMENTS"], {}, SPARK)
        file = Path(os.environ["REDOLAKE_CONFIG"])
        body = yaml.safe_load(file.read_text())["pipelines"][PATIENT]

        def notify(text: str) -> list[dict[str, str]]:
            return [{"notifier": "tests.support.notifier.FileNotifier", "file": str(notices), "text": text}]

        hasty = {
            "approval_minutes": 0.02,
            "on_failure": notify("{{ ti.dag_id }}.{{ ti.task_id }} failed: {{ exception }}"),
            "on_approval": notify("{{ ti.dag_id }} waits"),
            "deadline_minutes": 0.001,
            "on_deadline": notify("{{ dag_run.dag_id }} is late"),
        }
        places = {what: f"{body[what]}-{HASTY}" for what in ("landing", "lake")}
        two = {"approval_by_another": True}
        file.write_text(
            yaml.safe_dump({"pipelines": {PATIENT: {**body, "airflow": two}, HASTY: {**body, **places, "airflow": hasty}}})
        )
        pipelines = dict(load_configuration(file).pipelines)
        for pipeline in pipelines.values():
            steps.begin_snapshot(Run(pipeline, shop.params))
        shop.lose_redo()
        services.write_files()
        (services.folder / "airflow" / "passwords.json").write_text(json.dumps({"ann": "word", "bob": "word"}))
        own = {name: os.environ[name] for name in ("REDOLAKE_CONFIG", "AIRFLOW_CONN_E2E_ORACLE", "AIRFLOW_CONN_E2E_SPARK")}
        try:
            environment = {**services.airflow_environment(), **own, **QUICK}
            processes.start("airflow", services.airflow_command(), environment, folder)
            ann, bob = (AirflowApi(services.airflow_url, user, "word") for user in ("ann", "bob"))
            wait_until(lambda: processes.check() or is_ready(bob), 120, SOME)
            ann.login()
            yield Running(ann, bob, pipelines, notices, services.folder / "logs" / "airflow.log")
        finally:
            processes.stop()


def gaps(pipeline: Pipeline) -> list[DeclaredGap]:
    with Run(pipeline) as context:
        return list(context.landing.gaps.all())


def is_ready(api: AirflowApi) -> bool:
    try:
        api.login()
        return api.healthy() and {f"{PATIENT}_recover", f"{HASTY}_capture"} <= api.dags()
    except AirflowUnavailable:
        return False


def test_a_gap_is_declared_only_after_a_person_has_approved_it(running: Running) -> None:
    pipeline = running.pipelines[PATIENT]
    rejected = running.run("e2e_recover", {"choice": "gap", "dry_run": False})
    question = running.question("e2e_recover", rejected)
    detail = running.ann.request("GET", question)
    assert running.answer("e2e_recover", rejected, "Reject", "the tapes are there") == "success"
    assert running.states("e2e_recover", rejected) == {"approve": "success", "decide": "skipped", "snapshot": "skipped"}
    assert "declare the gap, SCN " in detail["body"]
    assert "costs: every change committed in the gap" in detail["body"]
    assert gaps(pipeline) == []
    with Run(pipeline) as context:
        decision, *_ = context.ledger.decisions("rejected")
    assert (decision.who, decision.body["reason"]) == ("ann, asked by bob", "the tapes are there")

    refused = running.run("e2e_recover", {"choice": "gap", "dry_run": False, "confirm": "e2e"})
    own = {"chosen_options": ["Approve"], "params_input": {"reason": "me again"}}
    running.bob.request("PATCH", running.question("e2e_recover", refused), own)
    assert running.finish("e2e_recover", refused) == "failed"
    assert running.states("e2e_recover", refused)["approve"] == "failed"
    assert gaps(pipeline) == []

    approved = running.run("e2e_recover", {"choice": "gap", "dry_run": False})
    assert running.answer("e2e_recover", approved, "Approve", "the tapes are gone") == "success"

    running.bob.unpause("e2e_capture")
    captured = running.run("e2e_capture")
    assert running.finish("e2e_capture", captured) == "success"
    note = running.bob.request("GET", f"/api/v2/dags/e2e_capture/dagRuns/{quote(captured)}")["note"]
    says = r"SCN \d+ to \d+, redo up to 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC, \d+ rows?"
    assert [line for line in note.splitlines() if re.fullmatch(says, line)], note
    (gap,) = gaps(pipeline)
    assert (gap.kind, gap.by, gap.reason) == ("gap", "ann, asked by bob", "the tapes are gone")


def test_without_an_answer_until_the_deadline_nothing_is_done(running: Running) -> None:
    run = running.run(f"{HASTY}_recover", {"choice": "gap", "dry_run": False, "reason": "the tapes are gone"})

    assert running.finish(f"{HASTY}_recover", run) == "failed"
    assert running.states(f"{HASTY}_recover", run)["approve"] == "failed"
    assert gaps(running.pipelines[HASTY]) == []
    notices = running.notices.read_text()
    assert f"{HASTY}_recover waits" in notices
    assert "nobody has approved it within 0.02 minutes, so nothing was done" in notices


def test_a_failed_task_and_a_missed_deadline_notify_and_the_log_ends_with_what_to_do_once(running: Running) -> None:
    running.bob.unpause(f"{HASTY}_capture")
    run = running.run(f"{HASTY}_capture")

    assert running.finish(f"{HASTY}_capture", run) == "failed"
    notices = running.notices.read_text
    assert f"{HASTY}_capture.plan failed: " in notices()
    wait_until(lambda: f"{HASTY}_capture is late" in notices(), 60, SOME)
    log = running.bob.request("GET", f"{running.task(f'{HASTY}_capture', run, 'plan')}/logs/1", query={"full_content": "true"})
    errors = "\n".join(errors_of(log["content"]))
    assert "RedoLost: " in errors
    assert errors.count("do this: ") == 1
    links = running.bob.request("GET", f"{running.task(f'{HASTY}_capture', run, 'plan')}/links")["extra_links"]
    recover = f"/plugin/redolake/redolake/pipelines/{HASTY}#recover"
    assert links == {"Redolake": f"/dags/{HASTY}_capture/plugin/redolake-dag", "Recover": recover}
