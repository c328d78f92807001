"""The page in Airflow's API server: for users who are logged in, each pipeline for those who may read its DAGs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fixtures.airflow import airflow_db
from tests.states.cockpit_ledger import CockpitLedger

__all__ = ["airflow_db"]

pytestmark = pytest.mark.airflow
PASSWORD = "let-me-in"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CockpitLedger]:
    made = CockpitLedger(tmp_path_factory.mktemp("page"), datetime.now(UTC))
    made.run()
    yield made
    made.ledger.close()


@pytest.fixture(scope="module")
def client(shop: CockpitLedger, tmp_path_factory: pytest.TempPathFactory, airflow_db: None) -> Iterator[Any]:
    """Airflow's own API server with the plugin, two users, and the DAGs of `shop` and of a pipeline without DAGs."""
    from airflow.models.dag import DagModel
    from airflow.models.dagbundle import DagBundleModel
    from airflow.utils.session import create_session
    from fastapi.testclient import TestClient

    folder = tmp_path_factory.mktemp("server")
    (folder / "passwords.json").write_text(json.dumps({"admin": PASSWORD, "nobody": PASSWORD}))
    body = shop.pipeline.model_dump(mode="json", exclude={"name", "matches"}, exclude_unset=True)
    other = {**body, "lake": f"{body['lake']}-2", "landing": f"{body['landing']}-2"}
    (folder / "pipelines.yml").write_text(yaml.safe_dump({"pipelines": {"shop": body, "unreadable": other}}))
    settings = {
        "REDOLAKE_CONFIG": str(folder / "pipelines.yml"),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "admin:admin,nobody:",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(folder / "passwords.json"),
    }
    with pytest.MonkeyPatch.context() as patch, create_session() as session:
        for name, value in settings.items():
            patch.setitem(os.environ, name, value)
        if session.get(DagBundleModel, "dags-folder") is None:
            session.add(DagBundleModel(name="dags-folder"))
            session.flush()
        for part in ("capture", "apply"):
            session.merge(DagModel(dag_id=f"shop_{part}", bundle_name="dags-folder", is_paused=False, fileloc="x"))
        session.commit()
        from airflow.api_fastapi.app import create_app

        with TestClient(create_app(apps="core"), base_url="http://testserver") as opened:
            yield opened


def login(client: Any, user: str) -> dict[str, str]:
    answer = client.post("/auth/token", json={"username": user, "password": PASSWORD})
    assert answer.status_code == 201, answer.text
    return {"Authorization": f"Bearer {answer.json()['access_token']}"}


PATHS = ("/", "/pipelines/shop", "/dags/shop_capture", "/api/pipelines/shop", "/static/page.css", "/nothing")


@pytest.mark.parametrize("path", PATHS[:-1])
def test_nothing_is_shown_without_a_login(client: Any, path: str) -> None:
    client.cookies.clear()

    assert client.get(f"/redolake{path}").status_code == 401


def test_a_user_sees_the_pipelines_whose_dags_may_be_read_and_no_other(client: Any) -> None:
    user = login(client, "admin")

    index = client.get("/redolake/", headers=user).text
    hidden = client.get("/redolake/pipelines/unreadable", headers=user)
    tab = client.get("/redolake/dags/shop_apply", headers=user).text

    assert "Right up to" in index
    assert ("unreadable" in index, hidden.status_code) == (False, 404)
    assert "Redo threads" in tab
    assert "belongs to no pipeline" in client.get("/redolake/dags/somebody_elses", headers=user).text


def test_a_user_without_a_role_sees_no_pipeline(client: Any) -> None:
    user = login(client, "nobody")

    assert client.get("/redolake/pipelines/shop", headers=user).status_code == 404
    assert client.get("/redolake/api/pipelines/shop", headers=user).status_code == 404
    assert "There is no pipeline whose DAGs you may read" in client.get("/redolake/", headers=user).text


def test_the_page_forbids_scripts_of_others_and_carries_none_of_its_own_inline(client: Any) -> None:
    answer = client.get("/redolake/pipelines/shop", headers=login(client, "admin"))

    policy = answer.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "default-src 'none'" in policy
    assert " style=" not in answer.text
    assert "<script>" not in answer.text


def test_wrong_places_and_names_are_refused(client: Any) -> None:
    user = login(client, "admin")

    for path, place in product(("pipelines", "api/pipelines"), ("1;drop", "12", "-", "1-", "1-2-3")):
        assert client.get(f"/redolake/{path}/shop?before={place}", headers=user).status_code == 400
    assert client.get("/redolake/static/..%2Frender.py", headers=user).status_code == 404
    assert client.post("/redolake/pipelines/shop", headers=user).status_code == 405


def test_the_plugin_adds_an_entry_to_the_navigation_and_tabs(client: Any) -> None:
    found = client.get("/api/v2/plugins", headers=login(client, "admin")).json()["plugins"]

    (ours,) = (plugin for plugin in found if plugin["name"] == "redolake")
    views = {view["destination"]: view["href"] for view in ours["external_views"]}
    assert views == {"nav": "/redolake/", "dag": "/redolake/dags/{DAG_ID}", "dag_run": "/redolake/dags/{DAG_ID}"}
    assert client.get("/api/v2/plugins/importErrors", headers=login(client, "admin")).json()["import_errors"] == []


def test_a_folder_of_a_ledger_that_is_gone_is_not_made(client: Any, shop: CockpitLedger) -> None:
    assert not Path(f"{shop.pipeline.landing}-2").exists()
