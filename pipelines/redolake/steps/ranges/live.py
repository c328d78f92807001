"""A backfill into the live tables: read the rows again that an old SCN range has touched.

Nothing is folded again from old values. The redo of the range names the keys, and each row with one of them is read AS OF the
table's own position and merged in a commit that leaves the position as it is (repair.py). So a row that changed later has its
later state, a deleted row stays deleted, and a DDL since then needs nothing special: no row gets older.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from redolake.context import Run, step
from redolake.errors import RedolakeError, Transient, in_shell, plain_lines
from redolake.host.progress import Progress
from redolake.land.dictionary import Readings
from redolake.reconcile.ledger import reconcile_ledger
from redolake.reconcile.mined_names import mined_names
from redolake.reconcile.settling import settles_at
from redolake.reconcile.table_versions import history, known_versions, object_ids, owners_of_unknown, table_task
from redolake.schema import version_as_of
from redolake.steps.proof.repair import ReadAgain, read_again
from redolake.steps.ranges.logs import LogsToRead, find_committed, mine_logs, plan_logs
from redolake.steps.ranges.range_ends import RangeEnd, database_clock, find_range_ends
from redolake.steps.ranges.replay import (
    OldRange,
    TableHistory,
    check_tables,
    missing_files,
    old_range,
    range_of,
    refuse,
)
from redolake.steps.ranges.touched_keys import TouchedRows, TouchedTable, read_beginnings, read_window, why_not_by_key
from redolake.steps.shared.named_tables import named_tables
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId


@dataclass(frozen=True, slots=True)
class LiveBackfill:
    """What a backfill into live tables reads and does. `logs_plan` has the logs that are not mined yet; then the tables are not
    known. `cut` transactions commit in the range and began before everything that is landed."""

    pipeline: str
    start: RangeEnd
    end: RangeEnd
    windows: int = 0
    cut: int = 0
    tables: tuple[ReadAgain, ...] = ()
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
            return plain_lines((head, *self.logs_plan, "which keys they name is known once they are mined"))
        cut = f"not known: what {self.cut} transaction(s) changed before SCN {self.start.scn}, of which nothing older is landed"
        done = " ".join(in_shell(table.table) for table in self.tables if table.equal)
        verify = f"prove it: `redolake verify {done}`"
        lines = (
            head,
            f"reads the keys in {self.windows} window(s)" if not self.executed else f"{self.windows} window(s) read",
            *(line for table in self.tables for line in table.lines),
            *((cut,) if self.cut else ()),
            *((verify,) if any(table.equal for table in self.tables) else ()),
        )
        return plain_lines(lines)


@step
def backfill_live(
    run: Run, start: str | int, end: str | int, tables: Sequence[str] | None = None, *, from_logs: LogsToRead | None = None
) -> LiveBackfill:
    """Show which rows of the live tables a range has touched, or read them again. `start` and `end` are moments
    (values/moment.py). A repeat, and one after a kill, reads them once more, which changes nothing further.

    Raises ConfigurationError where the range is not there, RedoLost where logs of it are missing.
    """
    if run.execute:
        run.decision("a backfill into live tables")
    reconcile_ledger(run)
    chosen = named_tables(run, tables)
    manifests = run.landing.windows.after()
    first, last = find_range_ends(run, manifests, start, end, database_clock(run))
    scns = range_of(first.scn, last.scn)
    found = LiveBackfill(run.name, first, last)
    beside_it = run
    if from_logs is not None:
        planned = plan_logs(run, scns, chosen, from_logs)
        if not run.execute:
            return replace(found, logs_plan=planned.lines)
        beside_it = mine_logs(planned)
    one = check_tables(old_range(beside_it, scns, chosen))
    refuse(list(missing_files(beside_it, one.windows)))
    rows = read_rows(run, one)
    asked = ReadAgain("", cause=f"a backfill of SCN {scns}", by=run.decided_by, reason=run.reason)
    found = replace(found, windows=len(one.windows), cut=len(rows.cut), tables=planned_tables(one, rows, asked))
    if not run.execute:
        return found
    done = tuple(fill_table(run, table, rows) for table in found.tables)
    reconcile_ledger(run)
    return replace(found, tables=done, executed=True)


def planned_tables(one: OldRange, rows: TouchedRows, asked: ReadAgain) -> tuple[ReadAgain, ...]:
    found = list[ReadAgain]()
    for past in one.histories.values():
        entry, touched = past.entry, rows.tables.get(past.table)
        scn, why = None if entry is None else entry.complete_to_scn, rows.why_not.get(past.table, "")
        table = replace(asked, table=str(past.table), applied_scn=scn, why_not=why)
        if touched is not None:
            table = replace(table, changes=touched.changes, rows=len(touched.keys))
            table = replace(table, unknown=touched.unknown, why_unknown=touched.why_unknown)
        found.append(table)
    return tuple(found)


# --- The tables -------------------------------------------------------------------------------------------------------


def fill_table(run: Run, one: ReadAgain, touched: TouchedRows) -> ReadAgain:
    """Read the table's rows again. An error of this table alone leaves it as it is, and the others are filled."""
    found = touched.tables.get(TableId.parse(one.table))
    if one.why_not or found is None:
        return one
    try:
        return read_again(run, one, found.named_keys)
    except RedolakeError as error:
        if isinstance(error, Transient) or "table" not in error.where:
            raise
        return replace(one, why_not=f"{error.code}: {error.what}: {error.cure}")


