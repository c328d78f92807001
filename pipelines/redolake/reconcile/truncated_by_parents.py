"""TRUNCATE .. CASCADE of a table removes the rows of those that refer to it ON DELETE CASCADE, and of those that refer to them.
A statement that changes its partitions changes those of the tables that are partitioned by reference to it. DROP USER ..
CASCADE drops all tables of a user, and TRUNCATE CLUSTER empties all tables of a cluster.

The redo has the statement of the first table alone, which need not be captured, or that of the user or cluster. For each of the
others it counts as a statement of its own at that SCN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from redolake.land.ddl_text import ANY_OWNER, changed_partition, is_group, is_source
from redolake.land.dictionary import Readings
from redolake.records.windows import DdlRow, WindowManifest
from redolake.values.table import TableId, TableVersion


@dataclass(frozen=True, slots=True)
class Parents:
    """The tables that a table refers to, in any of several dictionary readings; `are_seen` unless one hid some.

    `of_partitioned`: the table is partitioned, perhaps by reference."""

    tables: frozenset[str]
    are_seen: bool
    of_partitioned: bool = False


def ddl_rows(known: Sequence[TableVersion], start: int, windows: Sequence[WindowManifest], readings: Readings) -> list[DdlRow]:
    """Return the landed DDL, with the statements of parents as rows of the table."""
    rows = [row for window in windows for row in window.ddl]
    if any(row.cascades_from for row in rows):  # parents are looked up in all dictionary readings
        parents = described_parents(known[-1].table, readings, windows[0].resetlogs_id, start)
        rows += find_truncations(known[-1], windows, parents)
    return rows


def described_parents(table: TableId, readings: Readings, resetlogs_id: int, start: int) -> Parents:
    """Return the parents by the last dictionary that was read before `start`, and by all later ones."""
    before = readings.last_before(table, resetlogs_id, start)
    later = (reading.table(table) for reading in readings.newest_first(resetlogs_id, start))
    found = [here for here in (before, *later) if here is not None]
    return Parents(
        frozenset(str(p) for here in found for p in here.parents),
        all(here.sees_parents for here in found),
        any(here.partitioned for here in found),
    )


def find_truncations(version: TableVersion, windows: Sequence[WindowManifest], parents: Parents) -> Iterator[DdlRow]:
    """Yield the statements that removed or moved rows of the table, as rows of the table.

    A TRUNCATE, or a change of partitions, of a parent names the table itself. Every other names what it was of, so that the
    table stops there: one that truncated partitions, and one that may be of a parent, because the user does not see
    all of them.
    """
    own = version.in_oracle
    for row in (row for window in windows for row in window.ddl if row.cascades_from not in ("", str(own))):
        sql = _of_group(version, row) or _of_parent(own, row, parents)
        if sql is not None:
            yield replace(row, owner=own.owner, table=own.name, object_id=version.object_id, sql=sql, cascades_from="")


def _of_group(version: TableVersion, row: DdlRow) -> str | None:
    """Return what DROP USER did to a table of the user. TRUNCATE or DROP CLUSTER counts for every table in a cluster: no record
    says which cluster that is."""
    own = version.in_oracle
    if row.cascades_from == f"user {own.owner}":
        return f"DROP TABLE {own} /* by DROP USER */"
    return row.sql if row.cascades_from.startswith("cluster ") and version.organization == "cluster" else None


def _of_parent(own: TableId, row: DdlRow, parents: Parents) -> str | None:
    source = row.cascades_from
    if is_group(source):
        return None
    may_be_parent, changed = any(is_source(source, parent) for parent in parents.tables), changed_partition(row.sql)
    if changed is not None and not parents.of_partitioned:
        return None
    if changed is not None and source.startswith("SYS.") and not may_be_parent:
        return None  # AWR splits its partitions every day
    if may_be_parent and changed is not None:
        return f"ALTER TABLE {own}{changed} /* by that of {source} */"
    if source in parents.tables and row.sql.lstrip().upper().startswith("TRUNCATE"):
        return f"TRUNCATE TABLE {own} /* by that of {source} with CASCADE */"
    return f"TRUNCATE TABLE {_unequal(source)} CASCADE" if may_be_parent or not parents.are_seen else None


def _unequal(source: str) -> str:
    """Return the name so that no table has it, where the owner is open."""
    return f'"{ANY_OWNER}"{source[1:]}' if source.startswith(f"{ANY_OWNER}.") else source
