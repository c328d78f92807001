"""The rule of a snapshot whose chunks have several SCNs, in plain Python: a table, its chunks, its redo, and the MERGE.

A row is known by its ROWID, and has a key and values. Chunks are ranges of ROWIDs or of keys, and cover all of them. Changes
commit one after the other. What is proven: the chunks, where a key that is in two counts AS OF the higher SCN, and one MERGE of
the net change from the lowest SCN to any SCN at or after the highest, make the table; or the redo lacks values, and the MERGE
says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Values = dict[str, Any]
Rows = dict[int, tuple[int, Values]]  # by ROWID: key and values
UNKNOWN = object()
COLUMNS = ("a", "b")


class Undecided(Exception):
    """The redo lacks values that are not in the table."""


@dataclass(frozen=True, slots=True)
class Change:
    """A committed change of one row. `shown` are the columns in the redo of an UPDATE, with their new values."""

    scn: int
    kind: str
    before: int | None
    after: int | None
    shown: Values


def read_chunks(
    states: Mapping[int, Rows], chunks: Sequence[tuple[Callable[[int, int], bool], int]]
) -> list[tuple[int, int, Values]]:
    """Return (SCN, key, values) of the rows that each chunk, a condition of ROWID and key, has AS OF its SCN."""
    return [(scn, key, dict(row)) for has, scn in chunks for rid, (key, row) in states[scn].items() if has(rid, key)]


def load(read: Iterable[tuple[int, int, Values]]) -> dict[int, Values]:
    """Return the rows by key, the newer one of two."""
    return {key: row for _, key, row in sorted(read, key=lambda one: one[0])}


def net_change(changes: Iterable[Change], *, mixed: bool) -> dict[int, Values | None]:
    """Return each key's last values, UNKNOWN where no change shows them; None for a key that was left. A row that moves to
    another key with unknown values has those of the row at its old key, which another row may have in a mixed table."""
    net: dict[int, Values | None] = {}
    for change in changes:
        if change.kind == "delete":
            net[change.before] = None  # type: ignore[index]
            continue
        known = net.get(change.before) if change.kind == "update" else None  # type: ignore[arg-type]
        row = {**(known or dict.fromkeys(COLUMNS, UNKNOWN)), **change.shown}
        if change.before != change.after and change.kind == "update":
            if mixed and UNKNOWN in row.values():
                raise Undecided(change)
            net[change.before] = None  # type: ignore[index]
        net[change.after] = row  # type: ignore[index]
    return net


def merge(table: dict[int, Values], net: Mapping[int, Values | None]) -> dict[int, Values]:
    merged = dict(table)
    for key, row in net.items():
        if row is None:
            merged.pop(key, None)
        elif UNKNOWN not in row.values():
            merged[key] = row
        elif key in table:
            merged[key] = {name: table[key][name] if value is UNKNOWN else value for name, value in row.items()}
        else:
            raise Undecided(key)
    return merged
