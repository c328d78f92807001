"""What assembling means, in plain Python over lists of rows: the definition the Spark side is tested against.

Rows are mappings with the landed columns and `window_start`, of one captured table and its control rows. Memory grows with
the input; nothing but tests may use it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

INSERT, DELETE, UPDATE, COMMIT, ROLLBACK = 1, 2, 3, 7, 36
INVERSE = {INSERT: DELETE, DELETE: INSERT, UPDATE: UPDATE}
UNKNOWN_SQN = "4294967295"

Row = Mapping[str, Any]
Transaction = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Fate:
    """A change row and what became of it: one of the invariant's terms."""

    row: Row
    disposition: str
    commit: tuple[int, int, str] | None = None
    problem: bool = False


def place(row: Row) -> tuple[int, int, int]:
    return row["window_start"], row["slice"], row["ordinal"]


def assemble(rows: Iterable[Row], position: int = -1, until: int | None = None) -> list[Fate]:
    """The fate of every change row, in the order of truth for those that are applied."""
    resolved = resolve_unknown(list(rows))
    ends: dict[Transaction, tuple[int, int, str] | None] = {}
    for row in resolved:
        if row["operation_code"] in (COMMIT, ROLLBACK):
            committed = row["operation_code"] == COMMIT
            ends[row["con_id"], row["xid"]] = (row["scn"], row["thread"], row["rs_id"]) if committed else None
    by_transaction: dict[Transaction, list[Row]] = defaultdict(list)
    for row in sorted((r for r in resolved if r["operation_code"] in INVERSE), key=place):
        by_transaction[row["con_id"], row["xid"]].append(row)
    fates: list[Fate] = []
    for transaction, changes in by_transaction.items():
        if transaction[1].endswith(UNKNOWN_SQN):
            fates += [Fate(row, "applied", (row["scn"], 0, ""), problem=True) for row in changes]
        elif transaction not in ends:
            fates += [Fate(row, "carried_out") for row in changes]
        else:
            commit = ends[transaction]
            fates += [Fate(row, "rolled_back") for row in changes] if commit is None else fates_of(changes, commit)
    placed = [placed_fate(fate, position, until) for fate in fates]
    return sorted(placed, key=lambda fate: (fate.commit or (0, 0, ""), place(fate.row)))


def placed_fate(fate: Fate, position: int, until: int | None) -> Fate:
    if fate.commit is not None and fate.commit[0] <= position:
        return replace(fate, disposition="before_position")
    if fate.commit is not None and until is not None and fate.commit[0] >= until:
        return replace(fate, disposition="held")
    return fate


def resolve_unknown(rows: Sequence[Row]) -> list[Row]:
    """Give rows of XIDSQN 4294967295 the transaction that held their undo slot at their SCN."""
    first: dict[Transaction, int] = {}
    ended: dict[Transaction, int] = {}
    for row in rows:
        transaction = row["con_id"], row["xid"]
        first[transaction] = min(first.get(transaction, row["scn"]), row["scn"])
        if row["operation_code"] in (COMMIT, ROLLBACK):
            ended[transaction] = row["scn"]

    def holder(row: Row) -> str:
        usn, slot, sqn = row["xid"].split(".")
        if sqn != UNKNOWN_SQN:
            return str(row["xid"])
        began = [
            (scn, int(xid.rpartition(".")[2]), xid)
            for (con_id, xid), scn in first.items()
            if con_id == row["con_id"]
            and xid.startswith(f"{usn}.{slot}.")
            and not xid.endswith(UNKNOWN_SQN)
            and scn <= row["scn"]
        ]
        xid = max(began)[2] if began else row["xid"]
        return str(row["xid"]) if ended.get((row["con_id"], xid), row["scn"]) < row["scn"] else str(xid)

    return [{**row, "xid": holder(row)} for row in rows]


def fates_of(changes: Sequence[Row], commit: tuple[int, int, str]) -> list[Fate]:
    """Within a committed transaction each undo row cancels the newest surviving change of the same row."""
    surviving: dict[Hashable, list[int]] = defaultdict(list)
    undone: set[int] = set()
    problems: set[int] = set()
    for number, row in enumerate(changes):
        same_row = surviving[row["object_id"], row["row_id"]]
        if not row["rollback"]:
            same_row.append(number)
            continue
        undone.add(number)
        if not same_row:
            problems.add(number)
            continue
        partner = same_row.pop()
        undone.add(partner)
        if INVERSE[changes[partner]["operation_code"]] != row["operation_code"]:
            problems.add(number)
    return [
        Fate(row, "undone" if number in undone else "applied", commit, number in problems) for number, row in enumerate(changes)
    ]


def fold(applied: Iterable[tuple[Row, Hashable, Hashable, Any]]) -> dict[Hashable, Any]:
    """The net change of (row, key before, key after, values after) in order: values per key, None where the row is gone.

    Replays what happens in Oracle's blocks: a row lives at its ROW_ID, and its key is only one of its values.
    """
    rows: dict[str, tuple[Hashable, Any]] = {}
    touched: set[Hashable] = set()
    for row, before, after, values in applied:
        if row["operation_code"] != INSERT:
            touched.add(before)
            rows.pop(row["row_id"], None)
        if row["operation_code"] != DELETE:
            touched.add(after)
            rows[row["row_id"]] = (after, values)
    there = dict(rows.values())
    if len(there) != len(rows):
        raise ValueError("two rows have one key")
    return {key: there.get(key) for key in touched}
