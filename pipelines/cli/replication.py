"""Commands that bring data to the lake: snapshot, run, backfill."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer

from pipelines.cli.options import (
    DIFFERS,
    TRY_AGAIN,
    ConfigOption,
    NameArgument,
    OutputOption,
    PipelineOption,
    TablesArgument,
    check_table_names,
    report_errors,
    select_pipeline,
)
from pipelines.cli.output import Output, grid, print_progress, show


class ShadowSchema(StrEnum):
    historic = "historic"
    current = "current"


def snapshot(
    tables: Annotated[
        list[str] | None,
        typer.Argument(help="OWNER.TABLE ...; default: tables that have no contents yet.", callback=check_table_names),
    ] = None,
    pipeline: PipelineOption = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Read a live or held table again and replace its contents.")
    ] = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Read tables AS OF one SCN and load them into Delta as their first contents."""
    from pipelines import steps

    with report_errors(output):
        result = steps.take_snapshot(select_pipeline(pipeline, config), tables or None, replace=replace, report=print_progress)
        rows = [(t.table, t.scn, t.rows) for t in result.tables]
        show(output, result, lambda: grid("Snapshot", ("table", "AS OF SCN", "rows"), rows))


def run(
    name: NameArgument = None,
    until_caught_up: Annotated[
        bool, typer.Option("--until-caught-up", help="Repeat until no sealed redo is left to land or apply.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for an archived log that is due; without it `run` exits with code 75.")
    ] = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Do in one process what the DAGs do: snapshot new tables, then plan, mine, land and apply one window, or all of them."""
    from pipelines import steps

    with report_errors(output):
        result = steps.run_pipeline(
            select_pipeline(name, config), until_caught_up=until_caught_up, wait=wait, report=print_progress
        )
        rows = [(t.table, t.state, t.complete_to) for t in result.tables]
        title = f"{result.windows} window(s) landed, {result.batches} batch(es) applied"
        show(output, result, lambda: grid(title, ("table", "state", "complete to SCN"), rows))
        if any(t.state == "held" for t in result.tables):
            raise typer.Exit(DIFFERS)
        if result.outcome == "wait":
            print_progress(f"waiting for a log: {result.reason}")
            raise typer.Exit(TRY_AGAIN)


def backfill(
    from_scn: Annotated[int, typer.Option("--from", help="First commit SCN of the range.")],
    to_scn: Annotated[int, typer.Option("--to", help="End of the range; commits at this SCN are not included.")],
    tables: TablesArgument = None,
    pipeline: PipelineOption = None,
    execute: Annotated[bool, typer.Option("--execute/--dry-run", help="Run the backfill, or only show its plan.")] = False,
    schema: Annotated[
        ShadowSchema, typer.Option("--schema", help="Columns of the shadows: as at the end of the range, or as today.")
    ] = ShadowSchema.historic,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Apply an old SCN range from the landing to shadow tables."""
    from pipelines import steps

    with report_errors(output):
        result = steps.run_backfill(
            select_pipeline(pipeline, config),
            from_scn,
            to_scn,
            tables or None,
            execute=execute,
            schema=schema.value,
            report=print_progress,
        )
        prepared, recorded = result.prepared, result.recorded
        if recorded is None:
            show(output, prepared, lambda: f"Nothing is done yet; --execute does it: {prepared.plan}")
            return
        columns = ("table", "shadow", "inserted", "updated", "deleted")
        rows = [(t.table, t.target, t.inserted, t.updated, t.deleted) for t in recorded.tables]
        show(output, asdict(prepared) | asdict(recorded), lambda: grid(f"Commits of SCN [{from_scn}, {to_scn})", columns, rows))


COMMANDS = (snapshot, run, backfill)
