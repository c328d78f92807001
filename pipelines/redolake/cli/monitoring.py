"""Commands that show where a pipeline is and what it did: status, stats, windows, runway."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redolake.cli.cockpit import overview, read_each, verdict
from redolake.cli.options import (
    ConfigOption,
    OutputOption,
    PipelineOption,
    TablesArgument,
    chosen_by,
    chosen_pipeline,
    exit_code_of,
    report_errors,
    select_each,
    select_pipeline,
)
from redolake.cli.output import (
    Grid,
    Output,
    console,
    findings_text,
    given,
    grid,
    print_alert,
    print_json,
    print_lines,
    print_notice,
    show,
    show_declared_gaps,
    show_dropped,
    show_held,
    text_of,
)
from redolake.cli.stats import StatsBy, stats_text
from redolake.errors import RedolakeError
from redolake.operations import Verdict
from redolake.records.readers import NOT_PROVED
from redolake.values.terms import account_text
from redolake.values.utc import beside, utc_text

if TYPE_CHECKING:
    from redolake.cockpit import Overview
    from redolake.config import Pipeline
    from redolake.records.shown_facts import StreamFact
    from redolake.steps.recovery.runway import LogReport, ThreadRunwayReport
    from redolake.steps.shared.status import Status, TableStatus, WindowReport


def status(pipeline: PipelineOption = None, config: ConfigOption = None, output: OutputOption = Output.table) -> None:
    """Show position, windows, tables and open transactions, from the ledger and the landing alone. Of several pipelines,
    if none is named, show the state of each."""
    given.options = tuple(chosen_by(pipeline, config))
    with report_errors(output):
        selected = select_each(pipeline, config)
        if len(selected) == 1:
            show_one(select_pipeline(next(iter(selected)), config), output)
        else:
            show_all(read_each(selected), output)


MOST_TABLES = 20  # of a pipeline, that have a line each


def show_one(pipeline: Pipeline, output: Output) -> None:
    from redolake import steps

    result = steps.read_status(pipeline)
    states: dict[str, str] = {}
    if output is Output.table and result.lacks_ledger:  # what it does not know is not said of the pipeline
        cure = f"  do this: `redolake run -p {result.pipeline}` rebuilds it"
        print_alert(f"{result.pipeline}: the ledger is empty, and the landing is not", cure)
        return
    if output is Output.table:
        found = overview(pipeline)
        states = {table.table: table.state_text for table in found.tables}
        console.print(verdict(found), soft_wrap=True)
    if result.tables or output is Output.json:
        show(output, result, lambda: tables_grid(result, states))
    if output is Output.table:
        show_details(result)


def show_all(each: Mapping[str, Overview | RedolakeError], output: Output) -> None:
    """Show the sentence of each pipeline. Then the command ends with the code of the first error."""
    failed = [found for found in each.values() if isinstance(found, RedolakeError)]
    lines = list[dict[str, Any]]()
    for name, found in each.items():
        if isinstance(found, RedolakeError):
            lines.append({"pipeline": name, "error": found.as_dict()})
            if output is Output.table:
                print_alert(f"{name}: {found}")
        else:
            lines.append({"pipeline": name, "health": found.health})
            if output is Output.table:
                console.print(verdict(found), soft_wrap=True)
    if output is Output.json:
        print_json({"pipelines": lines})
    if failed:
        raise typer.Exit(exit_code_of(failed[0]))


def tables_grid(status: Status, states: Mapping[str, str]) -> Grid:
    """`states` are those of the page, with all that makes them less than they say. Of many tables those that are live, and no
    less, share a line: `tables` has each."""
    shown = [(t, states.get(t.table, t.state)) for t in status.tables]
    shared = [t for t, state in shown if state == "live" and len(shown) > MOST_TABLES]
    own = [(t, state) for t, state in shown if state != "live" or not shared]
    rows = [(t.table, state, t.complete_to_scn, utc_text(t.complete_to_at)) for t, state in own]
    if shared:
        least = min(shared, key=lambda t: t.complete_to_scn or 0)
        rows.append((f"{len(shared)} more", "live", least.complete_to_scn, utc_text(least.complete_to_at)))
    landed, start = status.landed_to_scn, status.next_start_scn
    landed_to = "nothing has landed" if landed is None else f"landed to SCN {landed}{beside(status.landed_to_at)}"
    goes_on = (
        "" if start is None or (landed is not None and start == landed + 1) else f"; the next window starts at SCN {start}"
    )
    return grid(f"{status.pipeline}: {landed_to}{goes_on}", ("table", "state", "complete to SCN", "UTC"), rows)


def show_histories(tables: Sequence[TableStatus]) -> None:
    from redolake.cockpit import texts

    for table in tables:
        if table.history is not None:
            print_lines(f"history of {table.table}: {texts.of_history(table.history)}")


def show_details(status: Status) -> None:
    show_held(status.tables)
    rows = [(w.last_scn, w.state, w.logs, w.rows, utc_text(w.ends_at)) for w in status.windows]
    windows = grid("Latest windows", ("to SCN", "state", "logs", "rows", "ends, UTC"), rows, ("to SCN",))
    console.print(windows if rows else "No window has landed yet.")
    show_streams(status)
    show_histories(status.tables)
    if status.pruned_to_scn is not None:
        print_lines(f"Windows before SCN {status.pruned_to_scn} were pruned, the last of them on {status.pruned_at}")
    if quotes := sum(w.single_quote_rows for w in status.windows):
        console.print(
            f"LogMiner left quotes inside values single in {quotes} row(s): a table is held where its text has two readings"
        )
    for window in status.windows:
        for one in window.reread:
            what = (
                f"could not be read again: {one.error}" if one.error else f"were read again AS OF SCN {one.scn}, after its end"
            )
            print_notice(f"window {window.name}: rows of {one.table} {what}")
    some = f"{status.open_transactions} open transaction(s): redolake tx list -p {status.pipeline}"
    print_lines(some if status.open_transactions else "No transaction is open.")
    show_standby(status)
    show_declared_gaps(status.declared_gaps)
    show_dropped(status.dropped)
    for new in status.announced:
        print_notice(f"{new.table} is new since SCN {new.seen_scn} and not captured", f"  do this: {new.cure}")
    for unlisted in (one for one in status.tables if not one.listed):
        print_notice(f"{unlisted.table} is not in `tables` any more: its Delta table stays as it is")
    kept = {table.table: table.dropped_at for table in status.tables if table.dropped_at is not None}
    for table, scn in kept.items():
        print_notice(f"{table} was dropped at SCN {scn}; its Delta table stays as it is (`on_ddl: drop_table: keep`)")
    for missing in (one for one in status.gone if one.table not in kept):
        cure = f"if it was dropped for good, exclude it with `!{missing.table}`"
        print_notice(f"{missing.table} is missing in the dictionary since SCN {missing.missing_scn}", f"  do this: {cure}")
    if status.lost is not None:
        lost = status.lost
        print_alert(f"LOST since {lost.since}: {lost.what}", f"  do this: redolake recover -p {status.pipeline}")


def show_standby(status: Status) -> None:
    from redolake.steps.shared.status import standby_lines

    for line in standby_lines(status):
        print_lines(line)


def show_streams(status: Status) -> None:
    """Print where OpenLogReplicator stands, and since when nobody has asked the database."""
    for stream in status.streams:
        show_stream(stream)
    if status.unproved_since_scn is not None:
        print_notice(
            f"Since SCN {status.unproved_since_scn} windows are received without a connection: {NOT_PROVED}",
            "  do this: name `connection` below `source`; the next run proves it",
        )


def show_stream(stream: StreamFact) -> None:
    """Print how far OpenLogReplicator has read a redo thread."""
    who = f"OpenLogReplicator at {stream.address}, redo thread {stream.thread}"
    if stream.scn is None:
        text = f"{who}: not asked by the last run" if not stream.holds_back else f"{who}: has sent no checkpoint"
    else:
        text = f"{who}: read to SCN {stream.scn}, log {stream.sequence}, written {utc_text(stream.written_at)}"
    if stream.holds_back:
        print_notice(f"{text}; it holds windows back", "  do this: see that it runs, and has its logs")
    else:
        print_lines(text)


def windows(
    pipeline: PipelineOption = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many windows; the newest is last.")] = 20,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Show landed windows: SCN range, logs, hash, and how the batch that applied them accounted for their change rows."""
    from redolake import steps

    with chosen_pipeline(output, pipeline, config) as selected:
        result = steps.list_windows(selected, limit)
        columns = ("from SCN", "to SCN", "ends, UTC", "logs", "rows", "of these", "row hash")
        rows = [(w.from_scn, w.last_scn, utc_text(w.ends_at), w.logs, w.rows, rows_text(w), w.hash[:8]) for w in result]
        windows = grid("Landed windows", columns, rows, ("from SCN", "to SCN", "row hash"))
        show(output, result, lambda: windows if rows else "No window has landed yet.")


