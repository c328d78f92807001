"""Find the newest batches without listing all: from those that the ledger knows, each leads to the ones prepared after it.

The ledger may be an older copy: its batches are where the search begins, and the manifests in the landing say what was applied.
"""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from redolake.context import Run
from redolake.land import layout
from redolake.land.continued import ContinuedBatches
from redolake.values.scn import ChainPosition

BACK = 3  # begin at the third newest batch that the ledger knows: a job that lost its lease may have ended late


# By landing, each of which one step has: a position, and all batches that end there or later, with a manifest or without.
_found: WeakKeyDictionary[ContinuedBatches, tuple[ChainPosition, tuple[str, ...]]] = WeakKeyDictionary()


def newest_batches(context: Run) -> tuple[ChainPosition, tuple[str, ...]] | None:
    """Return a position and the batches that end there or later; None where only the folder of all batches can say them."""
    continued = context.landing.continued
    if continued not in _found and continued.are_complete:
        known = context.ledger.recent_batches()
        for start in newest_first(name for name in known if is_in_chain(name))[:BACK][-1:]:
            if has_manifest(context, start):
                _found[continued] = end_of(start), tuple(follow(context, known, end_of(start)))
    return _found.get(continued)


def follow(context: Run, known: Iterable[str], start: ChainPosition) -> list[str]:
    """Return the batches that end at `start` or later: those of `known`, and all that were prepared after one of them."""
    names, end, is_applied = {name for name in known if end_of(name) >= start}, start, dict[str, bool]()
    while True:
        names.update(context.landing.continued.after(end))
        later = [name for name in names if is_in_chain(name) and end_of(name) > end]
        is_applied.update((name, has_manifest(context, name)) for name in later if name not in is_applied)
        ends = [end_of(name) for name in later if is_applied[name]]
        if not ends:
            return sorted(name for name in names if end_of(name) >= start)
        end = min(ends)


def has_manifest(context: Run, batch: str) -> bool:
    return context.landing.files.exists(layout.batch_manifest(batch))


def names_from(context: Run, position: ChainPosition) -> list[str]:
    """Return the batches that end at a position or later, with a manifest or without."""
    newest = newest_batches(context)
    names = newest[1] if newest is not None and newest[0] <= position else context.landing.files.names(layout.BATCHES)
    return [name for name in names if end_of(name) >= position]


# --- Names ----------------------------------------------------------------------------------------------------------------


def batch_name(resetlogs_id: int, start: int, end: int, catch_up: str = "") -> str:
    """Return the batch's name. A catch-up's contains its attempt: the same range may be caught up again after another hold."""
    name = f"{resetlogs_id:010d}-{start:020d}-{end:020d}"
    return f"{name}-{catch_up}" if catch_up else name


def is_in_chain(batch: str) -> bool:
    return batch.count("-") == 2


def end_of(batch: str) -> ChainPosition:
    resetlogs_id, _, end = batch.split("-")[:3]
    return ChainPosition(int(resetlogs_id), int(end))


def start_of(batch: str) -> int:
    return int(batch.split("-")[1])


def newest_first(batches: Iterable[str]) -> list[str]:
    """Return the names in the reverse order in which the batches were applied. If two have one end, the longer one is newer: it
    has read the windows of the other again."""
    return sorted(batches, key=applied_when, reverse=True)


def oldest_first(batches: Iterable[str]) -> list[str]:
    """Return the names in the order in which the batches were applied."""
    return sorted(batches, key=applied_when)


def applied_when(batch: str) -> tuple[ChainPosition, int]:
    return end_of(batch), -start_of(batch)
