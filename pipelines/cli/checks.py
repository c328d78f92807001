"""Commands that prove the copy: verify, remine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.options import (
    DIFFERS,
    ConfigOption,
    OutputOption,
    PipelineOption,
    TablesArgument,
    report_errors,
    select_pipeline,
)
from pipelines.cli.output import Output, console, grid, print_progress, show, show_declared_gaps, show_dropped

if TYPE_CHECKING:
    from pipelines.steps.verify import Verification


def verify(
    tables: TablesArgument = None,
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Compare Delta tables with the source AS OF their applied SCN, cell by cell."""
    from pipelines import steps

    with report_errors(output):
        result = steps.verify_tables(select_pipeline(pipeline, config), tables or None, report=print_progress)
        columns = ("table", "AS OF SCN", "source rows", "Delta rows", "differing cells")
        rows = [(t.table, t.applied_scn, t.source_rows, t.delta_rows, t.differing_cells) for t in result.tables]
        show(output, result, lambda: grid("Source and Delta, cell by cell", columns, rows))
        if output is Output.table:
            show_differences(result)
        if not result.equal:
            raise typer.Exit(DIFFERS)


def show_differences(result: Verification) -> None:
    samples = [(t.table, d.key, d.column, d.source, d.delta) for t in result.tables for d in t.samples]
    if samples:
        console.print(grid("First differences", ("table", "key", "column", "source", "Delta"), samples))
    show_declared_gaps(result.declared_gaps)
    show_dropped(result.dropped)


def remine(
    window: Annotated[str, typer.Argument(help="The window's name, as `windows --output json` and `status` show it.")],
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Mine a landed window again and compare the result with its manifest; nothing is changed."""
    from pipelines import steps

    with report_errors(output):
        result = steps.remine_window(select_pipeline(pipeline, config), window, report=print_progress)
        differs = ", ".join(result.differs)
        show(output, result, lambda: "The manifests are equal." if result.equal else f"They differ in: {differs}")
        if not result.equal:
            raise typer.Exit(DIFFERS)


COMMANDS = (verify, remine)
