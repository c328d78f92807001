"""Forms, and what was chosen in them. The form of an operation is made of its declaration (redolake.operations)."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow.sdk import Param, get_current_context
from airflow.sdk.exceptions import AirflowFailException

from redolake.airflow.approval import Decided, Question, find_decision, trigger_user
from redolake.airflow.connections import resolved_pipeline, source_of
from redolake.airflow.failures import airflow_failures
from redolake.airflow.links import base_path
from redolake.airflow.run_notes import leave_note
from redolake.airflow.spark import session_opener
from redolake.config import Pipeline
from redolake.errors import one_line, plain_lines
from redolake.operations import Operation, Outcome, Parameter, Verdict
from redolake.operations.declared import Keys, Moment, Texts
from redolake.values.moment import PATTERN
from redolake.values.row_key import parse_row_key

if TYPE_CHECKING:
    from redolake.context import Run

log = logging.getLogger(__name__)

BETWEEN_KEYS = re.compile(r'[\r\n]|;(?=(?:[^"]*"[^"]*")*[^"]*$)')  # a `;` in a quoted value is part of it
EXAMPLES = ["first", "now", "2026-11-20 08:00 Europe/Berlin"]  # with some, the field has one line
TABLES = ("table", "tables")


def log_line(line: str) -> None:
    if line:  # empty lines only count work, for a terminal
        log.info("%s", one_line(line))


def tables_param(pipeline: Pipeline, default: list[str], description: str, fewest: int = 0) -> Param:
    """Return a form field that offers the captured tables. Where patterns match them, the form takes a name on each line: its
    list takes no other value than those offered. A field that may be empty may be null: that is what the form makes of a list
    from which everything was removed."""
    names = [str(t.id) for t in pipeline.tables]
    about: dict[str, Any] = {"title": "Tables", "type": "array" if fewest else ["null", "array"]}
    if pipeline.patterns:
        text = f"{description} One name on each line."
        return Param(default, **about, items={"type": "string"}, minItems=fewest, description=text)
    items = {"type": "string", "enum": names}
    return Param(default, **about, items=items, minItems=fewest, uniqueItems=True, examples=names, description=description)


def chosen_tables(chosen: Mapping[str, Any]) -> list[str]:
    """Return the names in the form's field Tables."""
    return [name.strip() for name in chosen["tables"] or () if name.strip()]


def optional_text(title: str, description: str) -> Param:
    """Return a text field that may stay empty. Airflow's form requires a field whose only type is `string`."""
    return Param(None, type=["null", "string"], title=title, description=description)


def old_range(pipeline: Pipeline) -> Param:
    """Return a field that only says which DAG takes an old range. Airflow's dialog has its own *Backfill* beside it, disabled,
    and nothing else says there what to use."""
    dag = f"{pipeline.name}_backfill"
    return Param(
        dag,
        enum=[dag],
        type="string",
        title="An old range",
        description_md=f"*Backfill* takes dates, and redo has SCNs: trigger "
        f"[{dag}]({base_path()}/dags/{dag}) for an old range, by SCN or by time.",
    )


def confirmation(pipeline: Pipeline, choices: str) -> Param:
    """Return the field that confirms choices that cannot be undone."""
    if pipeline.airflow.approval_by_another:
        return optional_text("Confirm", f"Not read: for {choices}, the run waits until another person approves it.")
    return optional_text(
        "Confirm",
        f"Only for {choices}, which cannot be undone: write {pipeline.name} here. If it is empty, the run waits for an "
        "approval under Required Actions.",
    )


# --- The form of operations ---------------------------------------------------------------------------------------------


