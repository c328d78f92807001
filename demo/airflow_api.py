"""The part of Airflow's REST API that the demo needs: unpause, trigger, run states, and the errors of failed runs."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.parse import quote, urlencode

from redolake.errors import SourceUnavailable

TIMEOUT_SECONDS = 15
NEEDED_COMPONENTS = ("metadatabase", "scheduler", "dag_processor")


class AirflowUnavailable(SourceUnavailable):
    """The API server does not answer, or refuses the request."""


@dataclass(slots=True)
class AirflowApi:
    url: str
    user: str
    password: str = field(repr=False)
    _token: str = field(default="", repr=False)

    def request(self, method: str, path: str, body: Any = None, query: Mapping[str, Any] | None = None) -> Any:
        url = f"{self.url}{path}" + (f"?{urlencode(query, doseq=True)}" if query else "")
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(
                urllib.request.Request(url, data=data, headers=headers, method=method), timeout=TIMEOUT_SECONDS
            ) as answer:
                text = answer.read()
        except urllib.error.HTTPError as refused:
            with refused:
                why = f"Airflow refused with {refused.code}: {refused.read()[:500]!r}"
            raise AirflowUnavailable(why, path=path) from refused
        except (OSError, HTTPException) as error:
            raise AirflowUnavailable(f"Airflow does not answer: {error}", path=path) from error
        return json.loads(text) if text else None

    def login(self) -> None:
        self._token = self.request("POST", "/auth/token", {"username": self.user, "password": self.password})["access_token"]

    def healthy(self) -> bool:
        components = self.request("GET", "/api/v2/monitor/health")
        return all((components.get(name) or {}).get("status") == "healthy" for name in NEEDED_COMPONENTS)

    def dags(self) -> set[str]:
        return {dag["dag_id"] for dag in self.request("GET", "/api/v2/dags", query={"limit": 100})["dags"]}

    def import_errors(self) -> list[str]:
        return [str(e["stack_trace"]) for e in self.request("GET", "/api/v2/importErrors")["import_errors"]]

    def unpause(self, dag: str, paused: bool = False) -> None:
        self.request("PATCH", f"/api/v2/dags/{quote(dag)}", {"is_paused": paused}, {"update_mask": "is_paused"})

    def pause(self, dag: str) -> None:
        self.unpause(dag, paused=True)

    def trigger(self, dag: str, conf: Mapping[str, Any] | None = None) -> str:
        run = self.request("POST", f"/api/v2/dags/{quote(dag)}/dagRuns", {"logical_date": None, "conf": dict(conf or {})})
        return str(run["dag_run_id"])

    def run_state(self, dag: str, run: str) -> str:
        return str(self.request("GET", f"/api/v2/dags/{quote(dag)}/dagRuns/{quote(run)}")["state"])

    def failed_run(self) -> tuple[str, str] | None:
        """Return the DAG and the run id of the latest failed run of any DAG."""
        query = {"state": "failed", "order_by": "-end_date", "limit": 1}
        runs = self.request("GET", "/api/v2/dags/~/dagRuns", query=query)["dag_runs"]
        return (runs[0]["dag_id"], runs[0]["dag_run_id"]) if runs else None

    def failure_messages(self, dag: str, run: str) -> str:
        """Return the errors in the logs of a run's failed tasks."""
        path = f"/api/v2/dags/{quote(dag)}/dagRuns/{quote(run)}/taskInstances"
        messages = []
        for task in self.request("GET", path)["task_instances"]:
            if task["state"] == "failed":
                log = f"{path}/{quote(task['task_id'])}/logs/{max(1, task['try_number'])}"
                lines = self.request("GET", log, query={"map_index": task["map_index"], "full_content": "true"})["content"]
                messages.append(f"{dag}.{task['task_id']}:\n" + "\n".join(errors_of(lines)))
        return "\n".join(messages) or f"{dag} {run} failed without a failed task"


def errors_of(lines: Any) -> list[str]:
    """Return the last 12 messages and exceptions of level error or critical."""
    found = []
    for line in lines if isinstance(lines, list) else []:
        if isinstance(line, dict) and line.get("level") in ("error", "critical"):
            found.append(f"  {line.get('event')}")
            found += [f"  {e.get('exc_type')}: {e.get('exc_value')}" for e in line.get("error_detail") or []]
    return found[-12:]
