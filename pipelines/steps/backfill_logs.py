"""A backfill from archived logs: of a range that was pruned, that lies in a declared gap, or that is to be read once more.

The range is mined beside the chain (mine_range.py). Where a batch of the chain ends at its start, that batch's carry-over has
the transactions that began earlier; elsewhere no transaction may have begun earlier.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.context import PipelineContext, Report, open_pipeline_source
from pipelines.errors import Finding
from pipelines.land import layout
from pipelines.land.files import Files
from pipelines.land.parquet import read_columns
from pipelines.reconcile.ledger import last_batch
from pipelines.records.batches.spec import BatchSpec
from pipelines.records.windows import WindowManifest
from pipelines.source import ConnectParams
from pipelines.steps.mine_range import RangePlan, RangeToMine, files_of, mine_range, plan_range
from pipelines.steps.same_container import read_same_container
from pipelines.steps.touched_keys import Xid
from pipelines.values.delivery import RereadRows, RereadValues
from pipelines.values.redo import TRANSACTION_BOUNDS, Operation, Position
from pipelines.values.scn import ChainPosition, Scn, ScnRange
from pipelines.values.table import TableId
from pipelines.window.recovery_options import in_incarnation


@dataclass(frozen=True, slots=True)
class LogsToRead:
    """`logs` are files, or folders of files, that the database can read; without any, those that V$ARCHIVED_LOG lists."""

    logs: tuple[str, ...] = ()
    source: ConnectParams | None = None


@dataclass(frozen=True, slots=True)
class PlannedLogs:
    task: RangeToMine
    plan: RangePlan

    @property
    def lines(self) -> tuple[str, ...]:
        logs = f"{self.plan.logs} archived log(s), {self.plan.log_bytes:,} bytes"
        mined = len(self.task.side.windows.names())
        return (f"mines {len(self.plan.windows)} window(s) from {logs}; {mined} are mined",)


def plan_logs(
    context: PipelineContext, scns: ScnRange, tables: Sequence[TableId], given: LogsToRead, report: Report
) -> PlannedLogs | Finding:
    """Return what is mined of a range. Raises RedoLost where a log of any redo thread is missing."""
    offered = files_of(given.logs)
    with open_pipeline_source(context.pipeline, given.source) as oracle:
        read_same_container(context, oracle)
        nowhere = Position(0, 0, Scn(0))
        task = RangeToMine(context, given.source, context.landing, nowhere, nowhere, tuple(tables), offered, report)
        facts = task.facts(oracle)
    start, end = (in_incarnation(int(scn), facts) for scn in (scns.start, Scn(scns.end - 1)))
    if start is None or end is None or start.resetlogs_id != end.resetlogs_id:
        return Finding("range", f"{scns} crosses a RESETLOGS, or lies before every incarnation", "choose a range of one")
    names = hashlib.sha256(" ".join(sorted(map(str, tables))).encode()).hexdigest()[:8]
    side = context.landing.side_landing(f"{start.chain_position.name}-{scns.end}-{names}")
    task = replace(task, side=side, start=start, end=replace(end, scn=scns.end))
    found = plan_range(task, facts)
    found.check()
    return PlannedLogs(task, found)


def mine_logs(planned: PlannedLogs) -> PipelineContext:
    """Mine the range, and return the context in which its windows are those of the landing."""
    mine_range(planned.task)
    context = planned.task.context
    return replace(context, landing=context.landing.with_chain_of(planned.task.side))


def objections_to_logs(beside: PipelineContext, spec: BatchSpec, windows: Sequence[WindowManifest]) -> Iterator[Finding]:
    """Yield why a batch over windows mined now would not be right."""
    for task in spec.tables:
        if any(isinstance(delivery, RereadRows | RereadValues) for delivery in task.deliveries):
            what = "its values are read again AS OF the ends of windows, which the database no longer shows"
            yield Finding(str(task.table), what, "backfill it from landed windows, or leave it out")
    known = {(one.con_id, one.xid) for one in spec.open_in}
    for name, scn in transactions_from_before(beside, windows):
        if name not in known:
            what = f"a transaction that commits at SCN {scn} ({name[1]}) began before the range, and its changes are not known"
            cure = f"begin the range at an SCN where a batch has ended, such as {ends_before(beside, int(windows[0].start))}"
            yield Finding("range", what, cure)
            return


def ends_before(context: PipelineContext, scn: int) -> str:
    last = last_batch(context, ChainPosition(context_incarnation(context), scn))
    return "the start of a declared gap" if last is None else str(last.end)


def context_incarnation(context: PipelineContext) -> int:
    end = context.landing.chain_end()
    return 0 if end is None else end.resetlogs_id


def transactions_from_before(beside: PipelineContext, windows: Sequence[WindowManifest]) -> Iterator[tuple[Xid, int]]:
    """Yield the transactions that commit in the windows without a START in them, with the SCN of the commit."""
    begun = set[Xid]()
    for window in windows:
        for row in sorted(bounds_of(beside.landing.windows.files, window), key=lambda row: int(str(row["scn"]))):
            name = (None if row["con_id"] is None else int(str(row["con_id"])), str(row["xid"]))
            if row["operation_code"] == Operation.START:
                begun.add(name)
            elif name in begun:
                begun.discard(name)
            elif row["operation_code"] == Operation.COMMIT:
                yield name, int(str(row["scn"]))


def bounds_of(files: Files, window: WindowManifest) -> Iterator[dict[str, object]]:
    paths = [layout.in_window(window.name, name) for name in window.files]
    digests = {layout.in_window(window.name, name): one for name, one in window.digests.items()}
    for batch in read_columns(files, paths, ("con_id", "xid", "scn", "operation_code"), digests, "run it again"):
        yield from batch.filter(pc.is_in(batch["operation_code"], pa.array(TRANSACTION_BOUNDS, pa.int32()))).to_pylist()
