"""Commands that bring data to the lake: snapshot, run, backfill."""

from __future__ import annotations

import getpass
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from enum import StrEnum
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from redolake.cli.options import (
    DIFFERS,
    TRY_AGAIN,
    ConfigOption,
    LogsOption,
    OutputOption,
    PipelineOption,
    TablesArgument,
    check_table_names,
    chosen_pipeline,
    logs_to_read,
)
from redolake.cli.output import NOT_DONE, Output, grid, print_progress, progress, show, show_lines
from redolake.values.amounts import duration, size
from redolake.values.moment import FORMS, is_time
from redolake.values.null_rule import nulled_text
from redolake.values.utc import utc_text

if TYPE_CHECKING:
    from redolake.config import Pipeline
    from redolake.steps.follow import FollowOutcome
    from redolake.steps.run import RunOutcome
    from redolake.steps.snapshots.chunk_progress import SnapshotProgress

T = TypeVar("T")


class ShadowSchema(StrEnum):
    historic = "historic"
    current = "current"


class BackfillTarget(StrEnum):
    shadow = "shadow"
    live = "live"
    changes = "changes"
    files = "files"
    copy = "copy"


def snapshot(
    tables: Annotated[
        list[str] | None,
        typer.Argument(help="OWNER.TABLE ...; default: tables that have no contents yet.", callback=check_table_names),
    ] = None,
    pipeline: PipelineOption = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Read a live or held table again and replace its contents in one commit; older versions stay.",
        ),
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Read a large table from the beginning, although some of its chunks are read.")
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Show how many chunks of large tables are read, by all processes, and read none.")
    ] = False,
    pause: Annotated[
        bool, typer.Option("--pause", help="Let no process begin another chunk of the tables; default: of all. Reads nothing.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Let chunks be read again, and read those that are missing.")
    ] = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Read tables AS OF one SCN and load them into Delta as their first contents. A large table is read in chunks; a repeated
    run reads those that are missing."""
    from redolake import steps

    if sum((status, pause, resume)) > 1:
        raise typer.BadParameter("choose one of --status, --pause and --resume")
    with chosen_pipeline(output, pipeline, config, connects=not (status or pause)) as selected:
        if status or pause:
            if pause:
                steps.pause_snapshots(selected, tables or (), paused=True, by=getpass.getuser())
            show_progress(output, steps.read_snapshot_progress(selected))
            return
        if resume:
            asked = steps.pause_snapshots(selected, tables or (), paused=False, by=getpass.getuser())
            found = steps.read_snapshot_progress(selected)
            tables, replace = [one.table for one in found.tables if one.table in asked], True
            if not tables:
                show_progress(output, found)
                return
        with progress() as report:
            result = steps.take_snapshot(selected, tables or None, replace=replace, restart=restart, report=report)
        by_rule = ("NULL by rule",) if any(t.nulled for t in result.tables) else ()
        rows = [(t.table, t.scn, utc_text(t.at), t.rows, *(nulled_text(t.nulled) for _ in by_rule)) for t in result.tables]
        none = "Every table has contents; --replace reads one again."
        show(output, result, lambda: grid("Snapshot", ("table", "AS OF SCN", "UTC", "rows", *by_rule), rows) if rows else none)


def show_progress(output: Output, found: SnapshotProgress) -> None:
    """Show how far the snapshots of large tables are, and which tables are paused."""
    rows = [
        (
            t.table,
            ", ".join(map(str, t.scns or (t.scn,))),
            f"{t.read} of {t.chunks}",
            t.rows,
            f"{size(t.bytes)} of {size(t.total_bytes)}",
            "" if t.seconds_left is None else duration(t.seconds_left),
        )
        for t in found.tables
    ]
    paused = [(p.table, p.by, p.at) for p in found.paused]

    head = ("table", "AS OF SCN", "chunks", "rows", "of it in Oracle", "left, one session")
    none = "No snapshot is being read in chunks."
    show(output, found, lambda: grid("Snapshots in chunks", head, rows) if rows else none)
    if paused and output is not Output.json:
        title = "Paused: no further chunk begins until --resume"
        show(output, found, lambda: grid(title, ("table", "by", "since"), paused))


def run(
    pipeline: PipelineOption = None,
    until_caught_up: Annotated[
        bool, typer.Option("--until-caught-up", help="Repeat until no sealed redo is left to land or apply.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for an archived log that is due; without it `run` exits with code 75.")
    ] = False,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Go on until Ctrl+C or SIGTERM, with Spark kept warm; the step that runs is finished."),
    ] = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Do in one process what the DAGs do: snapshot new tables, then plan, mine, land and apply one window, or all of them."""
    from redolake import steps

    if follow and (until_caught_up or wait):
        raise typer.BadParameter("--follow waits and catches up by itself: leave out --until-caught-up and --wait")
    with chosen_pipeline(output, pipeline, config, connects=True) as selected:
        result: RunOutcome | FollowOutcome
        with progress() as report:
            if follow:
                result = until_signalled(lambda stop: steps.follow_pipeline(selected, stop, report=report))
            else:
                result = steps.run_pipeline(selected, until_caught_up=until_caught_up, wait=wait, report=report)
        rows = [(t.table, t.state, t.complete_to_scn, utc_text(t.complete_to_at)) for t in result.tables]
        title = f"{result.windows} window(s) landed, {result.batches} batch(es) applied"
        show(output, result, lambda: grid(title, ("table", "state", "complete to SCN", "UTC"), rows) if rows else title)
        if any(t.state == "held" for t in result.tables):
            raise typer.Exit(DIFFERS)
        if not follow and result.outcome == "wait":
            print_progress(f"waiting for a log: {result.reason}")
            raise typer.Exit(TRY_AGAIN)


