"""Windows from their plan to their application. A manifest proves that a window has landed; `record_landed` records it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    text,
    update,
)

from redolake.errors import LandingConflict
from redolake.host import crash
from redolake.ledger import tables as t
from redolake.ledger.base import LedgerBase, change_row, unless_known
from redolake.ledger.entries import Json, Lease, WindowEntry
from redolake.ledger.states import LANDED, WINDOW, WindowState, check_moves
from redolake.records.windows import WindowManifest
from redolake.values.parts import in_parts
from redolake.values.scn import ChainPosition, Scn, ScnRange

W = t.windows.c
ENDS_AT_ONCE = 500
RECENT = 33
FEW_ENDS = 50
WINDOWS_AT_ONCE = 250  # a statement names each twice, and older versions of SQLite take 999 values


class WindowEntries(LedgerBase):
    @crash.writer
    def plan_window(
        self, name: str, resetlogs_id: int, scns: ScnRange, plan: Json, lease: Lease, ends_at: datetime | None = None
    ) -> WindowEntry:
        """Plan a window, whose end SCN the source wrote at `ends_at`. Return it, or the window that has landed at the same
        start. It replaces all plans that never landed: they are of this window, or the chain has passed them. Raises
        LeaseHeld when another writer has taken the lease over."""
        now = self._now()
        with self._write(lease) as connection:
            at_start = _begins_at(self._pipeline, resetlogs_id, scns.start)
            taken = connection.execute(select(t.windows).where(at_start)).first()
            if taken is not None and taken.state in LANDED:
                return _entry(taken)
            _abandon_plans(connection, W.pipeline == self._pipeline, now)
            entry = WindowEntry(name, resetlogs_id, scns, "planned", dict(plan), lease.token, now, now)
            _put(connection, self._pipeline, entry, ends_at=ends_at)
            return entry

    @crash.writer
    def forget_windows(self, names: Iterable[str]) -> None:
        """Remove windows whose manifests a person has removed: to the ledger they never landed."""
        with self._write() as connection:
            connection.execute(delete(t.windows).where(W.pipeline == self._pipeline, W.name.in_(list(names))))

    @crash.writer
    def record_windows_applied(self, applied: Iterable[tuple[str, str, Json | None]]) -> None:
        """Record which batch has applied each landed window, and how it accounted for the window's rows."""
        rows = [
            {"window": name, "by": batch, "rows": None if account is None else dict(account)}
            for name, batch, account in applied
        ]
        # Where the ledger was rebuilt, it knows no time at which the window landed, and none at which it was applied.
        applied_at = case((W.landed_at.is_(None), None), else_=literal(self._now(), t.UtcDateTime))
        (landed,) = check_moves(WINDOW, ("landed",), "applied")
        found = and_(W.pipeline == self._pipeline, W.name == bindparam("window"), W.state == landed)
        values = {"state": "applied", "changed_at": self._now(), "batch": bindparam("by"), "applied_at": applied_at}
        with self._write() as connection:
            if rows:
                connection.execute(update(t.windows).where(found).values({**values, "account": bindparam("rows")}), rows)

    @crash.writer
    def record_landed(self, manifest: WindowManifest) -> bool:
        """Record what a manifest proves. Return whether the ledger did not have it yet. Raises LandingConflict when a window
        with another end has landed at the same start."""
        now = self._now()
        at_start = _begins_at(self._pipeline, manifest.resetlogs_id, manifest.scns.start)
        with self._write() as connection:
            row = connection.execute(select(t.windows).where(at_start).with_for_update()).first()
            if row is not None and row.state in LANDED:
                if row.name != manifest.name:
                    raise LandingConflict(
                        f"two landed windows begin at SCN {manifest.start}: {row.name} and {manifest.name}",
                        cure="keep the window at whose end the next one begins, and move the other's folder away",
                        pipeline=self._pipeline,
                    )
                return False
            in_chain = and_(W.resetlogs_id == manifest.resetlogs_id, W.start_scn <= manifest.start)
            passed = or_(W.resetlogs_id < manifest.resetlogs_id, in_chain)
            _abandon_plans(connection, and_(W.pipeline == self._pipeline, passed), now)
            before = connection.execute(select(t.windows).where(_has_name(self._pipeline, manifest.name))).first()
            plan, token = ({}, 0) if before is None else (before.plan, before.token)
            planned_at = now if before is None else before.planned_at
            entry = WindowEntry(manifest.name, manifest.resetlogs_id, manifest.scns, "landed", plan, token, planned_at, now)
            _put(connection, self._pipeline, entry, landed_at=None if before is None else now, **counts_of(manifest))
            return True

    @crash.writer
    def record_all_landed(self, manifests: Iterable[WindowManifest]) -> None:
        """Record what manifests prove: a ledger that was lost gets all windows in a few statements. Those of years are read one
        after another, so that neither the memory holds all of them nor a transaction waits for their files."""
        for some in in_parts(manifests, WINDOWS_AT_ONCE):
            with self.at_once():
                unknown = self._unknown(some)
                if unknown:
                    rows = [_landed_row(self._pipeline, manifest, self._now()) for manifest in unknown]
                    with self._write() as connection:
                        connection.execute(unless_known(connection, t.windows), rows)
                inserted = {manifest.name for manifest in unknown}
                for manifest in some:
                    if manifest.name not in inserted:
                        self.record_landed(manifest)

    def _unknown(self, manifests: Sequence[WindowManifest]) -> list[WindowManifest]:
        """Return the windows that no entry has the name or the start of, and no other of `manifests` the start."""
        starts = Counter((manifest.resetlogs_id, manifest.start) for manifest in manifests)
        like_them = or_(W.name.in_([m.name for m in manifests]), W.start_scn.in_([m.start for m in manifests]))
        with self._read() as connection:
            query = select(W.name, W.resetlogs_id, W.start_scn).where(W.pipeline == self._pipeline, like_them)
            found = connection.execute(query).all()
        names, taken = {row.name for row in found}, {(row.resetlogs_id, row.start_scn) for row in found}
        once = (m for m in manifests if starts[m.resetlogs_id, m.start] == 1)
        return [m for m in once if m.name not in names and (m.resetlogs_id, m.start) not in taken]

    def window(self, name: str) -> WindowEntry | None:
        with self._read() as connection:
            row = connection.execute(select(t.windows).where(_has_name(self._pipeline, name))).first()
            return None if row is None else _entry(row)

    def windows(self, state: WindowState | None = None, limit: int | None = None) -> list[WindowEntry]:
        """Return the windows, newest first."""
        query = (
            select(t.windows)
            .where(W.pipeline == self._pipeline)
            .order_by(W.resetlogs_id.desc(), W.start_scn.desc(), W.changed_at.desc())
            .limit(limit)
        )
        if state is not None:
            query = query.where(W.state == state)
        with self._read() as connection:
            return [_entry(row) for row in connection.execute(query)]

    def end_times(self, ends: Iterable[ChainPosition]) -> dict[ChainPosition, datetime]:
        """Return when the source wrote the ends of windows, as far as the ledger knows."""
        with self._read() as connection:
            return read_end_times(connection, self._pipeline, ends)

    def time_written(self, scn: int) -> datetime | None:
        """Return the end of the window that contains an SCN, of the newest incarnation that has one."""
        is_there = text("state <> 'abandoned'")  # the condition of the index on a window's place
        query = select(W.ends_at).where(W.pipeline == self._pipeline, is_there, W.start_scn <= scn, W.end_scn > scn)
        with self._read() as connection:
            return connection.execute(query.order_by(W.resetlogs_id.desc()).limit(1)).scalar()

    def landed_times(self, since: datetime) -> dict[str, tuple[int, datetime | None]]:
        """Return for each batch that applied windows since then how many they are, and when the first of them landed."""
        query = select(W.batch, func.count(), func.min(W.landed_at)).where(W.pipeline == self._pipeline, W.changed_at >= since)
        with self._read() as connection:
            found = connection.execute(query.where(W.batch.is_not(None)).group_by(W.batch)).all()
        return {batch: (number, landed_at) for batch, number, landed_at in found}

    def recent_windows(self) -> list[str]:
        """Return the names of the newest windows that have landed, in the order of the chain."""
        is_there = text("state <> 'abandoned'")  # the condition of the index on a window's place
        newest = (W.resetlogs_id.desc(), W.start_scn.desc())
        query = select(W.name, W.state).where(W.pipeline == self._pipeline, is_there).order_by(*newest).limit(RECENT)
        with self._read() as connection:
            found = [row.name for row in connection.execute(query) if row.state in LANDED]
        return found[::-1]

    def landed_names(self) -> set[str]:
        """Return the names of the windows that have landed, including applied ones."""
        with self._read() as connection:
            found = select(W.name).where(W.pipeline == self._pipeline, W.state.in_(LANDED))
            return set(connection.execute(found).scalars())


