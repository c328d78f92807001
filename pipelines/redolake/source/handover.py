"""Decide where redo must begin so that a snapshot plus redo is complete: before every transaction open during the snapshot."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from time import sleep
from typing import Any, TypeVar

from redolake.config.limits import Retry
from redolake.errors import RedolakeError, SnapshotTooEarly, SourceBusy, SourceRefused, SourceUnavailable
from redolake.records.readers import OpenTransactions
from redolake.source.dictionary import read_tables_around
from redolake.source.facts import PRIMARY, ActiveTransaction, read_active_transactions, read_current_scn, require_role
from redolake.source.oracle import Source
from redolake.source.standby import check_partner, check_readable, check_shows, open_partner
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.ora_codes import NO_TIME_KNOWN
from redolake.values.redo import LogFile, RedoFacts
from redolake.values.scn import Scn
from redolake.values.table import NOT_RENAMED, Renamed, TableId

log = logging.getLogger(__name__)

T = TypeVar("T")

Landed = Callable[[], OpenTransactions | None]  # says since when they are open by what is landed; it reads all of that

SETTLE_SECONDS = 5.0  # from the last DDL to the time of a snapshot's SCN
SETTLE_DEADLINE_SECONDS = 60
START_PAUSE_SECONDS = 1.0
START_DEADLINE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Handover:
    """Where a snapshot meets its redo.

    Read the tables AS OF `snapshot_scn`, mine from the log before the one that holds `start_scn`, and apply the transactions
    that commit above `snapshot_scn`. Not `is_listed`: a standby did not show what was open, and no primary was to be asked.
    What was open began at `scn_before` or later, or before all redo that was read: its COMMIT then has no START there.
    """

    scn_before: Scn
    open: tuple[ActiveTransaction, ...]
    snapshot_scn: Scn
    is_listed: bool = True

    @property
    def start_scn(self) -> Scn:
        return min([self.scn_before, *(t.start_scn for t in self.open)])


def nothing_landed() -> None:
    """Return what is known before anything is landed."""


def read_handover(source: Source, container: str | None, landed: Landed = nothing_landed) -> Handover:
    """Read an SCN, the open transactions, and the snapshot's SCN, in this order; on a standby from the primary that it names,
    and then wait until the standby has applied the snapshot's SCN. `container` is that of the tables. Without a primary, and
    only then, `landed` is asked since when transactions are open, as far as they began there.

    Listed after `snapshot_scn`, a transaction that was open then and has committed since would be missing.
    Raises SourceRefused or SnapshotTooEarly where V$TRANSACTION does not show every open transaction.
    """
    source.use_container(None)
    here = source.query("database")[0]
    if source.names_primary:
        found = read_from_primary(source, here, container)
        if found is not None:
            return found
    if here.database_role != PRIMARY:
        return read_from_redo(source, here, landed())
    scn_before = read_current_scn(source)
    listed = read_listed(source)
    return Handover(scn_before, listed, read_current_scn(source))


def read_from_primary(source: Source, here: Any, container: str | None) -> Handover | None:
    """Return the handover of a standby; None where a change of roles has made it the primary, which shows its transactions."""
    if here.database_role == PRIMARY:
        check_other(source, here)
        return None
    first, listed, last = list_on_primary(source, here, container, lambda primary, _: read_listed(primary))
    source.reach(last)
    check_same_branch(source, here, last)
    return Handover(first, listed, last)


def check_other(source: Source, here: Any) -> None:
    """Raise SourceRefused where `primary` leads to another database, or to a second primary. It need not be reached."""
    try:
        with open_partner(source, here):
            pass
    except SourceUnavailable as error:
        log.warning("this is the primary now, and the one that `primary` names is not reached: %s", error.what)


def list_on_primary(
    source: Source, here: Any, container: str | None, list_open: Callable[[Source, Scn], T], retry: Retry | None = None
) -> tuple[Scn, T, Scn]:
    """Return an SCN of before, what `list_open` lists on the primary that a standby names, and an SCN of after.

    An instance may be some SCNs behind another: a transaction that began on it after the list is not older than its SCN.
    """
    with open_partner(source, here, retry) as (primary, before):
        check_shows(primary, container)
        first = Scn(min(int(row.current_scn) for row in before))
        listed = list_open(primary, first)
        after = primary.query("instances")
        check_partner(here, after)
    return first, listed, Scn(max(int(row.current_scn) for row in after))


def read_open_on_primary(source: Source, container: str | None) -> OpenTransactions | None:
    """Return since when transactions are open, as the primary shows it that a standby names; None where it names none, it is
    not reached, or does not show it of all. It is tried once: nothing waits for it."""
    if not source.names_primary:
        return None
    source.use_container(None)
    here = source.query("database")[0]
    try:
        _, oldest, last = list_on_primary(source, here, container, read_open_transactions, Retry(attempts=1))
    except RedolakeError as error:
        log.info("what is open on the primary is not known: %s", error.what)
        return None
    return None if oldest is None else OpenTransactions(last, int(oldest))


def read_from_redo(source: Source, here: Any, landed: OpenTransactions | None) -> Handover:
    """Return the handover of a standby whose primary may not be asked: at the SCN that it has applied, after all that is
    landed. Whatever is open then, and was not open at the end of what is landed, began later."""
    require_role(here.database_role)
    check_readable(here, f"`connection` leads to {here.db_unique_name} ({here.database_role})")
    if source.pdb_only:
        require_local_undo(source)
    if landed is not None:
        source.reach(landed.at)
    scn = read_current_scn(source)
    check_same_branch(source, here, scn)
    return Handover(scn if landed is None else Scn(landed.begins), (), scn, is_listed=False)


def check_same_branch(source: Source, here: Any, scn: int) -> None:
    """Raise SnapshotTooEarly where the standby has changed its role, or followed a RESETLOGS, while an SCN was waited for."""
    now = source.query("database")[0]
    if (now.database_role, int(now.resetlogs_scn)) != (here.database_role, int(here.resetlogs_scn)):
        raise SnapshotTooEarly(
            f"{now.db_unique_name} became a {now.database_role} with RESETLOGS at SCN {now.resetlogs_scn} before it reached "
            f"SCN {scn}, which may be one of another branch",
            cure="snapshot again",
        )


def read_listed(source: Source) -> tuple[ActiveTransaction, ...]:
    """Return the open transactions that a primary shows. Raises SourceRefused or SnapshotTooEarly unless it shows them all."""
    if source.pdb_only:
        require_local_undo(source)
    listed = wait_for_starts(source)
    require_known_starts(source.query("prepared_transactions"), listed)
    return listed


def read_open_transactions(source: Source, scn: Scn) -> Scn | None:
    """Return since when transactions are open that are open now, or `scn`, which was current before, if none is older.

    None where V$TRANSACTION does not show it of every open transaction.
    """
    if source.pdb_only and not shows_own_undo(source):
        return None
    listed, unknown = read_active_transactions(source)
    shown = {(t.con_id, t.xid) for t in listed}
    prepared = source.query("prepared_transactions")
    if unknown or any((row.con_id, row.local_tran_id) not in shown for row in prepared):
        return None
    return min([scn, *(transaction.start_scn for transaction in listed)])


def wait_for_starts(source: Source) -> tuple[ActiveTransaction, ...]:
    """Return the open transactions once each has a start: one without it may have changed rows at any earlier SCN.

    Raises SnapshotTooEarly at a deadline.
    """
    deadline = time.monotonic() + START_DEADLINE_SECONDS
    while True:
        listed, unknown = read_active_transactions(source)
        if not unknown:
            return listed
        names = "; ".join(map(str, unknown))
        if time.monotonic() >= deadline:
            raise SnapshotTooEarly(
                f"V$TRANSACTION does not show where {len(unknown)} open transaction(s) with changes began: {names}",
                cure="wait until they end, then snapshot again. GV$SESSION (TADDR = GV$TRANSACTION.ADDR) names their sessions; "
                "a prepared one needs COMMIT FORCE or ROLLBACK FORCE, as its coordinator decided",
            )
        log.info("waiting for open transactions without a START_SCN: %s", names)
        sleep(START_PAUSE_SECONDS)


def require_local_undo(source: Source) -> None:
    """Raise SourceRefused unless the PDB has undo of its own: else its transactions may be the root's, and not be shown."""
    if not shows_own_undo(source):
        raise SourceRefused(
            "the PDB has no local undo, and its V$TRANSACTION does not show every open transaction",
            cure="connect to the root, without pdb_only; or let the administrators of the root enable local undo",
        )


