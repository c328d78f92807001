"""The rows that `verify` reads from the source are removed when they are compared; those of a killed one by a later step.

A verify holds one of a few places in the ledger while it lives, and the names of its folders begin with that place. So whoever
can take a place knows that nobody reads the folders which he saw before.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from redolake.context import Run, is_gone, process
from redolake.errors import LeaseHeld
from redolake.host import crash
from redolake.land import layout
from redolake.ledger import Lease
from redolake.steps.shared.leases import RENEWED_FOR_SECONDS, keep_renewed

PLACES = 16
NAME = re.compile(r"(?P<place>\d\d)-[0-9a-f]{32}")
_ours: set[int] = set()  # places that this process holds: a lease cannot tell its threads apart
_one_at_a_time = threading.Lock()


@contextmanager
def comparison_place(context: Run) -> Iterator[int]:
    """Hold a place while the block runs. Raises LeaseHeld if all are held, and where the place was lost meanwhile."""
    place, lease = take_place(context)
    try:
        with keep_renewed(context, lease):
            yield place
    finally:
        _ours.discard(place)


def take_place(context: Run) -> tuple[int, Lease]:
    with _one_at_a_time:
        for place in range(PLACES):
            if (lease := take_lease(context, place)) is not None:
                _ours.add(place)
                return place, lease
    what = f"{PLACES} comparisons of this pipeline are running"
    raise LeaseHeld(what, cure="wait until one of them has ended")


def take_lease(context: Run, place: int) -> Lease | None:
    """Take the lease of a place; return None while a process that lives holds it."""
    if place in _ours:
        return None
    try:
        return context.ledger.lease(f"verify {place}/{context.name}", process(), RENEWED_FOR_SECONDS, is_gone)
    except LeaseHeld:
        return None


def folder_name(place: int) -> str:
    return f"{place:02}-{uuid.uuid4().hex}"


@crash.writer
def remove_rows(context: Run, name: str) -> None:
    context.landing.files.remove(f"{layout.VERIFY}/{name}")


def remove_left_rows(context: Run) -> None:
    """Remove the rows that killed comparisons have left."""
    for name in context.landing.files.names(layout.VERIFY):
        found = NAME.fullmatch(name)
        # Older releases held no place. Their names stand for themselves.
        lease = take_lease(context, int(found["place"]) if found else 0)
        if lease is not None:
            try:
                remove_rows(context, name)
            finally:
                context.ledger.release_lease(lease)
