"""The group `history`: rebuild the history of a table's rows from redo that has landed, or remove what is too old of it."""

from __future__ import annotations

from typing import Annotated

import typer

from redolake.cli.options import (
    ConfigOption,
    LogsOption,
    OutputOption,
    PipelineOption,
    RemoveOption,
    TableArgument,
    TablesArgument,
    YesOption,
    chosen_pipeline,
    confirm,
    logs_to_read,
)
from redolake.cli.output import Output, progress, show

app = typer.Typer(no_args_is_help=True)


@app.command(name="rebuild")
def rebuild_history(
    table: TableArgument,
    start: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="MOMENT",
            help="The SCN from which the history shall go, a time with its zone, the name of a window, or `first`: the table's "
            "last load.",
        ),
    ] = "first",
    from_logs: Annotated[
        bool, typer.Option("--from-logs", help="Mine what has not landed any more from archived logs again.")
    ] = False,
    logs: LogsOption = None,
    execute: Annotated[bool, typer.Option("--execute", help="Rebuild it; without, only show what that reads.")] = False,
    pipeline: PipelineOption = None,
    yes: YesOption = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Rebuild a table's history from an older SCN on, from the redo that has landed or from archived logs.

    The live table stays as it is.
    """
    from redolake import steps

    reads = logs_to_read(from_logs, logs)
    with chosen_pipeline(output, pipeline, config, connects=reads is not None) as selected:
        if execute:
            confirm(selected, yes)
        with progress() as report:
            found = steps.rebuild_history(selected, table, start, execute=execute, from_logs=reads, report=report)
        show(output, found, lambda: str(found))


@app.command(name="prune")
def prune_histories(
    tables: TablesArgument = None,
    execute: RemoveOption = False,
    pipeline: PipelineOption = None,
    yes: YesOption = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Remove what histories say of times before `keep.history`: each then begins with the rows of then."""
    from redolake import steps

    with chosen_pipeline(output, pipeline, config) as selected:
        if execute:
            confirm(selected, yes)
        with progress() as report:
            found = steps.prune_histories(selected, tables or None, execute=execute, report=report)
        show(output, {"tables": found}, lambda: "\n".join(map(str, found)) or "No history has begun.")
