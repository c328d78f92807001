"""Mine a range of SCNs from archived logs into a chain of its own, beside the first one: a declared gap, or an old range.

The gate decides as for capture: a window lands only where every log of every redo thread is there. A killed run is repeated,
and goes on where its chain ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from pipelines.context import PipelineContext, Report, held_lease, open_pipeline_source
from pipelines.errors import InvariantBroken, RedoLost, Transient, report_with
from pipelines.host.progress import Progress
from pipelines.land.landing import Landing
from pipelines.reconcile.table_versions import object_ids
from pipelines.records.windows import SliceRecord, WindowPlan
from pipelines.source import ConnectParams, Source, read_log_headers, read_redo_facts, read_tables
from pipelines.steps.capture import LEASE_SECONDS, mine
from pipelines.steps.redo_dictionary import with_its_dictionary
from pipelines.steps.run import make_retry
from pipelines.steps.same_container import read_same_container
from pipelines.values.redo import Position, RedoFacts, Window
from pipelines.values.table import TableId
from pipelines.window import Lost, MissingLog, Sealed
from pipelines.window.recovery_options import rman_commands
from pipelines.window.until import end_of, has_reached, missing_until, plan_all, plan_until, with_offered


@dataclass(frozen=True, slots=True)
class RangeToMine:
    """A range from `start` to `end`, for `tables`, whose windows land in `side`. `offered` are files that no view may list."""

    context: PipelineContext
    source: ConnectParams | None
    side: Landing
    start: Position
    end: Position
    tables: tuple[TableId, ...]
    offered: tuple[str, ...]
    report: Report

    @property
    def position(self) -> Position:
        """Where the range's own chain continues."""
        return self.side.chain_end() or self.start

    def facts(self, oracle: Source) -> RedoFacts:
        found = read_redo_facts(oracle)
        return with_offered(found, read_log_headers(oracle, self.offered, found)) if self.offered else found


@dataclass(frozen=True, slots=True)
class RangePlan:
    """The windows to mine, with the number and bytes of their logs; or the logs that are `missing`, and the commands that
    restore them."""

    windows: tuple[Window, ...]
    logs: int
    log_bytes: int
    missing: tuple[MissingLog, ...]
    rman: tuple[str, ...]

    def check(self) -> None:
        """Raise RedoLost unless every log of every redo thread is there."""
        if self.missing:
            first = self.missing[0]
            raise RedoLost(
                f"{len(self.missing)} log(s) of the range are missing, first redo thread {first.thread} log {first.sequence}: "
                f"{first.why}",
                cure="restore them: " + " ".join(self.rman) + " Or name the restored files by --logs",
                thread=first.thread,
                sequence=first.sequence,
            )


def files_of(logs: Sequence[str]) -> tuple[str, ...]:
    """Return the files, those in folders too. A path that is no folder here is taken as a file that the database knows."""
    found = list[str]()
    for name in logs:
        folder = Path(name)
        found += sorted(str(one) for one in folder.iterdir() if one.is_file()) if folder.is_dir() else [name]
    return tuple(dict.fromkeys(found))


def plan_range(task: RangeToMine, facts: RedoFacts) -> RangePlan:
    decisions = list(plan_all(task.position, task.end, facts, task.context.pipeline.window))
    windows = tuple(one.window for one in decisions if isinstance(one, Sealed))
    missing = missing_until(task.position, task.end, facts)
    obstacle = next((one for one in decisions if not isinstance(one, Sealed)), None)
    if obstacle is not None and not missing:
        raise obstacle.error if isinstance(obstacle, Lost) else Transient(obstacle.reason, cure="run it again")
    logs = {log for window in windows for piece in window.slices for log in piece.logs}
    return RangePlan(windows, len(logs), sum(log.bytes for log in logs), missing, tuple(rman_commands(missing, facts)))


def mine_range(task: RangeToMine) -> None:
    """Mine the windows that are not there yet, in their order, each with several sessions."""
    retried = make_retry(task.context.pipeline)
    while retried(lambda: mine_next(task)):
        pass


def mine_next(task: RangeToMine) -> bool:
    """Mine and land one window. Return False where none is left."""
    context, side = task.context, task.side
    with open_pipeline_source(context.pipeline, task.source) as oracle:
        facts = task.facts(oracle)
        if has_reached(task.position, task.end, facts):
            return False
        found = plan_until(task.position, task.end, facts, context.pipeline.window)
        if isinstance(found, Lost):
            raise found.error
        if not isinstance(found, Sealed):
            raise Transient(found.reason, cure="run it again")
        made = describe(task, oracle, facts, with_its_dictionary(context.pipeline, oracle, found.window))
    land(task, made)
    landed = side.chain_end()
    if landed is None or landed.chain_position < end_of(made.window).chain_position:
        raise InvariantBroken(
            f"the window {made.window.name} has landed, and the chain of its range ends before it",
            cure=report_with("the names in the folder restored/ of the landing"),
        )
    task.report(f"mined SCN {made.window.scns}")
    return True


def describe(task: RangeToMine, oracle: Source, facts: RedoFacts, window: Window) -> WindowPlan:
    """Return the window's plan. The dictionary of now is recorded, because LogMiner writes its names."""
    context = task.context
    dictionary = read_tables(oracle, task.tables, context.pipeline.source.container, context.pipeline.renamed)
    read_at = min((table.scn_before for table in dictionary.values()), default=facts.current_scn)
    container = read_same_container(context, oracle)
    with held_lease(context, "capture", LEASE_SECONDS):  # as plan_slices
        incarnation = facts.current_incarnation.resetlogs_id
        context.landing.dictionary.write_dictionary(incarnation, read_at, dictionary.values(), context.pipeline.renamed)
    return WindowPlan(window, task.tables, object_ids(context, dictionary), int(read_at), container)


def land(task: RangeToMine, made: WindowPlan) -> None:
    """Mine a window's slices side by side, and publish it in the range's chain."""
    beside_it, slices = replace(task.context, landing=task.side), made.window.slices
    records = list[SliceRecord]()
    with ThreadPoolExecutor(task.context.pipeline.parallel_sessions, "range") as threads:
        for record in threads.map(lambda s: mine(beside_it, task.source, made, s.number), slices):
            records.append(record)
            task.report(Progress("", "mining slices", len(records), len(slices)))
    end = task.side.chain_end()
    task.side.windows.publish(made.window, made.tables, records, None if end is None else int(end.scn))
