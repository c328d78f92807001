"""Redolake's columns in a table, each one row: where a row's last change comes from, and whether it deleted the row.

A new one is a name in MetadataName and its row: the setting, its page, batches, loads, repairs and views read them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from redolake.values.redo import Operation

MetadataName = Literal["_commit_scn", "_commit_time", "_op", "_xid", "_redo_thread"]

DELETED = "_deleted"


@dataclass(frozen=True, slots=True)
class OwnColumn:
    """Values are SQL: `changed` over a net change, `loaded` over a row of a snapshot with its `scn`, `removed` over one that a
    TRUNCATE at `scn` marks as deleted. `needs` are columns of a change, apart from those that every change has. `of_row` is
    `changed` for a net change that a process has as a row, where it is more than the name of a column. `help` is for people."""

    type: str
    help: str
    changed: str
    loaded: str = "NULL"
    removed: str = "NULL"
    needs: tuple[str, ...] = ()
    of_row: Callable[[Mapping[str, Any]], Any] | None = None

    def value(self, row: Mapping[str, Any]) -> Any:
        return row[self.changed] if self.of_row is None else self.of_row(row)


OPERATION = f"CASE WHEN op = 'D' THEN 'delete' WHEN operation_code = {Operation.INSERT:d} THEN 'insert' ELSE 'update' END"


def operation_of(row: Mapping[str, Any]) -> str:
    if row["op"] == "D":
        return "delete"
    return "insert" if row["operation_code"] == Operation.INSERT else "update"


OWN_COLUMNS: Mapping[str, OwnColumn] = {
    "_commit_scn": OwnColumn("bigint", "of the commit that changed the row last", "commit_scn", "{scn}", "{scn}"),
    "_commit_time": OwnColumn("timestamp_ntz", "its time, by the database's clock", "commit_at", needs=("commit_at",)),
    "_op": OwnColumn("string", "load, insert, update, delete", OPERATION, "'load'", "'delete'", of_row=operation_of),
    "_xid": OwnColumn("string", "its transaction", "xid", needs=("xid",)),
    "_redo_thread": OwnColumn("int", "of that commit", "commit_thread"),
    DELETED: OwnColumn(
        "boolean", "whether it deleted the row", "op = 'D'", "false", "true", of_row=lambda row: row["op"] == "D"
    ),
}
