"""Rebuild a table's history from an older SCN on, by the redo that has landed, or by archived logs where that is gone.

A copy of the table's version of that SCN is brought on by the job that applies batches, which makes a history of its own beside
it. If that ends with the live table's rows, it is added to the live history in one commit, as its newest epochs. The stream
goes on meanwhile: only the last part runs under the apply lease.

From logs, the range up to the first batch whose windows are still there is mined beside the chain (backfill_logs.py) and
applied as one batch. The one that ends there in the chain has the transactions that were open then, and the landed windows
continue it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from redolake.apply.lake_tables import read_log
from redolake.context import Run, step
from redolake.errors import ConfigurationError, Finding, Terminal, one_line
from redolake.ledger import TableEntry
from redolake.reconcile.contents import Contents
from redolake.reconcile.lake_place import lake_place
from redolake.reconcile.ledger import chain_names, reconcile_ledger
from redolake.reconcile.newest_batches import end_of
from redolake.reconcile.next_batch import unbroken
from redolake.reconcile.table_versions import app_id
from redolake.records.batches.spec import BatchSpec
from redolake.records.windows import WindowManifest
from redolake.steps.ranges.as_of import (
    bases_at,
    incarnation_at,
    new_read,
    position_of,
    remove_left,
    remove_read,
    replay,
    with_contents,
)
from redolake.steps.ranges.logs import LogsToRead, PlannedLogs, mine_logs, objections_to_logs, plan_logs
from redolake.steps.ranges.replay import Aim, refuse
from redolake.steps.shared.leases import apply_lease_renewed
from redolake.steps.shared.named_tables import named_table
from redolake.steps.shared.scn_times import time_written
from redolake.values.scn import ChainPosition, Scn, ScnRange
from redolake.values.table import TableId
from redolake.values.utc import beside


@dataclass(frozen=True, slots=True)
class HistoryRebuild:
    """What rebuilding a history reads, and did. `began_at` is the SCN from which the history counts until then, None without
    one; `changes` are the images of rows that it has of the range. `mined` says what is read of archived logs."""

    table: str
    from_scn: int
    to_scn: int
    windows: int
    rows: int
    batches: int
    from_at: str | None = None
    began_at: int | None = None
    mined: tuple[str, ...] = ()
    done: bool = False
    epochs: int = 0
    changes: int = 0

    def __str__(self) -> str:
        where = f"{self.table}: from SCN {self.from_scn}{beside(self.from_at, 'by ')} to SCN {self.to_scn}"
        if self.done:
            return one_line(f"{where}: its history is rebuilt, with {self.changes} images of rows in {self.epochs} epoch(s)")
        read = f"{self.windows} window(s) with {self.rows} change rows of all tables are read, in {self.batches} batch(es)"
        return one_line(". ".join((f"{where}: {read}", *self.mined)))


@dataclass(slots=True)
class Rebuild:
    """One run. `at` is how far the copy is."""

    run: Run
    table: TableId
    base: Contents
    there: Aim
    at: int
    batches: int = 0
    last: BatchSpec | None = None

    def begin(self) -> None:
        from redolake.job.as_of import make_copy

        version = self.there.version(self.run, self.table, self.base)
        make_copy(self.run.spark.session(), version, {"pipeline": self.run.name, "copy": True})

    def bring_to(self, scn: int) -> None:
        """Apply what landed up to the SCN, in batches of no more rows than others have."""
        manifests = self.run.landing.windows.after()
        for end in ends_of(manifests, self.at, scn, self.run.pipeline.batch.max_rows):
            self.bring_on(self.plan(self.run, end, manifests), end)

    def apply_logs(self, logs: PlannedLogs) -> None:
        """Mine the range, and apply it. Raises ConfigurationError for a transaction whose beginning is older than the range."""
        beside, until = mine_logs(logs), int(logs.scns.end) - 1
        windows = beside.landing.windows.after()
        spec = self.plan(beside, until, windows)
        refuse(list(objections_to_logs(beside, spec, windows, logs.scns)))
        self.bring_on(spec, until, ", from logs")

    def plan(self, context: Run, end: int, manifests: Sequence[WindowManifest]) -> BatchSpec:
        base, there = replace(self.base, complete_to=self.at), replace(self.there, part=f"-{self.batches + 1}")
        return replay(context, {self.table: base}, ChainPosition(base.resetlogs_id, end), manifests, there)

    def bring_on(self, spec: BatchSpec, end: int, whence: str = "") -> None:
        from redolake.job.as_of import bring_on

        self.run.report(f"{self.table}: changes up to SCN {end}{whence}")
        bring_on(self.run.spark.session(), spec, self.run.report)
        self.batches, self.last, self.at = self.batches + 1, spec, end


@step
def rebuild_history(context: Run, table_name: str, start: str, *, from_logs: LogsToRead | None = None) -> HistoryRebuild:
    """Show what rebuilding a table's history from a moment on (values/moment.py) takes, or do it. `first` is the table's last
    load. With `from_logs`, redo that has not landed any more is mined again. Raises NotReadableAsOf where the table was not, or
    is not, known then, or where redo since then is missing, and RedoLost where logs of it are.

    A killed run has changed nothing, or everything; what it has left in the lake is removed later."""
    reconcile_ledger(context)
    table = table_with_history(context, table_name)
    (entry,) = with_contents(context, [table])
    at, base = base_of(context, entry, start)
    manifests = context.landing.windows.after()
    end = int(entry.position.scn)
    check_line(entry, base)
    logs = None if from_logs is None else logs_to_mine(context, table, at, ChainPosition(base.resetlogs_id, end), from_logs)
    landed_from = at if logs is None else int(logs.scns.end) - 1
    name, there = new_read(context, "history")
    ends = ends_of(manifests, landed_from, end, context.pipeline.batch.max_rows)
    read = [m for m in manifests if m.end > landed_from + 1 and m.start <= end and m.resetlogs_id == base.resetlogs_id]
    if not ends and logs is None:
        raise Terminal("nothing has been applied since that SCN", cure="choose a lower one", table=table, scn=at)
    if ends:
        last = ChainPosition(base.resetlogs_id, end)
        bases = {table: replace(base, complete_to=landed_from)}
        replay(context, bases, last, manifests, there)  # raises what is against it
    batches = len(ends) + (logs is not None)
    found = HistoryRebuild(str(table), at, end, len(read), sum(m.rows for m in read), batches, time_written(context, at))
    found = replace(found, mined=() if logs is None else logs.lines)
    if not context.execute:
        return found
    return run_rebuild(Rebuild(context, table, base, there, at), name, found, logs)


def logs_to_mine(context: Run, table: TableId, after: int, end: ChainPosition, given: LogsToRead) -> PlannedLogs | None:
    """Return what is mined: from the SCN after `after` to the first batch from which on all windows are there; None where they
    are there from the start. Raises RedoLost where a log of it is missing."""
    tail = [m for m in unbroken(context.landing.windows.after()) if m.resetlogs_id == end.resetlogs_id]
    landed = end.scn + 1 if not tail else int(tail[0].start)
    if landed <= after + 1:
        return None
    ends = (end_of(name) for name in chain_names(context))
    known = [at.scn for at in ends if at.resetlogs_id == end.resetlogs_id and landed <= at.scn <= end.scn]
    scns = ScnRange(Scn(after + 1), Scn(min(known, default=end.scn + 1)))
    return plan_logs(context, scns, [table], given)


def run_rebuild(work: Rebuild, name: str, found: HistoryRebuild, logs: PlannedLogs | None) -> HistoryRebuild:
    from redolake.apply.owner import damage_of
    from redolake.job.history_rebuild import goes_back_to, join_history, says_the_same

    run, table = work.run, work.table
    place, target, path = lake_place(run), run.pipeline.target(table), run.pipeline.history_target(table)
    app, options = app_id(run, table, work.base.resetlogs_id), run.pipeline.target_options(table)
    assert path is not None
    began = goes_back_to(run.spark.session(), path, app)
    goes_back = began is not None and began <= found.from_scn
    if goes_back and says_the_same(run.spark.session(), path, target, app, options, found.to_scn):
        raise Terminal(
            f"its history goes back to SCN {began} already, and says the same as the table",
            cure="choose a lower SCN, or leave it as it is",
            table=table,
        )
    log = read_log(target, damage_of(app))
    load = "" if log is None else log.load(app)
    remove_left(run, place)
    try:
        work.begin()
        if logs is not None:
            work.apply_logs(logs)
        work.bring_to(found.to_scn)
        with apply_lease_renewed(run) as writer:
            run.begin_turn()
            run.look_again()
            reconcile_ledger(run)
            (now_there,) = with_contents(run, [table])
            work.bring_to(int(now_there.position.scn))
            assert work.last is not None
            what = {"table": str(table), "from_scn": found.from_scn, "to_scn": work.at, "reason": run.reason}
            run.ledger.record_decision("rebuild history", what, run.decided_by)
            epochs, changes = join_history(run.spark.session(), work.last, target, path, load, run.report, writer.check)
    finally:
        remove_read(run, place, name)
    return replace(found, to_scn=work.at, began_at=began, done=True, epochs=epochs, changes=changes)


def table_with_history(context: Run, name: str) -> TableId:
    table = named_table(context, name)
    if context.pipeline.history_target(table) is None:
        finding = Finding(name, "has no history", "set `history: changes` or `history: scd2` for it")
        raise ConfigurationError([finding])
    return table


def base_of(context: Run, entry: TableEntry, start: str) -> tuple[int, Contents]:
    """Return the SCN to begin at, and the contents that the table had then."""
    manifests = context.landing.windows.after()
    if start.strip() == "first" and entry.snapshot_scn is not None:
        at = ChainPosition(incarnation_at(entry.snapshot_scn, manifests, [entry]), int(entry.snapshot_scn))
    else:
        at = position_of(context, start, manifests, [entry])
    found = bases_at(context, [entry], at)[entry.table]
    since = int(at.scn) if found.has(at) else found.complete_to
    return since, replace(found, complete_to=since)


def check_line(entry: TableEntry, base: Contents) -> None:
    """Raise Terminal for a range with a RESETLOGS, which has no redo without a break."""
    if entry.position.resetlogs_id != base.resetlogs_id:
        raise Terminal(
            "the database was opened with RESETLOGS since, and the history of one incarnation cannot be continued in another",
            cure="rebuild it from an SCN of the present incarnation",
            table=entry.table,
        )


def ends_of(manifests: Sequence[WindowManifest], after: int, end: int, most: int) -> list[int]:
    """Return the SCNs at which the batches end: at ends of windows, with no more than `most` rows in each if possible."""
    ends, rows = list[int](), 0
    for window in manifests:
        if window.end <= after + 1 or window.start > end:
            continue
        if rows and rows + window.rows > most:
            ends.append(window.start - 1)
            rows = 0
        rows += window.rows
    return [*(scn for scn in ends if after < scn < end), end] if end > after else []
