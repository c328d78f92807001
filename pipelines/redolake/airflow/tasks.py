"""The tasks of all our DAGs: Airflow passes their arguments on as they are.

Airflow runs texts in the template fields of an operator as Jinja templates. Those of a mapped task contain what another task
has returned, such as names from Oracle. So none of our tasks has a template: only references to results are resolved.
"""

# mypy: disallow-untyped-decorators=False, disallow-subclassing-any=False

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from airflow.providers.standard.operators.python import PythonOperator, ShortCircuitOperator
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk.bases.decorator import DecoratedOperator, task_decorator_factory

from redolake.airflow.failures import why_in_note


class WithoutTemplates:
    """Put before an operator: its template fields stay the fields whose references Airflow resolves, and no text is run."""

    def render_template(self, content: Any, *args: Any, **kwargs: Any) -> Any:
        """Return a text as it is, and all else with its references resolved. Airflow calls it for each element, too."""
        return content if isinstance(content, str) else super().render_template(content, *args, **kwargs)  # type: ignore[misc]


class PythonTask(WithoutTemplates, DecoratedOperator, PythonOperator):
    """A function as a task."""

    template_fields = ("op_args", "op_kwargs")
    custom_operator_name = "@task"

    def __init__(self, *, python_callable: Callable[..., Any], op_args: Any, op_kwargs: Any, **settings: Any) -> None:
        called = {"python_callable": python_callable, "op_args": op_args, "op_kwargs": op_kwargs}
        super().__init__(kwargs_to_upstream=called, **called, **settings)

    def execute(self, context: Any) -> Any:
        with why_in_note(context):
            return super().execute(context)


class ShortCircuitTask(PythonTask, ShortCircuitOperator):
    """A function as a task that ends the run where it returns nothing."""

    custom_operator_name = "@short_circuit_task"


class StartRun(WithoutTemplates, TriggerDagRunOperator):
    """Starts a run of another DAG."""


def task(**settings: Any) -> Any:
    """Return a decorator that makes a task of a function, as Airflow's `@task` does."""
    return task_decorator_factory(decorated_operator_class=PythonTask, **settings)


def short_circuit_task(**settings: Any) -> Any:
    """Return the same as `task`, for a function whose empty result ends the run."""
    return task_decorator_factory(decorated_operator_class=ShortCircuitTask, **settings)