def shows_own_undo(source: Source) -> bool:
    modes = [row.local_undo for row in source.query("undo_mode")]
    return bool(modes) and all(modes)


def require_known_starts(prepared: Iterable[Any], listed: Iterable[ActiveTransaction]) -> None:
    """Raise SnapshotTooEarly for a prepared transaction that V$TRANSACTION does not show: its start SCN is unknown."""
    shown = {(t.con_id, t.xid) for t in listed}
    for row in prepared:
        xid = row.local_tran_id
        if (row.con_id, xid) not in shown:
            raise SnapshotTooEarly(
                "a distributed transaction is in doubt, and V$TRANSACTION does not show where it began",
                cure=f"run COMMIT FORCE '{xid}' or ROLLBACK FORCE '{xid}', as its coordinator decided; then snapshot again",
                xid=xid,
                con_id=row.con_id,
            )


def read_handover_and_tables(
    source: Source,
    tables: Sequence[TableId],
    container: str | None,
    renamed: Renamed = NOT_RENAMED,
    landed: Landed = nothing_landed,
) -> tuple[Handover, dict[TableId, DictionaryTable]]:
    """Return a handover and the tables' definitions at its `snapshot_scn`. A DDL in between repeats the reading.

    A DDL shortly before is waited for, with another SCN: the tables could not be read AS OF the first one (ORA-01466).
    """
    deadline = time.monotonic() + SETTLE_DEADLINE_SECONDS
    while True:
        handover, found, ddl_at = read_tables_around(
            source, tables, partial(read_handover, container=container, landed=landed), container, renamed
        )
        missing_seconds = 0.0 if ddl_at is None else seconds_to_settle(source, handover.snapshot_scn, ddl_at, container)
        if missing_seconds <= 0:
            return handover, found(handover.snapshot_scn)
        if time.monotonic() > deadline:
            raise SourceBusy(
                f"a table's LAST_DDL_TIME, {ddl_at}, is not {SETTLE_SECONDS:.0f} s before the time that Oracle has for the SCN",
                cure="wait: the step is retried. If it keeps failing, look for a DDL that runs again and again, or for a clock "
                "of the database host that was set back",
                scn=handover.snapshot_scn,
                tables=", ".join(str(table) for table in tables),
            )
        log.info("a table was changed by DDL at %s: waiting %.0f s for an SCN that it can be read at", ddl_at, missing_seconds)
        sleep(min(missing_seconds, SETTLE_SECONDS))


