"""Fields that several forms have, and what was chosen in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Param

from redolake.airflow.links import base_path
from redolake.config import Pipeline


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
