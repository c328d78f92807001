"""`<name>_mend`: what a person mends by hand. The form's first field says which operation; each is declared in
redolake.operations, and its fields are made from that."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow.sdk import DAG, Param, get_current_context
from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.approval import ApproveChoice, Decided, Question, find_decision, trigger_user
from redolake.airflow.connections import resolved_pipeline, source_of
from redolake.airflow.fields import chosen_tables, confirmation, optional_text, tables_param
from redolake.airflow.settings import dag_settings
from redolake.airflow.tasks import task
from redolake.airflow.texts import MEND, TASKS, dag_text
from redolake.airflow.verify import log_line, session_opener
from redolake.config import Pipeline
from redolake.errors import plain_lines
from redolake.operations import MENDS, Operation, Outcome, Parameter, Verdict, Work
from redolake.operations.declared import Keys
from redolake.values.row_key import parse_row_key

log = logging.getLogger(__name__)

BETWEEN_KEYS = re.compile(r'[\r\n]|;(?=(?:[^"]*"[^"]*")*[^"]*$)')  # a `;` in a quoted value is part of it
TABLES = ("table", "tables")


def own_fields() -> dict[str, tuple[Parameter, list[str]]]:
    """Return the fields of single operations, each with the names of those that have it."""
    found = dict[str, tuple[Parameter, list[str]]]()
    for name, operation in MENDS.items():
        for one in operation.parameters:
            if one.name not in TABLES:
                found.setdefault(one.name, (one, []))[1].append(name)
    return found


def mend_params(pipeline: Pipeline) -> dict[str, Param]:
    captured = [str(t.id) for t in pipeline.tables]
    shown = {name: f"{name}: {one.does}" for name, one in MENDS.items()}
    by_table = join_names([name for name, one in MENDS.items() if any(p.name in TABLES for p in one.parameters)])
    final = join_names(
        [f"{name} with {one.final.upper()}" if isinstance(one.final, str) else name for name, one in MENDS.items() if one.final]
    )
    return {
        "mend": Param(next(iter(MENDS)), type="string", enum=list(MENDS), values_display=shown, title="Mend"),
        "tables": tables_param(pipeline, captured if len(captured) == 1 else [], f"For {by_table}."),
        **{name: field(*found) for name, found in own_fields().items()},
        "reason": optional_text("Reason", "Stored with the decision, with who decided. A run that is no dry run needs it."),
        "dry_run": Param(True, type="boolean", title="Dry run", description="Only show what it would do, in the task's log."),
        "confirm": confirmation(pipeline, final),
    }


def join_names(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def field(one: Parameter, operations: list[str]) -> Param:
    """Return the field of a parameter that these operations have."""
    text = f"For {join_names(operations)}. {one.option.help}"
    if one.option.choices:
        shown = {choice: f"{choice}: {means}" for choice, means in one.option.choices.items()}
        values = [None, *one.option.choices]
        return Param(
            None, type=["null", "string"], enum=values, values_display={"null": "none", **shown},
            title=one.title, description=text,
        )  # fmt: skip
    if one.type is bool:
        return Param(False, type="boolean", title=one.title, description=text)
    if one.type == int | None:
        return Param(None, type=["null", "integer"], minimum=0, title=one.title, description=text)
    return optional_text(one.title, text + (" Write `;` between several." if one.type == Keys else ""))


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a form asks for: an operation, and what is chosen for each time that it is done, by table."""

    operation: Operation
    times: Mapping[str, Mapping[str, Any]]

    @property
    def is_final(self) -> bool:
        return any(map(self.operation.is_final, self.times.values()))

    def act(self, work: Callable[[str], Work]) -> dict[str, Outcome]:
        """Do it for one table after the other. The lines are logged as each is done."""
        done = {}
        for name, values in self.times.items():
            done[name] = self.operation.act(work(name), **values)
            log.info("%s", "\n".join(plain_lines(done[name].lines)))
        return done


def chosen_mend(chosen: Mapping[str, Any]) -> Chosen:
    """Return what the form asks for. Raises AirflowFailException for a field that the operation does not have, and for one that
    it needs."""
    operation = MENDS[chosen["mend"]]
    tables, names = chosen_tables(chosen), {one.name for one in operation.parameters}
    for name, (one, _) in own_fields().items():
        if name not in names and chosen[name]:
            raise AirflowFailException(f"{operation.command} has no {one.title}\n  do this: leave the field {one.title} empty")
    values = {one.name: value_of(one, chosen[one.name]) for one in operation.parameters if one.name not in TABLES}
    if not names & {*TABLES}:
        return Chosen(operation, {"": values})
    if not tables:
        raise AirflowFailException(f"no table is chosen to {operation.command}\n  do this: choose it in the field Tables")
    if "tables" in names:
        return Chosen(operation, {"": {"tables": tables, **values}})
    if len(tables) > 1 and values.get("keys"):
        raise AirflowFailException("the field Keys is for one table\n  do this: choose that table under Tables")
    return Chosen(operation, {table: {"table": table, **values} for table in tables})


def value_of(one: Parameter, given: Any) -> Any:
    """Return what the operation takes. Raises AirflowFailException for a text that is no key."""
    if one.type == Keys:
        try:
            return [parse_row_key(text) for text in map(str.strip, BETWEEN_KEYS.split(given or "")) if text]
        except ValueError as error:
            raise AirflowFailException(f"the field Keys: {error}\n  do this: write keys as the dry run shows them") from error
    return (given.strip() or None) if isinstance(given, str) else given


def question(pipeline: Pipeline, chosen: Mapping[str, Any]) -> Question | None:
    """Return what cannot be undone, as a dry run shows it."""
    asked = chosen_mend(chosen)
    if chosen["dry_run"] or not asked.is_final:
        return None
    found = asked.act(lambda _: work_of(pipeline, pipeline, execute=False, by=Decided("", "")))
    lines = [line for one in found.values() for line in one.lines]
    subject = " ".join([f"{pipeline.name}: {asked.operation.command}", *filter(None, (chosen.get("ddl"), *found))])
    return Question(subject, [asked.operation.does, *lines], {name: one.shown for name, one in found.items()})


def work_of(pipeline: Pipeline, resolved: Pipeline, *, execute: bool, by: Decided, shown: Any = None) -> Work:
    opens = session_opener(pipeline)
    return Work(resolved, execute, by.by, by.reason, log_line, source_of(pipeline), opens, shown)


def mend_dag(pipeline: Pipeline) -> DAG:
    @task(doc_md=TASKS["mend"], multiple_outputs=False, retries=0)
    def mend() -> list[str]:
        """Return what was done, or would be. Fails if a table is not as it should be, after all were tried."""
        context = get_current_context()
        form = context["params"]
        chosen, execute = chosen_mend(form), not form["dry_run"]
        if execute and chosen.is_final:
            by = find_decision(pipeline, context)
        else:
            by = Decided(trigger_user(context), form["reason"] or "")
        with resolved_pipeline(pipeline) as resolved:
            shown = by.shown or {}
            done = chosen.act(lambda name: work_of(pipeline, resolved, execute=execute, by=by, shown=shown.get(name)))
        if wrong := [line for one in done.values() if one.verdict is not Verdict.DONE for line in one.lines]:
            raise AirflowFailException("\n".join(plain_lines(wrong)))
        return list(plain_lines(line for one in done.values() for line in one.lines))

    settings = dag_settings(pipeline, "mend")
    with DAG(**settings, schedule=None, params=mend_params(pipeline), doc_md=dag_text(MEND, pipeline)) as dag:
        ApproveChoice(pipeline=pipeline, ask=question) >> mend()
    return dag
