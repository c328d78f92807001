"""How a task fails: terminal errors fail it at once, transient ones are retried. The whole error text is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from pipelines.errors import RedolakeError, Terminal


@contextmanager
def airflow_failures() -> Iterator[None]:
    """Fail the task without a retry on a terminal error; let Airflow retry any other."""
    try:
        yield
    except Terminal as error:
        raise AirflowFailException(str(error)) from error
    except RedolakeError as error:
        raise AirflowException(str(error)) from error