def read_end_times(connection: Connection, pipeline: str, ends: Iterable[ChainPosition]) -> dict[ChainPosition, datetime]:
    """Return when the source wrote the ends of windows. A few are looked up by windows' places; for many, all are passed."""
    positions, found = set(ends), dict[ChainPosition, datetime]()
    if len(positions) <= FEW_ENDS:
        for end in positions:
            if (at := _end_time(connection, pipeline, end)) is not None:
                found[end] = at
        return found
    wanted = sorted({end.scn for end in positions})
    for start in range(0, len(wanted), ENDS_AT_ONCE):
        query = select(W.resetlogs_id, W.end_scn, W.ends_at).where(
            W.pipeline == pipeline, W.end_scn.in_(wanted[start : start + ENDS_AT_ONCE]), W.ends_at.is_not(None)
        )
        found |= {ChainPosition(row.resetlogs_id, int(row.end_scn)): row.ends_at for row in connection.execute(query)}
    return found


def _end_time(connection: Connection, pipeline: str, end: ChainPosition) -> datetime | None:
    """Return when the window ended that is the last to begin before a position, if it ends there."""
    is_there = text("state <> 'abandoned'")  # the condition of the index on a window's place
    place = (W.pipeline == pipeline, W.resetlogs_id == end.resetlogs_id, W.start_scn < end.scn)
    query = select(W.end_scn, W.ends_at).where(*place, is_there).order_by(W.start_scn.desc()).limit(1)
    row = connection.execute(query).first()
    return None if row is None or row.end_scn != end.scn else row.ends_at


