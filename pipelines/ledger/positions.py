"""Where each pipeline goes on: the start of its next window. It only moves by compare-and-set."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, and_, select, update

from pipelines.ledger import tables as t
from pipelines.ledger.door import Door, changed, insert_new
from pipelines.ledger.entries import Lease
from pipelines.redo import Position
from pipelines.scn import Scn


class Positions(Door):
    def position(self, pipeline: str) -> Position | None:
        with self._read() as connection:
            row = connection.execute(select(t.pipelines).where(t.pipelines.c.pipeline == pipeline)).first()
        return None if row is None else Position(row.dbid, row.resetlogs_id, Scn(row.scn))

    def start_at(self, pipeline: str, position: Position, now: datetime) -> bool:
        """Set the first position. False where there is one already, which stays as it is."""
        row = {"pipeline": pipeline, **_columns(position), "created_at": now}
        with self._write() as connection:
            return insert_new(connection, t.pipelines, row)

    def advance(self, pipeline: str, from_: Position, to: Position, lease: Lease | None = None) -> bool:
        """False where the pipeline is not at `from_`: somebody else advanced it. ValueError for a step backwards."""
        if to.dbid != from_.dbid or to.scn < from_.scn or to == from_:
            raise ValueError(f"no step forward: {from_} to {to}")
        with self._write(lease) as connection:
            return changed(connection, update(t.pipelines).where(_at(pipeline, from_)).values(_columns(to)))

    def correct_position(self, pipeline: str, position: Position, now: datetime) -> None:
        """Set what the landed windows prove, in a ledger that was lost or lags behind."""
        with self._write() as connection:
            row = {"pipeline": pipeline, **_columns(position), "created_at": now}
            if not insert_new(connection, t.pipelines, row):
                connection.execute(update(t.pipelines).where(t.pipelines.c.pipeline == pipeline).values(_columns(position)))

    def pipelines(self) -> list[str]:
        with self._read() as connection:
            return list(connection.execute(select(t.pipelines.c.pipeline).order_by(t.pipelines.c.pipeline)).scalars())


def _columns(position: Position) -> dict[str, int]:
    return {"dbid": position.dbid, "resetlogs_id": position.resetlogs_id, "scn": position.scn}


def _at(pipeline: str, position: Position) -> ColumnElement[bool]:
    return and_(t.pipelines.c.pipeline == pipeline, *(t.pipelines.c[k] == v for k, v in _columns(position).items()))
