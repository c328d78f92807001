"""Assembling in plain Python over lists of rows: the reference for the tests of the Spark implementation.

Rows are mappings with the landed columns and `window_start`, of one captured table and its control rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from redolake.values.logminer import NO_ROWID
from redolake.values.redo import CONTROL, TRANSACTION_ENDS, Operation

INVERSE = {
    Operation.INSERT: Operation.DELETE,
    Operation.DELETE: Operation.INSERT,
    Operation.UPDATE: Operation.UPDATE,
}
UNKNOWN_SQN, NO_XID = "4294967295", "0.0.0"

Row = Mapping[str, Any]
Transaction = tuple[int, str]


@dataclass(frozen=True, slots=True)
class ReferenceEnd:
    """The end of a transaction: `commit` is (SCN, thread, RS_ID), None for a rollback."""

    commit: tuple[int, int, str] | None
    scn: int


@dataclass(frozen=True, slots=True)
class DisposedRow:
    """A change row with its disposition, one term of the row account."""

    row: Row
    disposition: str
    commit: tuple[int, int, str] | None = None
    problem: bool = False
    unattributed: bool = False  # without a transaction, after its end, or of one whose end names no container
    settled_scn: int | None = None  # if it is not the commit SCN


def row_key(row: Row) -> tuple[int, int, int]:
    return row["window_start"], row["slice"], row["ordinal"]


def deciding_xid(row: Row) -> str:
    """Return the xid whose end decides the row: for a parallel server, its coordinator's."""
    pxid = row.get("pxid")
    parallel = pxid is not None and not is_unknown(pxid)
    return str(pxid if parallel else row["xid"])


def assemble(
    rows: Iterable[Row], position: int = -1, until: int | None = None, open_since: int | None = None
) -> list[DisposedRow]:
    """Return every change row with its disposition, in the order of commits. `open_since` is where the oldest transaction began
    that was open at the table's snapshot."""
    resolved = fill_coordinators(resolve_unknown(list(rows)))
    ends: dict[Transaction, ReferenceEnd] = {}
    no_container: dict[str, int] = {}  # SCNs of ends without a container
    for row in resolved:
        if row["operation_code"] in TRANSACTION_ENDS:
            committed = row["operation_code"] == Operation.COMMIT
            if row["con_id"] is None:
                no_container[row["xid"]] = min(row["scn"], no_container.get(row["xid"], row["scn"]))
            ends[row["con_id"], row["xid"]] = ReferenceEnd(
                (row["scn"], row["thread"], row["rs_id"]) if committed else None, row["scn"]
            )
    changes = sorted((r for r in resolved if r["operation_code"] not in CONTROL), key=row_key)
    by_transaction: dict[tuple[int, str, str], list[Row]] = defaultdict(list)
    for row in changes:
        by_transaction[row["con_id"], row["xid"], deciding_xid(row)].append(row)
    disposed: list[DisposedRow] = []
    for (con_id, xid, decider), mine in by_transaction.items():
        own = ends.get((con_id, xid)) if decider != xid else None
        if (con_id, decider) not in ends and own is None and decider in no_container:
            at = no_container[decider], 0, ""
            disposed += [DisposedRow(row, "applied", at, problem=True, unattributed=True) for row in mine]
        else:
            end = ends.get((con_id, decider))
            late = [row for row in mine if end is not None and row["scn"] > end.scn]  # of a later transaction with the same xid
            disposed += [DisposedRow(row, "applied", (row["scn"], 0, ""), problem=True, unattributed=True) for row in late]
            found = dispose_transaction([row for row in mine if row not in late], decider, end, own)
            disposed += [stopped_if_committed(change) for change in found] if is_unknown(xid) else found
    spread = rows_on_several_threads(change.row for change in disposed if change.disposition == "applied")
    checked = [replace(f, problem=True) if f.disposition == "applied" and row_name(f.row) in spread else f for f in disposed]
    bounded = [within_bounds(change, position, until, open_since) for change in checked]
    return sorted(bounded, key=lambda change: (change.commit or (0, 0, ""), row_key(change.row)))


def is_unknown(xid: str) -> bool:
    return xid == NO_XID or xid.endswith(UNKNOWN_SQN)


