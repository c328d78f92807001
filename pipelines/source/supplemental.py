"""Decide whether a table's supplemental logging lets its redo identify the row that each change belongs to.

With a primary key the key columns of each UPDATE suffice; columns that the redo does not contain keep the target's value.
The logging may be set on the table, its container or the whole database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum

from pipelines.errors import Finding
from pipelines.table import DictionaryTable, KeyPolicy


class Level(Enum):
    KEY = "PRIMARY KEY"
    ALL = "ALL"


OF_GROUP = {"ALL COLUMN LOGGING": Level.ALL, "PRIMARY KEY LOGGING": Level.KEY}


@dataclass(frozen=True, slots=True)
class DatabaseLogging:
    """Supplemental logging that applies to every table. `container` is None where it could not be read."""

    database: frozenset[Level] = frozenset()
    container: frozenset[Level] | None = frozenset()


@dataclass(frozen=True, slots=True)
class TableLogging:
    """The columns that are logged, and where that is set, such as "the table"."""

    level: Level
    set_on: str


def levels(key: str, all_columns: str) -> frozenset[Level]:
    """Return the levels for the YES and NO of a view."""
    return frozenset(level for level, said in ((Level.KEY, key), (Level.ALL, all_columns)) if said == "YES")


def logging_of(table: DictionaryTable, wide: DatabaseLogging) -> TableLogging | None:
    """Return the widest logging that applies to the table, or None."""
    own = frozenset(OF_GROUP[group] for group in table.log_groups if group in OF_GROUP)
    settings: tuple[tuple[Collection[Level], str], ...] = (
        (own, "the table"),
        (wide.container or (), "its container"),
        (wide.database, "the database"),
    )
    for level in (Level.ALL, Level.KEY):
        for levels_set, where in settings:
            if level in levels_set:
                return TableLogging(level, where)
    return None


def needed(table: DictionaryTable, key: KeyPolicy) -> Level:
    """Return the level that the key needs: Oracle can log the primary key alone, any other key only with all columns."""
    return Level.KEY if key.kind == "primary" and table.key else Level.ALL


def has_needed_logging(table: DictionaryTable, key: KeyPolicy, wide: DatabaseLogging) -> bool:
    found = logging_of(table, wide)
    return found is not None and found.level in (Level.ALL, needed(table, key))


def logging_findings(table: DictionaryTable, key: KeyPolicy, wide: DatabaseLogging) -> Iterator[Finding]:
    if has_needed_logging(table, key, wide):
        return
    lacks = "its primary key" if needed(table, key) is Level.KEY else "all columns"
    what = f"has no supplemental logging of {lacks}: its redo would not identify the row that an UPDATE changes"
    if wide.container is None:
        what += " (the container's own setting could not be read: GRANT SELECT ON SYS.DBA_SUPPLEMENTAL_LOGGING TO the user)"
    yield Finding(str(table.table), what, f"{logging_cure(table, key)}; take the snapshot afterwards")


def logging_cure(table: DictionaryTable, key: KeyPolicy) -> str:
    """Return the statements that enable the needed logging, the cheapest first."""
    add = f'ALTER TABLE "{table.table.owner}"."{table.table.name}" ADD SUPPLEMENTAL LOG DATA ({{}}) COLUMNS'
    if needed(table, key) is Level.ALL:
        return add.format("ALL")
    wide = "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS for every table"
    return f"{add.format('PRIMARY KEY')}, or {wide}; (ALL) works too and makes more redo"


def logging_note(table: DictionaryTable, wide: DatabaseLogging) -> Finding | None:
    found = logging_of(table, wide)
    if found is None:
        return None
    columns = "all columns" if found.level is Level.ALL else "the primary key"
    return Finding(str(table.table), f"supplemental logging of {columns}, set on {found.set_on}", severity="note")
