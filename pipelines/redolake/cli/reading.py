"""Commands that read the lake, or say how others do: read, views."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from redolake.cli.options import ConfigOption, OutputOption, PipelineOption, TablesArgument, chosen_pipeline
from redolake.cli.output import Output, grid, print_alert, progress, show
from redolake.values.moment import parse_moment
from redolake.values.utc import beside


def read(
    as_of: Annotated[
        str,
        typer.Option(
            "--as-of",
            metavar="MOMENT",
            help='An SCN, a time with its zone such as "2026-11-20 08:00 Europe/Berlin" (the end of the last window before '
            "it), the name of a window, or `now`: the newest SCN that all tables have.",
        ),
    ],
    tables: TablesArgument = None,
    pipeline: PipelineOption = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="Write the tables as Parquet to this folder, below the lake or `allowed_folders`; each gets a folder there.",
        ),
    ] = None,
    sql: Annotated[
        str | None, typer.Option("--sql", help="A query over the tables as views: OWNER_NAME, or NAME where it is unique.")
    ] = None,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Read tables of the lake AS OF one SCN of the source: count their rows, write them, or query them."""
    from redolake import steps

    if to is not None and sql is not None:
        raise typer.BadParameter("give --to or --sql, not both")
    try:
        parse_moment(as_of)
    except ValueError as wrong:
        raise typer.BadParameter(str(wrong)) from None
    with chosen_pipeline(output, pipeline, config) as selected:
        with progress() as report:
            found = steps.read_as_of(selected, as_of, tables or None, to=to, sql=sql, report=report)
        title = f"AS OF SCN {found.scn}{beside(found.at, 'by ')}"
        for table in found.tables if output is Output.table else ():
            for caveat in table.caveats:
                print_alert(caveat)
        if sql is not None:
            rows = [tuple("" if value is None else value for value in row) for row in found.result]
            show(output, found, lambda: grid(title, found.columns, rows))
            return
        columns = ("table", "rows", "Delta version", "complete to SCN", "changes applied since")
        lines = [(t.table, t.rows, t.version, t.version_scn, "yes" if t.replayed else "no") for t in found.tables]
        show(output, found, lambda: grid(title, columns, lines))


class ViewEngine(StrEnum):
    spark = "spark"
    duckdb = "duckdb"
    trino = "trino"
    delta_rs = "delta-rs"
    polars = "polars"
    pandas = "pandas"


def views(
    tables: TablesArgument = None,
    pipeline: PipelineOption = None,
    engine: Annotated[
        ViewEngine, typer.Option("--for", help="The engine whose statements to write, or the library of Python whose lines.")
    ] = ViewEngine.spark,
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of",
            metavar="MOMENT",
            help="Let each view have its table's version of one SCN: a moment as `read` takes it.",
        ),
    ] = None,
    history: Annotated[
        bool,
        typer.Option("--history", help="Views of the versions of rows, from the histories: OWNER.TABLE_versions."),
    ] = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Print the statements that make a view of each table, without deleted rows: OWNER.TABLE in lower case."""
    from redolake import steps

    if history and as_of is not None:
        raise typer.BadParameter("give --as-of or --history: a version of a row says from which SCN to which it is valid")
    with chosen_pipeline(output, pipeline, config) as selected:
        if history:
            found = steps.write_history_views(selected, engine.value, tables or None)
        else:
            run = steps.Run(selected, writes=as_of is not None)
            found = steps.write_views(run, engine.value, as_of, tables or None)
        show(output, found, lambda: found.text.rstrip("\n"))


COMMANDS = (read, views)
