"""Decide whether a table's supplemental logging lets its redo identify the row that each change belongs to.

With a primary key the key columns of each UPDATE suffice; columns that the redo does not contain keep the target's value.
The logging may be set on the table, its container or the whole database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum

from redolake.errors import Finding
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.table import KeyPolicy


class LoggedColumns(Enum):
    """The columns that supplemental logging adds to each change."""

    KEY = "PRIMARY KEY"
    ALL = "ALL"


OF_GROUP = {"ALL COLUMN LOGGING": LoggedColumns.ALL, "PRIMARY KEY LOGGING": LoggedColumns.KEY}


@dataclass(frozen=True, slots=True)
class DatabaseLogging:
    """Supplemental logging that applies to every table. `container` is None where it could not be read."""

    database: frozenset[LoggedColumns] = frozenset()
    container: frozenset[LoggedColumns] | None = frozenset()


def logged_columns(key: str, all_columns: str) -> frozenset[LoggedColumns]:
    """Return the logged columns for the YES and NO of a view."""
    return frozenset(
        columns for columns, setting in ((LoggedColumns.KEY, key), (LoggedColumns.ALL, all_columns)) if setting == "YES"
    )


def logging_of(table: DictionaryTable, general: DatabaseLogging) -> tuple[LoggedColumns, str] | None:
    """Return the columns of the widest logging that applies to the table, and where it is set, such as "the table"."""
    if not table.logical_replication:
        general = DatabaseLogging()
    own = frozenset(OF_GROUP[group] for group in table.log_groups if group in OF_GROUP)
    settings: tuple[tuple[Collection[LoggedColumns], str], ...] = (
        (own, "the table"),
        (general.container or (), "its container"),
        (general.database, "the database"),
    )
    for columns in (LoggedColumns.ALL, LoggedColumns.KEY):
        for columns_set, where in settings:
            if columns in columns_set:
                return columns, where
    return None


def needed_columns(table: DictionaryTable, key: KeyPolicy) -> LoggedColumns:
    """Return the columns that the key needs: Oracle can log the primary key alone, any other key only with all columns."""
    return LoggedColumns.KEY if key.kind == "primary" and table.key else LoggedColumns.ALL


def has_needed_logging(table: DictionaryTable, key: KeyPolicy, general: DatabaseLogging, *, all_columns: bool = False) -> bool:
    """Return whether the redo of a change has the key, and with `all_columns` the whole row."""
    found = logging_of(table, general)
    if all_columns:
        return found is not None and found[0] is LoggedColumns.ALL
    return found is not None and found[0] in (LoggedColumns.ALL, needed_columns(table, key))


def logging_findings(table: DictionaryTable, key: KeyPolicy, general: DatabaseLogging) -> Iterator[Finding]:
    if has_needed_logging(table, key, general):
        return
    lacks = "its primary key" if needed_columns(table, key) is LoggedColumns.KEY else "all columns"
    what = f"has no supplemental logging of {lacks}: its redo would not identify the row that an UPDATE changes"
    if not table.logical_replication:
        what += "; LOGICAL REPLICATION is disabled for it, so logging that is set for the database does not apply"
    elif general.container is None:
        what += " (the container's own setting could not be read: GRANT SELECT ON SYS.DBA_SUPPLEMENTAL_LOGGING TO the user)"
    yield Finding(str(table.table), what, f"{logging_cure(table, key)}; take the snapshot afterwards")


def logging_cure(table: DictionaryTable, key: KeyPolicy, *, all_columns: bool = False) -> str:
    """Return the statements that enable the needed logging, the cheapest first."""
    needed = LoggedColumns.ALL if all_columns else needed_columns(table, key)
    name = table.in_oracle.in_sql
    add = f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA ({{}}) COLUMNS"
    if not table.logical_replication:
        columns = "ALL" if needed is LoggedColumns.ALL else "PRIMARY KEY"
        return f"ALTER TABLE {name} ENABLE LOGICAL REPLICATION; {add.format(columns)} where the database does not log it"
    if needed is LoggedColumns.ALL:
        return add.format("ALL")
    general = "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS for every table"
    return f"{add.format('PRIMARY KEY')}, or {general}; (ALL) works too and makes more redo"


def logging_note(table: DictionaryTable, general: DatabaseLogging) -> Finding | None:
    found = logging_of(table, general)
    if found is None:
        return None
    columns = "all columns" if found[0] is LoggedColumns.ALL else "the primary key"
    return Finding(str(table.table), f"supplemental logging of {columns}, set on {found[1]}", severity="note")
