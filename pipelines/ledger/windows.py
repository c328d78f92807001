"""Windows from their plan to their application. Landed is what a manifest says: `record_landed` corrects the ledger from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, insert, select, update

from pipelines import crash
from pipelines.errors import LandingConflict
from pipelines.ledger import tables as t
from pipelines.ledger.base import LedgerBase, changed
from pipelines.ledger.entries import Json, Lease, WindowEntry
from pipelines.ledger.states import LANDED, WINDOW, WindowState, check_moves
from pipelines.records.window_manifest import WindowManifest
from pipelines.scn import Scn, ScnRange

W = t.windows.c


class Windows(LedgerBase):
    @crash.writer
    def plan_window(self, name: str, resetlogs_id: int, scns: ScnRange, plan: Json, lease: Lease) -> WindowEntry:
        """The window that now has this place in the chain: the one planned here, which replaces a plan that never landed, or,
        unchanged, the one that has landed with this start. Raises LeaseHeld for a writer that was overtaken."""
        now = self._now()
        with self._write(lease) as connection:
            place = _place(self._pipeline, resetlogs_id, scns.start)
            taken = connection.execute(select(t.windows).where(place)).first()
            if taken is not None and taken.state in LANDED:
                return _entry(taken)
            connection.execute(update(t.windows).where(place).values(state="abandoned", changed_at=now))
            entry = WindowEntry(name, resetlogs_id, scns, "planned", dict(plan), lease.token, now, now)
            _put(connection, self._pipeline, entry)
            return entry

    @crash.writer
    def move_window(
        self,
        name: str,
        from_states: Iterable[WindowState],
        to_state: WindowState,
        *,
        lease: Lease | None = None,
        error: Json | None = None,
    ) -> bool:
        """False where the window is in none of `from_states` any more. ValueError for a move states.WINDOW does not have."""
        states = check_moves(WINDOW, from_states, to_state)
        found = and_(_named(self._pipeline, name), W.state.in_(states))
        with self._write(lease) as connection:
            values = {"state": to_state, "changed_at": self._now(), "error": error}
            return changed(connection, update(t.windows).where(found).values(values))

    @crash.writer
    def record_landed(self, manifest: WindowManifest) -> bool:
        """Write down what a manifest proves; whether that was news. Raises LandingConflict where another window, of another
        end, has landed with the same start."""
        now = self._now()
        place = _place(self._pipeline, manifest.resetlogs_id, manifest.scns.start)
        with self._write() as connection:
            row = connection.execute(select(t.windows).where(place).with_for_update()).first()
            if row is not None and row.state in LANDED:
                if row.name != manifest.name:
                    raise LandingConflict(
                        f"two landed windows begin at SCN {manifest.start}: {row.name} and {manifest.name}",
                        cure="keep the one the next window begins at the end of, and move the other's folder away",
                        pipeline=self._pipeline,
                    )
                return False
            connection.execute(update(t.windows).where(place).values(state="abandoned", changed_at=now))
            before = connection.execute(select(t.windows).where(_named(self._pipeline, manifest.name))).first()
            plan, token = ({}, 0) if before is None else (before.plan, before.token)
            planned_at = now if before is None else before.planned_at
            entry = WindowEntry(manifest.name, manifest.resetlogs_id, manifest.scns, "landed", plan, token, planned_at, now)
            _put(connection, self._pipeline, entry)
            return True

    def window(self, name: str) -> WindowEntry | None:
        with self._read() as connection:
            row = connection.execute(select(t.windows).where(_named(self._pipeline, name))).first()
        return None if row is None else _entry(row)

    def windows(self, state: WindowState | None = None, limit: int | None = None) -> list[WindowEntry]:
        """Newest first, as status shows them."""
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

    def landed_names(self) -> set[str]:
        """Of all windows that have landed, applied ones too."""
        with self._read() as connection:
            found = select(W.name).where(W.pipeline == self._pipeline, W.state.in_(LANDED))
            return set(connection.execute(found).scalars())


def _named(pipeline: str, name: str) -> ColumnElement[bool]:
    return and_(W.pipeline == pipeline, W.name == name)


def _place(pipeline: str, resetlogs_id: int, start: int) -> ColumnElement[bool]:
    return and_(W.pipeline == pipeline, W.resetlogs_id == resetlogs_id, W.start_scn == start, W.state != "abandoned")


def _put(connection: Connection, pipeline: str, entry: WindowEntry) -> None:
    """Insert, or bring an abandoned window of the same name back."""
    values = {
        "resetlogs_id": entry.resetlogs_id,
        "start_scn": entry.scns.start,
        "end_scn": entry.scns.end,
        "state": entry.state,
        "plan": dict(entry.plan),
        "token": entry.token,
        "planned_at": entry.planned_at,
        "changed_at": entry.changed_at,
        "error": None,
    }
    if not changed(connection, update(t.windows).where(_named(pipeline, entry.name)).values(values)):
        connection.execute(insert(t.windows).values(pipeline=pipeline, name=entry.name, **values))


def _entry(row: Row[Any]) -> WindowEntry:
    scns = ScnRange(Scn(row.start_scn), Scn(row.end_scn))
    return WindowEntry(
        row.name, row.resetlogs_id, scns, row.state, row.plan, row.token, row.planned_at, row.changed_at, row.error
    )
