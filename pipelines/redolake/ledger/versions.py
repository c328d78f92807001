"""Table versions, each written once. The body is the JSON of a TableVersion; the ledger does not read it."""

from __future__ import annotations

import json
from typing import Any, Literal

from sqlalchemy import Row, and_, delete, select

from redolake.errors import SchemaConflict
from redolake.host import crash
from redolake.ledger import tables as t
from redolake.ledger.base import LedgerBase, insert_new
from redolake.ledger.entries import Json, Lease, VersionEntry
from redolake.ledger.table_entries import key_of
from redolake.values.scn import Scn
from redolake.values.table import TableId

V = t.table_versions.c


class TableVersions(LedgerBase):
    @crash.writer
    def record_version(
        self,
        table: TableId,
        from_scn: Scn,
        body: Json,
        source: Literal["baseline", "ddl"],
        *,
        ddl: str | None = None,
        lease: Lease | None = None,
    ) -> bool:
        """Return False when the same version is recorded already. Raises SchemaConflict when another one has that SCN."""
        key = {**key_of(self._pipeline, table), "from_scn": from_scn}
        row = {**key, "source": source, "body": dict(body), "ddl": ddl, "recorded_at": self._now()}
        with self._write(lease) as connection:
            if insert_new(connection, t.table_versions, row):
                return True
            there = connection.execute(select(V.body).where(and_(*(V[name] == value for name, value in key.items()))))
            if there.scalar_one() != json.loads(json.dumps(dict(body))):
                raise SchemaConflict(
                    "another version of the table is recorded for this SCN",
                    cure=f"run `redolake snapshot {table} --replace`",
                    table=table,
                    scn=from_scn,
                    source=source,
                )
            return False

    def versions(self, table: TableId) -> list[VersionEntry]:
        """Return the table's versions in the order of their SCNs."""
        query = select(t.table_versions).where(
            and_(*(V[name] == value for name, value in key_of(self._pipeline, table).items()))
        )
        with self._read() as connection:
            return [version_entry(row) for row in connection.execute(query.order_by(V.from_scn))]

    def all_versions(self) -> dict[TableId, list[VersionEntry]]:
        """Return the versions of all tables, each table's in the order of their SCNs, with one query."""
        found: dict[TableId, list[VersionEntry]] = {}
        query = select(t.table_versions).where(V.pipeline == self._pipeline).order_by(V.owner, V.table_name, V.from_scn)
        with self._read() as connection:
            for row in connection.execute(query):
                entry = version_entry(row)
                found.setdefault(entry.table, []).append(entry)
        return found

    def described_tables(self) -> set[TableId]:
        """Return the tables that have a version."""
        query = select(V.owner, V.table_name).where(V.pipeline == self._pipeline).distinct()
        with self._read() as connection:
            return {TableId(row.owner, row.table_name) for row in connection.execute(query)}

    @crash.writer
    def forget_versions_above(self, table: TableId, scn: Scn, lease: Lease | None = None) -> int:
        """Remove the versions above `scn` of a table that is snapshotted again there. Return how many there were."""
        found = and_(*(V[name] == value for name, value in key_of(self._pipeline, table).items()), V.from_scn > scn)
        with self._write(lease) as connection:
            return connection.execute(delete(t.table_versions).where(found)).rowcount


@t.parse_cells("a row of redolake_table_versions")
def version_entry(row: Row[Any]) -> VersionEntry:
    return VersionEntry(TableId(row.owner, row.table_name), Scn(row.from_scn), row.source, row.body, row.ddl)
