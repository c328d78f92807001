"""Read what people are shown, on the page, in `status` and as metrics, from the ledger alone: Oracle is not asked.

Each query has a limit or an index, so that a page needs milliseconds with 100,000 windows and 1,000 tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, Row, and_, func, select, text

from redolake.ledger import tables as t
from redolake.ledger.base import LedgerBase, database_errors, value_errors
from redolake.ledger.batches import batch_entry
from redolake.ledger.entries import BatchEntry, Decision, Json, Loss, TableEntry, lease_name
from redolake.ledger.losses import loss_in
from redolake.ledger.shown_facts import Changes, FactKind
from redolake.ledger.states import WindowState
from redolake.ledger.table_entries import table_entry
from redolake.ledger.windows import read_end_times
from redolake.records.batches.carry import OpenTransaction
from redolake.records.codec import check_time, from_body
from redolake.records.gaps import DeclaredGap
from redolake.records.shown_facts import SnapshotFact
from redolake.values.redo import Position
from redolake.values.scn import ChainPosition, Scn
from redolake.values.table import TableId

W = t.windows.c
TRANSACTIONS_SHOWN = 50
DECISIONS_SHOWN = 50
LATEST_BATCHES = 6  # the one under way, and the last ones


@dataclass(frozen=True, slots=True)
class WindowRow:
    """A window without its plan. Times and counts are None where the ledger does not know them."""

    name: str
    resetlogs_id: int
    start_scn: int
    end_scn: int
    state: WindowState
    planned_at: datetime
    ends_at: datetime | None
    landed_at: datetime | None
    applied_at: datetime | None
    batch: str | None
    row_count: int | None
    log_count: int | None
    redo_bytes: int | None
    mine_seconds: float | None
    account: Mapping[str, int] | None


@dataclass(frozen=True, slots=True)
class FactRow:
    body: Json
    at: datetime


@dataclass(frozen=True, slots=True)
class LedgerReading:
    """One consistent reading of a pipeline. `windows` are the newest, newest first, without abandoned ones; `open_count` and
    `open_rows` are of all open transactions, of which the oldest are listed. `changes` and `ddl`, by kind, are those of the
    last 24 hours. `position_at` is when the source wrote the position, `contents_at` what each table is complete to."""

    read_at: datetime
    position: Position | None
    position_at: datetime | None
    windows: tuple[WindowRow, ...]
    older_windows: bool
    window_counts: Mapping[str, int]
    tables: tuple[TableEntry, ...]
    contents_at: Mapping[TableId, datetime]
    changes: Mapping[TableId, Changes]
    changed_at: Mapping[TableId, datetime]
    ddl: Mapping[str, int]
    batches: tuple[BatchEntry, ...]  # the last that were applied, newest first
    batch_under_way: BatchEntry | None
    batch_starts: Mapping[str, datetime]  # of the batches of the windows listed
    lease_owner: str | None
    lease_until: datetime | None
    open_transactions: tuple[OpenTransaction, ...]
    open_count: int
    open_rows: int
    loss: Loss | None
    gaps: tuple[DeclaredGap, ...]
    decisions: tuple[Decision, ...]
    facts: Mapping[str, Mapping[str, FactRow]]  # by kind, then name
    dropped_at: Mapping[TableId, int] = field(default_factory=dict)  # SCN of the DROP of tables that stay in Delta

    @property
    def last_batch(self) -> BatchEntry | None:
        return next(iter(self.batches), None)

    def lacking_tables(self, gap: DeclaredGap) -> list[str]:
        """Return the tables that still lack the redo of a declared gap."""
        return [str(entry.table) for entry in self.tables if gap.concerns(entry.table, entry.snapshot_scn)]

    def snapshot_of(self, table: TableId) -> SnapshotFact | None:
        return last_snapshot(table, self.facts.get("snapshot", {}).get(str(table)))


class Readings(LedgerBase):
    def reading(self, *, windows: int = 50, before: ChainPosition | None = None) -> LedgerReading:
        """Return what people are shown. `before` is the start of a window: only older ones are listed."""
        with _snapshot(self._engine) as connection:
            return _reading(connection, self._pipeline, self._now(), windows, before)

    def contents_times(self, entries: Sequence[TableEntry]) -> dict[TableId, datetime]:
        """Return when the source wrote the SCN that each table is complete to, as far as the ledger knows."""
        with self._read() as connection:
            return _contents_at(connection, self._pipeline, entries, _facts(connection, self._pipeline).get("snapshot", {}))

    def windows_since(self, at: datetime) -> list[WindowRow]:
        """Return the windows that landed since then, oldest first. A rebuilt ledger does not know when its windows did."""
        columns = [W[name] for name in WindowRow.__dataclass_fields__]
        query = select(*columns).where(W.pipeline == self._pipeline, W.landed_at >= at).order_by(W.landed_at)
        with self._read() as connection:
            return [WindowRow(*row) for row in connection.execute(query)]

    def windows_named(self, names: Sequence[str]) -> dict[str, WindowRow]:
        """Return the windows of these names, as far as the ledger knows them."""
        columns = [W[name] for name in WindowRow.__dataclass_fields__]
        query = select(*columns).where(W.pipeline == self._pipeline, W.name.in_(names))
        with self._read() as connection:
            return {row.name: WindowRow(*row) for row in connection.execute(query)}

    def shown_facts(self, kinds: Collection[FactKind]) -> dict[str, dict[str, FactRow]]:
        """Return the facts of these kinds, by kind and name."""
        with self._read() as connection:
            found = _facts(connection, self._pipeline)
        return {kind: found.get(kind, {}) for kind in kinds}


@contextmanager
def _snapshot(engine: Engine) -> Iterator[Connection]:
    """Open one transaction that sees one state of the ledger."""
    if engine.dialect.name == "postgresql":
        engine = engine.execution_options(isolation_level="REPEATABLE READ")
    with database_errors(engine), value_errors(engine), engine.begin() as connection:
        yield connection


def _reading(connection: Connection, pipeline: str, now: datetime, windows: int, before: ChainPosition | None) -> LedgerReading:
    def rows(table: Any) -> Any:
        return select(table).where(table.c.pipeline == pipeline)

    place = connection.execute(rows(t.pipelines)).first()
    found = _windows(connection, pipeline, windows + 1, before)
    changes, changed_at = _changes(connection, pipeline, now)
    latest = rows(t.batches).order_by(t.batches.c.changed_at.desc()).limit(LATEST_BATCHES)
    batches = [batch_entry(row) for row in connection.execute(latest)]
    lease = connection.execute(select(t.leases).where(t.leases.c.name == lease_name("apply", pipeline))).first()
    opened = t.open_transactions.c
    count, open_rows = connection.execute(
        select(func.count(), func.coalesce(func.sum(opened.row_count), 0)).where(opened.pipeline == pipeline)
    ).one()
    loss = connection.execute(rows(t.losses)).first()
    position = None if place is None else Position(place.dbid, place.resetlogs_id, Scn(place.scn))
    tables = [table_entry(row) for row in connection.execute(rows(t.tables).order_by(t.tables.c.owner, t.tables.c.table_name))]
    facts = _facts(connection, pipeline)
    return LedgerReading(
        read_at=now,
        position=position,
        position_at=None if position is None else _end_time(connection, pipeline, position.chain_position),
        windows=tuple(found[:windows]),
        older_windows=len(found) > windows,
        window_counts=_window_counts(connection, pipeline),
        tables=tuple(tables),
        contents_at=_contents_at(connection, pipeline, tables, facts.get("snapshot", {})),
        changes=changes,
        changed_at=changed_at,
        ddl=_ddl(connection, pipeline, now),
        batches=tuple(batch for batch in batches if batch.state == "applied"),
        batch_under_way=next((batch for batch in batches[:1] if batch.state == "prepared"), None),
        batch_starts=_batch_starts(connection, pipeline, {row.batch for row in found if row.batch}),
        lease_owner=None if lease is None else lease.owner,
        lease_until=None if lease is None else lease.expires_at,
        open_transactions=_open_transactions(connection, pipeline),
        open_count=int(count),
        open_rows=int(open_rows),
        loss=None if loss is None else loss_in(loss.body, loss.since),
        gaps=tuple(_gap(row) for row in connection.execute(rows(t.gaps).order_by(t.gaps.c.name))),
        decisions=tuple(
            Decision(row.number, row.kind, row.body, row.who, row.at)
            for row in connection.execute(rows(t.decisions).order_by(t.decisions.c.number.desc()).limit(DECISIONS_SHOWN))
        ),
        facts=facts,
        dropped_at=_dropped_scns(connection, pipeline),
    )


def _gap(row: Row[Any]) -> DeclaredGap:
    found = from_body(DeclaredGap, row.body, row.name)
    with t.parse_cells("redolake_gaps.body"):
        check_time(found.at)
    return found


def _dropped_scns(connection: Connection, pipeline: str) -> dict[TableId, int]:
    """Return the SCN of the DROP of each table whose newest version is a dropped one."""
    v = t.table_versions.c
    newest = select(v.owner, v.table_name, func.max(v.from_scn).label("from_scn")).where(v.pipeline == pipeline)
    last = newest.group_by(v.owner, v.table_name).subquery()
    is_last = and_(v.owner == last.c.owner, v.table_name == last.c.table_name, v.from_scn == last.c.from_scn)
    dropped = v.body["dropped_at"].as_string()  # an SCN is larger than PostgreSQL's INTEGER
    query = select(v.owner, v.table_name, dropped).join_from(t.table_versions, last, is_last).where(v.pipeline == pipeline)
    found = connection.execute(query.where(dropped.is_not(None))).all()
    with t.parse_cells("redolake_table_versions.body"):
        return {TableId(owner, name): int(scn) for owner, name, scn in found}


def _end_time(connection: Connection, pipeline: str, end: ChainPosition) -> datetime | None:
    return read_end_times(connection, pipeline, [end]).get(end)


def _contents_at(
    connection: Connection, pipeline: str, entries: Sequence[TableEntry], snapshots: Mapping[str, FactRow]
) -> dict[TableId, datetime]:
    """Return the end of the window that each table is complete to, else the time of its snapshot's SCN."""
    known = {entry.table: end for entry in entries if (end := entry.contents_end) is not None}
    ends = read_end_times(connection, pipeline, known.values())
    found = {table: ends[end] for table, end in known.items() if end in ends}
    for table in known.keys() - found.keys():
        snapshot = last_snapshot(table, snapshots.get(str(table)))
        if snapshot is not None and snapshot.scn == known[table].scn - 1 and snapshot.scn_at is not None:
            with t.parse_cells(f"the snapshot of {table}"):
                found[table] = datetime.fromisoformat(check_time(snapshot.scn_at))
    return found


