"""A Run: who works on a pipeline, and with what, opened once; also lease owners and the clock."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial, wraps
from inspect import signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar, cast, overload

from redolake.config import Pipeline
from redolake.context.spark import Spark, check_damage
from redolake.errors import (
    ConfigurationError,
    Finding,
    LandingDamaged,
    LeaseHeld,
    RedolakeError,
    SparkLost,
    Terminal,
    Transient,
)
from redolake.host.progress import Report, silent
from redolake.host.secrets import equal_keys
from redolake.land.landing import Landing
from redolake.ledger import Lease, Ledger, open_ledger, open_ledger_to_read
from redolake.ledger.connection import url_of_connection
from redolake.ledger.entries import LeaseKind, lease_name
from redolake.records.captured import CapturedTables
from redolake.records.jobs import Spec, decode_spec
from redolake.source import ConnectParams, Source, connect_params, open_source
from redolake.values.table import TableId

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R", covariant=True)
LEASE_POLL_SECONDS = 1.0
OF_RUN = frozenset({"source", "spark", "report", "opens", "execute", "by", "reason"})
KEPT_SECONDS = 60.0  # a connection that nothing uses: firewalls cut those that are idle for minutes
# Set in a thread that works beside the rounds of its process: once it is asked to stop it waits for no lease.
BESIDE: ContextVar[threading.Event | None] = ContextVar("beside", default=None)

log = logging.getLogger(__name__)


def check_reason(decision: str, reason: str) -> None:
    """Raise ConfigurationError for an empty reason."""
    if not reason.strip():
        cure = "add --reason TEXT, or in Airflow fill in the field Reason"
        raise ConfigurationError([Finding(decision, "needs a reason, which is stored with it", cure)])


class Run:
    """Who works on a pipeline, and with what, opened once: ledger and landing when the block begins, the source and Spark when
    a step needs them first. All are closed at its end.

    A step that enters it again takes part in it. One thread uses it; another one takes a `fork`. With `writes` false nothing
    can be written to the ledger. `opens` opens Spark where the pipeline's own settings do not say how.

    An operation changes nothing without `execute`, and says what it would do; `shown` is then what identifies that
    (Outcome.shown), and an operation that is given it does nothing else. Where the work goes on `apart`, in tasks of their own,
    it ends with what is left for them (Outcome.rest)."""

    ledger: Ledger
    landing: Landing

    def __init__(
        self,
        pipeline: Pipeline,
        source: ConnectParams | None = None,
        spark: Any = None,
        report: Report = silent,
        *,
        opens: Callable[[], Any] | None = None,
        writes: bool = True,
        execute: bool = False,
        by: str = "",
        reason: str = "",
        shown: Any = None,
        apart: bool = False,
    ) -> None:
        self.configured = self.pipeline = pipeline  # in the block with the tables that its patterns have matched, too
        self.source, self.report, self.opens, self._writes = source, report, opens, writes
        self.execute, self.by, self.reason, self.shown, self.apart = execute, by, reason.strip(), shown, apart
        self.spark = spark if isinstance(spark, Spark) else Spark(pipeline, spark, opens, report)
        self._owns_spark = self.spark is not spark
        self._kept: list[tuple[Source, float]] = []  # connections, and until when
        self._entered, self._is_open = 0, False
        self._parent: Run | None = None
        # The tokens of the pipeline's leases when the ledger was corrected in this turn; empty until it is, and once somebody
        # else has held one.
        self.leases_seen: dict[str, int] = {}

    @property
    def name(self) -> str:
        return self.pipeline.name

    @property
    def decided_by(self) -> str:
        """Who decides: the person that was named, else who holds this run's leases."""
        return self.by or owner()

    def decision(self, of: str) -> tuple[str, str]:
        """Return who decides and why, to be stored with what is done. Raise ConfigurationError without a reason."""
        check_reason(of, self.reason)
        return self.decided_by, self.reason

    def __enter__(self) -> Self:
        if not self._entered:
            self._open()
        self._entered += 1
        return self

    def __exit__(self, _: object, surprise: BaseException | None, __: object) -> None:
        try:
            check_damage(self.pipeline, self.spark, surprise)
        finally:
            self._leave()

    def _leave(self) -> None:
        self._entered -= 1
        if not self._entered:
            self._close()
            if self._owns_spark:
                with suppress(SparkLost):  # the work is done, or the first error says why it is not
                    self.spark.stop()

    def _open(self) -> None:
        self.ledger = self._open_ledger() if self._parent is None else self._parent.ledger.again()
        self._is_open = True
        try:
            self.look_again()
        except BaseException:
            self._close()  # which leaves a ledger to the run that this one is a fork of
            raise

    def begin_turn(self) -> None:
        """Let the next step correct the ledger from the landing again; what is open stays open."""
        self.leases_seen.clear()

    def look_again(self) -> None:
        """Forget what was read of the landing: a step knows what the one before has written, by itself or in a job."""
        place, secret = self.configured.landing, self.configured.landing_secret
        self.landing = Landing(place, self.configured.name, self.ledger.recent_windows, secret)
        self.pipeline = with_recorded_tables(self.configured, self.landing)

    def _open_ledger(self) -> Ledger:
        """Open it to write, once nobody holds a lease if its tables must be changed first. Raises ConfigurationError where two
        keys are one."""
        if self._writes and (findings := list(equal_keys(self.configured.secrets))):
            raise ConfigurationError(findings)
        url, name = ledger_url(self.configured), self.configured.name
        if not self._writes:
            return open_ledger_to_read(url, name, now)
        return once_free(self.configured, lambda: open_ledger(url, name, now, may_end))

    def _close(self) -> None:
        while self._kept:
            with suppress(RedolakeError):  # it may be what failed
                self._kept.pop()[0].close()
        if self._is_open and self._parent is None:
            self.ledger.close()
        self._is_open = False

    def fork(self) -> Run:
        """Return another one for a thread beside this one, with a ledger, a landing and connections of its own."""
        made = copy(self)
        made._kept, made.leases_seen, made._parent, made._owns_spark = [], {}, self, False
        made._entered, made._is_open = 0, False
        return made

    def with_landing(self, landing: Landing) -> Run:
        made = copy(self)
        made.landing = landing
        return made

    @contextmanager
    def oracle(self, container: str | None = None) -> Iterator[Source]:
        """Yield a connection to the source, in the container or in the root. One that has served without an error is kept for
        the next block, for a while, as long as it answers."""
        oracle = self._connection(container)
        try:
            oracle.use_container(container)
            yield oracle
        except BaseException:
            with suppress(RedolakeError):  # the first failure says more
                oracle.close()
            raise
        self._kept.append((oracle, time.monotonic() + KEPT_SECONDS))

    def connect(self, container: str | None = None) -> Source:
        """Open a connection of its own, for LogMiner, which keeps its state in the session, and for what takes long."""
        report = None if self.report is silent else self.report
        return open_pipeline_source(self.pipeline, self.source, container, report)

    def _connection(self, container: str | None) -> Source:
        while self._kept:
            oracle, until = self._kept.pop()
            if time.monotonic() < until and oracle.answers():
                return oracle
            oracle.close()
        return self.connect(container)

    def retry(self, step: Callable[[Run], T]) -> T:
        """Try a step as Airflow would: again after transient errors only, with growing pauses, and with all opened again."""

        def attempt() -> T:
            if not self._is_open:
                self._open()
            try:
                return step(self)
            except Transient:
                self._close()
                self.begin_turn()  # what the ledger has recorded may be lost with its connection
                raise

        return self.pipeline.retry.call(attempt)


