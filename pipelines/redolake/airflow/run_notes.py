"""Write into the note of a run what it did: the window, its SCNs, and the time up to which it has the redo; what an operation
has answered; or why a task failed.

Airflow's API for tasks has no call for a note. So a task leaves the text as an XCom, and a listener in the scheduler, which
ends the run, puts it into the note. A note that a person wrote stays.
"""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

from typing import Any

from airflow.listeners import hookimpl

from redolake.errors import plain_lines
from redolake.values.utc import utc_text

NOTE, TAG = "note", "redolake"
LONGEST = 1000  # characters of a note that Airflow's database takes
NOTED = frozenset({"capture", "apply", "snapshot", "backfill", "verify", "mend", "recover", "maintain", "doctor"})


def window_note(start: int, end: int, ends_at: str | None, rows: int) -> str:
    """Return the note of [start, end); shown is the last SCN that it has."""
    up_to = "" if ends_at is None else f", redo up to {utc_text(ends_at)} UTC"
    return f"SCN {start} to {end - 1}{up_to}, {rows} {'row' if rows == 1 else 'rows'}"


def leave_note(context: Any, text: str) -> None:
    context["ti"].xcom_push(NOTE, text)


class RunNotes:
    """Airflow calls it in the scheduler when a run of any DAG ends, of other teams' too."""

    @hookimpl
    def on_dag_run_success(self, dag_run: Any, msg: str) -> None:
        write_note(dag_run)

    @hookimpl
    def on_dag_run_failed(self, dag_run: Any, msg: str) -> None:
        write_note(dag_run)


def write_note(dag_run: Any) -> None:
    """Write the note of a run of a pipeline's DAG. Any DAG may have such an id; ours have the tags of `dag_settings`, too."""
    pipeline, _, part = dag_run.dag_id.rpartition("_")
    if part not in NOTED:
        return
    from airflow.models.dag import DagTag
    from airflow.models.xcom import XComModel
    from sqlalchemy import select
    from sqlalchemy.orm import object_session

    # `airflow dags test` has a run without a session, and a second session could wait for the first one's lock for ever.
    if (session := object_session(dag_run)) is None or dag_run.note:
        return
    if not {TAG, pipeline} <= {*session.scalars(select(DagTag.name).where(DagTag.dag_id == dag_run.dag_id))}:
        return
    query = select(XComModel).where(
        XComModel.dag_id == dag_run.dag_id, XComModel.run_id == dag_run.run_id, XComModel.key == NOTE
    )
    found = session.scalars(query.order_by(XComModel.timestamp.desc()))  # what the last task has left comes first
    texts = [text for text in map(XComModel.deserialize_value, found) if isinstance(text, str)]
    if texts:  # anything else, and characters that PostgreSQL refuses, would fail each flush of the scheduler's session
        dag_run.note = "\n".join(plain_lines("\n".join(texts).split("\n")))[:LONGEST]
