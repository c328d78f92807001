"""Row accounting: count the change rows by disposition, in one aggregation, before anything is merged."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.assemble.input_counts import InputCounts
from redolake.assemble.transactions import (
    APPLIED,
    CARRIED_OUT,
    DROPPED,
    HELD,
    UNDONE,
)
from redolake.errors import OF_BATCH, InvariantBroken, RedoNotUnderstood, report_with
from redolake.records.batches.manifest import CARRIED_IN, RowAccount
from redolake.records.batches.spec import LandedWindow
from redolake.values.table import TableId
from redolake.values.terms import OF_ACCOUNT


@dataclass(frozen=True, slots=True)
class Problem:
    """The first row of a commit range that cannot be applied, and the reason."""

    scn: int
    what: str

    def error(self, table: TableId) -> RedoNotUnderstood:
        return RedoNotUnderstood(
            self.what,
            cure=f"run `redolake snapshot {table} --replace`; where such changes come again, remove the table from `tables`. "
            f"The landed redo is kept: {report_with('the row shown')}, so that a later version reads it",
            table=table,
            commit_scn=self.scn,
        )


@dataclass(frozen=True, slots=True)
class RowAccounting:
    """Row counts by (table, commit range, disposition, window); the first problem of each (table, commit range); of its changes
    that are to be applied the lowest and highest SCN, and the first and last commit time by the database host's clock; of those
    that name no transaction the highest SCN of each table.

    The window is the start SCN of the one in which a row was landed; None for rows that were carried in.
    """

    rows: Mapping[tuple[int, int, str, int | None], int]
    problems: Mapping[tuple[int, int], Problem]
    scns: Mapping[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    times: Mapping[tuple[int, int], tuple[datetime, datetime]] = field(default_factory=dict)
    without_transaction: Mapping[int, int] = field(default_factory=dict)

    def count(self, table: int, disposition: str, range_number: int | None = None) -> int:
        return sum(
            rows for (t, r, d, _), rows in self.rows.items() if (t, d) == (table, disposition) and range_number in (None, r)
        )

    def windows(self, table: int, range_number: int) -> dict[str, int]:
        """Return the changes of a range that are to be applied, by the start of the window in which they landed."""
        own = ((w, rows) for (t, r, d, w), rows in self.rows.items() if (t, r, d) == (table, range_number, APPLIED))
        return {CARRIED_IN if window is None else str(window): rows for window, rows in own}

    @property
    def readers(self) -> int:
        """How many commit ranges have changes to be applied; the rows of open transactions are read by the carry-over."""
        read = {(t, r) for t, r, disposition, _ in self.rows if disposition == APPLIED}
        return len(read) + any(disposition == CARRIED_OUT for _, _, disposition, _ in self.rows)

    def balance(self, table: int, input_counts: InputCounts) -> RowAccount:
        """Return the account of one table."""
        return RowAccount(
            landed=input_counts.landed.get(table, 0),
            carried_in=input_counts.carried.get(table, 0),
            **{term.name: self.count(table, term.name) for term in OF_ACCOUNT},
        )

    def accounts(
        self,
        windows: Sequence[LandedWindow],
        input_counts: InputCounts,
        applied: Mapping[int, int] | None = None,
        moved: Mapping[tuple[str, str, str], int] | None = None,
    ) -> dict[str, RowAccount]:
        """Return the account of each window by its name, and that of the rows that were carried in.

        `applied` counts the rows that were merged into each table, once known. A table that was held during the batch lacks
        its last commit ranges; their rows count as held. `moved` are changes that apply has counted under another term: by the
        term here, the right one, and the window as `windows` has it; rows from before the batch's windows were carried in.
        """
        held = {(t, r) for t, count in (applied or {}).items() for r in self.ranges_not_applied(t, count)}
        ends: defaultdict[int | None, Counter[str]] = defaultdict(Counter)
        for (table, range_number, disposition, window), rows in self.rows.items():
            ends[window][HELD if disposition == APPLIED and (table, range_number) in held else disposition] += rows
        starts = {str(window.start): window.start for window in windows}
        for (counted_as, term, start), rows in (moved or {}).items():
            ends[starts.get(start)].update({counted_as: -rows, term: rows})
        landed = {w.name: RowAccount(landed=input_counts.per_window.get(w.start, 0), **ends[w.start]) for w in windows}
        return {**landed, CARRIED_IN: RowAccount(carried_in=sum(input_counts.carried.values()), **ends[None])}

    def ranges_not_applied(self, table: int, applied: int) -> list[int]:
        """Return the commit ranges after the first `applied` rows of a table."""
        ranges = sorted({number for t, number, disposition, _ in self.rows if (t, disposition) == (table, APPLIED)})
        totals = accumulate(self.count(table, APPLIED, number) for number in ranges)
        return [number for number, total in zip(ranges, totals, strict=True) if total > applied]


def account_rows(changes: DataFrame) -> RowAccounting:
    """Count the rows of `changes` by their disposition, and find the first problem of each commit range."""
    wanted = F.col("disposition").isin(APPLIED, UNDONE, CARRIED_OUT) & F.col("problem").isNotNull()
    window = F.when(~F.col("carried"), F.col("window_start")).alias("window")
    counted = changes.groupBy("table_number", "range_number", "disposition", window).agg(
        F.count("*").alias("rows"),
        F.count_if(wanted).alias("problems"),
        F.min("scn").alias("low"),
        F.max("scn").alias("high"),
        F.min("commit_at").alias("first"),
        F.max("commit_at").alias("last"),
        F.max(F.when(F.col("unattributed") & (F.col("disposition") != DROPPED), F.col("scn"))).alias("without_transaction"),
    )
    rows: dict[tuple[int, int, str, int | None], int] = {}
    scns: dict[tuple[int, int], tuple[int, int]] = {}
    times: dict[tuple[int, int], tuple[datetime, datetime]] = {}
    without: dict[int, int] = {}
    counts = counted.collect()
    for row in counts:
        table, range_number = row["table_number"], row["range_number"]
        rows[table, range_number, row["disposition"], row["window"]] = row["rows"]
        if row["without_transaction"] is not None:
            without[table] = max(row["without_transaction"], without.get(table, 0))
        if row["disposition"] == APPLIED:
            low, high = scns.get((table, range_number), (row["low"], row["high"]))
            scns[table, range_number] = min(low, row["low"]), max(high, row["high"])
            if row["first"] is not None:
                first, last = times.get((table, range_number), (row["first"], row["last"]))
                times[table, range_number] = min(first, row["first"]), max(last, row["last"])
    problems = first_problems(changes.filter(wanted)) if any(row["problems"] for row in counts) else {}
    return RowAccounting(rows, problems, scns, times, without)


def first_problems(changes: DataFrame) -> dict[tuple[int, int], Problem]:
    """Return the first problem by (table, commit range). A query of its own: Spark would sort all changes to find a text."""
    first = changes.groupBy("table_number", "range_number").agg(F.min(F.struct("problem_scn", "problem")).alias("first"))
    return {(row["table_number"], row["range_number"]): Problem(*row["first"]) for row in first.collect()}


def check_balance(balance: RowAccount, *, table: TableId | None = None, window: str | None = None) -> None:
    """Raise InvariantBroken, with all terms, unless the account adds up."""
    if balance.difference:
        terms = ", ".join(f"{name} {getattr(balance, name)}" for name in RowAccount.__dataclass_fields__)
        raise InvariantBroken(
            f"change rows do not add up, {balance.difference:+d}: {terms}",
            cure=f"run again, which counts again; nothing was merged. If it comes again, {report_with(OF_BATCH)}",
            table=table,
            window=window,
        )
