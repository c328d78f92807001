"""Where a receiver goes on: after its own last window, after LogMiner, or at a snapshot; and where a stream is started."""

from __future__ import annotations

from dataclasses import dataclass

from redolake.context import Run
from redolake.records.readers import OpenTransactions, is_received
from redolake.records.windows import WindowManifest
from redolake.source import Source, read_redo_facts
from redolake.source.olr import First
from redolake.steps.shared.reader_change import begin_of, check_given, known_open, last_window
from redolake.steps.shared.redo_streams import StreamState, logs_of, states_of
from redolake.values.redo import Position, RedoFacts
from redolake.values.scn import Scn


@dataclass(frozen=True, slots=True)
class Start:
    """Where the receiver goes on. `known` is what is known of the transactions that are open at the position; with `is_first`,
    LogMiner has read up to there."""

    last: WindowManifest | None
    known: OpenTransactions | None
    is_first: bool = False

    @property
    def states(self) -> dict[int, StreamState]:
        return {} if self.is_first else states_of(self.last)


def start_at(context: Run, oracle: Source, position: Position) -> Start | None:
    """Return where the receiver goes on; None while LogMiner must read on first. Raises ConfigurationError for a table that
    OpenLogReplicator would not give."""
    last, known = last_window(context, position), known_open(context, position)
    if last is None:  # whatever is open from before the beginning ends before the snapshots
        return Start(last, OpenTransactions(int(position.scn), int(position.scn)))
    if is_received(last):
        return Start(last, known)
    check_given(context, oracle)
    return None if known is None else Start(last, known, is_first=True)


def first_of(oracle: Source, position: Position, start: Start, thread: int) -> First | None:
    """Return where a stream must begin that does not run yet: before every transaction that is open at the position."""
    known = start.known
    if known is None:
        return None
    facts = read_redo_facts(oracle, Scn(known.begins))
    begin = position.scn if start.last is None else begin_of(facts, known, position)
    return First(int(begin), log_with(position, begin, facts, thread))


def log_with(position: Position, scn: Scn, facts: RedoFacts, thread: int) -> int | None:
    """Return the sequence of the thread's log that contains the SCN, or of the first one after it (a closed thread)."""
    logs = logs_of(position, facts, thread)
    held = [number for number, (first, end) in logs.items() if first <= scn and (end is None or scn < end)]
    return min(held or [number for number, (first, _) in logs.items() if first > scn], default=None)
