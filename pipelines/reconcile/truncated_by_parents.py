"""TRUNCATE .. CASCADE of a table removes the rows of those that refer to it ON DELETE CASCADE, and of those that refer to them.
What changes its partitions changes those of the tables that are partitioned by reference to it.

The redo has the statement of the first table alone, which need not be captured. For each of the others it counts as a statement
of its own at that SCN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pipelines.land.ddl_text import changed_partition
from pipelines.land.dictionary import Readings
from pipelines.records.window_manifest import DdlRow, WindowManifest
from pipelines.table import TableId, TableVersion


@dataclass(frozen=True, slots=True)
class Parents:
    """The tables that a table refers to, in any of several dictionary readings; `are_seen` unless one hid some.

    `of_partitioned`: the table is partitioned, perhaps by reference."""

    tables: frozenset[str]
    are_seen: bool
    of_partitioned: bool = False


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


def truncated_by_parents(version: TableVersion, windows: Sequence[WindowManifest], parents: Parents) -> Iterator[DdlRow]:
    """Yield the statements that removed or moved rows of the table, as rows of the table.

    A TRUNCATE, or a change of partitions, of a parent names the table itself. Every other names what it was of, so that the
    table stops there: one that truncated partitions, and one that may be of a parent, because the user does not see
    all of them.
    """
    own = version.in_oracle
    for row in (row for window in windows for row in window.ddl if row.cascades_from not in ("", str(own))):
        is_parent, changed = row.cascades_from in parents.tables, changed_partition(row.sql)
        if changed is not None and not parents.of_partitioned:
            continue
        if changed is not None and row.cascades_from.startswith("SYS.") and not is_parent:
            continue  # AWR splits its partitions every day
        if is_parent and changed is not None:
            sql = f"ALTER TABLE {own}{changed} /* by that of {row.cascades_from} */"
            yield replace(row, owner=own.owner, table=own.name, object_id=version.object_id, sql=sql, cascades_from="")
        elif is_parent or not parents.are_seen:
            whole = is_parent and row.sql.lstrip().upper().startswith("TRUNCATE")
            of = f"{own} /* by that of {row.cascades_from} with CASCADE */" if whole else f"{row.cascades_from} CASCADE"
            yield replace(
                row, owner=own.owner, table=own.name, object_id=version.object_id, sql=f"TRUNCATE TABLE {of}", cascades_from=""
            )
