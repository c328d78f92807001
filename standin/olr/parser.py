"""Whole transactions in the order of their commits, as the messages of OpenLogReplicator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from standin.known_tables import KnownTable
from standin.model import PDB
from standin.moment import Moment
from standin.olr.feed import Feed, Group
from standin.olr.options import SHOW_CHECKPOINTS, SHOW_DDL, Behaviour, Configuration
from standin.olr.values import UNKNOWN, Writer, moment, writer_of
from standin.redo_file import NOT_SHOWN, Op, RedoRecord
from standin.zones import session_zone

_VERBS = {Op.INSERT: "c", Op.UPDATE: "u", Op.DELETE: "d"}
_TYPES = {"NUMBER": "number", "FLOAT": "number", "INTEGER": "number", "NVARCHAR2": "varchar2", "NCHAR": "char", "NCLOB": "clob"}


@dataclass(frozen=True, slots=True)
class Message:
    c_scn: int
    c_idx: int
    body: bytes
    is_checkpoint: bool = False


@dataclass(slots=True)
class _Transaction:
    """`begun` is false for one whose START was not read: it is not sent."""

    begin: RedoRecord
    begun: bool
    records: list[RedoRecord] = field(default_factory=list)

    def add(self, record: RedoRecord) -> None:
        """Add a change. An undo row takes its change back, as the log reader does with a savepoint's rollback."""
        if not record.rollback:
            self.records.append(record)
            return
        for at in range(len(self.records) - 1, -1, -1):
            if (self.records[at].object_id, self.records[at].row_id) == (record.object_id, record.row_id):
                del self.records[at]
                return


