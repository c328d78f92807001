"""Buttons on a task in Airflow: to its pipeline's page, to a window on it, and to the choices after lost redo."""

# mypy: disallow-subclassing-any=False

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from airflow.configuration import conf
from airflow.sdk import BaseOperatorLink


def base_path() -> str:
    """Return the prefix of Airflow's own URLs behind a proxy, else an empty text."""
    return urlsplit(conf.get("api", "base_url", fallback="") or "").path.rstrip("/")


def frame_address(dag_id: str, place: str) -> str:
    """Return the address of a place on the page of the DAG's pipeline, inside Airflow's frame: it opens the path after the
    route."""
    name = dag_id.rpartition("_")[0]
    return f"{base_path()}/plugin/redolake{base_path()}/redolake/pipelines/{name}{place}"


class PageLink(BaseOperatorLink):
    name = "Redolake"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        return f"{base_path()}/dags/{ti_key.dag_id}/plugin/redolake-dag"


class RecoverLink(BaseOperatorLink):
    """To the choices on the page: each opens its form filled in. The form of Airflow 3.3 takes no values from an address."""

    name = "Recover"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        return frame_address(ti_key.dag_id, "#recover")


class WindowLink(BaseOperatorLink):
    """To the page from the task's window on, with its SCNs, times, row account and manifest."""

    name = "Window"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        window = getattr(operator, "redolake_window", None)
        if window is None:
            return ""
        incarnation, _, end = (int(part) for part in window.split("-"))
        return frame_address(ti_key.dag_id, f"?before={incarnation}-{end}")


PAGE_LINKS = (PageLink(), RecoverLink())
MINE_LINKS = (*PAGE_LINKS, WindowLink())
WINDOW_LINKS = (PageLink(), WindowLink())


def give_links(task: Any, links: tuple[BaseOperatorLink, ...]) -> Any:
    """Give a decorated task buttons, which its class has not; return the task."""
    task.operator.operator_extra_links = links
    return task
