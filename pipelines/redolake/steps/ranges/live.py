"""A backfill into the live tables: read the rows again that an old SCN range has touched.

Nothing is folded again from old values. The redo of the range names the keys, and each row with one of them is read AS OF the
table's own position and merged in a commit that leaves the position as it is (repair.py). So a row that changed later has its
later state, a deleted row stays deleted, and a DDL since then needs nothing special: no row gets older.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from redolake.config import Pipeline
from redolake.context import Report, open_context, owner, silent
from redolake.errors import RedolakeError, Transient
from redolake.reconcile.ledger import reconcile_ledger
from redolake.source import ConnectParams
from redolake.steps.proof.repair import RepairedTable, repair_table
from redolake.steps.ranges.live_range import FoundRows, live_range, read_rows
from redolake.steps.ranges.logs import LogsToRead, mine_logs, plan_logs
from redolake.steps.ranges.range_ends import RangeEnd, database_clock, find_range_ends
from redolake.steps.ranges.replay import OldRange, choose, range_of
from redolake.steps.ranges.touched_keys import TouchedRows
from redolake.steps.shared.decisions import check_reason
from redolake.steps.shared.spark_session import spark_when_needed
from redolake.values.table import TableId

Again = Callable[[str, Sequence[Mapping[str, str]]], RepairedTable]

STILL_DIFFER = "some of the rows that were read again still differ: run it again"


@dataclass(frozen=True, slots=True)
class LiveTable:
    """A table into which a range is filled again. `changes` rows of redo name `keys`; `unknown` changes have no key that can be
    read, the first `why_unknown`. `why_not` says why the table stays as it is. The counts are those of the rows read again."""

    table: str
    applied_scn: int | None = None
    changes: int = 0
    keys: int = 0
    unknown: int = 0
    why_unknown: str = ""
    why_not: str = ""
    is_done: bool = False
    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def lines(self) -> tuple[str, ...]:
        if self.why_not:
            return (f"{self.table}: stays as it is: {self.why_not}",)
        named = f"{self.table}: {self.changes} change(s) of {self.keys} key(s)"
        if self.is_done:
            line = f"{named}: {self.inserted} row(s) inserted, {self.updated} updated, {self.deleted} deleted"
        else:
            line = f"{named}, whose rows are read again AS OF its position, SCN {self.applied_scn}"
        left = f"  not known: the rows of {self.unknown} change(s), which are left out: {self.why_unknown}"
        return (line, left) if self.unknown else (line,)


@dataclass(frozen=True, slots=True)
class LiveBackfill:
    """What a backfill into live tables reads and does. `logs_plan` has the logs that are not mined yet; then the tables are not
    known. `cut` transactions commit in the range and began before everything that is landed."""

    pipeline: str
    start: RangeEnd
    end: RangeEnd
    windows: int = 0
    cut: int = 0
    tables: tuple[LiveTable, ...] = ()
    logs_plan: tuple[str, ...] = ()
    executed: bool = False

    @property
    def is_whole(self) -> bool:
        """Return whether every row that the range has touched is known, and read again if it was executed."""
        return not self.cut and not any(table.why_not or table.unknown for table in self.tables)

    @property
    def lines(self) -> tuple[str, ...]:
        head = f"{self.start} to {self.end}, into the live tables"
        if self.logs_plan:
            return (head, *self.logs_plan, "which keys they name is known once they are mined")
        cut = f"not known: what {self.cut} transaction(s) changed before SCN {self.start.scn}, of which nothing older is landed"
        verify = "prove it: redolake verify " + " ".join(table.table for table in self.tables if table.is_done)
        return (
            head,
            f"reads the keys in {self.windows} window(s)" if not self.executed else f"{self.windows} window(s) read",
            *(line for table in self.tables for line in table.lines),
            *((cut,) if self.cut else ()),
            *((verify,) if any(table.is_done for table in self.tables) else ()),
        )


def backfill_live(
    pipeline: Pipeline,
    start: str | int,
    end: str | int,
    tables: Sequence[str] | None = None,
    *,
    execute: bool = False,
    reason: str = "",
    by: str = "",
    from_logs: LogsToRead | None = None,
    source: ConnectParams | None = None,
    spark: Any = None,
    report: Report = silent,
    opens: Callable[[], Any] | None = None,
) -> LiveBackfill:
    """Show which rows of the live tables a range has touched, or read them again. `start` and `end` are moments
    (values/moment.py). A repeat, and one after a kill, reads them once more, which changes nothing further.

    Raises ConfigurationError where the range is not there, RedoLost where logs of it are missing.
    """
    if execute:
        check_reason("a backfill into live tables", reason)
    with open_context(pipeline) as context:
        reconcile_ledger(context)
        chosen = choose(context.pipeline, tables)
        manifests = context.landing.windows.after()
        first, last = find_range_ends(context, manifests, start, end, database_clock(context, source))
        scns = range_of(first.scn, last.scn)
        found = LiveBackfill(context.name, first, last)
        beside_it = context
        if from_logs is not None:
            planned = plan_logs(context, scns, chosen, from_logs, report)
            if not execute:
                return replace(found, logs_plan=planned.lines)
            beside_it = mine_logs(planned)
        one = live_range(beside_it, scns, chosen)
        rows = read_rows(context, one, report)
        found = replace(found, windows=len(one.windows), cut=len(rows.cut), tables=planned_tables(one, rows))
        if not execute:
            return found
        with spark_when_needed(pipeline, spark, opens) as opened:
            again = partial(
                repair_table,
                pipeline,
                reason=reason.strip(),
                by=by or owner(),
                cause=f"a backfill of SCN {scns}",
                source=source,
                report=report,
            )
            fill = partial(fill_table, rows.touched, lambda table, keys: again(table, keys=keys, spark=opened.session()))
            done = tuple(map(fill, found.tables))
        reconcile_ledger(context)
        return replace(found, tables=done, executed=True)


def planned_tables(one: OldRange, rows: FoundRows) -> tuple[LiveTable, ...]:
    found = list[LiveTable]()
    for past in one.histories.values():
        entry, touched = past.entry, rows.touched.tables.get(past.table)
        applied = None if entry is None or entry.complete_to_scn is None else int(entry.complete_to_scn)
        table = LiveTable(str(past.table), applied, why_not=rows.why_not.get(past.table, ""))
        if touched is not None:
            table = replace(
                table,
                changes=touched.changes,
                keys=len(touched.keys),
                unknown=touched.unknown,
                why_unknown=touched.why_unknown,
            )
        found.append(table)
    return tuple(found)


# --- The tables -------------------------------------------------------------------------------------------------------


def fill_table(touched: TouchedRows, again: Again, one: LiveTable) -> LiveTable:
    """Read the table's rows again. An error of this table alone leaves it as it is, and the others are filled."""
    found = touched.tables.get(TableId.parse(one.table))
    if one.why_not or found is None:
        return one
    try:
        done = [again(one.table, part) for part in found.parts()]
    except RedolakeError as error:
        if isinstance(error, Transient) or "table" not in error.where:
            raise
        return replace(one, why_not=f"{error.code}: {error.what}: {error.cure}")
    return replace(
        one,
        is_done=True,
        why_not="" if all(part.equal for part in done) else STILL_DIFFER,
        inserted=sum(part.inserted for part in done),
        updated=sum(part.updated for part in done),
        deleted=sum(part.deleted for part in done),
        applied_scn=max((part.applied_scn for part in done), default=one.applied_scn),
    )