@dataclass(slots=True)
class Parser:
    """Reads a feed from a group on. What commits up to `first_scn`, and checkpoints up to it, are not sent."""

    feed: Feed
    configuration: Configuration
    behaviour: Behaviour
    first_scn: int
    at: int = 0  # the next group of the feed
    reads_to: int | None = None  # the SCN at which it lags; None for one that keeps up
    _open: dict[tuple[int, int, int], _Transaction] = field(default_factory=dict)
    _c_scn: int = 0
    _c_idx: int = 0
    _changes: int = 0
    _known: set[str] = field(default_factory=set)  # tables whose columns were sent

    def messages(self) -> Iterator[Message]:
        """Yield the messages of the groups that have come since, up to `reads_to`."""
        while self.at < len(self.feed.groups):
            group = self.feed.groups[self.at]
            if self.reads_to is not None and group.scn > self.reads_to:
                return
            self.at += 1
            if group.sequence == self.behaviour.skipped_log:
                continue
            for record in sorted(group.records, key=lambda record: record.scn):
                yield from self._read(record, group)
            if group.scn > self.first_scn:
                yield from self._checkpoint(group, redo=False)
                if group.ends_log:
                    yield from self._checkpoint(group, redo=True)

    def _checkpoint(self, group: Group, *, redo: bool) -> Iterator[Message]:
        self._number(group.scn)
        switch = {"redo": True} if redo else {}
        payload = json.dumps({"op": "chkpt", "seq": group.sequence, "offset": group.offset, **switch}, separators=(",", ":"))
        message = self._message(self._time(self._scn_field(group.scn), group.at), None, payload, is_checkpoint=True)
        if self.configuration.flags & SHOW_CHECKPOINTS:
            yield message

    def _read(self, record: RedoRecord, group: Group) -> Iterator[Message]:
        is_cdb = self.feed.database.state.is_cdb
        if is_cdb and record.con_id != PDB:
            return
        xid = record.pxid or record.xid
        is_server = record.pxid is not None
        if record.op == Op.START and not is_server:
            self._open[xid] = _Transaction(record, begun=True)
        elif record.op == Op.ROLLBACK and not is_server:
            self._open.pop(xid, None)
        elif record.op == Op.COMMIT and not is_server:
            transaction = self._open.pop(xid, None)
            if transaction is not None and transaction.begun and record.scn > self.first_scn:
                yield from self._send(transaction, record, group)
        elif record.op in (Op.INSERT, Op.UPDATE, Op.DELETE, Op.DDL) and record.sql != NOT_SHOWN:
            self._open.setdefault(xid, _Transaction(record, begun=False)).add(record)

    def _send(self, transaction: _Transaction, commit: RedoRecord, group: Group) -> Iterator[Message]:
        bodies = [body for record in transaction.records for body in self._payload(record)]
        if not bodies:
            return
        begin, form = transaction.begin, self.configuration.format
        self._number(begin.scn if self.behaviour.c_scn == "begin" else group.scn)
        if form.message & 1:
            whole = ",".join(payload.replace("@num@", "", 1) for _, payload in bodies)
            yield self._message(self._header(begin, begin, commit, first=True), begin, whole)
            return
        yield self._message(self._header(begin, begin, commit, first=True), begin, '{"op":"begin"}')
        for number, (record, payload) in enumerate(bodies):
            self._changes += 1
            if self.behaviour.lost_change and self._changes % self.behaviour.lost_change == 0:
                continue
            if form.message & 2 and record.op != Op.DDL:
                payload = payload.replace("@num@", f',"num":{number}', 1)
            yield self._message(self._header(record, begin, commit), record, payload.replace("@num@", "", 1))
        yield self._message(self._header(commit, begin, commit), commit, '{"op":"commit"}')

    def _number(self, scn: int) -> None:
        if self._c_scn != scn:
            self._c_scn, self._c_idx = scn, self.behaviour.first_index

    def _message(self, header: list[str], record: RedoRecord | None, payload: str, *, is_checkpoint: bool = False) -> Message:
        form = self.configuration.format
        parts = [*header, f'"c_scn":{self._c_scn}', f'"c_idx":{self._c_idx}']
        if record is not None:
            parts.append(self._xid(record))
            if form.db & (2 if '"op":"ddl"' in payload else 1):
                state = self.feed.database.state
                parts.append(f'"db":{json.dumps(state.pdb_name if state.is_cdb else state.name)}')
        if form.redo_thread:
            parts.append(f'"rth":{self.feed.thread}')
        body = f'{{{",".join(parts)},"payload":[{payload}]}}'
        message = Message(self._c_scn, self._c_idx, body.encode(), is_checkpoint)
        self._c_idx += 1
        return message

    def _xid(self, record: RedoRecord) -> str:
        usn, slt, sqn = record.pxid or record.xid
        shown = {
            0: f'"xid":"0x{usn:04x}.{slt:03x}.{sqn:08x}"',
            1: f'"xid":"{usn}.{slt}.{sqn}"',
            2: f'"xidn":{usn << 48 | slt << 32 | sqn}',
            3: f'"xid":"{usn.to_bytes(2, "little").hex()}{slt.to_bytes(2, "little").hex()}{sqn.to_bytes(4, "little").hex()}"',
        }
        return shown[self.configuration.format.xid]

    def _scn_field(self, scn: int, prefix: str = "") -> list[str]:
        if self.configuration.format.scn:
            return [f'"{prefix}scns":"0x{scn:016x}"']
        return [f'"{prefix}scn":{scn}']

    def _time(self, parts: list[str], at: datetime, prefix: str = "") -> list[str]:
        form = self.configuration.format.timestamp_metadata
        shown = Moment(at.year, at.month, at.day, at.hour, at.minute, at.second)
        if self.behaviour.hours:
            moved = datetime.fromtimestamp(at.replace(tzinfo=UTC).timestamp() + 3600 * self.behaviour.hours, UTC)
            shown = Moment(moved.year, moved.month, moved.day, moved.hour, moved.minute, moved.second)
        name = "tm" if form < 4 else "tms"
        return [*parts, f'"{prefix}{name}":{moment(shown, form)}']

    def _header(self, record: RedoRecord, begin: RedoRecord, commit: RedoRecord, *, first: bool = False) -> list[str]:
        form = self.configuration.format
        parts: list[str] = []
        if first or form.scn_type & 4:
            parts += self._scn_field(commit.scn if form.scn_type & 1 else record.scn)
        if form.scn_type & 2:
            parts += self._scn_field(begin.scn, "b_")
        if form.scn_type & 8:
            parts += self._scn_field(commit.scn, "e_")
        if first or form.timestamp_type & 4:
            parts = self._time(parts, commit.at if form.timestamp_type & 1 else record.at)
        if form.timestamp_type & 2:
            parts = self._time(parts, begin.at, "b_")
        if form.timestamp_type & 8:
            parts = self._time(parts, commit.at, "e_")
        return parts

    def _payload(self, record: RedoRecord) -> Iterator[tuple[RedoRecord, str]]:
        if record.op == Op.DDL:
            if self.configuration.flags & SHOW_DDL:
                yield record, self._ddl(record)
            return
        table = self.feed.definition(record)
        if self.behaviour.uncommitted_dictionary:
            table = None
        if table is not None and not self.configuration.sends(table.owner, table.name):
            return
        if table is None and self.configuration.tables:
            return  # a table that no filter names
        yield record, self._change(record, table)

    def _ddl(self, record: RedoRecord) -> str:
        table = record.object_name or f"OBJ_{record.object_id}"
        owner = f'"owner":{json.dumps(record.owner)},' if record.owner else ""
        obj = f',"obj":{record.object_id}' if self.configuration.format.schema & 4 else ""
        sql = json.dumps(record.sql, ensure_ascii=False)
        return f'{{"op":"ddl","schema":{{{owner}"table":{json.dumps(table)}{obj}}},"sql":{sql}}}'

    def _change(self, record: RedoRecord, table: KnownTable | None) -> str:
        form = self.configuration.format
        rid = f',"rid":"{record.row_id}"' if form.rid else ""
        before = f',"before":{{{self._image(record, table, after=False)}}}' if record.op != Op.INSERT else ""
        after = f',"after":{{{self._image(record, table, after=True)}}}' if record.op != Op.DELETE else ""
        return f'{{"op":"{_VERBS[Op(record.op)]}",{self._schema(record, table)}@num@{rid}{before}{after}}}'

    def _schema(self, record: RedoRecord, table: KnownTable | None) -> str:
        form = self.configuration.format
        obj = f',"obj":{record.object_id}' if form.schema & 4 else ""
        if table is None:
            return f'"schema":{{"table":"OBJ_{record.object_id}"{obj}}}'
        head = f'"owner":{json.dumps(table.owner)},"table":{json.dumps(table.name)}{obj}'
        name = f"{table.owner}.{table.name}.{table.object_version}"
        if not form.schema & 1 or (name in self._known and not form.schema & 2):
            return f'"schema":{{{head}}}'
        self._known.add(name)
        columns = ",".join(
            f'{{"name":{json.dumps(column)},"type":"{_TYPES.get(kind.name, kind.name.lower())}","nullable":true}}'
            for column, kind in table.columns.values()
        )
        return f'"schema":{{{head},"columns":[{columns}]}}'

    def _image(self, record: RedoRecord, table: KnownTable | None, *, after: bool) -> str:
        given = record.after if after else record.before
        if table is None:
            shown = {n: "null" if value is None else f'"{value.hex()}"' for n, value in given.items()}
            return ",".join(f'"COL_{n - 1}":{value}' for n, value in shown.items())
        parts, zone = [], session_zone(self.feed.database.state.time_zone)
        for number, value in sorted(self._shown(record, table, given, after=after).items()):
            if number in table.columns and number not in table.omitted:
                name, kind = table.columns[number]
                write = None if name in self.behaviour.undecodable else writer_of(kind, self.configuration.format, zone)
                if write is not None or self.configuration.format.unknown_type or name in self.behaviour.undecodable:
                    parts.append(f"{json.dumps(name)}:{_json(value, write)}")
        return ",".join(parts)

    def _shown(
        self, record: RedoRecord, table: KnownTable, given: dict[int, bytes | None], *, after: bool
    ) -> dict[int, bytes | None]:
        """Return the values that the setting `column` shows: all that the redo has, those that changed and the key, or without
        NULLs."""
        column = self.configuration.format.column
        if record.op == Op.UPDATE:
            whole = {**record.before, **record.after} if after else given
            if column == 2:
                return whole
            changed = {n for n, value in record.after.items() if n not in record.before or record.before[n] != value}
            wanted = changed | self.feed.key(record)
            return {number: value for number, value in whole.items() if number in wanted}
        if column == 0:
            return {number: value for number, value in given.items() if value is not None}
        return {**dict.fromkeys(table.columns), **given}


def _json(value: bytes | None, write: Writer | None) -> str:
    return "null" if value is None else UNKNOWN if write is None else write(value)
