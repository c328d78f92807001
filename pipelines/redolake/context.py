"""A pipeline's ledger and landing, opened together for a step; also lease owners, the clock and connections."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from redolake.config import Pipeline
from redolake.errors import ConfigurationError, Finding, LandingDamaged, LeaseHeld, Terminal
from redolake.host.secrets import equal_keys
from redolake.land.landing import Landing
from redolake.ledger import Lease, Ledger, open_ledger, open_ledger_to_read
from redolake.ledger.connection import url_of_connection
from redolake.ledger.entries import LeaseKind, lease_name
from redolake.records.captured import CapturedTables
from redolake.records.jobs import Spec, decode_spec
from redolake.source import ConnectParams, RetryRule, Source, connect_params, open_source
from redolake.values.table import TableId

T = TypeVar("T")
Report = Callable[[str], None]
LEASE_POLL_SECONDS = 1.0
# Set in a thread that works beside the rounds of its process: its leases are its own, and once it is asked to stop it waits
# for none.
BESIDE: ContextVar[threading.Event | None] = ContextVar("beside", default=None)

log = logging.getLogger(__name__)


def silent(_: str) -> None:
    """Ignore progress."""


@dataclass(frozen=True, slots=True)
class PipelineContext:
    pipeline: Pipeline
    ledger: Ledger
    landing: Landing

    @property
    def name(self) -> str:
        return self.pipeline.name


def now() -> datetime:
    return datetime.now(UTC)


def owner() -> str:
    """Return the owner of a lease: this task's DAG, which has one run at a time, or this process. Work beside the rounds of a
    run is another owner, or it would take the lease of the run's own batch."""
    dag = os.environ.get("AIRFLOW_CTX_DAG_ID")
    return of_thread(f"airflow:{dag}") if dag else process()


def process() -> str:
    return of_thread(f"process:{socket.gethostname()}:{os.getpid()}")


def of_thread(holder: str) -> str:
    return holder if BESIDE.get() is None else f"beside {holder}"


def is_gone(holder: str) -> bool:
    """Return whether a lease's owner is a process of this machine that has ended, most likely killed."""
    kind, _, rest = holder.partition(":")
    host, _, pid = rest.rpartition(":")
    if kind not in ("process", "beside process") or host != socket.gethostname():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def may_end(holder: str) -> bool:
    """Return whether this process may end a lease that has not expired: it is its own, or that of a process that has ended."""
    return holder == owner() or is_gone(holder)


def take_lease(context: PipelineContext, what: LeaseKind, seconds: float) -> Lease:
    """Take a lease; while another process has it, wait for it. Raises LeaseHeld after `lease_wait_minutes`."""
    take = partial(context.ledger.lease, lease_name(what, context.name), owner(), seconds, is_gone)
    return once_free(context.pipeline, take)


def once_free(pipeline: Pipeline, take: Callable[[], T]) -> T:
    """Call `take` again while it raises LeaseHeld. Raises it after `lease_wait_minutes`."""
    deadline = time.monotonic() + pipeline.lease_wait_minutes * 60
    waits = False
    while True:
        try:
            return take()
        except LeaseHeld as error:
            stop = BESIDE.get()
            if time.monotonic() >= deadline or (stop is not None and stop.is_set()):
                raise
            if not waits:
                log.warning("waiting up to %g minutes: %s", pipeline.lease_wait_minutes, error.what)
            waits = True
        time.sleep(LEASE_POLL_SECONDS)


@contextmanager
def held_lease(context: PipelineContext, what: LeaseKind, seconds: float) -> Iterator[Lease]:
    """Hold a lease for a short block of one process."""
    lease = take_lease(context, what, seconds)
    try:
        yield lease
    finally:
        context.ledger.release_lease(lease)


def open_context(pipeline: Pipeline) -> AbstractContextManager[PipelineContext]:
    """Open the ledger to write, once nobody holds a lease if its tables must be changed first. Raises ConfigurationError where
    two keys are one."""
    if findings := list(equal_keys(pipeline.secrets)):
        raise ConfigurationError(findings)
    url = ledger_url(pipeline)
    return open_with(pipeline, once_free(pipeline, lambda: open_ledger(url, pipeline.name, now, may_end)))