def rows_text(window: WindowReport) -> str:
    return "not applied yet" if window.state == "landed" else account_text(window.account)


def runway(pipeline: PipelineOption = None, config: ConfigOption = None, output: OutputOption = Output.table) -> None:
    """Show how long redo that is still needed will be kept. Reads from Oracle and changes nothing there.

    For a monitor: exits with 0 if the runway is long enough, 1 if it is below the threshold (`runway` in pipelines.yml) or redo
    is already lost, 2 if it cannot be measured.
    """
    from redolake import steps

    with chosen_pipeline(output, pipeline, config, connects=True, code=Verdict.MISUSED) as selected:
        result = steps.measure_runway(selected)
        show(output, result, lambda: text_of(result.summary, result.standing))
        if output is Output.table:
            if rows := [runway_cells(thread) for thread in result.threads]:
                console.print(grid("", ("thread", "needs log", "kept from log", "hours left", "older redo"), rows))
            console.print(findings_text(result.findings), soft_wrap=True, end="")
    if result.state != "enough":
        raise typer.Exit(Verdict.STOPPED)


def runway_cells(thread: ThreadRunwayReport) -> tuple[object, ...]:
    hours = "" if thread.hours_left is None else f"{int(thread.hours_left * 10) / 10:.1f}"
    left = "lost" if thread.lost else f"≥ {hours}" if thread.at_least and hours else hours
    is_online = thread.needed is not None and not thread.needed_is_archived
    needed = log_text(thread.needed) + (", online" if is_online else "")
    kept = log_text(thread.oldest) if thread.bytes_kept else "none older"
    return (f"{thread.thread} {thread.instance or ''}", needed, kept, left, thread.older_redo)


def log_text(log: LogReport | None) -> str:
    return "" if log is None else f"{log.sequence} of {(log.began_at or '')[5:16]}"


def stats(
    tables: TablesArgument = None,
    pipeline: PipelineOption = None,
    hours: Annotated[int, typer.Option(min=1, help="Count the batches that were applied in the last hours.")] = 24,
    by: Annotated[StatsBy, typer.Option(help="One line for each table, or for each batch; JSON has both.")] = StatsBy.table,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Show what batches did to tables: rows changed, change rows by what became of them, DDL, commit times and duration.

    Reads the ledger alone. Several changes of one row in a batch are one changed row.
    """
    from redolake import steps

    with chosen_pipeline(output, pipeline, config) as selected:
        found = steps.read_stats(selected, hours, tables or ())
        show(output, found, lambda: stats_text(found, by))


COMMANDS = (status, stats, windows, runway)
