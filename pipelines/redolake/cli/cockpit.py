"""Commands that show the cockpit in a terminal, from the ledger alone: tables, explain-lag, metrics."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from redolake.cli.connections import read_from_airflow
from redolake.cli.metrics_server import metrics_server
from redolake.cli.options import (
    ConfigOption,
    OutputOption,
    PipelineOption,
    chosen_pipeline,
    exit_code_of,
    report_errors,
    select_each,
)
from redolake.cli.output import Grid, Output, console, grid, naming, print_alert, print_error, show
from redolake.errors import RedolakeError
from redolake.values.utc import utc_text

if TYPE_CHECKING:
    from redolake.cockpit import Overview
    from redolake.config import Pipeline
    from redolake.errors import ConfigurationError

STYLES = {"good": "green", "notice": "yellow", "bad": "red", "quiet": "dim"}


def overview(pipeline: Pipeline, search: str = "") -> Overview:
    from redolake.cockpit import read_overview
    from redolake.cockpit.overview import EVERY_TABLE
    from redolake.context import ledger_url, now

    return read_overview(pipeline, ledger_url(pipeline), now(), search=search, tables=EVERY_TABLE)


def read_each(pipelines: Mapping[str, Pipeline | ConfigurationError]) -> dict[str, Overview | RedolakeError]:
    """Return the overview of each pipeline, or the error for which it has none, which costs no other its own."""
    found: dict[str, Overview | RedolakeError] = {}
    for name, one in pipelines.items():
        try:
            if not isinstance(one, RedolakeError):
                read_from_airflow(one.ledger.connection)
            found[name] = one if isinstance(one, RedolakeError) else overview(one)
        except RedolakeError as error:
            found[name] = error
    return found


def verdict(found: Overview) -> Text:
    """Return the sentence of health and the facts beside it."""
    health = found.health
    text = Text(f"{found.pipeline}: {health.state}. ", style=STYLES[health.tone])
    text.append(naming(health.sentence), style="default")
    if health.more:
        text.append(f"\n  {naming('; '.join(health.more))}", style="dim")
    if health.cure:
        text.append(f"\n  do this: {naming(health.cure)}", style="dim")
    return text


def tables(
    pipeline: PipelineOption = None,
    search: Annotated[str, typer.Option(help="Only tables with this in their name.")] = "",
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Show each table's state, position, rows changed in 24 hours, and last comparison; held tables first. Only the ledger is
    read."""
    with chosen_pipeline(output, pipeline, config) as selected:
        found = overview(selected, search)
        if output is Output.table and found.tables and not search:
            console.print(verdict(found), soft_wrap=True)
        empty = f"No captured table has {search!r} in its name." if search else verdict(found)
        show(output, found.tables, lambda: tables_grid(found) if found.tables else empty)
        if output is Output.table:
            for table in found.tables:
                if table.error is not None:
                    print_alert(f"{table.table} is held, {table.code}: {table.error}", f"  do this: {table.cure}")


def tables_grid(found: Overview) -> Grid:
    columns = ("table", "state", "complete to SCN, UTC", "inserted, updated, deleted", "last comparison")
    rows = []
    for t in found.tables:
        proof = "none" if t.proof is None else f"{t.proof_word} {t.proof.when:%Y-%m-%d %H:%M}"
        complete = "" if t.complete_to_scn is None else f"{t.complete_to_scn} {utc_text(t.complete_to_at)}".rstrip()
        rows.append((t.table, t.state_text, complete, ", ".join(map(str, t.counts.values())), proof))
    return grid(f"{found.pipeline}: rows of the last 24 hours", columns, rows)


def explain_lag(pipeline: PipelineOption = None, config: ConfigOption = None, output: OutputOption = Output.table) -> None:
    """Show how far Delta lags Oracle, and which part of the way takes the time. Only the ledger is read."""
    with chosen_pipeline(output, pipeline, config) as selected:
        found = overview(selected)
        show(output, {"health": found.health, "latency": found.latency}, lambda: verdict(found))
        if output is Output.table and found.latency.terms:
            console.print(latency_grid(found))


def latency_grid(found: Overview) -> Grid:
    from redolake.values.amounts import duration

    rows = [
        (
            f"{term.name} ← grew" if term.has_grown else term.name,
            duration(term.seconds),
            duration(term.usual_seconds),
            term.what,
        )
        for term in found.latency.terms
    ]
    rows.append(("together", duration(found.latency.total_seconds), duration(found.latency.usual_total_seconds), ""))
    return grid("From a change in Oracle to Delta", ("term", "last window", "usually", "what it is"), rows)


def metrics(
    pipeline: PipelineOption = None,
    listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Answer Prometheus at http://HOST:PORT/metrics until stopped.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Print metrics in the text format of Prometheus, of one pipeline or of all. Only the ledger is read.

    Of a pipeline that cannot be read there is `redolake_unreadable` alone; where none can be, nothing is printed. The exit
    code is that of the error.

    For node_exporter: write the output into a file of its textfile collector.
    """
    from redolake.cockpit.metrics import prometheus_text

    def answer() -> tuple[str, list[RedolakeError]]:
        found = read_each(select_each(pipeline or None, config))
        failed = {name: one for name, one in found.items() if isinstance(one, RedolakeError)}
        for name, error in failed.items():
            print_error(f"{name}: {error}")
        if len(failed) == len(found):
            raise next(iter(failed.values()))
        read = [one for one in found.values() if not isinstance(one, RedolakeError)]
        return prometheus_text(read, [*failed]), [*failed.values()]

    with report_errors(Output.table):
        if listen is None:
            shown, failed = answer()
            sys.stdout.write(shown)
            if failed:
                raise typer.Exit(exit_code_of(failed[0]))
            return
        host, _, port = listen.rpartition(":")
        if not port.isdecimal():
            raise typer.BadParameter("write HOST:PORT, such as 127.0.0.1:9108")
        with metrics_server(host or "127.0.0.1", int(port), lambda: answer()[0]) as server:
            server.serve_forever()


COMMANDS = (tables, explain_lag, metrics)
