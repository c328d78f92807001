"""The text of `redolake stats`: several tables below each other, each of which fits a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from rich.console import Group

from redolake.cli.output import Grid, grid
from redolake.values.terms import TERMS, account_text
from redolake.values.utc import utc_text

if TYPE_CHECKING:
    from redolake.ledger.batch_stats import RowStats
    from redolake.steps.shown.stats import BatchStats, PipelineStats

TIMES = "Commits of applied changes at the source, UTC"
UNBROKEN = ("SCNs",)

Named = Sequence[tuple[str, "RowStats"]]


class StatsBy(StrEnum):
    table = "table"
    batch = "batch"


def stats_text(found: PipelineStats, by: StatsBy) -> Group | str:
    title = f"{found.pipeline}: since {utc_text(found.since)} UTC, {len(found.batches)} batch(es)"
    if not found.tables:
        return f"{title}; none of them read changes"
    of_tables = [*((one.table, one.total) for one in found.tables), ("all", found.total)]
    if by is StatsBy.table:
        batches = [*(one.batches for one in found.tables), len(found.batches)]
        first, times = changed_grid("table", "batches", of_tables, batches), time_grid("table", of_tables)
        return Group(title, first, read_grid("table", of_tables), *ddl_grid("table", of_tables), times)
    lines = [(scns_of(one), one.total) for one in found.batches]
    first = changed_grid("SCNs", "windows", lines, [one.windows for one in found.batches])
    return Group(title, first, read_grid("SCNs", lines), *ddl_grid("SCNs", lines), batch_time_grid(found.batches))


def scns_of(batch: BatchStats) -> str:
    return f"{batch.from_scn}-{batch.to_scn}"


def changed_grid(what: str, of: str, lines: Named, numbers: Sequence[int]) -> Grid:
    """Return how many rows of Delta tables changed, and what of the changes was masked or is NULL by rule, if anything."""
    shown = [
        term for term in TERMS
        if term.counts == "table" or (term.counts == "applied" and any(one.count(term) for _, one in lines))
    ]  # fmt: skip
    rows = [(name, number, *(one.count(term) for term in shown)) for (name, one), number in zip(lines, numbers, strict=True)]
    return grid("Rows of the Delta tables", (what, of, *(term.text for term in shown)), rows, UNBROKEN)


def read_grid(what: str, lines: Named) -> Grid:
    """Return the change rows that were read, and what became of them: as text, since there are many terms, and most are 0."""
    rows = [(name, one.size, account_text(one.rows)) for name, one in lines]
    return grid("Change rows", (what, "read", "of these"), rows, UNBROKEN)


def ddl_grid(what: str, lines: Named) -> Iterator[Grid]:
    """Yield the DDL that tables followed, if there was any."""
    rows = [(name, ddl_text(one.ddl)) for name, one in lines if one.ddl]
    if rows:
        yield grid("DDL that was followed", (what, "changes"), rows, UNBROKEN)


def ddl_text(ddl: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in sorted(ddl.items()))


def time_grid(what: str, lines: Named) -> Grid:
    rows = [(name, *commits_of(one), one.seconds) for name, one in lines]
    return grid(TIMES, (what, "first commit", "last commit", "seconds of work"), rows, UNBROKEN)


def batch_time_grid(batches: Sequence[BatchStats]) -> Grid:
    rows = [
        (scns_of(one), *commits_of(one.total), utc_text(one.landed_at), utc_text(one.applied_at), round(one.total.seconds, 1))
        for one in batches
    ]
    columns = ("SCNs", "first commit", "last commit", "landed", "applied", "s of work")
    return grid(f"{TIMES}, and when they arrived", columns, rows, UNBROKEN)


def commits_of(one: RowStats) -> tuple[str, str]:
    return utc_text(one.first_commit_at), utc_text(one.last_commit_at)
