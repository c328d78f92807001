"""What people decided (declared gaps, drops, approvals, notes): written down, never changed."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import insert, select

from pipelines.ledger import tables as t
from pipelines.ledger.door import Door
from pipelines.ledger.entries import Decision, Json

D = t.decisions.c


class Decisions(Door):
    def record_decision(self, pipeline: str, kind: str, body: Json, who: str, at: datetime) -> Decision:
        row = {"pipeline": pipeline, "kind": kind, "body": dict(body), "who": who, "at": at}
        with self._write() as connection:
            number = connection.execute(insert(t.decisions).values(row).returning(D.number)).scalar_one()
        return Decision(number, kind, dict(body), who, at)

    def decisions(self, pipeline: str, kind: str | None = None) -> list[Decision]:
        """In the order in which they were recorded."""
        query = select(t.decisions).where(D.pipeline == pipeline).order_by(D.number)
        if kind is not None:
            query = query.where(D.kind == kind)
        with self._read() as connection:
            return [Decision(row.number, row.kind, row.body, row.who, row.at) for row in connection.execute(query)]
