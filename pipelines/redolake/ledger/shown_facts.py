"""What people are shown and nothing decides by: the latest fact of each kind and name, and changes by the hour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from sqlalchemy import Connection, Table, delete, select, update

from redolake.ledger import tables as t
from redolake.ledger.base import LedgerBase, change_row, insert_new, insert_of
from redolake.ledger.entries import Json
from redolake.ledger.table_entries import key_of
from redolake.values.table import TableId
from redolake.values.terms import RowCounts

FactKind = Literal[
    "source", "source failure", "plan", "settings", "redo", "streams", "runway", "choices", "proofs", "snapshot", "maintenance",
    "quarantine", "history", "drops", "events", "doubt",
]  # fmt: skip

F = t.facts.c
PROOFS_KEPT = 12
HOURS_KEPT = 24 * 8


@dataclass(frozen=True, slots=True)
class Changes(RowCounts):
    """What a batch has done to one table, and by kind the DDL that it has followed."""

    ddl: Mapping[str, int] = field(default_factory=dict)


class Facts(LedgerBase):
    """Writes of facts pass no point of `crash`: a kill there changes nothing that a step decides by."""

    def record_fact(self, kind: FactKind, body: Json, name: str = "") -> None:
        """Record the latest fact of that kind and name, in place of the one before."""
        self.record_facts({(kind, name): body})

    def record_facts(self, facts: Mapping[tuple[FactKind, str], Json], forget: Sequence[FactKind] = ()) -> None:
        """Record facts by kind and name in one transaction, and remove those of the kinds in `forget`."""
        with self._transaction() as connection:
            for (kind, name), body in facts.items():
                _put(connection, self._pipeline, kind, name, body, self._now())
            if forget:
                connection.execute(delete(t.facts).where(F.pipeline == self._pipeline, F.kind.in_(forget)))

    def fact(self, kind: FactKind, name: str = "") -> Json | None:
        with self._read() as connection:
            return _body(connection, self._pipeline, kind, name)

    def record_proof(self, table: TableId, proof: Json) -> None:
        """Record the result of a comparison, with those before it."""
        now = self._now()
        with self._transaction() as connection:
            before = (_body(connection, self._pipeline, "proofs", str(table)) or {}).get("proofs", [])
            proofs = [{**proof, "at": now.isoformat()}, *before][:PROOFS_KEPT]
            _put(connection, self._pipeline, "proofs", str(table), {"proofs": proofs}, now)


def is_shown(at: datetime, now: datetime) -> bool:
    """Return whether changes of that time are counted by the hour."""
    return at > now - timedelta(hours=HOURS_KEPT)


def add_changes(connection: Connection, pipeline: str, changes: Mapping[TableId, Changes], now: datetime) -> None:
    """Add a batch's changes to those of this hour, and remove hours that nobody looks at any more."""
    hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    keys = {table: {**key_of(pipeline, table), "hour": hour} for table in changes}
    rows = [{**keys[table], **found.counts} for table, found in changes.items() if found.changed]
    ddl = [
        {**keys[table], "kind": kind, "changes": number}
        for table, found in changes.items()
        for kind, number in found.ddl.items()
    ]
    _add(connection, t.table_rows, rows)
    _add(connection, t.table_ddl, ddl)
    for counted in (t.table_rows, t.table_ddl):
        is_old = counted.c.hour < hour - timedelta(hours=HOURS_KEPT)
        connection.execute(delete(counted).where(counted.c.pipeline == pipeline, is_old))


def _add(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add the counts to those of the rows with the same keys, in one statement."""
    added = insert_of(connection, table)
    counts = {column.name: column + added.excluded[column.name] for column in table.columns if not column.primary_key}
    if rows:
        connection.execute(added.on_conflict_do_update(index_elements=list(table.primary_key), set_=counts), rows)


def _put(connection: Connection, pipeline: str, kind: str, name: str, body: Json, now: datetime) -> None:
    row = {"pipeline": pipeline, "kind": kind, "name": name, "body": dict(body), "at": now}
    here = (F.pipeline == pipeline, F.kind == kind, F.name == name)
    if not change_row(connection, update(t.facts).where(*here).values(body=dict(body), at=now)):
        insert_new(connection, t.facts, row)


def _body(connection: Connection, pipeline: str, kind: str, name: str) -> Json | None:
    found: Sequence[Json] = (
        connection.execute(select(F.body).where(F.pipeline == pipeline, F.kind == kind, F.name == name)).scalars().all()
    )
    return found[0] if found else None
