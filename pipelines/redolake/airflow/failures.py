"""How a task fails: terminal errors fail it at once, transient ones are retried. The whole error text is kept."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk import get_current_context
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
    return with_note(str(error), kind)


def with_note(text: str, kind: type[Exception]) -> Exception:
    """Return Airflow's exception with this text, which the note of the run has too: the last failure's comes first."""
    try:
        leave_note(get_current_context(), text)
    except RuntimeError:  # no task runs: a trigger, or the page's server
        log.debug("no run has a note of this: %s", text)
    return kind(text)
