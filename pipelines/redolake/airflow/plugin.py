"""Airflow's plugin: the page in the navigation, and as a tab on DAGs and runs.

Every process of Airflow imports it, so the page itself is imported only where it is served.
"""

# mypy: disallow-subclassing-any=False

from __future__ import annotations

from typing import Any

from airflow.plugins_manager import AirflowPlugin

from redolake.airflow.links import PAGE_LINKS, WindowLink, base_path
from redolake.airflow.preload import Preload
from redolake.airflow.run_notes import RunNotes

PREFIX = "/redolake"


class Apps:
    """The list of FastAPI applications, made when Airflow asks for it."""

    def __get__(self, _: object, __: object) -> list[dict[str, Any]]:
        from redolake.airflow.page import page_app

        return [{"app": page_app(), "url_prefix": PREFIX, "name": "Redolake"}]


def view(destination: str, path: str, route: str) -> dict[str, str]:
    """Return a view that shows a path of the page. Behind a proxy, Airflow's own URLs have a prefix, and so has the path."""
    base = base_path()
    icons = {"icon": f"{base}{PREFIX}/static/icon.svg", "icon_dark_mode": f"{base}{PREFIX}/static/icon-dark.svg"}
    return {"name": "Redolake", "href": f"{base}{PREFIX}{path}", "destination": destination, "url_route": route, **icons}


class RedolakePlugin(AirflowPlugin):
    name = "redolake"
    fastapi_apps = Apps()
    operator_extra_links = [*PAGE_LINKS, WindowLink()]  # noqa: RUF012
    listeners = [RunNotes(), Preload()]  # noqa: RUF012
    external_views = [  # noqa: RUF012
        {**view("nav", "/", "redolake"), "nav_top_level": True},
        view("dag", "/dags/{DAG_ID}", "redolake-dag"),
        view("dag_run", "/dags/{DAG_ID}", "redolake-run"),
    ]
