"""Where redo has to begin for a snapshot to be complete: before every transaction that is open while it is taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.errors import SnapshotTooEarly, SourceRefused
from pipelines.redo import LogFile, RedoFacts
from pipelines.scn import Scn
from pipelines.source.dictionary import read_tables_over
from pipelines.source.facts import OpenTransaction, read_current_scn, read_open_transactions
from pipelines.source.oracle import Source
from pipelines.table import DictionaryTable, TableId


@dataclass(frozen=True, slots=True)
class Handover:
    """Read tables AS OF `s1`, mine from `start_scn` (and one log earlier), apply only what commits above `s1`."""

    s0: Scn
    open: tuple[OpenTransaction, ...]
    s1: Scn

    @property
    def start_scn(self) -> Scn:
        return min([self.s0, *(t.start_scn for t in self.open)])


def read_handover(source: Source) -> Handover:
    """The order is the point: listed after s1, a transaction open at s1 that commits before the listing would be missed.

    Raises SourceRefused and SnapshotTooEarly where V$TRANSACTION does not show all that is open.
    """
    source.use_container(None)
    s0 = read_current_scn(source)
    require_primary(source.query("database")[0].database_role)
    listed = read_open_transactions(source)
    require_known_starts(source.query("prepared_transactions"), listed)
    return Handover(s0, listed, read_current_scn(source))


def require_primary(role: str) -> None:
    if role != "PRIMARY":
        raise SourceRefused(
            f"this is a {role}, whose V$TRANSACTION does not show what is open on the primary: a snapshot could lack it",
            cure="let the connection lead to the primary while tables are read; capture may go on from the standby",
        )


def require_known_starts(prepared: Iterable[Any], listed: Iterable[OpenTransaction]) -> None:
    """Of a prepared transaction that V$TRANSACTION does not show nobody can tell where its changes begin."""
    shown = {(t.con_id, t.xid) for t in listed}
    for row in prepared:
        xid = row.local_tran_id
        if (row.con_id, xid) not in shown:
            raise SnapshotTooEarly(
                "a distributed transaction is in doubt, and V$TRANSACTION does not tell when it began",
                cure=f"end it: COMMIT FORCE '{xid}' or ROLLBACK FORCE '{xid}', as its coordinator decided; then snapshot again",
                xid=xid,
                con_id=row.con_id,
            )


def read_start(
    source: Source, tables: Sequence[TableId], container: str | None
) -> tuple[Handover, dict[TableId, DictionaryTable]]:
    """A handover, and the tables as the dictionary told them at its `s1`: a DDL that falls in between makes it choose anew."""
    handover, found = read_tables_over(source, tables, read_handover, container)
    return handover, found(handover.s1)


def first_window_start(facts: RedoFacts, start_scn: Scn) -> Scn:
    """FIRST_CHANGE# of the log before the one that holds `start_scn`, the lowest of all threads.

    One log earlier, because a committing transaction leaves V$TRANSACTION before its redo shows; where that log is
    gone, the one that holds `start_scn` must do. Not below what any thread still has.
    """
    current = next(i.resetlogs_id for i in facts.incarnations if i.status == "CURRENT")
    starts, floors = [], []
    for thread in sorted({g.thread for g in (*facts.archived, *facts.online)}):
        logs = _available(thread, current, facts)
        at = next((n for n, log in enumerate(logs) if _holds(log, start_scn)), None)
        if at is None:
            continue
        oldest = at
        while oldest and logs[oldest - 1].next_scn == logs[oldest].first_scn:
            oldest -= 1
        starts.append(logs[max(at - 1, oldest)].first_scn)
        if logs[oldest].sequence > 1:  # before sequence 1 the thread has no redo in this incarnation
            floors.append(logs[oldest].first_scn)
    return max([min(starts), *floors]) if starts else start_scn


def _holds(log: LogFile, scn: Scn) -> bool:
    return log.first_scn <= scn and (log.next_scn is None or scn < log.next_scn)


def _available(thread: int, resetlogs_id: int, facts: RedoFacts) -> list[LogFile]:
    """The thread's logs by sequence: archived ones with a copy, and online ones that are still to be archived. One whose copies
    are deleted is not read from the online log, however long its group is not written anew."""

    def own(logs: Iterable[LogFile]) -> dict[int, LogFile]:
        return {g.sequence: g for g in logs if g.thread == thread and g.resetlogs_id == resetlogs_id}

    listed = own(facts.archived)
    gone = {s for s, g in listed.items() if not g.claimed and all(copy.archived for copy in g.copies)}
    both = {**own(facts.online), **{s: g for s, g in listed.items() if g.claimed}}
    both = {s: g for s, g in both.items() if s not in gone}
    return [both[s] for s in sorted(both)]
