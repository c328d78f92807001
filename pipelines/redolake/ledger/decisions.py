"""What people decided: dropped transactions, resumed tables, loads that set tables back. Never changed.

A kind names what was decided, in the infinitive: what is done then may fail, and its files say what was done."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import func, insert, select

from redolake.host import crash
from redolake.ledger import tables as t
from redolake.ledger.base import LedgerBase
from redolake.ledger.entries import Decision, Json

D = t.decisions.c


class Decisions(LedgerBase):
    @crash.writer
    def record_decision(self, kind: str, body: Json, who: str, at: datetime | None = None) -> Decision:
        at = at or self._now()
        row = {"pipeline": self._pipeline, "kind": kind, "body": dict(body), "who": who, "at": at}
        with self._write() as connection:
            number = connection.execute(insert(t.decisions).values(row).returning(D.number)).scalar_one()
        return Decision(number, kind, dict(body), who, at)

    def decisions(self, kind: str | None = None, since: datetime | None = None) -> list[Decision]:
        """Return the decisions, all or those made since a time, in the order in which they were recorded."""
        query = select(t.decisions).where(D.pipeline == self._pipeline).order_by(D.number)
        if kind is not None:
            query = query.where(D.kind == kind)
        if since is not None:
            query = query.where(D.at >= since)
        with self._read() as connection:
            return [Decision(row.number, row.kind, row.body, row.who, row.at) for row in connection.execute(query)]

    def newest_decision(self, kinds: Iterable[str]) -> datetime | None:
        """Return when the newest decision of these kinds was made."""
        query = select(func.max(D.at)).where(D.pipeline == self._pipeline, D.kind.in_(list(kinds)))
        with self._read() as connection:
            found: datetime | None = connection.execute(query).scalar_one()
            return found
