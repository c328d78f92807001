"""How a task fails: terminal errors fail it at once, transient ones are retried. The whole error text is kept."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from redolake.airflow.run_notes import leave_note
from redolake.errors import RedolakeError, Terminal

log = logging.getLogger(__name__)


@contextmanager
def airflow_failures() -> Iterator[None]:
    """Fail the task without a retry on a terminal error; let Airflow retry any other."""
    try:
        yield
    except Terminal as error:
        raise failure(error, AirflowFailException) from None
    except RedolakeError as error:
        raise failure(error, AirflowException) from None


def failure(error: RedolakeError, kind: type[Exception]) -> Exception:
    """Return Airflow's exception with the error's text, so that a log ends with what, where and what to do, once.

    The frames that led to it are in the log at level DEBUG only."""
    log.debug("the error in full", exc_info=error)
    return kind(str(error))


COUNTED = re.compile(r"\A\d+ finding\(s\):\s*- ")  # Airflow shows the first line of a note


@contextmanager
def why_in_note(context: Any) -> Iterator[None]:
    """Leave the text with which a task fails for the note of its run: that of the last one comes first."""
    try:
        yield
    except AirflowException as error:
        if type(error) in (AirflowException, AirflowFailException):  # others skip, or wait
            leave_note(context, COUNTED.sub("", str(error)))
        raise
