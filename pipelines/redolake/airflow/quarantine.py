"""`<name>_quarantine`: list the changes that could not be applied, read their rows again, or drop them. Started by a form."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, Param, get_current_context
from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.approval import ApproveChoice, Question, find_decision, trigger_user
from redolake.airflow.connections import resolved_pipeline, source_of
from redolake.airflow.fields import chosen_tables, confirmation, optional_text, tables_param
from redolake.airflow.settings import dag_settings
from redolake.airflow.tasks import task
from redolake.airflow.texts import QUARANTINE, TASKS, dag_text
from redolake.airflow.verify import log_line, session_opener
from redolake.config import Pipeline
from redolake.errors import one_line
from redolake.values.row_key import parse_row_key

if TYPE_CHECKING:
    from redolake.steps.proof.quarantine import QuarantineList

BETWEEN_KEYS = re.compile(r'[\r\n]|;(?=(?:[^"]*"[^"]*")*[^"]*$)')  # a `;` in a quoted value is part of it
SHOWN = 200  # changes in a log, and in what a person approves
log = logging.getLogger(__name__)

CHOICES = {
    "list": "list: show the changes in quarantine; changes nothing",
    "retry": "retry: read the rows of the keys again, and merge them",
    "drop": "drop: never apply the changes; the rows stay as they are",
}
Keys = Mapping[str, Sequence[Mapping[str, str]]]  # by table; none for all that are open


def quarantine_params(pipeline: Pipeline) -> dict[str, Param]:
    return {
        "choice": Param("list", type="string", enum=list(CHOICES), values_display=CHOICES, title="Choice"),
        "tables": tables_param(pipeline, [], "None chosen: all tables that have keys in quarantine."),
        "keys": optional_text("Keys", "Only these keys of one table, such as ID=42, with `;` between them. Empty: all."),
        "reason": optional_text("Reason", "Stored with the decision and in the Delta commit; retry and drop need it."),
        "confirm": confirmation(pipeline, "drop"),
    }


def question(pipeline: Pipeline, chosen: Mapping[str, Any]) -> Question | None:
    """Return which keys are to be dropped."""
    from redolake import steps

    if chosen["choice"] != "drop":
        return None
    found = steps.list_quarantine(pipeline, chosen_tables(chosen) or None, opens=session_opener(pipeline))
    keys = {table: [*map(json.dumps, given)] for table, given in chosen_keys(chosen, found).items()}
    lines = [f"{c.table} {c.keys}: {c.operation} of SCN {c.commit_scn}, {c.error}: {c.reason}" for c in found.changes[:SHOWN]]
    lines += [f"and {len(found.changes) - SHOWN} more changes"] if len(found.changes) > SHOWN else []
    lines = ["The changes of these keys are never applied; their rows stay as they are:", *lines]
    return Question(f"{pipeline.name}: drop changes in quarantine", lines, keys)


def chosen_keys(chosen: Mapping[str, Any], found: QuarantineList) -> dict[str, list[dict[str, str]]]:
    """Return the keys that are meant, by table. Raises AirflowFailException for keys of several tables, and for none."""
    tables, texts = chosen_tables(chosen), BETWEEN_KEYS.split(chosen["keys"] or "")
    try:
        given = [parse_row_key(text) for text in map(str.strip, texts) if text]
    except ValueError as error:
        raise AirflowFailException(f"the field Keys: {error}\n  do this: write keys as the list shows them") from error
    if given and len(tables) != 1:
        raise AirflowFailException("the field Keys is for one table\n  do this: choose that table under Tables")
    if given:
        return {tables[0]: given}
    open_keys: dict[str, list[dict[str, str]]] = {}
    for one in found.wrong:
        if one.state == "open":
            open_keys.setdefault(one.table, []).append(json.loads(one.key))
    if not open_keys:
        raise AirflowFailException("no key is in quarantine\n  do this: nothing; `list` shows what is there")
    return open_keys


def quarantine_dag(pipeline: Pipeline) -> DAG:
    @task(doc_md=TASKS["quarantine"], multiple_outputs=False, retries=0)
    def quarantine() -> str:
        """Return what was done. Fails if a key is still wrong after a retry."""
        from redolake import steps

        context, opens = get_current_context(), session_opener(pipeline)
        chosen = context["params"]
        with resolved_pipeline(pipeline) as resolved:
            if chosen["choice"] == "drop":
                return drop_keys(pipeline, resolved, context, opens)
            found = steps.list_quarantine(resolved, chosen_tables(chosen) or None, opens=opens)
            if chosen["choice"] == "list":
                return log_changes(found)
            reason, by, done = chosen["reason"] or "", trigger_user(context), []
            for table, keys in chosen_keys(chosen, found).items():
                made = steps.retry_quarantine(
                    resolved, table, keys, reason=reason, by=by, source=source_of(pipeline), report=log_line, opens=opens
                )
                log.info("%s", made)
                done.append(made)
        if any(one.left for one in done):
            raise AirflowFailException("\n".join(map(str, done)))
        return "; ".join(map(str, done))

    params = quarantine_params(pipeline)
    with DAG(
        **dag_settings(pipeline, "quarantine"), schedule=None, params=params, doc_md=dag_text(QUARANTINE, pipeline)
    ) as dag:
        ApproveChoice(pipeline=pipeline, ask=question) >> quarantine()
    return dag


def drop_keys(pipeline: Pipeline, resolved: Pipeline, context: Any, opens: Callable[[], Any] | None) -> str:
    """Drop the keys that were shown to the person who approved it, or those of the form."""
    from redolake import steps

    by, chosen = find_decision(pipeline, context), context["params"]
    if by.shown is None:
        keys: Keys = chosen_keys(chosen, steps.list_quarantine(resolved, chosen_tables(chosen) or None, opens=opens))
    else:
        keys = {table: [json.loads(key) for key in given] for table, given in by.shown.items()}
    done = [steps.drop_quarantined(resolved, t, some, reason=by.reason, by=by.by, opens=opens) for t, some in keys.items()]
    for one in done:
        log.warning("%s: the changes of %s keys are never applied", one_line(one.table), len(one.done))
    return "; ".join(map(str, done))


def log_changes(found: QuarantineList) -> str:
    """Log the first changes; return how many keys there are."""
    for one in found.changes[:SHOWN]:
        text = f"{one.table} {one.keys} ({one.state}): {one.operation} of SCN {one.commit_scn}, {one.reason}"
        log.info("%s", one_line(text))
    if len(found.changes) > SHOWN:
        log.info("and %s more changes: `redolake quarantine list --output json` has all", len(found.changes) - SHOWN)
    return f"{found.keys} keys in quarantine" + (f", {found.dropped} dropped" if found.dropped else "")