def open_to_read(pipeline: Pipeline) -> AbstractContextManager[PipelineContext]:
    """Open the ledger so that nothing can be written. It is not corrected from the landing: steps do that."""
    return open_with(pipeline, open_ledger_to_read(ledger_url(pipeline), pipeline.name, now))


@contextmanager
def open_with(pipeline: Pipeline, ledger: Ledger) -> Iterator[PipelineContext]:
    try:
        landing = Landing(pipeline.landing, pipeline.name, ledger.recent_windows, pipeline.landing_secret)
        yield PipelineContext(with_recorded_tables(pipeline, landing), ledger, landing)
    finally:
        ledger.close()


def with_recorded_tables(pipeline: Pipeline, landing: Landing) -> Pipeline:
    """Return the pipeline with the tables that its patterns have matched, as the landing records them, in `tables`."""
    if not pipeline.patterns:
        return pipeline
    _, recorded = landing.captured.newest()
    return pipeline if recorded is None else with_captured(pipeline, recorded)


def with_captured(pipeline: Pipeline, recorded: CapturedTables) -> Pipeline:
    renamed = {TableId.parse(table): TableId.parse(name) for table, name in recorded.renamed.items()}
    return pipeline.with_matched(map(TableId.parse, recorded.tables), renamed)


def ledger_url(pipeline: Pipeline) -> str:
    """Return the ledger's URL. A named connection is read from AIRFLOW_CONN_<ID>; in Airflow's tasks the URL is set already."""
    if pipeline.ledger.connection is None:
        return pipeline.ledger_url
    variable = f"AIRFLOW_CONN_{pipeline.ledger.connection.upper()}"
    text = os.environ.get(variable, "").strip()
    if not text:
        cure = f"export {variable}=postgresql://user:password@host/database"
        raise ConfigurationError([Finding("ledger.connection", f"{variable} is not set", cure)])
    return url_of_connection(text, variable)


def open_pipeline_source(pipeline: Pipeline, params: ConnectParams | None, container: str | None = None) -> Source:
    """Connect to the container, or to the root, by `params` or else by AIRFLOW_CONN_<ID> in the environment."""
    retry = RetryRule(pipeline.retry.initial_seconds, pipeline.retry.max_seconds, pipeline.retry.attempts)
    return open_source(
        params or pipeline_params(pipeline),
        container=container,
        call_timeout_seconds=pipeline.source.call_timeout_seconds,
        retry=retry,
    )


def pipeline_params(pipeline: Pipeline) -> ConnectParams:
    """Return the pipeline's connection of the environment. Raises ConfigurationError where it has none."""
    if pipeline.source.connection is None:
        raise no_connection(pipeline, "is not set, and this needs the database")
    return connect_params(pipeline.source.connection, os.environ)


def no_connection(pipeline: Pipeline, what: str) -> ConfigurationError:
    """Return the error of something that only the database can give."""
    cure = "name a `connection` below `source` in pipelines.yml and run it again; it may be left out once more after that"
    return ConfigurationError([Finding(f"{pipeline.name}.source.connection", what, cure)])


def read_spec(context: PipelineContext, location: str) -> Spec:
    """Read the job spec that an earlier step wrote."""
    text = context.landing.files.read_at(location)
    if text is None:
        cure = "clear the task that prepares it, or run again; a landing is moved with all its files, while nothing runs"
        raise LandingDamaged("the job's spec is gone", cure=cure, path=location)
    return decode_spec(text, location)


def read_result(context: PipelineContext, spec: Spec) -> bytes:
    """Read the manifest that the job wrote at its end."""
    text = context.landing.files.read_at(spec.manifest)
    if text is None:
        raise Terminal(
            "the Spark job has left no manifest",
            cure="see its log, which says why, and clear its task or run again",
            file=spec.manifest,
        )
    return text