def last_snapshot(table: TableId, fact: FactRow | None) -> SnapshotFact | None:
    return None if fact is None else from_body(SnapshotFact, fact.body, f"the snapshot of {table}")


def _windows(connection: Connection, pipeline: str, limit: int, before: ChainPosition | None) -> list[WindowRow]:
    """Return the newest windows that are not abandoned. The partial index on their place serves this, if the condition is the
    index's own: SQLite compares no parameter with it."""
    columns = [W[name] for name in WindowRow.__dataclass_fields__]
    query = select(*columns).where(W.pipeline == pipeline, text("state <> 'abandoned'"))
    if before is not None:
        older = (W.resetlogs_id == before.resetlogs_id) & (W.start_scn < before.scn)
        query = query.where(older | (W.resetlogs_id < before.resetlogs_id))
    query = query.order_by(W.resetlogs_id.desc(), W.start_scn.desc()).limit(limit)
    found = [WindowRow(*row) for row in connection.execute(query)]
    with t.parse_cells("redolake_windows.account"):
        [sum(row.account.values()) for row in found if row.account is not None]
    return found


def _window_counts(connection: Connection, pipeline: str) -> dict[str, int]:
    """Count the windows that are not applied yet; the index on the state serves each count."""
    query = select(W.state, func.count()).where(W.pipeline == pipeline, W.state.in_(("planned", "landed")))
    return {row[0]: row[1] for row in connection.execute(query.group_by(W.state))}


