"""How a task fails: errors for a person end it at once, all others are tried again. What the error says stays whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from pipelines.errors import RedolakeError, Terminal


@contextmanager
def failing_as_airflow() -> Iterator[None]:
    """Terminal errors fail the task without a retry; a transient one goes the way of Airflow's retries."""
    try:
        yield
    except Terminal as error:
        raise AirflowFailException(str(error)) from error
    except RedolakeError as error:
        raise AirflowException(str(error)) from error
