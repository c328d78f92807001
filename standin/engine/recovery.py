"""Mounting, flashback, OPEN RESETLOGS and failover: how a database gets a new incarnation.

The data is rewound through its row versions; what no row version remembers (a table altered, truncated or dropped since)
is ORA-38729. Transactions that were open at the SCN of the rewinding are rolled back by the new incarnation, in its redo.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from standin.engine.database import Database
from standin.engine.session_state import SessionState
from standin.engine.transaction import Xid
from standin.interface import OraError
from standin.model import ArchivedCopy, DatabaseIncarnation, RedoThreadState
from standin.redo_file import Op, RedoRecord, from_batch, read_records, to_batch

_ENDS = (Op.COMMIT, Op.ROLLBACK)
_UNDONE_BY = {Op.INSERT: Op.DELETE, Op.DELETE: Op.INSERT, Op.UPDATE: Op.UPDATE, Op.UNSUPPORTED: Op.UNSUPPORTED}
_NOT_ENOUGH = OraError(38729, "Not enough flashback database log data to do FLASHBACK.")


class Recovery:
    def __init__(self, database: Database) -> None:
        self._database = database

    def mount(self, survivor: SessionState | None = None) -> None:
        """SHUTDOWN IMMEDIATE and STARTUP MOUNT: every other session ends, its transaction rolled back."""
        database = self._database
        self._end_sessions(survivor)
        database.state.is_mounted = True
        self._database.recovered_to, self._database.unfinished = None, []

    def close(self, survivor: SessionState) -> None:
        """ALTER DATABASE CLOSE, which ends nobody's session."""
        others = [s for s in self._database.sessions.values() if s is not survivor and not s.killed]
        if others:
            raise OraError(1093, "ALTER DATABASE CLOSE only permitted with no sessions connected")
        self.mount(survivor)

    def open(self) -> None:
        """ALTER DATABASE OPEN."""
        self._require_mounted(1531, "a database already open by the instance")
        if self._database.recovered_to is not None:
            raise OraError(1589, "must use RESETLOGS or NORESETLOGS option for database open")
        self._database.state.is_mounted = False

    def flash_back(self, scn: int) -> None:
        """FLASHBACK DATABASE TO SCN: the data as it was at that SCN. Nothing is changed when that cannot be done."""
        self._require_mounted(38757, "Database must be mounted and not open to FLASHBACK.")
        if scn >= self._database.clock.scn:
            raise OraError(38743, "Time/SCN is in the future of the database.")
        self._rewind(scn)

    def recover_until_cancel(self) -> None:
        """RECOVER DATABASE UNTIL CANCEL with all redo at hand: incomplete in name only."""
        self._require_mounted(1153, "an incompatible media recovery is active")
        self._database.recovered_to = self._database.clock.scn

    def open_resetlogs(self) -> DatabaseIncarnation:
        """The online logs of the old incarnation are archived, then those of the new one begin with sequence 1."""
        self._require_mounted(1531, "a database already open by the instance")
        kept = self._database.recovered_to
        if kept is None:
            raise OraError(1139, "RESETLOGS option only valid after an incomplete database recovery")
        database = self._database
        end = database.clock.next_scn()
        for thread in database.state.threads.values():
            if thread.is_open:
                database.redo.finish(thread, end)
        database.archiver.drain()
        return self._begin(kept)

    def fail_over(self, logs_behind: int) -> DatabaseIncarnation:
        """The standby holds what was archived, but for the last `logs_behind` logs of each thread."""
        database, state = self._database, self._database.state
        newest = self._newest_arrived(logs_behind)
        begun = {number: max(t.enable_scn, state.incarnation.resetlogs_scn) for number, t in state.threads.items() if t.is_open}
        for copy in self._copies():
            if copy.thread in begun and copy.sequence <= newest[copy.thread]:
                begun[copy.thread] = max(begun[copy.thread], copy.next_scn)
        kept = min(begun.values()) - 1
        self._require_rewindable(kept)
        self._end_sessions(None)
        database.archiver.forget()
        self._move_to_standby(newest)
        self._rewind(kept)
        state.unique_name = _other(state.unique_name, "_STBY")
        return self._begin(kept)

    # -- steps

    def _require_mounted(self, code: int, text: str) -> None:
        if not self._database.state.is_mounted:
            raise OraError(code, text)

    def _end_sessions(self, survivor: SessionState | None) -> None:
        for session in list(self._database.sessions.values()):
            if session is not survivor:
                self._database.kill(session.number)

    def _require_rewindable(self, scn: int) -> None:
        database, state = self._database, self._database.state
        changed = any(s.structure_scn > scn >= s.created_scn for s in database.tables.stores.values())
        if changed or state.last_drop_scn > scn or scn < max(state.incarnation.resetlogs_scn, database.oldest_scn):
            raise _NOT_ENOUGH

    def _rewind(self, scn: int) -> None:
        self._require_rewindable(scn)
        self._database.unfinished = self._open_at(scn)
        dropped = self._database.state.last_drop_scn
        for store in list(self._database.tables.stores.values()):
            if store.created_scn > scn:
                self._database.tables.remove(store)
            else:
                store.rewind(scn)
        self._database.state.last_drop_scn = dropped  # what went just now was never there
        self._database.recovered_to = scn

    def _begin(self, kept: int) -> DatabaseIncarnation:
        """A new incarnation from the SCN after `kept` on."""
        database, state = self._database, self._database.state
        prior, scn = state.incarnation, kept + 1
        at = max(database.clock.second(), prior.resetlogs_at + timedelta(seconds=1))
        prior.status = "PARENT"
        resetlogs_id = prior.resetlogs_id + int((at - prior.resetlogs_at).total_seconds())
        born = DatabaseIncarnation(
            1 + max(i.number for i in state.incarnations), scn, at, prior.resetlogs_scn, resetlogs_id, prior_number=prior.number
        )
        state.incarnations.append(born)
        database.clock.scn = scn
        for thread in state.threads.values():
            self._reset(thread, scn)
        state.is_mounted, self._database.recovered_to = False, None
        self._roll_back_dead()
        database.plans.forget()
        database.changed.notify_all()
        return born

    def _reset(self, thread: RedoThreadState, scn: int) -> None:
        at = self._database.clock.second()
        for log in thread.logs:
            log.status, log.sequence, log.first_scn, log.first_at = "UNUSED", 0, 0, at
            log.next_scn = log.next_at = None
            log.archived, log.used_bytes, log.records = False, 0, []
        if thread.enabled != "DISABLED":
            first = thread.logs[0]
            first.status, first.sequence, first.first_scn = "CURRENT", 1, scn
            thread.enable_scn, thread.enable_at = scn, at
        thread.checkpoint_scn, thread.checkpoint_at = scn, at
        thread.last_redo_scn, thread.last_redo_at = scn, at
        self._database.redo.reopen(thread)

    def _copies(self) -> list[ArchivedCopy]:
        """Of this incarnation."""
        state = self._database.state
        return [c for c in state.archived if c.resetlogs_id == state.incarnation.resetlogs_id]

    def _newest_arrived(self, logs_behind: int) -> dict[int, int]:
        """By thread the last sequence the standby has; 0 when it has none."""
        newest = {}
        for thread in self._database.state.threads.keys() | {c.thread for c in self._copies()}:
            sequences = sorted({c.sequence for c in self._copies() if c.thread == thread})
            newest[thread] = max(sequences[: len(sequences) - logs_behind], default=0)
        return newest

    def _move_to_standby(self, newest: dict[int, int]) -> None:
        """The old host's folders are gone; the standby's own hold what arrived, and its control file knows no more."""
        database, state = self._database, self._database.state
        database.archived_logs.show_all()
        for copy in self._copies():
            if copy.sequence > newest[copy.thread]:
                state.archived.remove(copy)
                Path(copy.name or "").unlink(missing_ok=True)
        scn = state.incarnation.resetlogs_scn
        state.history = [h for h in state.history if h.resetlogs_scn != scn or h.sequence <= newest.get(h.thread, 0)]
        for destination in state.destinations:
            folder = Path(_other(destination.path, "-standby"))
            folder.mkdir(parents=True, exist_ok=True)
            for copy in state.archived:
                if copy.dest_id == destination.dest_id and copy.name:
                    old, new = Path(copy.name), folder / Path(copy.name).name
                    if old.exists():
                        old.rename(new)
                    copy.name = str(new)
            destination.path, destination.status, destination.error, destination.is_full = str(folder), "VALID", None, False

    # -- transactions that nobody ended

    def _redo_until(self, scn: int) -> Iterator[pa.RecordBatch]:
        """Of this incarnation, thread by thread in file order, from archived logs (or their backups) and online ones."""
        database, state = self._database, self._database.state
        archived: dict[tuple[int, int], Path] = {}
        for copy in self._copies():
            path = database.archived_logs.readable_copy(copy)
            if path is not None:
                archived.setdefault((copy.thread, copy.sequence), path)
        for thread in state.threads.values():
            online = {log.sequence: log for log in thread.logs if log.status != "UNUSED"}
            sequences = {sequence for number, sequence in archived if number == thread.number} | online.keys()
            for sequence in sorted(sequences):
                if sequence in online:
                    batches: Iterator[pa.RecordBatch] = iter([to_batch(online[sequence].records)])
                else:
                    batches = read_records(archived[thread.number, sequence])
                for batch in batches:
                    yield batch.filter(pc.less_equal(batch.column("scn"), scn))

    def _open_at(self, scn: int) -> list[RedoRecord]:
        """What the transactions open at `scn` had done and not taken back, in order. A server's ends with its coordinator's,
        which may stand in another thread."""
        begun: dict[tuple[int, Xid], tuple[int, Xid | None]] = {}
        ended: set[tuple[int, Xid | None]] = set()
        for record in self._records(scn, (Op.START, *_ENDS)):
            if record.op == Op.START:
                begun[record.con_id, record.xid] = record.con_id, record.pxid
            else:
                ended.add((record.con_id, record.xid))
        done: dict[tuple[int, Xid], list[RedoRecord]] = {x: [] for x, parent in begun.items() if not ended & {x, parent}}
        undone_ahead: set[tuple[int, str, int]] = set()  # addresses of undo rows in front of the rows they undo
        for record in self._records(scn, (Op.START, *_UNDONE_BY)) if done else ():
            mine, address = done.get((record.con_id, record.xid)), (record.thread, record.rs_id, record.ssn)
            if mine is None or (address in undone_ahead and not record.rollback):
                continue
            if not record.rollback:
                mine.append(record)
            elif mine[-1].row_id == record.row_id and _UNDONE_BY.get(Op(mine[-1].op)) == record.op:
                mine.pop()
            else:
                undone_ahead.add(address)
        return [record for records in done.values() for record in records]

    def _records(self, scn: int, ops: tuple[Op, ...]) -> Iterator[RedoRecord]:
        wanted = pa.array([int(op) for op in ops], pa.int16())
        for batch in self._redo_until(scn):
            yield from from_batch(batch.filter(pc.is_in(batch.column("op"), wanted)))

    def _roll_back_dead(self) -> None:
        """Each change taken back, newest first, and each transaction ended, by the first open thread."""
        database = self._database
        thread = next((t.number for t in database.state.threads.values() if t.is_open), None)
        dead, self._database.unfinished = self._database.unfinished, []
        if thread is None:
            return
        for record in reversed(dead):
            fresh = replace(record, thread=thread, sequence=0, block=0, offset=0)
            if record.op == Op.START:
                database.redo.write(replace(fresh, op=Op.ROLLBACK))
            else:
                before = {} if record.op == Op.INSERT else {k: record.before.get(k) for k in record.after or record.before}
                database.redo.write(replace(fresh, op=_UNDONE_BY[Op(record.op)], rollback=True, before={}, after=before))


def _other(name: str, suffix: str) -> str:
    """With the suffix if it has none, without it if it has: the one host and the other."""
    return name.removesuffix(suffix) if name.endswith(suffix) else name + suffix