def _batch_starts(connection: Connection, pipeline: str, names: Collection[str]) -> dict[str, datetime]:
    b = t.batches.c
    query = select(b.name, b.created_at).where(b.pipeline == pipeline, b.name.in_(names))
    return {name: created_at for name, created_at in connection.execute(query)}


def _changes(connection: Connection, pipeline: str, now: datetime) -> tuple[dict[TableId, Changes], dict[TableId, datetime]]:
    r = t.table_rows.c
    sums = [func.sum(r[name]) for name in Changes().counts]
    query = select(r.owner, r.table_name, *sums, func.max(r.hour)).where(r.pipeline == pipeline, r.hour > _a_day_before(now))
    found, times = {}, {}
    rows: Any = connection.execute(query.group_by(r.owner, r.table_name))
    for owner, name, *counts, latest in rows:
        table = TableId(owner, name)
        numbers: dict[str, Any] = dict(zip(Changes().counts, map(int, counts), strict=True))
        found[table], times[table] = Changes(**numbers), latest
    return found, times


def _ddl(connection: Connection, pipeline: str, now: datetime) -> dict[str, int]:
    d = t.table_ddl.c
    query = select(d.kind, func.sum(d.changes)).where(d.pipeline == pipeline, d.hour > _a_day_before(now)).group_by(d.kind)
    return {kind: int(number) for kind, number in connection.execute(query)}


def _a_day_before(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=24)


def _open_transactions(connection: Connection, pipeline: str) -> tuple[OpenTransaction, ...]:
    x = t.open_transactions.c
    query = select(t.open_transactions).where(x.pipeline == pipeline).order_by(x.start_scn, x.con_id, x.xid)
    return tuple(_open_transaction(row) for row in connection.execute(query.limit(TRANSACTIONS_SHOWN)))


def _open_transaction(r: Row[Any]) -> OpenTransaction:
    return OpenTransaction(r.con_id, r.xid, r.thread, r.start_scn, r.first_at, r.row_count, r.bytes, r.username)


def _facts(connection: Connection, pipeline: str) -> dict[str, dict[str, FactRow]]:
    f = t.facts.c
    found: dict[str, dict[str, FactRow]] = {}
    rows: Any = connection.execute(select(f.kind, f.name, f.body, f.at).where(f.pipeline == pipeline))
    for kind, name, body, at in rows:
        found.setdefault(kind, {})[name] = FactRow(body, at)
    return found