def form_of(pipeline: Pipeline, operations: Mapping[str, Operation], *, dry_run: bool = True) -> dict[str, Param]:
    """Return the fields from which `chosen_in` reads; the first of several operations' says which is meant."""
    all_of, found = list(operations.values()), dict[str, Param]()
    is_one = len(operations) == 1
    if not is_one:
        shown = {name: f"{name}: {one.does}" for name, one in operations.items()}
        found["mend"] = Param(next(iter(operations)), type="string", enum=list(operations), values_display=shown, title="Mend")
    if by_table := {name: p for name, one in operations.items() for p in one.parameters if p.name in TABLES}:
        captured = [str(t.id) for t in pipeline.tables]
        needs = any(p.is_needed for p in by_table.values())
        text = f"For {join_names(list(by_table))}." if not is_one else "None chosen: all tables."
        found["tables"] = tables_param(pipeline, captured if needs and len(captured) == 1 else [], text)
    for name, (one, of) in own_fields(operations).items():
        found[name] = field_of(one, "" if is_one else f"For {join_names(of)}. ")
    if any(one.reason for one in all_of):
        text = all_of[0].reason if is_one else "Stored with the decision, with who decided."
        condition = "" if "need" in text else " A run that is no dry run needs it."
        found["reason"] = optional_text("Reason", text + condition)
    if not all(one.looks for one in all_of):
        about = "Only show what it would do, in the task's log and in the note of the run."
        found["dry_run"] = Param(dry_run, type="boolean", title="Dry run", description=about)
    if final := list(filter(None, map(final_text, all_of))):
        found["confirm"] = confirmation(pipeline, join_names(final))
    return found


def own_fields(operations: Mapping[str, Operation]) -> dict[str, tuple[Parameter, list[str]]]:
    """Return the fields of single operations, each with the names of those that have it."""
    found = dict[str, tuple[Parameter, list[str]]]()
    for name, operation in operations.items():
        for one in operation.parameters:
            if one.name not in TABLES:
                found.setdefault(one.name, (one, []))[1].append(name)
    return found


def final_text(one: Operation) -> str:
    return f"{one.command} with {one.final.upper()}" if isinstance(one.final, str) else one.command if one.final else ""


