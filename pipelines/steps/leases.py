"""Who writes a pipeline's tables keeps its lease while it lives, and stops when another has taken it over.

The order of a job names the lease it was written under. The job itself touches no ledger: whoever waits for it renews.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipelines.config import Pipeline
from pipelines.context import Workplace, now, owner, take_lease, workplace
from pipelines.errors import LeaseHeld, LedgerUnavailable
from pipelines.ledger import Lease, Ledger
from pipelines.records.batch_spec import BatchSpec
from pipelines.records.job_spec import Spec

APPLY = "apply"
LEASE_SECONDS = 900.0  # over the time that a task may queue between two that work
LIVING_SECONDS = 60.0  # while somebody renews: when it dies, others wait no longer
BEAT_SECONDS = 10.0  # shorter than any start of Spark: a second job of the same DAG begins after the first has noticed


def take_apply_lease(work: Workplace) -> Lease:
    return take_lease(work, APPLY, LEASE_SECONDS)


def lease_of(work: Workplace, spec: Spec) -> Lease | None:
    """The lease the order was written under; None for one that writes no live table, or is from before orders named it."""
    return None if spec.lease is None else Lease(f"{APPLY}/{work.name}", owner(), spec.lease, now())


def renewed(work: Workplace, spec: Spec) -> Lease:
    """For a step after the job. Raises LeaseHeld when another writer has begun since the order was written."""
    lease = lease_of(work, spec)
    return take_lease(work, APPLY, LIVING_SECONDS) if lease is None else work.ledger.renew(lease, LIVING_SECONDS)


class Keeper:
    """Renews a lease from a thread of its own until it is told to end, or the lease is lost."""

    def __init__(self, ledger: Ledger, lease: Lease, on_loss: Callable[[], None]) -> None:
        self._ledger, self._lease, self._on_loss = ledger, ledger.renew(lease, LIVING_SECONDS), on_loss
        self._lost: LeaseHeld | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raises LeaseHeld when the lease was taken over, could not be renewed while it lasted, or is renewed by nobody."""
        if self._lost is not None:
            raise self._lost
        if not self._ended.is_set() and not self._thread.is_alive():
            raise self._unrenewed("the thread that renews it has ended")

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def keep_for(self, seconds: float) -> None:
        self._lease = self._ledger.renew(self._lease, seconds)

    def _run(self) -> None:
        while self._lost is None and not self._ended.wait(BEAT_SECONDS):
            self._renew()
        if self._lost is not None:
            self._on_loss()

    def _renew(self) -> None:
        try:
            self.keep_for(LIVING_SECONDS)
        except LeaseHeld as taken:
            self._lost = taken
        except LedgerUnavailable as silent:
            if now() >= self._lease.expires_at:  # from now on another writer may begin
                self._lost = self._unrenewed(silent.what)
        except Exception as surprise:  # nobody foresaw it, so nobody knows whether the next beat would come through
            self._lost = self._unrenewed(f"{type(surprise).__name__}: {surprise}")

    def _unrenewed(self, why: str) -> LeaseHeld:
        cure = "see to the ledger's database; the step is tried again"
        return LeaseHeld(f"the lease could not be renewed: {why}", cure=cure, lease=self._lease.name)


@contextmanager
def kept_lease(pipeline: Pipeline, spec: Spec, on_loss: Callable[[], None] = lambda: None) -> Iterator[Callable[[], None]]:
    """Keeps the order's lease while the block runs; what is yielded raises LeaseHeld once it is lost, and so does the end.

    `on_loss` is called at that moment, from another thread. A batch that has its manifest changes nothing, and needs no lease.
    """
    with workplace(pipeline) as work:
        lease = lease_of(work, spec)
        if lease is None or (isinstance(spec, BatchSpec) and work.landing.files.read_at(spec.manifest) is not None):
            yield lambda: None
            return
        keeper = Keeper(work.ledger, lease, on_loss)
        try:
            yield keeper.check
            keeper.end()
            keeper.keep_for(LEASE_SECONDS)  # the next task may have to queue
        finally:
            keeper.end()
            keeper.check()