def stopped_if_committed(change: DisposedRow) -> DisposedRow:
    """Make the change of an unknown parallel server a problem: the server may have been rolled back before its coordinator
    committed."""
    return change if change.commit is None else replace(change, problem=True)


def dispose_transaction(
    changes: Sequence[Row], decider: str, end: ReferenceEnd | None, own: ReferenceEnd | None
) -> list[DisposedRow]:
    """Dispose the rows of one transaction. `own` is the end of a parallel server itself, which must match the coordinator's."""
    if is_unknown(decider):
        return [DisposedRow(row, "applied", (row["scn"], 0, ""), problem=True, unattributed=True) for row in changes]
    if own is not None and own.commit is None:
        return [DisposedRow(row, "rolled_back") for row in changes]
    if end is None:
        return [DisposedRow(row, "carried_out") for row in changes]
    if own is not None and own.commit is not None and (end.commit is None or end.commit[0] != own.commit[0]):
        both = [own.commit] if end.commit is None else sorted([own.commit, end.commit])
        return [DisposedRow(row, "applied", both[0], problem=True, settled_scn=both[-1][0]) for row in changes]
    if end.commit is None:
        return [DisposedRow(row, "rolled_back") for row in changes]
    return dispose_committed(changes, end.commit)


def row_name(row: Row) -> Hashable:
    return row["con_id"], deciding_xid(row), row["object_id"], row["row_id"]


def rows_on_several_threads(changes: Iterable[Row]) -> set[Hashable]:
    threads: dict[Hashable, set[int]] = defaultdict(set)
    for row in changes:
        threads[row_name(row)].add(row["thread"])
    return {name for name, found in threads.items() if len(found) > 1}


def within_bounds(change: DisposedRow, position: int, until: int | None, open_since: int | None) -> DisposedRow:
    if change.commit is None:
        return change
    may_be_open = change.unattributed and open_since is not None and change.row["scn"] >= open_since
    if (change.settled_scn or change.commit[0]) <= position and not may_be_open:
        return replace(change, disposition="before_position", problem=False)
    if until is not None and change.commit[0] >= until:
        return replace(change, disposition="held")
    return change


def fill_coordinators(rows: Sequence[Row]) -> list[Row]:
    """Set PXID on all rows of a parallel server if one of them has it."""
    coordinators = {(row["con_id"], row["xid"]): row["pxid"] for row in rows if deciding_xid(row) != row["xid"]}
    return [{**row, "pxid": coordinators.get((row["con_id"], row["xid"]), row.get("pxid"))} for row in rows]


def resolve_unknown(rows: Sequence[Row]) -> list[Row]:
    """Set the xid of rows with XIDSQN 4294967295 to the transaction that held their undo slot at their SCN."""
    first: dict[Transaction, int] = {}
    ended: dict[Transaction, int] = {}
    for row in rows:
        for xid in {row["xid"], deciding_xid(row)}:
            first[row["con_id"], xid] = min(first.get((row["con_id"], xid), row["scn"]), row["scn"])
        if row["operation_code"] in TRANSACTION_ENDS:
            ended[row["con_id"], row["xid"]] = row["scn"]

    def resolve(row: Row) -> Row:
        usn, slot, sqn = row["xid"].split(".")
        if sqn != UNKNOWN_SQN:
            return row
        began = [
            (scn, int(xid.rpartition(".")[2]), xid)
            for (con_id, xid), scn in first.items()
            if con_id == row["con_id"]
            and xid.startswith(f"{usn}.{slot}.")
            and not xid.endswith(UNKNOWN_SQN)
            and scn <= row["scn"]
        ]
        holder = row["con_id"], max(began)[2] if began else row["xid"]
        if not began or ended.get(holder, row["scn"]) < row["scn"]:
            return row
        return {**row, "xid": holder[1]}

    return [resolve(row) for row in rows]


