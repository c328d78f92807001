"""Compare Spark's assembly of played histories with the reference's, row by row, in one Spark job.

Every history gets its own containers, tables and slices; nothing else in LogMiner's rows changes. All histories form one
batch, which begins for each at the SCN of its snapshot.
"""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from redolake.assemble.assembled import assemble_batch
from redolake.assemble.attribution import CapturedTable
from redolake.records.batches.spec import LandedWindow
from redolake.values.logminer import Mined
from redolake.values.redo import Operation
from redolake.values.scn import ScnRange
from redolake.values.table import TableId
from tests.generated.histories import TABLES
from tests.integration.spark.landing import land
from tests.references.assemble_reference import NO_XID, UNKNOWN_SQN, Row, assemble, row_key

CHANGES, ENDS = (1, 2, 3), (6, 7, 36)
END = 2**40  # an SCN above all
OPEN_FOR = 25  # SCNs before a snapshot, at which the oldest transaction began that was open at it


@dataclass(frozen=True)
class Played:
    """A history's landed redo, and the SCN of its snapshot."""

    rows: list[Row]
    begun: int


@dataclass(frozen=True)
class Dispositions:
    """The dispositions of one table's change rows by place. They do not matter for a table that a problem stops."""

    stopped: bool
    by_row: Mapping[tuple[int, int], tuple[Any, ...]]

    def differ(self, other: Dispositions) -> bool:
        return self.stopped != other.stopped or (not self.stopped and self.by_row != other.by_row)


def damaged(played: Played, seed: int) -> Played:
    """Damage the redo so that it cannot be understood: remove an undone change, give an undo row another operation, give a
    change an unknown transaction, or none that LogMiner can show."""
    chance = random.Random(seed)
    undo = [n for n, row in enumerate(played.rows) if row["rollback"] and row["operation_code"] in CHANGES]
    rows: list[Row | None] = list(played.rows)
    for number in chance.sample(undo, min(2, len(undo))):
        row = played.rows[number]
        if chance.random() < 0.5:
            rows[number] = {**row, "operation_code": {1: 3, 2: 3, 3: 1}[row["operation_code"]]}
        else:
            mine = (row["xid"], row["row_id"])
            rows[chance.choice([n for n, one in enumerate(played.rows) if (one["xid"], one["row_id"]) == mine])] = None
    whole = [row for row in rows if row is not None]
    changes = [n for n, row in enumerate(whole) if row["operation_code"] in CHANGES]
    if changes and chance.random() < 0.3:
        number = chance.choice(changes)
        unknown = chance.choice([NO_XID, f"1.33.{UNKNOWN_SQN}"])
        pxid = chance.choice([unknown, whole[number]["pxid"]])
        whole[number] = {**whole[number], "xid": unknown, "pxid": pxid}
    if changes and chance.random() < 0.3:
        number = chance.choice(changes)
        whole[number] = {**whole[number], "operation_code": int(Mined.UNSUPPORTED), "operation": Mined.UNSUPPORTED.name}
    return replace(played, rows=whole)


def rearranged(played: Played, seed: int) -> Played:
    """Shuffle consecutive undo rows, but keep the order of those of one row: Oracle promises no other order."""
    chance = random.Random(seed)
    rows = sorted(played.rows, key=row_key)
    runs = itertools.groupby(
        rows, key=lambda row: (row["rollback"] and row["operation_code"] in CHANGES, row["xid"], row["slice"])
    )
    return replace(played, rows=[row for (undo, *_), run in runs for row in (mixed(list(run), chance) if undo else run)])


def mixed(run: list[Row], chance: random.Random) -> list[Row]:
    queues: dict[Any, list[Row]] = defaultdict(list)
    for row in run:
        queues[row["row_id"]].append(row)
    order = [name for name, queue in queues.items() for _ in queue]
    chance.shuffle(order)
    taken = [queues[name].pop(0) for name in order]
    return [
        {**row, **{name: at[name] for name in ("window_start", "slice", "ordinal", "scn")}}
        for row, at in zip(taken, run, strict=True)
    ]


@dataclass(frozen=True)
class Gathered:
    """Histories landed as one window, with what the reference makes of each table."""

    window: LandedWindow
    begun: tuple[int, ...]
    expected: tuple[Dispositions, ...]

    def differing(self, spark: Any) -> list[int]:
        """Return the numbers of the histories in which Spark and the reference differ."""
        found = by_spark(spark, self.window, self.begun)
        return sorted({n // len(TABLES) for n, dispositions in enumerate(self.expected) if dispositions.differ(found[n])})


def gather(folder: Path, histories: Sequence[Played]) -> Gathered:
    apart = [set_apart(history.rows, number) for number, history in enumerate(histories)]
    expected = tuple(
        defined(rows, f"{table}{number}", history.begun)
        for number, (history, rows) in enumerate(zip(histories, apart, strict=True))
        for table in TABLES
    )
    window = land(folder, 0, END, [row for rows in apart for row in rows])
    return Gathered(window, tuple(history.begun for history in histories), expected)


def differing(spark: Any, folder: Path, histories: Sequence[Played]) -> list[int]:
    """Return the numbers of the histories in which Spark and the reference differ."""
    return gather(folder, histories).differing(spark)


def set_apart(rows: Sequence[Row], number: int) -> list[Row]:
    slices = {at: n for n, at in enumerate(sorted({(row["window_start"], row["slice"]) for row in rows}))}
    return [
        {
            **row,
            "con_id": 10 * number + row["con_id"],
            "slice": 10_000 * number + slices[row["window_start"], row["slice"]],
            "table_name": f"{row['table_name']}{number}",
            "object_id": 1_000_000 * number + (row["object_id"] or 0),
            "window_start": 0,
        }
        for row in rows
        if row["operation_code"] != Operation.DDL
    ]


def defined(rows: Sequence[Row], table: str, begun: int) -> Dispositions:
    own = [row for row in rows if row["operation_code"] in ENDS or row["table_name"] == table]
    changes = assemble(own, position=begun, open_since=begun - OPEN_FOR)
    # In the reference a commit that nobody knows has thread 0 and no RS_ID.
    by_row = {
        (change.row["slice"], change.row["ordinal"]): (
            change.disposition,
            *(one or None for one in change.commit or (0, 0, "")),
        )
        for change in changes
    }
    return Dispositions(any(change.problem for change in changes), by_row)


def by_spark(spark: Any, window: LandedWindow, begun: Sequence[int]) -> list[Dispositions]:
    captured = [
        CapturedTable(len(TABLES) * number + n, TableId("SHOP", f"{table}{number}"), (), scn, END, open_since=scn - OPEN_FOR)
        for number, scn in enumerate(begun)
        for n, table in enumerate(TABLES)
    ]
    found = assemble_batch(spark, ScnRange(0, END), [window], [], captured, "FREEPDB1")
    by_row: list[dict[tuple[int, int], tuple[Any, ...]]] = [{} for _ in captured]
    for row in found.changes.drop("sql_redo").collect():
        commit = row["commit_scn"], row["commit_thread"], row["commit_rs_id"]
        by_row[row["table_number"]][row["slice"], row["ordinal"]] = (row["disposition"], *commit)
    stopped = {table for table, _ in found.accounting.problems}
    for table in captured:
        assert found.accounting.balance(table.number, found.input_counts).difference == 0
    return [Dispositions(table.number in stopped, by_row[table.number]) for table in captured]
