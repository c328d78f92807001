"""Lost redo, recorded until it is cleared, and the gaps that people have declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import delete, select, update

from redolake.host import crash
from redolake.ledger import tables as t
from redolake.ledger.base import LedgerBase, change_row, insert_new
from redolake.ledger.entries import Json, Loss

G, L = t.gaps.c, t.losses.c


class Losses(LedgerBase):
    @crash.writer
    def record_loss(
        self,
        error: Json,
        *,
        step: Literal["plan", "mine"],
        position: Json,
        missing: Sequence[Json] = (),
    ) -> Loss:
        """Record a loss. One at the same position keeps its first time, and every log that was ever missing."""
        with self._write() as connection:
            before = connection.execute(select(t.losses).where(L.pipeline == self._pipeline).with_for_update()).first()
            same = before is not None and before.body["position"] == dict(position)
            since = before.since if same else self._now()  # type: ignore[union-attr]
            earlier = before.body["missing"] if same else []  # type: ignore[union-attr]
            every = [*earlier, *(dict(log) for log in missing if dict(log) not in earlier)]
            body = {"error": dict(error), "step": step, "position": dict(position), "missing": every}
            if not insert_new(connection, t.losses, {"pipeline": self._pipeline, "body": body, "since": since}):
                connection.execute(update(t.losses).where(L.pipeline == self._pipeline).values(body=body, since=since))
        return loss_in(body, since)

    def loss(self) -> Loss | None:
        with self._read() as connection:
            row = connection.execute(select(t.losses).where(L.pipeline == self._pipeline)).first()
        return None if row is None else loss_in(row.body, row.since)

    @crash.writer
    def clear_loss(self) -> bool:
        """Remove the recorded loss. Return whether there was one."""
        with self._write() as connection:
            return change_row(connection, delete(t.losses).where(L.pipeline == self._pipeline))

    @crash.writer
    def record_gap(self, name: str, body: Json) -> bool:
        """Record a declared gap. Return whether the ledger did not have it yet."""
        row = {"pipeline": self._pipeline, "name": name, "body": dict(body), "recorded_at": self._now()}
        with self._write() as connection:
            return insert_new(connection, t.gaps, row)

    @crash.writer
    def change_gap(self, name: str, body: Json) -> None:
        """Record what of a declared gap is still open."""
        with self._write() as connection:
            of_pipeline = (G.pipeline == self._pipeline) & (G.name == name)
            connection.execute(update(t.gaps).where(of_pipeline).values(body=dict(body)))

    def gaps(self) -> dict[str, Json]:
        """Return the declared gaps by name, in the order of the chain."""
        with self._read() as connection:
            rows = connection.execute(select(t.gaps).where(G.pipeline == self._pipeline).order_by(G.name)).all()
        return {row.name: row.body for row in rows}


@t.parse_cells("redolake_losses.body")
def loss_in(body: Mapping[str, Any], since: datetime) -> Loss:
    """Return the loss in a cell."""
    found = Loss(**body, since=since)  # type: ignore[arg-type]
    texts = [found.error.get(name) for name in ("code", "what", "cure")]
    if not {"code", "what", "where", "cure"} >= set(found.error) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"an error that is none: {found.error!r:.100}")
    numbers = [found.position.get("scn"), *(log.get(name) for log in found.missing for name in ("thread", "sequence"))]
    if not isinstance(found.missing, list) or not all(type(number) is int for number in numbers):
        raise ValueError(f"no logs and no position: {body!r:.100}")
    return found