def _has_name(pipeline: str, name: str) -> ColumnElement[bool]:
    return and_(W.pipeline == pipeline, W.name == name)


def _begins_at(pipeline: str, resetlogs_id: int, start: int) -> ColumnElement[bool]:
    return and_(W.pipeline == pipeline, W.resetlogs_id == resetlogs_id, W.start_scn == start, W.state != "abandoned")


def _abandon_plans(connection: Connection, which: ColumnElement[bool], now: datetime) -> None:
    planned = W.state.in_(check_moves(WINDOW, ("planned",), "abandoned"))
    connection.execute(update(t.windows).where(which, planned).values(state="abandoned", changed_at=now))


def counts_of(manifest: WindowManifest) -> dict[str, Any]:
    """Return what mining the window has cost and brought, as its manifest says."""
    slices = list(manifest.circumstance.get("slices", {}).values())
    return {
        "row_count": manifest.change_rows,
        "log_count": len(manifest.logs),
        "redo_bytes": sum(facts.get("redo_bytes", 0) for facts in slices),
        "mine_seconds": sum(facts.get("seconds", 0.0) for facts in slices),
    }


def _put(connection: Connection, pipeline: str, entry: WindowEntry, **more: Any) -> None:
    """Insert a window, or update the abandoned one of the same name."""
    values = {**_values(entry), **more}
    if not change_row(connection, update(t.windows).where(_has_name(pipeline, entry.name)).values(values)):
        connection.execute(insert(t.windows).values(pipeline=pipeline, name=entry.name, **values))


def _landed_row(pipeline: str, manifest: WindowManifest, now: datetime) -> dict[str, Any]:
    entry = WindowEntry(manifest.name, manifest.resetlogs_id, manifest.scns, "landed", {}, 0, now, now)
    return {"pipeline": pipeline, "name": manifest.name, **_values(entry), **counts_of(manifest)}


def _values(entry: WindowEntry) -> dict[str, Any]:
    return {
        "resetlogs_id": entry.resetlogs_id,
        "start_scn": entry.scns.start,
        "end_scn": entry.scns.end,
        "state": entry.state,
        "plan": dict(entry.plan),
        "token": entry.token,
        "planned_at": entry.planned_at,
        "changed_at": entry.changed_at,
    }


@t.parse_cells("a row of redolake_windows")
def _entry(row: Row[Any]) -> WindowEntry:
    scns = ScnRange(Scn(row.start_scn), Scn(row.end_scn))
    return WindowEntry(row.name, row.resetlogs_id, scns, row.state, row.plan, row.token, row.planned_at, row.changed_at)