def seconds_to_settle(source: Source, scn: Scn, ddl_at: datetime, container: str | None) -> float:
    """Return how many seconds are missing until an SCN is late enough after a DDL; 0 or less if this SCN is.

    Oracle compares times: it refuses a read AS OF an SCN whose time, known to some 3 s, is not after the DDL.
    """
    source.use_container(container)
    try:
        scn_at = source.query("time_of_scn", scn=int(scn))[0].scn_at
    except RedolakeError as error:
        if error.ora_code != NO_TIME_KNOWN:
            raise
        return SETTLE_SECONDS
    return float((ddl_at - scn_at).total_seconds() + SETTLE_SECONDS)


def first_window_start(facts: RedoFacts, start_scn: Scn, *, as_old_as_kept: bool = False) -> Scn:
    """Return FIRST_CHANGE# of the log before the one that contains `start_scn`, the lowest of all threads; with
    `as_old_as_kept` that of the oldest log from which on every thread still has all.

    One log earlier, because a committing transaction leaves V$TRANSACTION before its redo appears. If that log is gone,
    the one that contains `start_scn` is used. Never below the oldest log that every thread still has. A thread that was closed
    before `start_scn` has nothing that is needed, although its last log has no end. On a standby the log that contains it may
    not have arrived: it follows the last one that ends before.
    """
    current = facts.current_incarnation.resetlogs_id
    starts, floors = [], []
    threads = {g.thread for g in (*facts.archived, *facts.online)}
    for thread in sorted(threads - threads_closed_before(start_scn, facts) or threads):
        logs = _available(thread, current, facts)
        at = next((n for n, log in enumerate(logs) if _contains(log, start_scn)), None)
        oldest = at
        if at is None and facts.is_standby:
            at = sum(log.next_scn is not None and log.next_scn <= start_scn for log in logs)
            oldest = at - 1
        if at is None or oldest is None or oldest < 0:
            continue
        while oldest and logs[oldest - 1].next_scn == logs[oldest].first_scn:
            oldest -= 1
        starts.append(logs[oldest if as_old_as_kept else max(at - 1, oldest)].first_scn)
        if logs[oldest].sequence > 1:  # before sequence 1 the thread has no redo in this incarnation
            floors.append(logs[oldest].first_scn)
    return max([min(starts), *floors]) if starts else start_scn


def oldest_kept_scn(facts: RedoFacts) -> Scn:
    """Return the SCN from which on every thread still has all of its redo."""
    return first_window_start(facts, facts.current_scn, as_old_as_kept=True)


def threads_closed_before(scn: Scn, facts: RedoFacts) -> set[int]:
    """Return the redo threads that are closed, and whose redo ends before an SCN. A standby does not show which are."""
    if facts.is_standby:
        return set()
    closed = (thread for thread in facts.threads if not thread.is_open and thread.checkpoint_scn is not None)
    return {thread.number for thread in closed if thread.checkpoint_scn is not None and thread.checkpoint_scn <= scn}


def _contains(log: LogFile, scn: Scn) -> bool:
    return log.first_scn <= scn and (log.next_scn is None or scn < log.next_scn)


def _available(thread: int, resetlogs_id: int, facts: RedoFacts) -> list[LogFile]:
    """Return the thread's readable logs by sequence: archived ones with a copy, and online ones not archived yet.

    A log whose archived copies are deleted is left out even while its online group still contains it.
    """

    def own(logs: Iterable[LogFile]) -> dict[int, LogFile]:
        return {g.sequence: g for g in logs if g.thread == thread and g.resetlogs_id == resetlogs_id}

    archived = own(facts.archived)
    readable = {s: g for s, g in archived.items() if g.claimed}
    deleted = {s for s, g in archived.items() if not g.claimed and all(copy.archived for copy in g.copies)}
    online = {s: g for s, g in own(facts.online).items() if s not in deleted}
    return [log for _, log in sorted({**online, **readable}.items())]
