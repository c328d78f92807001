"""Renew the leases of a job while it runs; stop the job when another writer takes one.

A job's spec names the lease it was written under. The job itself uses no ledger, so the process that waits for it renews the
lease.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress

from redolake.context import Run, held_lease, now, owner, take_lease
from redolake.errors import LeaseHeld, LedgerUnavailable
from redolake.ledger import Lease, Ledger
from redolake.ledger.entries import LeaseKind, lease_name
from redolake.records.batches.spec import BatchSpec
from redolake.records.jobs import Spec
from redolake.records.loads import SnapshotSpec
from redolake.records.maintenance import MaintenanceSpec

APPLY: LeaseKind = "apply"
RECEIVE: LeaseKind = "receive"  # OpenLogReplicator serves one client at a time
LOAD: LeaseKind = "load"  # of snapshots: batches leave out the tables that are loaded, and go on
LEASE_SECONDS = 900.0  # longer than a task may queue between two working tasks
RENEWED_FOR_SECONDS = 60.0  # while it is renewed: other writers wait at most this long after a process dies
RENEW_EVERY_SECONDS = 10.0  # shorter than any start of Spark, so a job notices its loss before a second one begins


def take_apply_lease(context: Run) -> Lease:
    return take_lease(context, APPLY, LEASE_SECONDS)


def apply_lease(context: Run) -> AbstractContextManager[Lease]:
    """Hold the apply lease for a short block of one process."""
    return held_lease(context, APPLY, LEASE_SECONDS)


def kind_of(spec: Spec) -> LeaseKind:
    return LOAD if isinstance(spec, SnapshotSpec) else APPLY


def leases_of(context: Run, spec: Spec) -> list[Lease]:
    """Return the leases the spec was written under, first the one of its kind; none for a spec that writes no live table."""
    tokens = {kind_of(spec): spec.lease}
    if isinstance(spec, MaintenanceSpec):
        tokens[LOAD] = spec.load_lease
    return [Lease(lease_name(kind, context.name), owner(), token, now()) for kind, token in tokens.items() if token is not None]


def renew_lease(context: Run, spec: Spec) -> Lease:
    """Renew the lease for a step after the job. Raises LeaseHeld if another writer has begun since the spec was written."""
    leases = leases_of(context, spec)
    if not leases:
        return take_lease(context, kind_of(spec), RENEWED_FOR_SECONDS)
    return context.ledger.renew(leases[0], RENEWED_FOR_SECONDS)


@contextmanager
def lease_for_job(context: Run, kind: LeaseKind) -> Iterator[Lease]:
    """Take the lease under which the block writes a job's spec. Where the block fails it is given back: there is no job, and a
    writer on another host would wait until it expires."""
    lease = take_lease(context, kind, LEASE_SECONDS)
    try:
        yield lease
    except Exception:
        give_back(context, lease)
        raise


def give_back(context: Run, lease: Lease) -> None:
    """Release a lease; where the ledger does not answer, it expires."""
    with suppress(LedgerUnavailable):
        context.ledger.release_lease(lease)


class LeaseRenewer:
    """Renews leases in its own thread until `end` is called or one of them is lost."""

    def __init__(self, ledger: Ledger, leases: Sequence[Lease], on_loss: Callable[[], None]) -> None:
        self._ledger, self._on_loss = ledger, on_loss
        self._leases = [ledger.renew(lease, RENEWED_FOR_SECONDS) for lease in leases]
        self._lost: LeaseHeld | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise LeaseHeld if the lease was taken over, expired before it could be renewed, or its thread has died."""
        if self._lost is not None:
            raise self._lost
        if not self._ended.is_set() and not self._thread.is_alive():
            raise self._lease_lost("the thread that renews it has ended")

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def token(self) -> int:
        return self._leases[0].token

    def renew_for(self, seconds: float) -> None:
        self._leases = [self._ledger.renew(lease, seconds) for lease in self._leases]

    def _run(self) -> None:
        while self._lost is None and not self._ended.wait(RENEW_EVERY_SECONDS):
            self._renew()
        if self._lost is not None:
            self._on_loss()

    def _renew(self) -> None:
        try:
            self.renew_for(RENEWED_FOR_SECONDS)
        except LeaseHeld as error:
            self._lost = error
        except LedgerUnavailable as error:
            if now() >= min(lease.expires_at for lease in self._leases):  # another writer may begin now
                self._lost = self._lease_lost(error.what)
        except Exception as error:  # unexpected, so it is unknown whether the next renewal would succeed
            self._lost = self._lease_lost(f"{type(error).__name__}: {error}")

    def _lease_lost(self, why: str) -> LeaseHeld:
        cure = "check the ledger's database; the step is tried again"
        return LeaseHeld(f"the lease could not be renewed: {why}", cure=cure, lease=self._leases[0].name)


@contextmanager
def keep_renewed(context: Run, lease: Lease) -> Iterator[LeaseRenewer]:
    """Renew a lease while the block runs, and give it back. Another thread renews it, with a ledger of its own."""
    renewer = LeaseRenewer(context.ledger.again(), [lease], lambda: None)
    try:
        yield renewer
    finally:
        renewer.end()
        give_back(context, lease)


@contextmanager
def receiver_lease(context: Run) -> Iterator[Callable[[], None]]:
    """Hold and renew the receiver's lease while the block runs. Yields a check that raises LeaseHeld once it is lost."""
    with keep_renewed(context, take_lease(context, RECEIVE, RENEWED_FOR_SECONDS)) as lease:
        yield lease.check


@contextmanager
def apply_lease_renewed(context: Run) -> Iterator[LeaseRenewer]:
    """Hold the apply lease, however long the block runs: its `check` raises once another writer has taken it."""
    with keep_renewed(context, take_apply_lease(context)) as lease:
        yield lease


@contextmanager
def kept_lease(context: Run, spec: Spec, on_loss: Callable[[], None] = lambda: None) -> Iterator[Callable[[], None]]:
    """Renew the spec's leases while the block runs. Yields a check that raises LeaseHeld once one is lost; the end does too.

    `on_loss` is called at that moment, from another thread. A batch that has its manifest changes nothing and needs no lease.
    """
    leases = leases_of(context, spec)
    if not leases or (isinstance(spec, BatchSpec) and context.landing.files.read_at(spec.manifest) is not None):
        yield lambda: None
        return
    renewer = LeaseRenewer(context.ledger.again(), leases, on_loss)
    try:
        yield renewer.check
        renewer.end()
        renewer.renew_for(LEASE_SECONDS)  # the next task may have to queue
    finally:
        renewer.end()
        renewer.check()