def until_signalled(work: Callable[[Event], T]) -> T:
    """Run `work` with an event that the first SIGINT or SIGTERM sets. A second one ends the process at once.

    `work` gets a thread of its own, because Spark takes SIGINT for itself where it is opened in the main thread.
    """
    stop = Event()

    def ask_to_stop(number: int, _: object) -> None:
        stop.set()
        signal.signal(number, signal.SIG_DFL)
        print_progress(f"{signal.Signals(number).name}: stopping after the step that runs; once more stops at once")

    before = {number: signal.signal(number, ask_to_stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with ThreadPoolExecutor(1, "follow") as pool:
            return pool.submit(work, stop).result()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def backfill(
    start: Annotated[str, typer.Option("--from", "--from-scn", help=f"First commit of the range: {FORMS}.", metavar="MOMENT")],
    end: Annotated[
        str, typer.Option("--to", "--to-scn", help="End of the range, not included, in the same forms.", metavar="MOMENT")
    ],
    tables: TablesArgument = None,
    pipeline: PipelineOption = None,
    target: Annotated[
        BackfillTarget,
        typer.Option(
            "--target",
            help="Shadow tables; live tables, whose rows are read again; the changes, in Delta or in files; whole copies.",
        ),
    ] = BackfillTarget.shadow,
    execute: Annotated[bool, typer.Option("--execute/--dry-run", help="Run the backfill, or only show its plan.")] = False,
    reason: Annotated[str, typer.Option(help="Stored with the commits; --target live --execute needs it.")] = "",
    schema: Annotated[
        ShadowSchema, typer.Option("--schema", help="Columns of the shadows: as at the end of the range, or as today.")
    ] = ShadowSchema.historic,
    from_logs: Annotated[
        bool, typer.Option("--from-logs", help="Mine the range from archived logs again, in place of landed windows.")
    ] = False,
    logs: LogsOption = None,
    folder: Annotated[
        str, typer.Option("--folder", help="With --target files: where they are written, below the lake or `allowed_folders`.")
    ] = "",
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Apply an old SCN range, from the landing or from archived logs, to shadow tables, or read the rows of live tables again
    that it has touched.

    Exits with 3 where some of these rows are not known, or a table stays as it is.
    """
    from redolake import steps

    wanted, reads = tables or None, logs_to_read(from_logs, logs)
    chosen: steps.BackfillTarget = target.value
    connects = reads is not None or target is BackfillTarget.live or is_time(start) or is_time(end)
    with chosen_pipeline(output, pipeline, config, connects=connects) as selected:
        has_logs = reads is not None
        steps.refuse_unused(chosen, schema=schema.value, folder=folder, from_logs=has_logs, reason=reason)
        if target is BackfillTarget.live:
            named = {"reason": reason, "by": getpass.getuser(), "from_logs": reads}
            backfill_here(selected, target, start, end, wanted, output, execute=execute, **named)
            return
        if target is BackfillTarget.copy:
            backfill_here(selected, target, start, end, wanted, output, execute=execute)
            return
        with progress() as report:
            result = steps.run_backfill(
                selected, start, end, wanted, execute=execute, schema=schema.value, from_logs=reads,
                target=chosen, folder=folder, report=report,
            )  # fmt: skip
        prepared, recorded = result.prepared, result.recorded
        if recorded is None:
            show(output, prepared, lambda: f"{prepared.plan}\n{NOT_DONE}")
            return
        columns = ("table", "target", "inserted", "updated", "deleted", "not known", "filtered", "not read")
        rows = [(t.table, t.target, *t.counts.values(), t.unknown, t.filtered, t.not_read) for t in recorded.tables]
        title = "Shadow tables" if prepared.details is None else f"{prepared.details.start} to {prepared.details.end}"
        show(output, asdict(prepared) | asdict(recorded), lambda: grid(title, columns, rows))


def backfill_here(
    selected: Pipeline, target: BackfillTarget, start: str, end: str, tables: list[str] | None, output: Output, **how: Any
) -> None:
    """Fill a range into live tables, or make whole copies; or show what that takes."""
    from redolake import steps

    step: Any = steps.backfill_live if target is BackfillTarget.live else steps.copy_tables
    with progress() as report:
        found = step(selected, start, end, tables, report=report, **how)
    show_lines(output, found, done=how["execute"])
    if target is BackfillTarget.live and not found.is_whole:
        raise typer.Exit(DIFFERS)


COMMANDS = (snapshot, run, backfill)
