"""The page "Redolake" in Airflow's API server: read-only, for users who are logged in, each pipeline for those who may read
its DAGs. What a button starts goes through Airflow's own API, with the user's own rights."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.core_api.security import GetUserDep, get_user
from airflow.models.connection import Connection
from airflow.models.dag import DagModel
from airflow.utils.session import create_session
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, Response
from sqlalchemy import select

from redolake.airflow.configuration import configuration_of_airflow
from redolake.cockpit import Overview, read_overview
from redolake.cockpit.actions import PARTS
from redolake.cockpit.render import POLICY, Pages, static_file
from redolake.config import Configuration, Pipeline, load_each
from redolake.errors import ConfigurationError, RedolakeError
from redolake.ledger.connection import url_of_connection

PREFIX = "/redolake"
HEADERS = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


def page_app() -> FastAPI:
    # Airflow mounts a plugin's application without any check of its own.
    app = FastAPI(title="Redolake", dependencies=[Depends(get_user)], docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/", response_class=HTMLResponse)
    def index(request: Request, user: GetUserDep) -> HTMLResponse:
        found = Readable(user)
        overviews, failed = found.overviews()
        return html(found.pages(request).index(overviews, failed))

    @app.get("/pipelines/{name}", response_class=HTMLResponse)
    def pipeline(request: Request, user: GetUserDep, name: str, search: str = "", before: str | None = None) -> HTMLResponse:
        return show(request, Readable(user), name, search, before)

    @app.get("/dags/{dag_id}", response_class=HTMLResponse)
    def dag(request: Request, user: GetUserDep, dag_id: str, search: str = "", before: str | None = None) -> HTMLResponse:
        """Show the tab on a DAG and its runs, which Airflow has on every DAG."""
        found = Readable(user)
        name, _, part = dag_id.rpartition("_")
        if part not in PARTS or name not in found.pipelines:
            return html(found.pages(request).notice("Not a Redolake DAG", f"{dag_id} belongs to no pipeline of pipelines.yml."))
        return show(request, found, name, search, before)

    @app.get("/api/pipelines/{name}")
    def facts(user: GetUserDep, name: str, search: str = "", before: str | None = None) -> dict[str, Any]:
        found = Readable(user)
        try:
            return asdict(found.overview(find_pipeline(found, name), search, checked_place(before)))
        except RedolakeError as error:
            raise HTTPException(503, error.as_dict()) from error

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        found = static_file(name)
        if found is None:
            raise HTTPException(404)
        content, kind = found
        return Response(content, media_type=kind, headers={**HEADERS, "Cache-Control": "private, max-age=86400"})

    return app


def html(text: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(text, status_code=status, headers=HEADERS)


def show(request: Request, found: Readable, name: str, search: str, before: str | None) -> HTMLResponse:
    pipeline, pages = find_pipeline(found, name), found.pages(request)
    try:
        overview = found.overview(pipeline, search, checked_place(before))
    except RedolakeError as error:
        return html(pages.notice(name, str(error)), 503)
    tables = sorted({*(str(table.id) for table in pipeline.tables), *(table.table for table in overview.tables)})
    return html(pages.pipeline(overview, tables, search=search, before=before))


def checked_place(before: str | None) -> str | None:
    """Raise a 400 for a place that is not `incarnation-SCN`."""
    if before is not None and not re.fullmatch(r"\d+-\d+", before, re.ASCII):
        raise HTTPException(400, "before: not the place of a window")
    return before


def find_pipeline(found: Readable, name: str) -> Pipeline:
    """Return the pipeline. A 404 does not tell whether the name exists for others."""
    if name not in found.pipelines:
        raise HTTPException(404, "no pipeline has this name, or you may not read its DAGs")
    return found.pipelines[name]


class Readable:
    """The pipelines whose DAGs a user may read."""

    def __init__(self, user: Any) -> None:
        self.now = datetime.now(UTC)
        self.dags = dags = get_auth_manager().get_authorized_dag_ids(user=user, method="GET")
        self.error: RedolakeError | None = None
        try:
            found, self.wrong = configuration()
            configured = found.pipelines
        except RedolakeError as error:
            self.error, self.wrong, configured = error, {}, {}
        self.pipelines = {name: found for name, found in configured.items() if f"{name}_capture" in dags}

    def pages(self, request: Request) -> Pages:
        root = str(request.scope.get("root_path", "")).rstrip("/")
        return Pages(root, root.removesuffix(PREFIX), list(self.pipelines), self.now)

    def overview(self, pipeline: Pipeline, search: str = "", before: str | None = None) -> Overview:
        paused = is_paused(f"{pipeline.name}_capture")
        return read_overview(pipeline, ledger_url(pipeline), self.now, paused=paused, search=search, before=before)

    def overviews(self) -> tuple[list[Overview], Mapping[str, str]]:
        """Return the pipelines, and the errors of those that cannot be read."""
        found, failed = [], {} if self.error is None else {"pipelines.yml": str(self.error)}
        failed |= {name: str(error) for name, error in self.wrong.items() if f"{name}_misconfigured" in self.dags}
        for name, pipeline in self.pipelines.items():
            try:
                found.append(self.overview(pipeline))
            except RedolakeError as error:
                failed[name] = str(error)
        return found, failed


def configuration() -> tuple[Configuration, Mapping[str, ConfigurationError]]:
    file = configuration_of_airflow()
    return parse_file(file, file.stat().st_mtime_ns if file.exists() else 0)


@lru_cache(maxsize=2)
def parse_file(file: Path, changed_at: int) -> tuple[Configuration, Mapping[str, ConfigurationError]]:
    """Parse the file once for each of its versions: a thousand tables need longer than the ledger's answer."""
    return load_each(file)


def ledger_url(pipeline: Pipeline) -> str:
    conn_id = pipeline.ledger.connection
    if conn_id is None:
        return pipeline.ledger_url
    return url_of_connection(str(Connection.get_connection_from_secrets(conn_id).as_json()), f"connection {conn_id}")


def is_paused(dag_id: str) -> bool:
    with create_session() as session:
        return bool(session.scalar(select(DagModel.is_paused).where(DagModel.dag_id == dag_id)))
