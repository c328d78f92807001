"""The pipeline's position: the start of its next window."""

from __future__ import annotations

from sqlalchemy import select, update

from redolake.host import crash
from redolake.ledger import tables as t
from redolake.ledger.base import LedgerBase, insert_new
from redolake.values.redo import Position
from redolake.values.scn import Scn


class Positions(LedgerBase):
    def position(self) -> Position | None:
        with self._read() as connection:
            row = connection.execute(select(t.pipelines).where(t.pipelines.c.pipeline == self._pipeline)).first()
        return None if row is None else Position(row.dbid, row.resetlogs_id, Scn(row.scn))

    @crash.writer
    def start_at(self, position: Position) -> bool:
        """Set the first position. Return False when there is one already; it stays as it is."""
        row = {"pipeline": self._pipeline, **_columns(position), "created_at": self._now()}
        with self._write() as connection:
            return insert_new(connection, t.pipelines, row)

    @crash.writer
    def correct_position(self, position: Position) -> None:
        """Set the position that the landed windows prove, in a ledger that was lost or lags behind."""
        with self._write() as connection:
            row = {"pipeline": self._pipeline, **_columns(position), "created_at": self._now()}
            if not insert_new(connection, t.pipelines, row):
                connection.execute(
                    update(t.pipelines).where(t.pipelines.c.pipeline == self._pipeline).values(_columns(position))
                )


def _columns(position: Position) -> dict[str, int]:
    return {"dbid": position.dbid, "resetlogs_id": position.resetlogs_id, "scn": position.scn}
