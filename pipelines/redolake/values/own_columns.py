"""Redolake's columns in a table, each one row: where a row's last change comes from, and whether it deleted the row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redolake.values.redo import Operation
from redolake.values.target_options import DELETED


@dataclass(frozen=True, slots=True)
class OwnColumn:
    """Values are SQL: `changed` over a net change, `loaded` over a row of a snapshot with its `scn`, `removed` over one that a
    TRUNCATE at `scn` marks as deleted. `needs` are columns of a change, apart from those that every change has."""

    type: str
    changed: str
    loaded: str = "NULL"
    removed: str = "NULL"
    needs: tuple[str, ...] = ()


OPERATION = f"CASE WHEN op = 'D' THEN 'delete' WHEN operation_code = {Operation.INSERT:d} THEN 'insert' ELSE 'update' END"
OWN_COLUMNS: Mapping[str, OwnColumn] = {
    "_commit_scn": OwnColumn("bigint", "commit_scn", "{scn}", "{scn}"),
    "_commit_time": OwnColumn("timestamp_ntz", "commit_at", needs=("commit_at",)),
    "_op": OwnColumn("string", OPERATION, "'load'", "'delete'"),
    "_xid": OwnColumn("string", "xid", needs=("xid",)),
    "_redo_thread": OwnColumn("int", "commit_thread"),
    DELETED: OwnColumn("boolean", "op = 'D'", "false", "true"),
}