def join_names(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def field_of(one: Parameter, whose: str) -> Param:
    """Return the field of a parameter that these operations have."""
    text = f"{whose}{one.option.help}"
    about = {"title": one.title, "description": text}
    if one.option.choices:
        none = {} if one.default else {None: "none"}
        shown = {choice: f"{choice}: {means}" for choice, means in one.option.choices.items()}
        kind: Any = ["null", "string"] if none else "string"
        values = {"null" if choice is None else choice: means for choice, means in (none | shown).items()}
        return Param(one.default or None, type=kind, enum=[*none, *shown], values_display=values, **about)
    if one.type is bool:
        return Param(False, type="boolean", **about)
    if one.type == int | None:
        return Param(None, type=["null", "integer"], minimum=0, **about)
    if one.type is Moment:
        given = {} if one.is_needed else {"default": str(one.default)}  # Airflow sends a form as plain types alone
        return Param(**given, type=["string", "integer"], pattern=PATTERN, minimum=0, examples=EXAMPLES, **about)
    if one.type == Texts:
        about["description"] = f"{text} One on each line."
        return Param([], type=["null", "array"], items={"type": "string"}, **about)
    return optional_text(one.title, text + (" Write `;` between several." if one.type == Keys else ""))


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a form asks for: an operation, and what is chosen for each time that it is done, by table."""

    operation: Operation
    times: Mapping[str, Mapping[str, Any]]

    @property
    def is_final(self) -> bool:
        return any(map(self.operation.is_final, self.times.values()))

    def check(self, *, execute: bool = False, reason: str = "") -> None:
        """Raise ConfigurationError for what can be seen before anything is opened."""
        for values in self.times.values():
            self.operation.check(values, execute=execute, reason=reason)

    def act(self, run_of: Callable[[str], Run]) -> dict[str, Outcome]:
        """Do it for one table after the other. The lines are logged as each is done."""
        done = {}
        for name, values in self.times.items():
            done[name] = self.operation.act(run_of(name), **values)
            log.info("%s", "\n".join(plain_lines(done[name].lines)))
        return done


def chosen_in(form: Mapping[str, Any], operations: Mapping[str, Operation]) -> Chosen:
    """Return what the form asks for. Raises AirflowFailException for a field that the operation does not have, and for one that
    it needs."""
    operation = operations[form["mend"]] if "mend" in form else next(iter(operations.values()))
    mine = {one.name: one for one in operation.parameters}
    for name, (one, _) in own_fields(operations).items():
        if name not in mine and form[name] not in (None, "", [], False, one.default):
            raise AirflowFailException(f"{operation.command} has no {one.title}\n  do this: leave the field {one.title} empty")
    values = {name: value_of(one, form[name]) for name, one in mine.items() if name not in TABLES}
    if not {*TABLES} & {*mine}:
        return Chosen(operation, {"": values})
    tables = chosen_tables(form)
    if not tables and any(mine[name].is_needed for name in TABLES if name in mine):
        raise AirflowFailException(f"no table is chosen to {operation.command}\n  do this: choose it in the field Tables")
    if "tables" in mine:
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
    if one.type == Texts:
        return tuple(text.strip() for text in given or () if text.strip())
    return (given.strip() or one.default) if isinstance(given, str) else one.default if given is None else given


def run_of(
    pipeline: Pipeline, resolved: Pipeline, by: Decided, *, execute: bool = False, shown: Any = None, apart: bool = False
) -> Run:
    from redolake import steps

    return steps.Run(
        resolved, source_of(pipeline), report=log_line, opens=session_opener(pipeline), execute=execute, by=by.by,
        reason=by.reason, shown=shown, apart=apart,
    )  # fmt: skip


def question_of(operations: Mapping[str, Operation], pipeline: Pipeline, form: Mapping[str, Any]) -> Question | None:
    """Return what cannot be undone, as a dry run shows it."""
    asked = chosen_in(form, operations)
    if form["dry_run"] or not asked.is_final:
        return None
    asked.check()
    found = asked.act(lambda _: run_of(pipeline, pipeline, Decided("", "")))
    lines = [line for one in found.values() for line in one.lines]
    final = asked.operation.final
    choice = form[final] if isinstance(final, str) else None
    words = (str(final) if choice is True else choice, *found)
    subject = " ".join([f"{pipeline.name}: {asked.operation.command}", *filter(None, words)])
    return Question(subject, [asked.operation.does, *lines], {name: one.shown for name, one in found.items()})


def act(pipeline: Pipeline, operations: Mapping[str, Operation], *, apart: bool = False, **given: Any) -> list[Outcome]:
    """Do what the form of this run asks for, or with *Dry run* show it; the run's note says what. `given` are fields that the
    form does not have. Raises AirflowFailException if a table is not as it should be, after all were tried."""
    context = get_current_context()
    form = {**context["params"], **given}
    with airflow_failures():
        asked, execute = chosen_in(form, operations), not form.get("dry_run", True)
    if execute and asked.is_final and "confirm" in form:
        by = find_decision(pipeline, context)
    else:
        by = Decided(trigger_user(context), form.get("reason") or "")
    shown = by.shown or {}
    with airflow_failures():
        asked.check(execute=execute, reason=by.reason)
    with resolved_pipeline(pipeline) as resolved:
        done = asked.act(lambda name: run_of(pipeline, resolved, by, execute=execute, shown=shown.get(name), apart=apart))
    end_with(done.values())
    return list(done.values())


def end_with(done: Collection[Outcome]) -> None:
    """Put what was done into the note of the run. Raises AirflowFailException with what is not as it should be."""
    leave_note(get_current_context(), "\n".join(lines_of(done)))
    if wrong := lines_of(one for one in done if one.verdict is not Verdict.DONE):
        raise AirflowFailException("\n".join(wrong))


def lines_of(done: Iterable[Outcome]) -> list[str]:
    return list(plain_lines(line for one in done for line in one.lines))
