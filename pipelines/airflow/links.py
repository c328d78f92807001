"""Buttons on a task in Airflow: to the page of its pipeline, and to the form that continues after lost redo."""

# mypy: disallow-subclassing-any=False

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from airflow.configuration import conf
from airflow.sdk import BaseOperatorLink


def base_path() -> str:
    """Return the prefix of Airflow's own URLs behind a proxy, else an empty text."""
    return urlsplit(conf.get("api", "base_url", fallback="") or "").path.rstrip("/")


class PageLink(BaseOperatorLink):
    name = "Redolake"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        return f"{base_path()}/dags/{ti_key.dag_id}/plugin/redolake-dag"


class RecoverLink(BaseOperatorLink):
    name = "Recover"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        name = ti_key.dag_id.rpartition("_")[0]
        return f"{base_path()}/dags/{name}_recover"


PAGE_LINKS = (PageLink(), RecoverLink())
