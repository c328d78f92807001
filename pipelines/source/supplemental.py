"""Which supplemental logging a captured table has, and whether that is enough to know, from its redo, which row a change is of.

A table that goes by its primary key needs that in each UPDATE, and columns that are not told keep what the target has. The
table may ask for it, or its container, or the whole database.
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
    """What is logged of every table. `container` is None where that could not be read."""

    database: frozenset[Level] = frozenset()
    container: frozenset[Level] | None = frozenset()


@dataclass(frozen=True, slots=True)
class TableLogging:
    """The columns that are logged, and by whose wish: ("ALL", "the table")."""

    level: Level
    asked_by: str


def levels(key: str, all_columns: str) -> frozenset[Level]:
    """From the YES and NO of a view."""
    return frozenset(level for level, said in ((Level.KEY, key), (Level.ALL, all_columns)) if said == "YES")


def logging_of(table: DictionaryTable, wide: DatabaseLogging) -> TableLogging | None:
    """The most that anybody asks for; None where nobody does."""
    own = frozenset(OF_GROUP[group] for group in table.log_groups if group in OF_GROUP)
    asked: tuple[tuple[Collection[Level], str], ...] = (
        (own, "the table"),
        (wide.container or (), "its container"),
        (wide.database, "the database"),
    )
    for level in (Level.ALL, Level.KEY):
        for wishes, who in asked:
            if level in wishes:
                return TableLogging(level, who)
    return None


def needed(table: DictionaryTable, key: KeyPolicy) -> Level:
    """Oracle logs the columns of the primary key by name; any other key is told only where all columns are."""
    return Level.KEY if key.kind == "primary" and table.key else Level.ALL


def has_needed_logging(table: DictionaryTable, key: KeyPolicy, wide: DatabaseLogging) -> bool:
    found = logging_of(table, wide)
    return found is not None and found.level in (Level.ALL, needed(table, key))


def logging_findings(table: DictionaryTable, key: KeyPolicy, wide: DatabaseLogging) -> Iterator[Finding]:
    if has_needed_logging(table, key, wide):
        return
    lacks = "its primary key" if needed(table, key) is Level.KEY else "all columns"
    what = f"has no supplemental logging of {lacks}: its redo would not tell which row an UPDATE is of"
    if wide.container is None:
        what += " (what its container logs could not be read: GRANT SELECT ON SYS.DBA_SUPPLEMENTAL_LOGGING TO the user)"
    yield Finding(str(table.table), what, f"{logging_cure(table, key)}; the snapshot must come behind it")


def logging_cure(table: DictionaryTable, key: KeyPolicy) -> str:
    """The cheapest first."""
    add = f'ALTER TABLE "{table.table.owner}"."{table.table.name}" ADD SUPPLEMENTAL LOG DATA ({{}}) COLUMNS'
    if needed(table, key) is Level.ALL:
        return add.format("ALL")
    wide = "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS for every table"
    return f"{add.format('PRIMARY KEY')}, or {wide}; (ALL) will do as well, at the price of more redo"


def logging_note(table: DictionaryTable, wide: DatabaseLogging) -> Finding | None:
    found = logging_of(table, wide)
    if found is None:
        return None
    columns = "all columns" if found.level is Level.ALL else "the primary key"
    return Finding(str(table.table), f"supplemental logging of {columns}, as {found.asked_by} asks", severity="note")