def dispose_committed(changes: Sequence[Row], commit: tuple[int, int, str]) -> list[DisposedRow]:
    """Dispose the rows of a committed transaction: each undo row cancels the newest remaining change of the same row."""
    remaining: dict[Hashable, list[int]] = defaultdict(list)
    hides_rowids = any(row["row_id"] == NO_ROWID for row in changes)
    changes = with_undone_row_ids(changes)
    inverted = inverted_pairs(changes)
    undone, problems = set(inverted), set[int]()
    for number, row in enumerate(changes):
        if number in inverted:
            continue
        same_row = remaining[row["object_id"], row["row_id"]]
        if not row["rollback"]:
            same_row.append(number)
            continue
        undone.add(number)
        if not same_row:
            problems.add(number)
            continue
        partner = same_row.pop()
        if row["operation_code"] == Operation.DELETE and hides_rowids:
            # The whole statement and all after it, of which some rows may have no ROWID.
            while same_row and changes[partner]["operation_code"] != Operation.INSERT:
                partner = same_row.pop()
            same_table = (n for n in range(partner, number) if changes[n]["object_id"] == row["object_id"])
            undone |= {n for n in same_table if changes[n]["row_id"] in (NO_ROWID, row["row_id"])}
        undone.add(partner)
        if INVERSE.get(changes[partner]["operation_code"]) != row["operation_code"]:
            problems.add(number)
    problems |= {number for number, row in enumerate(changes) if row["operation_code"] not in INVERSE}  # unreadable
    return [
        DisposedRow(row, "undone" if number in undone else "applied", commit, number in problems)
        for number, row in enumerate(changes)
    ]


def with_undone_row_ids(changes: Sequence[Row]) -> list[Row]:
    """Give an INSERT with LogMiner's placeholder the ROWID of the row that undoes it: the newest INSERT that is not undone yet,
    or the one at the address of the undo row."""
    found = [*changes]
    open_inserts: dict[int, list[int]] = defaultdict(list)
    early: dict[Hashable, str] = {}  # the ROWIDs of undo rows that came before their INSERT, by address
    for number, row in enumerate(changes):
        address = row["object_id"], row["thread"], row["rs_id"], row["ssn"]
        if row["operation_code"] == Operation.INSERT and not row["rollback"]:
            if row["row_id"] == NO_ROWID and address in early:
                found[number] = {**row, "row_id": early[address]}
            elif early.get(address) != row["row_id"]:
                open_inserts[row["object_id"]].append(number)
        elif row["operation_code"] == Operation.DELETE and row["rollback"]:
            later = (other for other in changes[number + 1 :] if not other["rollback"])
            if address in {(other["object_id"], other["thread"], other["rs_id"], other["ssn"]) for other in later}:
                early[address] = row["row_id"]
            elif open_inserts[row["object_id"]]:
                undone = open_inserts[row["object_id"]].pop()
                if changes[undone]["row_id"] == NO_ROWID:
                    found[undone] = {**changes[undone], "row_id": row["row_id"]}
    return found


def inverted_pairs(changes: Sequence[Row]) -> set[int]:
    """Return the pairs in which an undo row precedes its change, with one address (thread, RS_ID, SSN), as in 19.13."""
    by_address: dict[Hashable, list[int]] = defaultdict(list)
    for number, row in enumerate(changes):
        by_address[row["object_id"], row["row_id"], row["thread"], row["rs_id"], row["ssn"]].append(number)
    return {
        number
        for pair in by_address.values()
        if len(pair) == 2
        and changes[pair[0]]["rollback"]
        and not changes[pair[1]]["rollback"]
        and changes[pair[0]]["operation_code"] == INVERSE.get(changes[pair[1]]["operation_code"])
        for number in pair
    }


def fold(applied: Iterable[tuple[Row, Hashable, Hashable, Any]]) -> dict[Hashable, Any]:
    """Fold (row, key before, key after, values after), in order, to the values per key; None for a row that was deleted.

    It replays the changes in Oracle's blocks: ROW_ID identifies a row, and the key is one of its values.
    """
    rows: dict[str, tuple[Hashable, Any]] = {}
    touched: set[Hashable] = set()
    for row, before, after, values in applied:
        if row["operation_code"] != Operation.INSERT:
            touched.add(before)
            rows.pop(row["row_id"], None)
        if row["operation_code"] != Operation.DELETE:
            touched.add(after)
            rows[row["row_id"]] = (after, values)
    there = dict(rows.values())
    if len(there) != len(rows):
        raise ValueError("two rows have one key")
    return {key: there.get(key) for key in touched}
