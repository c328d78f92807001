"""The redo of one thread, in the groups in which the log writer writes it (LWNs).

Online logs are read, and archived ones where those are gone.

Groups follow from the redo alone, so that a second reading finds the same. In an idle database the log writer writes on; such
a group has no records here.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path

from standin.engine.database.database import Database
from standin.known_tables import KnownTable, known_tables
from standin.olr.options import Behaviour
from standin.redo_file import Op, RedoRecord, from_batch, read_records

_ENDS = frozenset({Op.COMMIT, Op.ROLLBACK})
Version = tuple[int, int, int]  # container, object id, object version


@dataclass(frozen=True, slots=True)
class Group:
    """`offset` is that of the group's end in its log; `ends_log` marks the last one of a log."""

    scn: int
    sequence: int
    offset: int
    at: datetime
    records: tuple[RedoRecord, ...] = ()
    ends_log: bool = False


@dataclass(slots=True)
class Feed:
    """`groups` has all groups that were read so far. The definitions of tables are taken when their redo is written; with a
    dictionary of its own, only those that DDL of this thread has changed."""

    database: Database
    thread: int
    behaviour: Behaviour
    groups: list[Group] = field(default_factory=list)
    _definitions: dict[Version, KnownTable] = field(default_factory=dict)
    _keys: dict[Version, frozenset[int]] = field(default_factory=dict)  # segment numbers of the primary key's columns
    _now: dict[tuple[int, int], KnownTable] = field(default_factory=dict)  # of the database
    _own: dict[tuple[int, int], KnownTable] = field(default_factory=dict)  # as this thread's redo has them
    _others: dict[tuple[int, int], KnownTable] = field(default_factory=dict)  # by SCN and object, where a version has several
    _stale: dict[tuple[int, int], KnownTable] = field(default_factory=dict)  # the same, where another thread's DDL is not known
    _changed_by: set[int] = field(default_factory=set)  # threads whose DDL is still to be read
    _sequence: int = 0
    _read: int = 0  # records of that log
    _rest: list[RedoRecord] = field(default_factory=list)  # of a group that is not complete
    _scn: int = 0
    _offset: int = 0  # of the last group's end
    _idle_since: float = 0.0

    def __post_init__(self) -> None:
        with self.database.lock:
            logs = [log for log in self.database.state.threads[self.thread].logs if log.status != "UNUSED"]
            kept = [c.sequence for c in self.database.state.archived if c.thread == self.thread and self._is_readable(c.name)]
            own = sorted({*kept, *(log.sequence for log in logs)})
            self._sequence = next(n for n in own if set(range(n, own[-1] + 1)) <= set(own))
            self._learn(is_own=True)
            self.database.redo.watch(self._written)

    def read_dictionary(self) -> None:
        """Read the dictionary of the database again, as a start without checkpoint files does."""
        with self.database.lock:
            self._now, self._stale = {}, {}
            self._learn(is_own=True)

    def close(self) -> None:
        self.database.redo.forget(self._written)

    def first_scn(self, sequence: int) -> int | None:
        """Return FIRST_CHANGE# of a log; None where nothing knows it."""
        state = self.database.state
        online = {log.sequence: log.first_scn for log in state.threads[self.thread].logs if log.status != "UNUSED"}
        archived = {copy.sequence: copy.first_scn for copy in state.archived if copy.thread == self.thread}
        return {**archived, **online}.get(sequence)

    def poll(self) -> None:
        """Read what has been written since."""
        with self.database.lock:
            before = self._sequence, self._read
            while self._read_log():
                pass
            now = time.monotonic()
            if before != (self._sequence, self._read):
                self._idle_since = now
            elif now - self._idle_since >= self.behaviour.idle_seconds:
                self._idle_since = now
                self._write_on()

    def _write_on(self) -> None:
        """End the group, as the log writer does after a while; without records it is one of a background process."""
        if self._rest:
            self._complete()
            return
        if not self.database.state.threads[self.thread].is_open:
            return
        self._scn = max(self.database.clock.next_scn(), self._scn)
        self.groups.append(Group(self._scn, self._sequence, self._next_offset(), self.database.clock.second()))

    def _read_log(self) -> bool:
        """Read the rest of the current log; return whether another one follows it."""
        state = self.database.state.threads[self.thread]
        online = next((log for log in state.logs if log.sequence == self._sequence and log.status != "UNUSED"), None)
        if online is not None:
            self._take(online.records[self._read :])
            ended = online.next_scn is not None
        else:
            copies = (c.name for c in self.database.state.archived if (c.thread, c.sequence) == (self.thread, self._sequence))
            name = next((name for name in copies if self._is_readable(name)), None)
            if name is None:
                return False  # it waits for the log
            records = (record for batch in read_records(Path(name)) for record in from_batch(batch))
            self._take(list(islice(records, self._read, None)))
            ended = True
        if ended:
            self._complete(ends_log=True)
            self._sequence, self._read, self._offset = self._sequence + 1, 0, 0
        return ended

    @staticmethod
    def _is_readable(name: str | None) -> bool:
        return name is not None and Path(name).exists()

    def _take(self, records: list[RedoRecord]) -> None:
        self._read += len(records)
        for record in records:
            self._rest.append(record)
            ends = sum(one.op in _ENDS for one in self._rest)
            if ends >= self.behaviour.commits_in_group:
                self._complete()

    def _complete(self, *, ends_log: bool = False) -> None:
        if not self._rest and not ends_log:
            return
        # What the log writer writes into a log without records of changes has SCNs of that log.
        first = min((record.scn for record in self._rest), default=self.first_scn(self._sequence) or self._scn)
        at = self._rest[-1].at if self._rest else self.database.clock.second()
        scn = max(first - (self.behaviour.group_scn == "below"), self._scn)
        last = self._rest[-1] if self._rest else None
        self._offset = max(self._offset, 0 if last is None else 512 * last.block + last.offset)
        self.groups.append(Group(scn, self._sequence, self._next_offset(), at, tuple(self._rest), ends_log))
        self._scn, self._rest = scn, []

    def _next_offset(self) -> int:
        self._offset += 1
        return self._offset

    def _written(self, record: RedoRecord) -> None:
        """Take the definition under which a change is written. A DDL may leave a table its version."""
        if record.op not in (Op.DDL, Op.INSERT, Op.UPDATE, Op.DELETE):
            return
        key = (record.con_id, record.object_id, record.object_version)
        if record.op != Op.DDL and key[:2] not in self._now:
            self._changed_by.add(record.thread)  # a partition that Oracle has made for this row
        if self._changed_by:
            self._learn(is_own=self.thread in self._changed_by or self.behaviour.dictionary == "database")
        if record.op == Op.DDL:
            self._changed_by.add(record.thread)
            return
        own, of_version = self._own.get(key[:2]), self._definitions.get(key)
        if own is not None and own != of_version:
            (self._stale if of_version is None else self._others)[record.scn, record.object_id] = own

    def _learn(self, *, is_own: bool) -> None:
        self._changed_by.clear()
        before, self._now = self._now, known_tables(self.database.state, self.database.options.catalog_forms)
        for (con_id, object_id), table in self._now.items() if is_own else ():
            if before.get((con_id, object_id)) != table:
                self._own[con_id, object_id] = table
                self._definitions.setdefault((con_id, object_id, table.object_version), table)
        for found in self.database.state.tables.values():
            names = {name for key in found.constraints if key.kind == "P" for name in key.columns}
            key = frozenset(column.segment_id for column in found.columns if column.name in names)
            for object_id in found.object_ids:
                self._keys.setdefault((found.con_id, object_id, found.object_version), key)

    def key(self, record: RedoRecord) -> frozenset[int]:
        return self._keys.get((record.con_id, record.object_id, record.object_version), frozenset())

    def definition(self, record: RedoRecord) -> KnownTable | None:
        of_version = self._definitions.get((record.con_id, record.object_id, record.object_version))
        place = record.scn, record.object_id
        return self._others.get(place) or self._stale.get(place) or of_version
