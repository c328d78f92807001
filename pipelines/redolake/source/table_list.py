"""List the tables of the owners that patterns name, with the reason for those that no pattern may match."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from redolake.errors import SourceRefused
from redolake.host.statements import statement
from redolake.source.dictionary import BIND_LISTS
from redolake.source.oracle import Source
from redolake.values.table import TableId
from redolake.values.table_pattern import TablePattern

RECYCLED = re.compile(r"BIN\$.{22}==\$\d+")
# Names that Oracle gives to tables of its own in an application's schema, most of which it drops again.
OF_ORACLE = {
    "is a table of the compression advisor": r"CMP[1-4]\$\d+|DBMS_TABCOMP_TEMP_(?:UN)?CMP",
    "is the job table of Data Pump": r"SYS_(?:EXPORT|IMPORT|SQL_FILE)_(?:FULL|SCHEMA|TABLE(?:SPACE)?|TRANSPORTABLE)_\d+",
    "is the journal of an index that is rebuilt online": r"SYS_JOURNAL_\d+",
    "is of a Flashback Archive": r"SYS_(?:FBA|MFBA)_\w+_\d+",
    "is a DML error log": r"ERR\$_.+",  # of DBMS_ERRLOG, unless a person has given it another name
}
OF_QUEUE = re.compile(r"AQ\$_(.+)_[A-Z]")


MATERIALIZED_VIEW = "stores the rows of a materialized view"
QUEUE = "is a queue table"
OBJECT_TABLE = "is an object table, whose rows are instances of a type: LogMiner does not support it"


@dataclass(frozen=True, slots=True)
class ListedTable:
    """`left_out` says why the table is none to capture; None for a plain one. `object_id` is read for plain ones."""

    table: TableId
    left_out: str | None = None
    object_id: int | None = None


def list_tables(source: Source, patterns: Sequence[TablePattern], container: str | None) -> tuple[ListedTable, ...]:
    """Return the visible tables of all owners that a pattern names, with a fixed number of statements per 500 owners."""
    source.use_container(container)
    owners = {pattern.owner.text for pattern in patterns if pattern.owner.is_literal}
    globs = [pattern.owner for pattern in patterns if not pattern.owner.is_literal]
    if globs:
        owners |= {r.username for r in source.query("users") if any(glob.matches(r.username) for glob in globs)}
    special = special_tables(source, owners)
    queues = {table for table, why in special.items() if why == QUEUE}
    found = [ListedTable(table, why) for table, why in special.items() if why == OBJECT_TABLE]
    for row in _rows(source, "tables_of_owners", owners):
        table = TableId(row.owner, row.table_name)
        why = special.get(table) or kind_left_out(row) or ("belongs to a queue table" if is_of_queue(table, queues) else None)
        found.append(ListedTable(table, why))
    return tuple(sorted(found, key=lambda listed: listed.table))


def special_tables(source: Source, owners: set[str]) -> dict[TableId, str]:
    """Return the tables of the owners that are made for something else than rows of an application, with what they are."""
    kinds = {
        "mviews": MATERIALIZED_VIEW,
        "mview_logs": "is a materialized view log",
        "queue_tables": QUEUE,
        "object_tables": OBJECT_TABLE,
    }
    return {TableId(r.owner, r.table_name): what for name, what in kinds.items() for r in _rows(source, name, owners)}


def kind_left_out(row: Any) -> str | None:
    """Return why a row of ALL_TABLES is no table to capture."""
    reasons = {
        "is in the recycle bin": RECYCLED.fullmatch(row.table_name) is not None or row.dropped == "YES",
        "is a temporary table: the redo does not contain its rows": row.temporary == "Y",
        "is an external table: the redo does not contain its rows": row.external == "YES",
        "stores a nested table of another table": row.nested == "YES",
        "is the overflow or mapping segment of an index-organized table": row.iot_type in ("IOT_OVERFLOW", "IOT_MAPPING"),
        "belongs to a domain index": row.secondary == "Y",
    }
    reasons |= {why: re.fullmatch(name, row.table_name) is not None for why, name in OF_ORACLE.items()}
    return next((why for why, applies in reasons.items() if applies), None)


def is_of_queue(table: TableId, queues: set[TableId]) -> bool:
    found = OF_QUEUE.fullmatch(table.name)
    return found is not None and TableId(table.owner, found[1]) in queues


def _rows(source: Source, name: str, owners: set[str]) -> Iterator[Any]:
    """Run a statement that has a list of owners, in lists of a few fixed lengths. A view that is not installed has no rows."""
    ordered = sorted(owners)
    for start in range(0, len(ordered), BIND_LISTS[-1]):
        some = ordered[start : start + BIND_LISTS[-1]]
        length = next(size for size in BIND_LISTS if size >= len(some))
        binds = {f"name{n}": owner for n, owner in enumerate([*some, *[some[-1]] * (length - len(some))])}
        sql = statement(name).replace(":names", ", ".join(f":{bind}" for bind in binds))
        try:
            yield from source.query_text(sql, binds, name)
        except SourceRefused:
            if name != "queue_tables":  # the only view that a database may lack
                raise