def read_rows(context: Run, one: OldRange) -> TouchedRows:
    """Read which keys the range's changes name, and those of transactions that commit in it and began before it. `context`
    has the chain of the pipeline, also where the range was mined beside it."""
    why_not, tables = dict[TableId, str](), dict[TableId, TouchedTable]()
    for past in one.histories.values():
        found = touched_table(one, past)
        if isinstance(found, str):
            why_not[past.table] = found
        else:
            tables[past.table] = found
    touched = TouchedRows(tables, object_ids(context, {}))
    for number, window in enumerate(one.windows):
        context.report(Progress("", "reading the keys of windows", number, len(one.windows)))
        read_window(one.context, one.context.landing, window, touched, scns=one.scns)
    committed = find_committed(one.context, one.windows, one.scns)
    sought = {found.name for found in committed if found.begun is None or found.begun < one.scns.start}
    start = ChainPosition(one.windows[0].resetlogs_id, one.scns.start)
    cut, older = read_beginnings(context, start, sought, touched)
    known = {past.table: past.versions for past in one.histories.values() if past.table in tables}
    touched.why_not, touched.cut = why_not | dict(owners_of_unknown(context, known, older)), cut
    return touched


def touched_table(one: OldRange, past: TableHistory) -> TouchedTable | str:
    """Return the table with the versions that its changes have in the range; or why its rows cannot be read again."""
    context, entry = one.context, past.entry
    known = known_versions(context, past.table)
    if entry is None or entry.state == "snapshotting" or entry.complete_to_scn is None or not known:
        return "its snapshot is being read: let it end"
    if settles_at(context, entry) is not None:
        return "its chunks were read AS OF several SCNs: let apply run first"
    now = version_as_of(known, entry.complete_to_scn)
    if why := why_not_by_key(context, now):
        return f"{why}: run `redolake snapshot {past.table.in_command} --replace`"
    readings = Readings(context.landing.dictionary)
    then = history(
        context, past.versions, one.windows[0].start, one.windows, one.windows[-1].end, readings, as_configured=False
    )
    stop = then.hold.at_scn if then.hold is not None else None
    if stop is not None and stop < one.scns.end:
        return f"its columns after the DDL at SCN {stop} are not known, which is not followed: end the range there"
    if then.conflict is not None:
        return f"its columns in the range are not known: {then.conflict.what}"
    named = partial(mined_names, context, windows=one.windows, carried=(), readings=readings)
    task = table_task(context, then, "", "", names=named)
    return TouchedTable(now, task.course.versions, task.course.mined_names)
