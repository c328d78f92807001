"""The right side of the invariant: what became of every change row, counted in one aggregation before anything is merged."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.assemble.input_counts import InputCounts
from pipelines.assemble.transactions import APPLIED, BEFORE_POSITION, CARRIED_OUT, DROPPED, HELD, ROLLED_BACK, UNDONE
from pipelines.batch import CARRIED_IN, Balance, LandedWindow
from pipelines.errors import InvariantBroken, RedoNotUnderstood
from pipelines.table import TableId


@dataclass(frozen=True, slots=True)
class Problem:
    """The first row of a piece that is not understood."""

    scn: int
    what: str

    def error(self, table: TableId) -> RedoNotUnderstood:
        return RedoNotUnderstood(
            self.what,
            cure=f"`redolake snapshot {table} --replace` reads the table anew behind this commit; where such changes come "
            "again, take it out of `tables`. The landed redo is kept: please report what Redolake should understand",
            table=table,
            commit_scn=self.scn,
        )


@dataclass(frozen=True, slots=True)
class RowAccounting:
    """Rows by (table, piece, disposition, window), and the first problem of each (table, piece). The window is that where
    a row was landed, by its start; None for rows that were carried in."""

    rows: Mapping[tuple[int, int, str, int | None], int]
    problems: Mapping[tuple[int, int], Problem]

    def count(self, table: int, disposition: str, piece: int | None = None) -> int:
        return sum(rows for (s, p, d, _), rows in self.rows.items() if (s, d) == (table, disposition) and piece in (None, p))

    def balance(self, table: int, input_counts: InputCounts) -> Balance:
        return Balance(
            landed=input_counts.landed.get(table, 0),
            carried_in=input_counts.carried.get(table, 0),
            applied=self.count(table, APPLIED),
            undone=self.count(table, UNDONE),
            rolled_back=self.count(table, ROLLED_BACK),
            carried_out=self.count(table, CARRIED_OUT),
            before_position=self.count(table, BEFORE_POSITION),
            held=self.count(table, HELD),
            dropped=self.count(table, DROPPED),
        )

    def accounts(
        self, windows: Sequence[LandedWindow], input_counts: InputCounts, applied: Mapping[int, int] | None = None
    ) -> dict[str, Balance]:
        """What has become of the rows of each window, and of those that were carried in. `applied` says how many each table
        got in the end, where that is known: a table that was held on the way lacks its last pieces."""
        lacking = {(s, p) for s, count in (applied or {}).items() for p in self.pieces_behind(s, count)}
        ends: defaultdict[int | None, Counter[str]] = defaultdict(Counter)
        for (table, piece, disposition, window), rows in self.rows.items():
            ends[window][HELD if disposition == APPLIED and (table, piece) in lacking else disposition] += rows
        told = {w.name: Balance(landed=input_counts.per_window.get(w.start, 0), **ends[w.start]) for w in windows}
        return {**told, CARRIED_IN: Balance(carried_in=sum(input_counts.carried.values()), **ends[None])}

    def pieces_behind(self, table: int, applied: int) -> list[int]:
        pieces = sorted({piece for s, piece, disposition, _ in self.rows if (s, disposition) == (table, APPLIED)})
        done = accumulate(self.count(table, APPLIED, piece) for piece in pieces)
        return [piece for piece, until in zip(pieces, done, strict=True) if until > applied]


def account_rows(changes: DataFrame) -> RowAccounting:
    wanted = F.col("disposition").isin(APPLIED, UNDONE, CARRIED_OUT) & F.col("problem").isNotNull()
    window = F.when(~F.col("carried"), F.col("window_start")).alias("window")
    counted = changes.groupBy("table_number", "piece", "disposition", window).agg(
        F.count("*").alias("rows"),
        F.min(F.when(wanted, F.struct("stop_scn", "problem"))).alias("first"),
    )
    rows: dict[tuple[int, int, str, int | None], int] = {}
    problems: dict[tuple[int, int], Problem] = {}
    for row in counted.collect():
        rows[row["table_number"], row["piece"], row["disposition"], row["window"]] = row["rows"]
        if row["first"] is not None:
            place, problem = (row["table_number"], row["piece"]), Problem(row["first"]["stop_scn"], row["first"]["problem"])
            if place not in problems or problem.scn < problems[place].scn:
                problems[place] = problem
    return RowAccounting(rows, problems)


def check_balance(balance: Balance, *, table: TableId | None = None, window: str | None = None) -> None:
    """Raises InvariantBroken with all figures."""
    if balance.difference:
        terms = ", ".join(f"{name} {getattr(balance, name)}" for name in Balance.__dataclass_fields__)
        raise InvariantBroken(
            f"change rows do not add up, {balance.difference:+d}: {terms}",
            cure="nothing was merged; report it with the batch file and the landed windows",
            table=table,
            window=window,
        )
