"""The captured tables: the state of each, the SCN it is complete to, and the error that holds it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, bindparam, or_, select, update

from redolake.host import crash
from redolake.ledger import tables as t
from redolake.ledger.base import LedgerBase, change_row, insert_new
from redolake.ledger.entries import Json, Lease, TableEntry
from redolake.ledger.states import TABLE, TableState, check_moves
from redolake.values.scn import Scn
from redolake.values.table import TableId

T = t.tables.c


class TableEntries(LedgerBase):
    @crash.writer
    def add_table(self, table: TableId, captured_from: Scn) -> bool:
        """Return False when the table is known already; it stays as it is."""
        row = {**key_of(self._pipeline, table), "state": "new", "captured_from_scn": captured_from, "changed_at": self._now()}
        with self._write() as connection:
            return insert_new(connection, t.tables, row)

    def table(self, table: TableId) -> TableEntry | None:
        with self._read() as connection:
            row = connection.execute(select(t.tables).where(_is(self._pipeline, table))).first()
            return None if row is None else table_entry(row)

    def tables(self, state: TableState | None = None) -> list[TableEntry]:
        query = select(t.tables).where(T.pipeline == self._pipeline).order_by(T.owner, T.table_name)
        if state is not None:
            query = query.where(T.state == state)
        with self._read() as connection:
            return [table_entry(row) for row in connection.execute(query)]

    @crash.writer
    def move_table(
        self,
        table: TableId,
        from_states: Iterable[TableState],
        to_state: TableState,
        *,
        lease: Lease | None = None,
        snapshot_scn: Scn | None = None,
    ) -> bool:
        """Return False when the table is in none of `from_states`. `hold` holds a table, because that takes an error."""
        states = check_moves(TABLE, from_states, to_state)
        if to_state == "held":
            raise ValueError("use `hold`, which takes the error")
        values: dict[str, Any] = {
            "state": to_state,
            "changed_at": self._now(),
            "held_from": None,
            "held_at": None,
            "error": None,
        }
        if snapshot_scn is not None:
            values["snapshot_scn"] = snapshot_scn
        with self._write(lease) as connection:
            return change_row(
                connection, update(t.tables).where(_is(self._pipeline, table), T.state.in_(states)).values(values)
            )

    @crash.writer
    def hold(self, table: TableId, error: Json) -> bool:
        """Stop a table; the others continue. Return False when it is held already: the first error is the cause and stays."""
        now = self._now()
        values = {"state": "held", "held_from": T.state, "held_at": now, "error": dict(error), "changed_at": now}
        with self._write() as connection:
            return change_row(connection, update(t.tables).where(_is(self._pipeline, table), T.state != "held").values(values))

    @crash.writer
    def restate_hold(self, table: TableId, error: Json) -> bool:
        """Replace the error of a held table, which stays held since it was. Return False when it is not held."""
        values = {"error": dict(error), "changed_at": self._now()}
        with self._write() as connection:
            return change_row(connection, update(t.tables).where(_is(self._pipeline, table), T.state == "held").values(values))

    @crash.writer
    def release(self, table: TableId) -> bool:
        """Return a held table to the state it was held in. Return False when it is not held."""
        values = {"state": T.held_from, "held_from": None, "held_at": None, "error": None, "changed_at": self._now()}
        with self._write() as connection:
            return change_row(connection, update(t.tables).where(_is(self._pipeline, table), T.state == "held").values(values))

    @crash.writer
    def record_complete_to(
        self, table: TableId, scn: Scn | None, resetlogs_id: int | None = None, delta_version: int | None = None
    ) -> bool:
        """Record the SCN up to which the Delta log proves a table complete, and the version of the Delta table that is. Return
        whether the ledger had another one. Without `resetlogs_id` the incarnation stays as it was."""
        values: dict[str, Any] = {"complete_to_scn": scn, "delta_version": delta_version, "changed_at": self._now()}
        news = or_(T.complete_to_scn.is_distinct_from(scn), T.delta_version.is_distinct_from(delta_version))
        if resetlogs_id is not None:
            values["resetlogs_id"] = resetlogs_id
            news = or_(news, T.resetlogs_id.is_distinct_from(resetlogs_id))
        with self._write() as connection:
            return change_row(connection, update(t.tables).where(and_(_is(self._pipeline, table), news)).values(values))

    @crash.writer
    def record_all_complete(self, entries: Iterable[TableEntry]) -> None:
        """Record in one statement up to which SCN tables are complete, and the versions of their Delta tables that are."""
        rows = [
            {
                "named": entry.table.owner,
                "table": entry.table.name,
                "scn": entry.complete_to_scn,
                "incarnation": entry.resetlogs_id,
                "version": entry.delta_version,
            }
            for entry in entries
        ]
        found = and_(T.pipeline == self._pipeline, T.owner == bindparam("named"), T.table_name == bindparam("table"))
        values: dict[str, Any] = {"complete_to_scn": bindparam("scn"), "delta_version": bindparam("version")}
        values |= {"resetlogs_id": bindparam("incarnation"), "changed_at": self._now()}
        with self._write() as connection:
            if rows:
                connection.execute(update(t.tables).where(found).values(values), rows)


def key_of(pipeline: str, table: TableId) -> dict[str, str]:
    return {"pipeline": pipeline, "owner": table.owner, "table_name": table.name}


def _is(pipeline: str, table: TableId) -> ColumnElement[bool]:
    return and_(*(T[column] == value for column, value in key_of(pipeline, table).items()))


@t.parse_cells("a row of redolake_tables")
def table_entry(row: Row[Any]) -> TableEntry:
    said = row.error or {}
    if not (
        all(isinstance(said.get(n, ""), str) for n in ("code", "what", "cure")) and isinstance(said.get("where", {}), dict)
    ):
        raise ValueError(f"an error that is none: {said!r:.100}")
    return TableEntry(
        table=TableId(row.owner, row.table_name),
        state=row.state,
        captured_from_scn=Scn(row.captured_from_scn),
        snapshot_scn=row.snapshot_scn,
        complete_to_scn=row.complete_to_scn,
        held_from=row.held_from,
        held_at=row.held_at,
        error=row.error,
        resetlogs_id=row.resetlogs_id,
        delta_version=row.delta_version,
    )
