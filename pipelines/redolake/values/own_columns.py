"""Redolake's columns in a table, each one row: where a row's last change comes from, and whether it deleted the row.

A new one is a name in MetadataName and its row: the setting, its page, batches, loads, repairs and views read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from redolake.values.redo import Operation

MetadataName = Literal["_commit_scn", "_commit_time", "_op", "_xid", "_redo_thread"]

DELETED = "_deleted"


@dataclass(frozen=True, slots=True)
class OwnColumn:
    """Values are SQL: `changed` over a net change, `loaded` over a row of a snapshot with its `scn`, `removed` over one that a
    TRUNCATE at `scn` marks as deleted. `needs` are columns of a change, apart from those that every change has. `help` is for
    people."""

    type: str
    help: str
    changed: str
    loaded: str = "NULL"
    removed: str = "NULL"
    needs: tuple[str, ...] = ()


OPERATION = f"CASE WHEN op = 'D' THEN 'delete' WHEN operation_code = {Operation.INSERT:d} THEN 'insert' ELSE 'update' END"
OWN_COLUMNS: Mapping[str, OwnColumn] = {
    "_commit_scn": OwnColumn("bigint", "of the commit that changed the row last", "commit_scn", "{scn}", "{scn}"),
    "_commit_time": OwnColumn("timestamp_ntz", "its time, by the database's clock", "commit_at", needs=("commit_at",)),
    "_op": OwnColumn("string", "load, insert, update, delete", OPERATION, "'load'", "'delete'"),
    "_xid": OwnColumn("string", "its transaction", "xid", needs=("xid",)),
    "_redo_thread": OwnColumn("int", "of that commit", "commit_thread"),
    DELETED: OwnColumn("boolean", "whether it deleted the row", "op = 'D'", "false", "true"),
}
