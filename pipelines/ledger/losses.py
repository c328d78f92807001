"""Lost redo, kept until the way goes on, and the breaks by which people led the chain of windows over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from sqlalchemy import delete, select, update

from pipelines.ledger import tables as t
from pipelines.ledger.door import Door, changed, insert_new
from pipelines.ledger.entries import Json, Loss

B, L = t.breaks.c, t.losses.c


class Losses(Door):
    def lose(
        self,
        pipeline: str,
        error: Json,
        now: datetime,
        *,
        step: Literal["plan", "mine"],
        position: Json,
        missing: Sequence[Json] = (),
    ) -> Loss:
        """Keep what is lost now. A loss at the same position keeps its time, and all that was missing at any time of it."""
        with self._write() as connection:
            before = connection.execute(select(t.losses).where(L.pipeline == pipeline).with_for_update()).first()
            same = before is not None and before.body["position"] == dict(position)
            since = before.since if same else now  # type: ignore[union-attr]
            earlier = before.body["missing"] if same else []  # type: ignore[union-attr]
            every = [*earlier, *(dict(log) for log in missing if dict(log) not in earlier)]
            body = {"error": dict(error), "step": step, "position": dict(position), "missing": every}
            if not insert_new(connection, t.losses, {"pipeline": pipeline, "body": body, "since": since}):
                connection.execute(update(t.losses).where(L.pipeline == pipeline).values(body=body, since=since))
        return _loss(body, since)

    def loss(self, pipeline: str) -> Loss | None:
        with self._read() as connection:
            row = connection.execute(select(t.losses).where(L.pipeline == pipeline)).first()
        return None if row is None else _loss(row.body, row.since)

    def regain(self, pipeline: str) -> bool:
        """The way goes on; whether anything was lost."""
        with self._write() as connection:
            return changed(connection, delete(t.losses).where(L.pipeline == pipeline))

    def record_break(self, pipeline: str, name: str, body: Json, now: datetime) -> bool:
        """Write down what lies beside the landing; whether that was news."""
        row = {"pipeline": pipeline, "name": name, "body": dict(body), "recorded_at": now}
        with self._write() as connection:
            return insert_new(connection, t.breaks, row)

    def breaks(self, pipeline: str) -> dict[str, Json]:
        """By name, in the order of the chain."""
        with self._read() as connection:
            rows = connection.execute(select(t.breaks).where(B.pipeline == pipeline).order_by(B.name)).all()
        return {row.name: row.body for row in rows}


def _loss(body: Mapping[str, object], since: datetime) -> Loss:
    return Loss(**body, since=since)  # type: ignore[arg-type]
