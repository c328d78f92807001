"""Commands that keep a pipeline small: prune, optimize."""

from __future__ import annotations

import getpass

import typer

from redolake.cli.options import (
    DIFFERS,
    ConfigOption,
    OutputOption,
    PipelineOption,
    RemoveOption,
    TablesArgument,
    YesOption,
    chosen_pipeline,
    confirm,
)
from redolake.cli.output import Output, progress, show


def prune(
    execute: RemoveOption = False,
    pipeline: PipelineOption = None,
    yes: YesOption = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Remove what is older than `keep` says and nothing needs any more; name what stays, and why."""
    from redolake import steps

    with chosen_pipeline(output, pipeline, config) as selected:
        if execute:
            confirm(selected, yes)
        with progress() as report:
            found = steps.prune_pipeline(selected, execute=execute, by=getpass.getuser(), report=report)
        show(output, found, lambda: "\n".join(steps.describe_pruned(found)))


def optimize(
    tables: TablesArgument = None,
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Rewrite Delta tables with many small files (OPTIMIZE), and remove what `keep.delta_history` need not keep (VACUUM)."""
    from redolake import steps

    with chosen_pipeline(output, pipeline, config) as selected:
        with progress() as report:
            found = steps.run_maintenance(selected, tables or (), report=report)
        show(output, found, lambda: "\n".join(steps.describe_maintenance(found)))
        if any(one.error for one in found.tables):
            raise typer.Exit(DIFFERS)


COMMANDS = (prune, optimize)
