"""History tables: what happened to each row of a table, beside the table itself.

A history has epochs. Each begins with a copy of the table's rows at one position (`begin`, `load`), and continues with every
change that commits after it. A new epoch begins where single changes are not known: with the first batch of a history, with a
new snapshot, after TRUNCATE, after a repair, after batches without a history. For an SCN, the newest epoch that has begun at or
below it counts, so that late knowledge replaces nothing and is seen as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, assert_never

from redolake.values.delivery import Appended, Assembled, Delivery, NullableKey, Plain, RereadRows, RereadValues

HistoryKind = Literal["none", "changes", "scd2"]
FOLDER = "_history"  # below the lake

# Our columns of a history, with their types in Spark SQL. They come before the table's own.
COLUMNS: Mapping[str, str] = {
    "_op": "string",  # begin, load, insert, update, delete
    "_image": "string",  # before or after; NULL for `begin`
    "_commit_scn": "bigint",
    "_commit_time": "timestamp_ntz",
    "_scn": "bigint",  # of the change
    "_seq": "bigint",  # the order of rows of one key with the same _commit_scn
    "_xid": "string",
    "_user": "string",
    "_redo_thread": "int",
    "_epoch": "int",
    "_note": "string",  # why an epoch begins, or that earlier changes of the row are in quarantine
}
NEEDS = ("commit_at", "xid", "username")  # columns of changes that a history is made of, beside those of every change


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a table or its history is: the load whose contents it has, the SCN of its last commit, and by name the numbers of
    commits that changed rows beside the stream (`/ddl`, `/repair`)."""

    load: str
    position: int | None
    beside: Mapping[str, int] = field(default_factory=dict)


def why_begins(history: Reached | None, table: Reached) -> str | None:
    """Return why the history of a table has to begin an epoch; None where its changes continue it."""
    if history is None:
        return "the history begins"
    if history.load != table.load:
        return "the table was loaded again" + lacking(history.position, table.position)
    if table.position is not None and (history.position is None or history.position < table.position):
        return f"changes up to SCN {table.position} were applied without the history"
    newer = [name for name, number in table.beside.items() if number > history.beside.get(name, -1)]
    return REASONS.get(newer[0], f"rows were changed by {newer[0].strip('/')}") if newer else None


def lacking(last: int | None, load: int | None) -> str:
    """Say which commits no epoch has: those after the last one of the older epoch, up to the SCN that was loaded."""
    if last is None or load is None or load <= last:
        return ""
    return f"; commits from SCN {last + 1} to {load}, if any, are in no epoch"


def begins_at(history: Reached | None, table: Reached, start: int) -> int:
    """Return the SCN of which an epoch has the table's rows, where commits from `start` on are not applied yet. Rows that were
    written beside the stream are those AS OF the last SCN before it; the table's last own commit may be long before that."""
    position = -1 if table.position is None else table.position
    known = history.beside if history is not None and history.load == table.load else {}
    late = any(number > known.get(name, -1) for name, number in table.beside.items() if name != "/ddl")
    return max(position, table.beside.get("/ddl", position), start - 1 if late else position)


REASONS = {"/ddl": "a DDL changed all rows without redo", "/repair": "rows were repaired"}


def why_no_history(kind: HistoryKind, deliveries: Iterable[Delivery]) -> str | None:
    """Return why a table whose changes are delivered so can have no history of this kind; None if it can."""
    if kind == "none":
        return None
    for delivery in deliveries:
        match delivery:
            case Plain():
                continue
            case Appended():
                if kind == "scd2":
                    return "`key: append` names no rows, so there are no versions of a row: `history: changes` is possible"
            case NullableKey():
                return "a column of its key may be NULL, and a row without a key has no versions of its own"
            case RereadRows() | RereadValues():
                return "values of its rows are read again at the ends of windows, and are not known in between"
            case Assembled():
                return "its large objects are assembled from several changes, and have no value at each of them"
            case _:
                assert_never(delivery)
    return None


def taken_names(names: Iterable[str]) -> list[str]:
    """Return the names of columns that a history has for itself. Delta does not distinguish upper and lower case."""
    return sorted(name for name in names if name.lower() in COLUMNS)
