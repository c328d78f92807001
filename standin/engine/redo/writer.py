"""Gives each redo record its SCN and its address in the current log of its thread, and switches full logs.

With private strands, a transaction's redo stays in memory until the transaction ends, the strand is full, or the log is
switched. Only then does it reach the log, with the SCNs it was made under. With strands that cross switches, it may so begin
in a log that starts after those SCNs. The caller holds the database's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from standin.engine.redo.archiver import Archiver
from standin.engine.redo.clock import Clock
from standin.model import DatabaseState, LogHistoryRow, OnlineLog, RedoThreadState
from standin.redo_file import Op, RedoRecord

BLOCK = 512
BLOCK_HEADER = 16
_RECORD_HEADER = 72
_COLUMN_HEADER = 8
_NEAR = 200  # records
_STRAND_BYTES = 64 * 1024
_IN_STRANDS = frozenset({Op.START, Op.INSERT, Op.UPDATE, Op.DELETE, Op.SELECT_FOR_UPDATE, Op.UNSUPPORTED})

Xid = tuple[int, int, int]


@dataclass(slots=True)
class _Strand:
    records: list[RedoRecord] = field(default_factory=list)
    in_front: dict[int, RedoRecord] = field(default_factory=dict)  # by id() of the record whose address they share
    size: int = 0


class RedoWriter:
    def __init__(
        self,
        state: DatabaseState,
        clock: Clock,
        archiver: Archiver,
        *,
        private_strands: bool = False,
        strands_cross_switches: bool = False,
    ) -> None:
        self._state, self._clock, self._archiver = state, clock, archiver
        self._private, self._crossing = private_strands, strands_cross_switches
        self._strands: dict[tuple[int, int, Xid], _Strand] = {}  # by thread, container and XID
        self._joinable: tuple[int, set[int]] | None = (
            None  # SCN and threads of the last commits, until a query may have read them
        )
        self._watchers: list[Callable[[RedoRecord], None]] = []
        self._current: dict[int, OnlineLog] = {}
        for thread in state.threads.values():
            self.reopen(thread)

    def watch(self, watcher: Callable[[RedoRecord], None]) -> None:
        """Call `watcher` with each record that is written."""
        self._watchers.append(watcher)

    def forget(self, watcher: Callable[[RedoRecord], None]) -> None:
        self._watchers.remove(watcher)

    def can_switch(self, thread: RedoThreadState) -> bool:
        """Return False when every other group still has to be archived."""
        return bool(thread.free_groups) or self._archiver.adds_groups(thread.number)

    def is_blocked(self, thread: RedoThreadState) -> bool:
        """Return whether the log is full and no other is free. A statement then waits before it begins."""
        log = self._current[thread.number]
        return log.used_bytes >= log.size_bytes and not self.can_switch(thread)

    def write(self, record: RedoRecord) -> int:
        """Append the record, or keep it in its transaction's strand, and return its SCN."""
        size = _size_of(record)
        if self._private and record.op in _IN_STRANDS:
            strand = self._strands.setdefault((record.thread, record.con_id, record.xid), _Strand())
            strand.records.append(record)
            strand.size += size
            self._stamp(record, self._clock.next_scn())
            if strand.size > _STRAND_BYTES:
                self.publish(record.thread, record.con_id, record.xid)
            return record.scn
        self.publish(record.thread, record.con_id, record.xid)
        self._make_room(record.thread, size)
        self._stamp(record, self._clock.next_scn())
        self._append(record, size)
        return record.scn

    def publish(self, thread: int, con_id: int, xid: Xid) -> None:
        """Write the transaction's strand to the log."""
        if (thread, con_id, xid) in self._strands:
            self._make_room(thread, self._strands[thread, con_id, xid].size)
            self._empty(thread, con_id, xid)

    def _empty(self, thread: int, con_id: int, xid: Xid) -> None:
        strand = self._strands.pop((thread, con_id, xid), None)  # a log switch that made room has already emptied it
        for record in strand.records if strand is not None else ():
            self._append(record, _size_of(record))
            first = strand.in_front.get(id(record)) if strand is not None else None
            if first is not None:
                self._put_before(first, record, self._current[thread].records)

    def _empty_all(self, thread: RedoThreadState) -> None:
        for number, con_id, xid in list(self._strands):
            if number == thread.number:
                self._empty(number, con_id, xid)

    def write_together(self, records: Sequence[RedoRecord], may_join: bool = False) -> int:
        """Append the records, of any threads, under one SCN and return it.

        With `may_join` they take the SCN of the previous such records, if those are of other threads and nothing has been
        written or read since.
        """
        sizes = [_size_of(record) for record in records]
        for record in records:
            self.publish(record.thread, record.con_id, record.xid)
        for number in {record.thread for record in records}:
            self._make_room(number, sum(size for record, size in zip(records, sizes, strict=True) if record.thread == number))
        scn = self._common_scn({record.thread for record in records}) if may_join else self._clock.next_scn()
        for record, size in zip(records, sizes, strict=True):
            self._stamp(record, scn)
            self._append(record, size)
        return scn

    def _common_scn(self, threads: set[int]) -> int:
        scn, others = self._joinable or (0, set())
        if scn != self._clock.scn or threads & others:
            scn, others = self._clock.next_scn(), set()
        self._joinable = scn, threads | others
        return scn

    def stop_sharing_scn(self) -> None:
        """Give later commits a higher SCN: a query may now have read the earlier ones."""
        self._joinable = None

    def write_before(self, record: RedoRecord, other: RedoRecord) -> bool:
        """Put the record before `other`, under its SCN and address. Return False when `other` is too far back in the log."""
        strand = self._strands.get((other.thread, other.con_id, other.xid))
        if strand is not None and any(kept is other for kept in strand.records):
            strand.in_front[id(other)] = record  # it gets its address when the strand reaches the log
            record.scn = other.scn
            return True
        return self._put_before(record, other, self._current[other.thread].records)

    def _put_before(self, record: RedoRecord, other: RedoRecord, records: list[RedoRecord]) -> bool:
        near = range(len(records) - 1, max(len(records) - _NEAR, 0) - 1, -1)
        at = next((i for i in near if records[i] is other), None)
        if at is None:
            return False
        record.scn, record.at, record.ssn = other.scn, other.at, other.ssn
        record.sequence, record.block, record.offset = other.sequence, other.block, other.offset
        records.insert(at, record)
        return True

    def _make_room(self, number: int, size: int) -> None:
        thread, log = self._state.threads[number], self._current[number]
        if log.used_bytes + size > log.size_bytes and log.records and self.can_switch(thread):
            self.switch(thread)  # without a free group the running statement finishes in this log

    def _stamp(self, record: RedoRecord, scn: int) -> None:
        record.scn, record.at = scn, self._clock.second()
        for watcher in self._watchers:
            watcher(record)

    def _append(self, record: RedoRecord, size: int) -> None:
        thread, log = self._state.threads[record.thread], self._current[record.thread]
        thread.last_redo_scn, thread.last_redo_at = max(thread.last_redo_scn, record.scn), self._clock.second()
        record.sequence = log.sequence
        record.block = 2 + log.used_bytes // (BLOCK - BLOCK_HEADER)
        record.offset = BLOCK_HEADER + log.used_bytes % (BLOCK - BLOCK_HEADER)
        log.used_bytes += size
        log.records.append(record)

    def switch(self, thread: RedoThreadState) -> OnlineLog:
        """Close the current log and open the next, in a new group where none is free.

        NEXT_CHANGE# of the old log and FIRST_CHANGE# of the new one are one new SCN, which no record has.
        """
        if not self._crossing:
            self._empty_all(thread)
        old = thread.current
        scn, at = self._clock.next_scn(), self._clock.second()
        new = self._free_group(thread)
        self._close(thread, old, scn)
        new.sequence, new.first_scn, new.first_at = old.sequence + 1, scn, at
        new.next_scn = new.next_at = None
        new.status, new.archived, new.used_bytes, new.records = "CURRENT", False, 0, []
        new.dictionary_begin = new.dictionary_end = False
        self._current[thread.number] = new
        thread.checkpoint_scn, thread.checkpoint_at = scn, at
        self._archiver.archive(old)
        return new

    def finish(self, thread: RedoThreadState, scn: int) -> None:
        """End the thread's redo of this incarnation at `scn`: archive its current log and open no other."""
        self._empty_all(thread)
        log = thread.current
        self._close(thread, log, scn)
        self._archiver.archive(log)

    def _close(self, thread: RedoThreadState, log: OnlineLog, scn: int) -> None:
        log.next_scn, log.next_at, log.status = scn, self._clock.second(), "ACTIVE"
        history = self._state.history
        resetlogs_scn = self._state.incarnation.resetlogs_scn
        recid = 1 + (history[-1].recid if history else 0)
        history.append(LogHistoryRow(recid, thread.number, log.sequence, log.first_scn, log.first_at, scn, resetlogs_scn))

    def _free_group(self, thread: RedoThreadState) -> OnlineLog:
        free = thread.free_groups
        if free:
            return min(free, key=lambda log: (log.status != "UNUSED", log.sequence, log.group))
        group = 1 + max(log.group for t in self._state.threads.values() for log in t.logs)
        last = thread.logs[-1]
        member = last.member.replace(f"redo{last.group:02d}", f"redo{group:02d}")
        log = OnlineLog(group, thread.number, member, 0, 0, last.first_at, status="UNUSED", size_bytes=last.size_bytes)
        thread.logs.append(log)
        return log

    def reopen(self, thread: RedoThreadState) -> None:
        """Take the current log of a thread again after its logs were added, reset or reopened."""
        current = next((log for log in thread.logs if log.status == "CURRENT"), None)
        if current is not None:
            self._current[thread.number] = current


def _size_of(record: RedoRecord) -> int:
    size = _RECORD_HEADER + len(record.sql)
    for values in (record.before, record.after):
        for value in values.values():
            size += _COLUMN_HEADER + (len(value) if value is not None else 0)
    return size
