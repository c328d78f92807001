"""Which reader has read a window: LogMiner, or OpenLogReplicator; and where one hands over to the other.

All of it is in the circumstance of a window's manifest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from redolake.records.windows import WindowManifest

ANCHOR, SECONDS = "anchor", "seconds"  # of a slice: where the stream stood at the window's end, and when
STREAMS = "streams"  # of a slice: where each redo thread's stream stands at the window's end
OPEN = "open"  # of a slice: OpenTransactions, as they were read beside the window
UNPROVED = "unproved"  # of a slice: the SCN since which windows were received without asking the database
NOT_PROVED = (
    "nothing proves that no other redo thread wrote, that the PDB is still the same one, that supplemental logging is there, "
    "and that times are right"
)
HANDED_OVER = "handed_over"  # of a slice: the windows before are of LogMiner, and the stream gives what was open there
READS_FROM = "reads_from"  # of a window: see redo.Window


@dataclass(frozen=True, slots=True)
class OpenTransactions:
    """What was open at an SCN began at `oldest` or later. So did whatever is open at any later SCN."""

    at: int
    oldest: int

    @property
    def begins(self) -> int:
        """The lowest SCN at which a transaction may have begun that is open at `at` or later."""
        return min(self.at, self.oldest)


def slice_facts(manifest: WindowManifest) -> Iterable[Mapping[str, Any]]:
    slices: Mapping[str, Mapping[str, Any]] = manifest.circumstance.get("slices", {})
    return slices.values()


def is_received(manifest: WindowManifest) -> bool:
    """Return whether OpenLogReplicator has sent the window."""
    return any(ANCHOR in facts or STREAMS in facts for facts in slice_facts(manifest))


def is_handed_over(manifest: WindowManifest) -> bool:
    """Return whether another reader has read the windows before: nothing is carried into this one."""
    return READS_FROM in manifest.circumstance or any(facts.get(HANDED_OVER) for facts in slice_facts(manifest))


def unproved_scn(manifest: WindowManifest) -> int | None:
    """Return the SCN since which windows were received without asking the database; None where it has proved them."""
    return next((int(facts[UNPROVED]) for facts in slice_facts(manifest) if UNPROVED in facts), None)


def lowest_scn(manifest: WindowManifest) -> int:
    """Return the lowest SCN that a row of the window may have."""
    return int(manifest.circumstance.get(READS_FROM, manifest.start))


def open_transactions_of(manifest: WindowManifest) -> OpenTransactions | None:
    """Return what was read of open transactions beside the window."""
    found = next((facts[OPEN] for facts in slice_facts(manifest) if OPEN in facts), None)
    return None if found is None else OpenTransactions(found["at"], found["oldest"])


def open_at(newest_first: Iterable[WindowManifest], scn: int) -> OpenTransactions | None:
    """Return what is known of the transactions that were open at an SCN: the newest reading at it, or before it."""
    found = (open_transactions_of(manifest) for manifest in newest_first)
    return next((one for one in found if one is not None and one.at <= scn), None)
