"""Batches that apply landed windows, and the transactions that were open at the end of the last one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, delete, insert, select, update

from redolake.errors import InvariantBroken
from redolake.host import crash
from redolake.ledger import tables as t
from redolake.ledger.base import LedgerBase, change_row, insert_new, unless_known
from redolake.ledger.entries import BatchEntry, Json, Lease
from redolake.ledger.shown_facts import Changes, add_changes, is_shown
from redolake.ledger.states import BATCH, BatchState, check_moves
from redolake.records.batches.carry import OpenTransaction
from redolake.values.scn import Scn, ScnRange
from redolake.values.table import TableId

B = t.batches.c
X = t.open_transactions.c
BATCHES_AT_ONCE = 500
BATCHES_READ = 20
RECENT = 16
COMMIT_TIMES = ("first_commit_at", "last_commit_at")


@dataclass(frozen=True, slots=True)
class AppliedBatch:
    """What the manifest of a batch proves. `changes` are the rows that it changed in each table, `at` is when it was written;
    None where an older Redolake wrote it."""

    name: str
    scns: ScnRange
    spec_path: str
    result: Json
    changes: Mapping[TableId, Changes]
    at: datetime | None = None


class Batches(LedgerBase):
    @crash.writer
    def prepare_batch(self, name: str, scns: ScnRange, spec_path: str, *, lease: Lease | None = None) -> BatchEntry:
        """Return the batch of that name: a new one, or the existing one. Raises InvariantBroken when that has another range."""
        now = self._now()
        row = {
            "pipeline": self._pipeline,
            "name": name,
            "start_scn": scns.start,
            "end_scn": scns.end,
            "state": "prepared",
            "spec_path": spec_path,
            "created_at": now,
            "changed_at": now,
        }
        with self._write(lease) as connection:
            insert_new(connection, t.batches, row)
            entry = batch_entry(connection.execute(select(t.batches).where(_has_name(self._pipeline, name))).one())
        if entry.scns != scns:
            raise InvariantBroken(
                f"the batch {name} has the range {entry.scns}, not {scns}",
                cure="give each range its own name",
                pipeline=self._pipeline,
            )
        return entry

    @crash.writer
    def move_batch(
        self,
        name: str,
        from_states: Iterable[BatchState],
        to_state: BatchState,
        *,
        lease: Lease | None = None,
        result: Json | None = None,
        changes: Mapping[TableId, Changes] | None = None,
    ) -> bool:
        """Return False when the batch is in none of `from_states`. Else add the rows that it changed in each table."""
        states = check_moves(BATCH, from_states, to_state)
        values = {"state": to_state, "changed_at": self._now(), "result": None if result is None else dict(result)}
        with self._write(lease) as connection:
            found = and_(_has_name(self._pipeline, name), B.state.in_(states))
            moved = change_row(connection, update(t.batches).where(found).values(values))
            if moved and changes:
                add_changes(connection, self._pipeline, changes, self._now())
            return moved

    def record_applied(
        self,
        name: str,
        scns: ScnRange,
        spec_path: str,
        result: Json,
        changes: Mapping[TableId, Changes] | None = None,
    ) -> bool:
        """Record what a batch's manifest proves. Return whether the ledger did not have it yet.

        A ledger that did not know the batch at all was rebuilt: it does not know when the rows were changed."""
        is_known = self.batch(name) is not None
        self.prepare_batch(name, scns, spec_path)
        return self.move_batch(name, ("prepared",), "applied", result=result, changes=changes if is_known else None)

    @crash.writer
    def record_all_applied(self, batches: Sequence[AppliedBatch]) -> None:
        """Record what the manifests of batches prove; those that the ledger does not know in a few statements, with the times
        at which they were applied."""
        for start in range(0, len(batches), BATCHES_AT_ONCE):
            some, now = batches[start : start + BATCHES_AT_ONCE], self._now()
            with self._read() as connection:
                named = (B.pipeline == self._pipeline, B.name.in_([batch.name for batch in some]))
                found = connection.execute(select(B.name, B.state, B.start_scn, B.end_scn).where(*named))
                known = {row.name: (row.state, row.start_scn, row.end_scn) for row in found}
            rows = [
                {
                    "pipeline": self._pipeline,
                    "name": batch.name,
                    "start_scn": batch.scns.start,
                    "end_scn": batch.scns.end,
                    "state": "applied",
                    "spec_path": batch.spec_path,
                    "created_at": batch.at or now,
                    "changed_at": batch.at or now,
                    "result": dict(batch.result),
                }
                for batch in some
                if batch.name not in known
            ]
            with self._write() as connection:
                if rows:
                    # Another process may rebuild the ledger too: the changes are added by the one that inserts the batch.
                    ours = set(connection.execute(unless_known(connection, t.batches).returning(B.name), rows).scalars())
                    for batch in some:
                        if batch.name in ours and batch.at is not None and is_shown(batch.at, now):
                            add_changes(connection, self._pipeline, batch.changes, batch.at)
            for batch in some:
                done = ("applied", batch.scns.start, batch.scns.end)
                if known.get(batch.name, done) != done:
                    self.record_applied(batch.name, batch.scns, batch.spec_path, batch.result, batch.changes)

    def batch(self, name: str) -> BatchEntry | None:
        with self._read() as connection:
            row = connection.execute(select(t.batches).where(_has_name(self._pipeline, name))).first()
            return None if row is None else batch_entry(row)

    def batches(self, state: BatchState | None = None, limit: int | None = None) -> list[BatchEntry]:
        """Return the batches, newest first."""
        query = (
            select(t.batches).where(B.pipeline == self._pipeline).order_by(B.end_scn.desc(), B.created_at.desc()).limit(limit)
        )
        if state is not None:
            query = query.where(B.state == state)
        with self._read() as connection:
            return [batch_entry(row) for row in connection.execute(query)]

    def batches_since(self, at: datetime) -> list[BatchEntry]:
        """Return the batches that were applied since then, oldest first. A rebuilt ledger does not know when those were that an
        older Redolake applied, and has the time of its own recording."""
        of_state = (B.pipeline == self._pipeline, B.state == "applied", B.changed_at >= at)
        query = select(t.batches).where(*of_state).order_by(B.end_scn, B.created_at)
        with self._read() as connection:
            return [batch_entry(row) for row in connection.execute(query)]

    def each_applied_from(self, name: str, back: int = 0) -> Iterator[BatchEntry]:
        """Yield the applied batches from a name on, in the order of their names, after the last `back` before it. They are read
        as they are asked for."""
        mine = (B.pipeline == self._pipeline, B.state == "applied")
        with self._read() as connection:
            before = select(B.name).where(*mine, B.name < name).order_by(B.name.desc()).limit(back)
            after = min([name, *connection.execute(before).scalars()])
        is_from = B.name >= after
        while True:
            with self._read() as connection:
                query = select(t.batches).where(*mine, is_from).order_by(B.name).limit(BATCHES_READ)
                found = [batch_entry(row) for row in connection.execute(query)]
            yield from found
            if len(found) < BATCHES_READ:
                return
            is_from = B.name > found[-1].name

    def recent_batches(self) -> list[str]:
        """Return the names of the applied batches that begin last, and of all that were changed last."""
        mine = select(B.name).where(B.pipeline == self._pipeline)
        with self._read() as connection:
            by_name = connection.execute(mine.where(B.state == "applied").order_by(B.name.desc()).limit(RECENT)).scalars().all()
            by_time = connection.execute(mine.order_by(B.changed_at.desc()).limit(RECENT)).scalars().all()
        return sorted({*by_name, *by_time})

    def applied_of(self, names: Sequence[str]) -> set[str]:
        """Return those of the batches that are applied."""
        found = set[str]()
        with self._read() as connection:
            for start in range(0, len(names), BATCHES_AT_ONCE):
                named = B.name.in_(names[start : start + BATCHES_AT_ONCE])
                query = select(B.name).where(B.pipeline == self._pipeline, named, B.state == "applied")
                found.update(connection.execute(query).scalars())
        return found

    def applied_names(self) -> set[str]:
        with self._read() as connection:
            return set(connection.execute(select(B.name).where(B.pipeline == self._pipeline, B.state == "applied")).scalars())

    @crash.writer
    def replace_open_transactions(
        self, batch: str, transactions: Iterable[OpenTransaction], lease: Lease | None = None
    ) -> None:
        """Replace the open transactions of the last batch by those open at the end of `batch`."""
        rows = [
            {
                "pipeline": self._pipeline,
                "batch": batch,
                "con_id": x.con_id,
                "xid": x.xid,
                "thread": x.thread,
                "start_scn": x.start_scn,
                "first_at": x.first_at,
                "row_count": x.rows,
                "bytes": x.bytes,
                "username": x.username,
            }
            for x in transactions
        ]
        with self._write(lease) as connection:
            connection.execute(delete(t.open_transactions).where(X.pipeline == self._pipeline))
            if rows:
                connection.execute(insert(t.open_transactions), rows)

    def open_transactions(self) -> list[OpenTransaction]:
        """Return the open transactions, oldest first. The first one decides how much landing and carry-over must be kept."""
        query = select(t.open_transactions).where(X.pipeline == self._pipeline).order_by(X.start_scn, X.con_id, X.xid)
        with self._read() as connection:
            rows = connection.execute(query).all()
        return [
            OpenTransaction(r.con_id, r.xid, r.thread, r.start_scn, r.first_at, r.row_count, r.bytes, r.username) for r in rows
        ]


def _has_name(pipeline: str, name: str) -> ColumnElement[bool]:
    return and_(B.pipeline == pipeline, B.name == name)


@t.parse_cells("a row of redolake_batches")
def batch_entry(row: Row[Any]) -> BatchEntry:
    scns = ScnRange(Scn(row.start_scn), Scn(row.end_scn))
    if row.result is not None:
        _check_result(row.result)
    return BatchEntry(row.name, scns, row.state, row.spec_path, row.result, row.created_at, row.changed_at)


@t.parse_cells("redolake_batches.result")
def _check_result(result: Json) -> None:
    """Raise WrongCell for a result of which people cannot be shown rows, times and seconds."""
    seconds = result.get("seconds", {})
    numbers = [*seconds.get("tables", {}).values(), *(seconds.get(name, 0) for name in ("assemble", "apply"))]
    for account in result.get("balances", {}).values():
        numbers += account.values()
    for changes in result.get("changes", {}).values():
        numbers += changes.get("ddl", {}).values()
        numbers += (found for name, found in changes.items() if name not in ("state", "ddl", *COMMIT_TIMES))
        for at in map(changes.get, COMMIT_TIMES):
            if at is not None:
                datetime.fromisoformat(at)
    if (wrong := next((one for one in numbers if not isinstance(one, int | float)), None)) is not None:
        raise TypeError(f"{wrong!r} is no number")
