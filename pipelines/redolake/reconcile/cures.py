"""Which way makes a table right: one decision, of which the page, `redolake status`, the metrics' alerts and `redolake mend`
speak. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from redolake.errors import in_shell
from redolake.reconcile.table_state import Fault, TableLine
from redolake.values.amounts import duration, plural, size

MOST_ROWS = 100_000  # that one repair reads


@dataclass(frozen=True, slots=True)
class Way:
    """A way to make a table right: an operation with what is `chosen`, which heals `faults`. `typed` is its command, for TABLE;
    `reads`, `cannot` and `undo` are what it costs, what it does not heal, and how it is taken back. Without a `command` a
    person must decide, as `why` says."""

    command: str = ""
    typed: str = ""
    reads: str = ""
    cannot: str = ""
    undo: str = ""
    faults: tuple[Fault, ...] = ()
    why: str = ""
    costs: str = ""
    chosen: Mapping[str, Any] = field(default_factory=dict)

    def typed_for(self, table: str, *options: str) -> str:
        """Return the command of a table, with options such as `-p shop`."""
        return " ".join([self.typed.replace("TABLE", in_shell(table)), *options])


WAYS = {
    one.command: one
    for one in (
        Way(
            "repair",
            "redolake repair TABLE --execute --reason TEXT",
            "the rows that the last comparison found, or `--key`, AS OF the table's position",
            "more than 100,000 rows",
        ),
        Way(
            "backfill",
            "redolake backfill TABLE --target live --from SCN --to SCN",
            "the rows that the redo of that time names",
            "rows that no redo names: changed in the lake, removed by TRUNCATE",
        ),
        Way(
            "close-gap",
            "redolake close-gap TABLE --execute --reason TEXT",
            "the logs, then the rows that they name",
            "rows that a DDL in the gap changed",
        ),
        Way(
            "quarantine retry",
            "redolake quarantine retry TABLE --execute --reason TEXT",
            "the rows of these keys",
            "keys of ROWID, RAW, masked or computed",
        ),
        Way(
            "fill-columns",
            "redolake fill-columns TABLE --execute --reason TEXT",
            "the key and that column, of all rows",
            "another filter or key; large objects",
            "leaving it out, and a new snapshot",
        ),
        Way(
            "swap",
            "redolake swap TABLE --copy NAME",
            "a Delta version of when it was right, and the landed redo since; not the source",
            "where that version or redo is gone",
            "`redolake swap TABLE --undo`",
        ),
        Way(
            "history rebuild",
            "redolake history rebuild TABLE --execute --reason TEXT --yes",
            "a Delta version, and the redo since",
            "before the oldest version that is kept",
        ),
        Way(
            "snapshot",
            "redolake snapshot TABLE --replace",
            "the whole table",
            undo="older Delta versions stay readable",
            chosen={"replace": True},
        ),
        Way("resume", "redolake resume TABLE", "the landed redo since", "a cause that stays in the redo"),
    )
}
IN_CURE = re.compile(r"[`]redolake ((?:quarantine retry|[a-z-]+)\b)([^`]*)`")
NEED_A_CHOICE = ("--ddl", "--new-history")  # of how a DDL or a lost history is answered


def ways_of(table: TableLine) -> tuple[Way, ...]:
    """Return the ways that make a table right, the first to take first; none where it is right, or not captured."""
    faults = table.faults
    if "not loaded" in faults:
        return (replace(first_contents(table), faults=faults),)
    found = dict[str, Way]()
    for fault in sorted(faults, key=lambda fault: fault != "held"):
        way = of_held(table) if fault == "held" else of_fault(table, fault)
        known = found.setdefault(way.command, way)
        found[way.command] = replace(known, faults=tuple(dict.fromkeys((*known.faults, fault))))
    if (whole := found.get("snapshot")) is not None:  # it heals all but the history, which begins a new epoch with it
        kept = [found[name] for name in ("", "history rebuild") if name in found]
        healed = tuple(fault for fault in faults if not any(fault in way.faults for way in kept))
        return (replace(whole, faults=healed), *kept)
    return tuple(found.values())


def first_contents(table: TableLine) -> Way:
    if table.state == "snapshotting":
        again = f"`redolake snapshot {in_shell(table.table)}`"
        return Way(why=f"its snapshot is being read: let it end; if it was stopped, run {again}", faults=("not loaded",))
    typed = "redolake snapshot TABLE"
    return replace(WAYS["snapshot"], typed=typed, chosen={}, faults=("not loaded",), why="it has no contents yet", undo="")


def of_held(table: TableLine) -> Way:
    """Return the way that the cure of what holds the table names first; where it names none, the table goes on once a person
    has done what the cure says."""
    why = f"it is held: {table.error}" + (f". What to do: {table.cure}" if table.cure else "")
    if table.complete_to_scn is None:
        return replace(WAYS["snapshot"], why=why, costs=whole_cost(table))
    command, options = next(((one[1], one[2]) for one in IN_CURE.finditer(table.cure) if one[1] in WAYS), ("resume", ""))
    if any(option in options for option in NEED_A_CHOICE) or command in ("backfill", "swap"):
        return Way(why=why)
    if command == "repair" and not differing_rows(table):
        name = in_shell(table.table)
        which = f"`redolake verify {name}` says which rows differ; where none does, `redolake resume {name}` lets it go on"
        return Way(why=f"{why}. No comparison has found rows yet: {which}")
    return replace(WAYS[command], why=why, costs=whole_cost(table) if command == "snapshot" else "")


def of_fault(table: TableLine, fault: Fault) -> Way:
    match fault:
        case "differs":
            rows = differing_rows(table)
            if rows > MOST_ROWS:
                return replace(WAYS["snapshot"], why=f"some {rows:,} rows differ", costs=whole_cost(table))
            return replace(WAYS["repair"], why=f"some {rows:,} rows or cells differ", costs=f"some {plural(rows, 'row')}")
        case "history differs":
            return replace(WAYS["history rebuild"], why="its history says something else than the table")
        case "gap":
            gap = table.gaps[0]
            lacking = f"SCN {gap.first_scn} to {gap.last_scn} was never read"
            again = f"`redolake snapshot {in_shell(table.table)} --replace`"
            why = f"{lacking}: restore its logs; if they are gone, run {again} instead"
            each = "" if len(table.gaps) == 1 else f" --scn {gap.first_scn}"
            typed = f"{WAYS['close-gap'].typed}{each}"
            return replace(WAYS["close-gap"], typed=typed, why=why, chosen={"scn": gap.first_scn})
        case "dropped":
            why = f"it lacks the dropped transaction {', '.join(table.dropped_transactions)}"
            return replace(WAYS["snapshot"], why=why, costs=whole_cost(table))
        case _:
            keys = table.quarantined_keys
            return replace(WAYS["quarantine retry"], why=f"{keys:,} keys are in quarantine", costs=f"{keys:,} rows")


def differing_rows(table: TableLine) -> int:
    """Return about how many rows the last comparison found: cells may be several of one row."""
    found = next((proof for proof in table.proofs if proof.error is None and not proof.has_equal_rows), None)
    return 0 if found is None else found.missing_rows + found.extra_rows + found.differing_cells


def whole_cost(table: TableLine) -> str:
    """Say what reading the whole table has cost the last time."""
    last = table.loaded
    if last is None or last.rows is None:
        return "all rows"
    parts = [plural(last.rows, "row"), "" if last.bytes is None else size(last.bytes)]
    took = "" if last.seconds is None else f"{duration(last.seconds)} to read"
    return f"{', '.join(filter(None, [*parts, took]))}, the last time"