class Step(Protocol[P, R]):
    """A step as it is called: with a pipeline it takes what a Run has by name too, which no signature can say."""

    @overload
    def __call__(self, run: Run, /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(self, pipeline: Pipeline, /, *args: Any, **kwargs: Any) -> R: ...


def step(function: Callable[Concatenate[Run, P], T], *, writes: bool = True) -> Step[P, T]:
    """Let a step be called with a Run, in which it takes part, or with a pipeline and what a Run has: then it has one of its
    own."""
    of_run = OF_RUN - signature(function).parameters.keys()

    @wraps(function)
    def call(given: Run | Pipeline, /, *args: Any, **kwargs: Any) -> T:
        own: dict[str, Any] = {} if isinstance(given, Run) else {name: kwargs.pop(name) for name in of_run & kwargs.keys()}
        with given if isinstance(given, Run) else Run(given, writes=writes, **own) as run:
            run.look_again()
            return function(run, *args, **kwargs)

    return cast("Step[P, T]", call)


def reader(function: Callable[Concatenate[Run, P], T]) -> Step[P, T]:
    """Let a step be called as `step` does; a Run of its own cannot write."""
    return step(function, writes=False)


def now() -> datetime:
    return datetime.now(UTC)


def owner() -> str:
    """Return the owner of a lease: this task's DAG, which has one run at a time, or this process; in each but its main thread
    that thread of it. Work beside other work of a process would take its lease, and end it, if both were one owner."""
    dag = os.environ.get("AIRFLOW_CTX_DAG_ID")
    return of_thread(f"airflow:{dag}") if dag else process()


def process() -> str:
    return of_thread(f"process:{socket.gethostname()}:{os.getpid()}{birth_of(os.getpid())}")


def of_thread(holder: str) -> str:
    is_main = threading.current_thread() is threading.main_thread()
    return holder if is_main else f"thread {threading.get_native_id()} of {holder}"


def birth_of(pid: int) -> str:
    """Return what tells a process from a later one with its number, and from one of another container whose host has the same
    name: the space of its number, and when it was started. Empty where the system does not say."""
    try:
        space = os.stat("/proc/self/ns/pid").st_ino
        return f"/{space}/{Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[19]}"
    except (OSError, IndexError):
        return ""


def is_gone(holder: str) -> bool:
    """Return whether a lease's owner is a process of this machine, or a thread of one, that has ended, most likely killed."""
    kind, _, rest = holder.partition(":")
    host, _, number = rest.rpartition(":")
    if not kind.endswith("process") or host != socket.gethostname():
        return False
    pid, _, birth = number.partition("/")
    if birth.partition("/")[0] != birth_of(os.getpid())[1:].partition("/")[0]:
        return False  # a number of another space, which nobody here can look up
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    now_with_it = birth_of(int(pid))
    if now_with_it and f"/{birth}" != now_with_it:
        return True  # another process has the number by now
    thread = kind.removesuffix(" of process").removeprefix("thread ")
    return bool(now_with_it and thread.isdecimal()) and not Path(f"/proc/{pid}/task/{thread}").exists()


def may_end(holder: str) -> bool:
    """Return whether this process may end a lease that has not expired: it is its own, or that of a process that has ended."""
    return holder == owner() or is_gone(holder)


def take_lease(context: Run, what: LeaseKind, seconds: float) -> Lease:
    """Take a lease; while another process has it, wait for it. Raises LeaseHeld after `lease_wait_minutes`."""
    take = partial(context.ledger.lease, lease_name(what, context.name), owner(), seconds, is_gone)
    lease, seen = once_free(context.pipeline, take), context.leases_seen
    if seen and seen.get(lease.name, 0) != lease.token_before:
        seen.clear()  # somebody else has written meanwhile
    elif seen:
        seen[lease.name] = lease.token
    return lease


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
def held_lease(context: Run, what: LeaseKind, seconds: float) -> Iterator[Lease]:
    """Hold a lease for a short block of one process."""
    lease = take_lease(context, what, seconds)
    try:
        yield lease
    finally:
        context.ledger.release_lease(lease)


def open_to_read(pipeline: Pipeline) -> Run:
    """Open the ledger so that nothing can be written. It is not corrected from the landing: steps do that."""
    return Run(pipeline, writes=False)


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


def open_pipeline_source(
    pipeline: Pipeline, params: ConnectParams | None, container: str | None = None, report: Report | None = None
) -> Source:
    """Connect to the container, or to the root, by `params` or else by AIRFLOW_CONN_<ID> in the environment. The progress of a
    wait for a standby is logged where nobody has it reported."""
    return open_source(
        params or pipeline_params(pipeline),
        container=container,
        call_timeout_seconds=pipeline.source.call_timeout_seconds,
        retry=pipeline.retry,
        report=report or log.info,
    )


def pipeline_params(pipeline: Pipeline) -> ConnectParams:
    """Return the pipeline's connection of the environment. Raises ConfigurationError where it has none."""
    if pipeline.source.connection is None:
        raise no_connection(pipeline, "is not set, and this needs the database")
    params, primary = connect_params(pipeline.source.connection, os.environ), pipeline.source.primary
    return params if primary is None else replace(params, primary=connect_params(primary, os.environ))


def no_connection(pipeline: Pipeline, what: str) -> ConfigurationError:
    """Return the error of something that only the database can give."""
    cure = "name a `connection` below `source` in pipelines.yml and run it again; it may be left out once more after that"
    return ConfigurationError([Finding(f"{pipeline.name}.source.connection", what, cure)])


def read_spec(context: Run, location: str) -> Spec:
    """Read the job spec that an earlier step wrote."""
    text = context.landing.files.read_at(location)
    if text is None:
        cure = "clear the task that prepares it, or run again; a landing is moved with all its files, while nothing runs"
        raise LandingDamaged("the job's spec is gone", cure=cure, path=location)
    return decode_spec(text, location)


def read_result(context: Run, spec: Spec) -> bytes:
    """Read the manifest that the job wrote at its end."""
    text = context.landing.files.read_at(spec.manifest)
    if text is None:
        raise Terminal(
            "the Spark job has left no manifest",
            cure="see its log, which says why, and clear its task or run again",
            file=spec.manifest,
        )
    return text
