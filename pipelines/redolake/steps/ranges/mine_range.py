"""Mine a range of SCNs from archived logs into a chain of its own, beside the first one: a declared gap, or an old range.

The gate decides as for capture: a window lands only where every log of every redo thread is there. Windows are mined side by
side, and land in their order. A killed run is repeated, and goes on where its chain ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from redolake.config import Pipeline
from redolake.context import Run, held_lease, open_pipeline_source
from redolake.errors import InvariantBroken, RedoLost, Transient, report_with
from redolake.host.progress import Progress
from redolake.land.landing import Landing
from redolake.reconcile.table_versions import object_ids
from redolake.records.windows import SliceRecord, WindowPlan
from redolake.source import ConnectParams, Source, read_log_headers, read_redo_facts, read_tables
from redolake.steps.capture.windows import LEASE_SECONDS, mine
from redolake.steps.shared.chosen_folders import check_folder
from redolake.steps.shared.redo_dictionary import with_its_dictionary
from redolake.steps.shared.same_container import read_same_container
from redolake.values.redo import Position, RedoFacts, Window
from redolake.values.table import TableId
from redolake.window import Lost, MissingLog, Sealed
from redolake.window.recovery_options import rman_commands
from redolake.window.until import end_of, has_reached, missing_until, plan_all, with_offered


@dataclass(frozen=True, slots=True)
class RangeToMine:
    """A range from `start` to `end`, for `tables`, whose windows land in `side`. `offered` are files that no view may list."""

    context: Run
    source: ConnectParams | None
    side: Landing
    start: Position
    end: Position
    tables: tuple[TableId, ...]
    offered: tuple[str, ...]

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


def files_of(pipeline: Pipeline, logs: Sequence[str]) -> tuple[str, ...]:
    """Return the files, those in folders too. A path that is no folder here is taken as a file that the database knows. Raises
    ConfigurationError for a folder that may not be named."""
    found = list[str]()
    for name in logs:
        if (folder := Path(name)).is_dir():
            check_folder(pipeline, "--logs", name)
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
    """Mine the windows that are not there yet, with `parallel_sessions` sessions, and land them in their order."""
    while task.context.pipeline.retry.call(lambda: mine_some(task)):
        pass


def mine_some(task: RangeToMine) -> bool:
    """Mine and land windows until none is left, or a failure that may pass came after the first. Return False where none was
    left."""
    made = plan_windows(task)
    if not made:
        return False
    landed = 0
    try:
        for window, records in mined_side_by_side(task, made):
            publish(task, window, records)
            landed += 1
            task.context.report(f"mined SCN {window.window.scns}: window {landed} of {len(made)}")
    except Transient as error:
        if not landed:
            raise
        task.context.report(f"{error.what}: going on after {landed} window(s)")
    return True


def plan_windows(task: RangeToMine) -> list[WindowPlan]:
    """Return the windows that are left. Which transactions are open at their edges does not matter: LogMiner returns the rows
    of every transaction as they are, and the batch joins them. So no window needs what the one before it has found."""
    pipeline = task.context.pipeline
    with open_pipeline_source(pipeline, task.source) as oracle:
        facts = task.facts(oracle)
        if has_reached(task.position, task.end, facts):
            return []
        windows = list[Window]()
        for found in plan_all(task.position, task.end, facts, pipeline.window):
            if isinstance(found, Lost):
                raise found.error
            if not isinstance(found, Sealed):
                raise Transient(found.reason, cure="run it again")
            windows.append(with_its_dictionary(pipeline, oracle, found.window))
        return describe(task, oracle, facts, windows)


def describe(task: RangeToMine, oracle: Source, facts: RedoFacts, windows: Sequence[Window]) -> list[WindowPlan]:
    """Return the windows' plans. The dictionary of now is recorded, because LogMiner writes its names."""
    context = task.context
    dictionary = read_tables(oracle, task.tables, context.pipeline.source.container, context.pipeline.renamed)
    read_at = min((table.scn_before for table in dictionary.values()), default=facts.current_scn)
    container = read_same_container(context, oracle)
    with held_lease(context, "capture", LEASE_SECONDS):  # as plan_slices
        incarnation = facts.current_incarnation.resetlogs_id
        context.landing.dictionary.write_dictionary(incarnation, read_at, dictionary.values(), context.pipeline.renamed)
    ids = {number: table for number, table in object_ids(context, dictionary).items() if table in task.tables}
    return [WindowPlan(window, task.tables, ids, int(read_at), container) for window in windows]


def mined_side_by_side(task: RangeToMine, made: Sequence[WindowPlan]) -> Iterator[tuple[WindowPlan, list[SliceRecord]]]:
    """Yield the windows with their slices, in their order. While one is awaited, sessions that are free mine the next ones: at
    most as many windows ahead as there are sessions, because a killed run mines again what has not landed."""
    sessions = task.context.pipeline.parallel_sessions
    beside_it, left = task.context.with_landing(task.side), iter(made)
    beside_it.source = task.source
    waiting = deque[tuple[WindowPlan, list[Future[SliceRecord]]]]()
    with ThreadPoolExecutor(sessions, "range") as threads:
        try:
            while True:
                for window in islice(left, sessions + 1 - len(waiting)):
                    slices = window.window.slices
                    futures = [threads.submit(mine, beside_it, window, one.number) for one in slices]
                    waiting.append((window, futures))
                if not waiting:
                    return
                window, futures = waiting.popleft()
                yield window, list(each_result(task, futures))
        finally:
            threads.shutdown(cancel_futures=True)


def each_result(task: RangeToMine, futures: Sequence[Future[SliceRecord]]) -> Iterator[SliceRecord]:
    for done, future in enumerate(futures, 1):
        yield future.result()
        task.context.report(Progress("", "mining slices", done, len(futures)))


def publish(task: RangeToMine, made: WindowPlan, records: Sequence[SliceRecord]) -> None:
    """Land a window in the range's chain."""
    end = task.side.chain_end()
    task.side.windows.publish(made.window, made.tables, records, None if end is None else int(end.scn))
    landed = task.side.chain_end()
    if landed is None or landed.chain_position < end_of(made.window).chain_position:
        raise InvariantBroken(
            f"the window {made.window.name} has landed, and the chain of its range ends before it",
            cure=report_with("the names in the folder restored/ of the landing"),
        )
