"""Commands that bring data to the lake: snapshot, run, backfill."""

from __future__ import annotations

import getpass
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from redolake.cli.options import (
    ConfigOption,
    OutputOption,
    PipelineOption,
    check_table_names,
    chosen_pipeline,
)
from redolake.cli.output import Output, grid, print_progress, progress, show
from redolake.operations import Verdict
from redolake.values.amounts import duration, size
from redolake.values.null_rule import nulled_text
from redolake.values.utc import utc_text

if TYPE_CHECKING:
    from redolake.steps.snapshots.chunk_progress import SnapshotProgress

T = TypeVar("T")


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
    if (status or pause) and (replace or restart):
        raise typer.BadParameter("--status and --pause read no table: leave out --replace and --restart")
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
        with progress() as report:
            if follow:
                result = until_signalled(lambda stop: steps.follow_pipeline(steps.Run(selected, report=report), stop))
            else:
                result = steps.run_pipeline(selected, until_caught_up=until_caught_up, wait=wait, report=report)
        rows = [(t.table, t.state, t.complete_to_scn, utc_text(t.complete_to_at)) for t in result.tables]
        title = f"{result.windows} window(s) landed, {result.batches} batch(es) applied"
        show(output, result, lambda: grid(title, ("table", "state", "complete to SCN", "UTC"), rows) if rows else title)
        if any(t.state == "held" for t in result.tables):
            raise typer.Exit(Verdict.DIFFERS)
        if not follow and result.outcome == "wait":
            print_progress(f"waiting for a log: {result.reason}")
            raise typer.Exit(Verdict.LATER)


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


COMMANDS = (snapshot, run)
