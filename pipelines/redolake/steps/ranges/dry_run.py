"""What a backfill shows before anything is written: what it reads, what it crosses, what it cannot know, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from redolake.errors import plain_lines
from redolake.records.batches.spec import BatchSpec, TableTask
from redolake.records.windows import WindowManifest
from redolake.steps.ranges.range_ends import RangeEnd
from redolake.steps.ranges.replay import lacks_marks
from redolake.values.delivery import widest
from redolake.values.scn import ScnRange
from redolake.values.table import TableId

CHANGES = ("insert", "update", "delete")
NOT_LOGGED = "columns that are not logged: `_unknown_before` and `_unknown_after` name them, and the result has a count"


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """`changes` are the change rows in the windows by operation: windows at the edges have some outside the range too.
    `versions` are the SCNs inside the range at which its columns change; `unknown` says what will not be known, and why."""

    table: str
    target: str
    changes: Mapping[str, int]
    versions: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BackfillPlan:
    """`reads_from` is the SCN of the first window that is read: a transaction that commits in the range may have begun before
    it, and `open_rows` rows of `open_transactions` such ones are carried from there. `read_bytes` is the size of all files.
    `seconds` is an estimate by what the last batches took, None where none has run."""

    start: RangeEnd
    end: RangeEnd
    windows: int
    logs: int
    rows: int
    reads_from: int
    read_bytes: int
    open_transactions: int
    open_rows: int
    tables: tuple[PlannedTable, ...] = field(default=())
    seconds: float | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        """The plan as lines of text."""
        read = f"reads {self.windows} window(s) of {self.logs} log(s) from SCN {self.reads_from}: {self.rows} change rows"
        edges = "transactions that commit in the range are applied whole, also their changes from before it"
        carried = f" ({self.open_transactions} open at SCN {self.reads_from}, {self.open_rows} rows)"
        time = "" if self.seconds is None else f"; some {max(1, round(self.seconds))} s, by what the last batches took"
        lines = (
            f"{self.start} to {self.end}",
            f"{read}, {self.read_bytes} bytes; all files are there{time}",
            f"{edges}{carried if self.open_transactions else ''}; those that are open at its end are left out",
            *(line for table in self.tables for line in lines_of(table)),
        )
        return plain_lines(lines)


def lines_of(table: PlannedTable) -> Iterator[str]:
    changes = ", ".join(f"{table.changes[kind]} {kind}(s)" for kind in CHANGES if table.changes.get(kind)) or "no changes"
    columns = f"; its columns change at SCN {', '.join(map(str, table.versions))}" if table.versions else ""
    yield f"{table.table}: {changes}{columns}, into {table.target}"
    yield from (f"  not known: {what}" for what in table.unknown)


def plan_of(spec: BatchSpec, windows: Sequence[WindowManifest], start: RangeEnd, end: RangeEnd, scns: ScnRange) -> BackfillPlan:
    """Return the plan of a spec whose tables have their targets; `windows` are those of the range."""
    tables = tuple(planned_table(task, windows, scns, is_changes=spec.changes is not None) for task in spec.tables)
    return BackfillPlan(
        start=start,
        end=end,
        windows=len(spec.redo.windows),
        logs=len({log for window in windows for log in window.logs}),
        rows=sum(sum(table.changes.values()) for table in tables),
        reads_from=spec.start,
        read_bytes=sum(digest.bytes for digest in spec.redo.digests.values()),
        open_transactions=len(spec.redo.open_in),
        open_rows=sum(transaction.rows for transaction in spec.redo.open_in),
        tables=tables,
    )


def seconds_for(rows: int, results: Iterable[Mapping[str, Any]]) -> float | None:
    """Return how long a batch of so many rows may take: what the shortest of the last batches took, and its rows at the best
    rate among them. None where no batch has said."""
    found = list[tuple[float, int]]()
    for result in results:
        seconds = result.get("seconds", {})
        took = float(seconds.get("assemble") or 0) + float(seconds.get("apply") or 0)
        if took > 0:
            found.append((took, sum(account.get("landed", 0) for account in result.get("accounts", {}).values())))
    if not found:
        return None
    best = max(landed / took for took, landed in found)
    return min(took for took, _ in found) + (rows / best if best else 0.0)


def planned_table(task: TableTask, windows: Sequence[WindowManifest], scns: ScnRange, *, is_changes: bool) -> PlannedTable:
    changes = changes_of(task.table, windows)
    versions = tuple(int(version.from_scn) for version in task.course.versions if version.from_scn in scns)
    unknown = unknown_of_changes(task) if is_changes else unknowns(task, changes, scns)
    return PlannedTable(str(task.table), task.destination.target, changes, versions, tuple(unknown))


def changes_of(table: TableId, windows: Sequence[WindowManifest]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for window in windows:
        for label, count in window.counts.items():
            name, _, kind = label.rpartition(" ")
            if name == str(table):
                found[kind] += count
    return dict(found)


def unknown_of_changes(task: TableTask) -> tuple[str, ...]:
    """Return what the plan does not know of the changes of a table."""
    filters = [version.mapping.where for version in task.course.versions if version.mapping is not None]
    texts = dict.fromkeys(one.text for one in filters if one is not None)
    return (NOT_LOGGED, *(f"which of them `where: {text}` leaves out: the result has a count" for text in texts))


def unknowns(task: TableTask, changes: Mapping[str, int], scns: ScnRange) -> Iterator[str]:
    """Yield what a shadow of the range cannot know: it begins without rows."""
    delivery = widest(task.course.deliveries)
    if changes.get("update") and delivery.rereads != "rows":
        yield (
            "columns that an UPDATE of a row from before the range leaves as they are, if not all columns were logged: the "
            "shadow stops at the first one"
        )
    if delivery.pieces:
        yield "large objects from before the range that a change keeps, or changes in part: the shadow stops there"
    if delivery.rereads:
        yield f"{delivery.rereads} between the ends of windows: they were read again AS OF these, not after each change"
    if lacks_marks(task):
        yield "which rows were deleted: a row may have a NULL in its key, so none is marked"
    if any(step.kind in ("truncate", "remove_rows") and step.scn in scns for step in task.course.ddl):
        yield "which rows from before the range a TRUNCATE or a dropped partition removed: only rows of the range are marked"
