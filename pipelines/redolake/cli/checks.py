"""Commands that prove the copy: remine, selftest."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from redolake.cli.options import (
    DIFFERS,
    ConfigOption,
    OutputOption,
    PipelineOption,
    YesOption,
    chosen_pipeline,
    confirm,
)
from redolake.cli.output import (
    Output,
    grid,
    print_progress,
    progress,
    show,
)

if TYPE_CHECKING:
    from redolake.steps.capture.remine import RemineReport


def remine(
    window: Annotated[str, typer.Argument(help="The window's name, as `windows --output json` and `status` show it.")],
    in_place: Annotated[
        bool, typer.Option("--replace", help="Put the files mined now in the place of the window's, which are damaged.")
    ] = False,
    discard: Annotated[
        bool,
        typer.Option("--discard", help="Forget this window and all later ones, not applied yet: the next run mines them."),
    ] = False,
    pipeline: PipelineOption = None,
    yes: YesOption = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Mine a landed window again and compare the result with its manifest. Without an option, nothing is changed."""
    from redolake import steps

    if in_place and discard:
        raise typer.BadParameter("choose one of --replace and --discard")
    with chosen_pipeline(output, pipeline, config, connects=True) as selected:
        if discard:
            confirm(selected, yes)
            names = steps.discard_windows(selected, window)
            show(output, {"discarded": names}, lambda: "\n".join(f"{name}: the next run mines it again" for name in names))
            return
        with progress() as report:
            result = steps.remine_window(steps.Run(selected, report=report), window, in_place=in_place)
        show(output, result, lambda: remined_text(result))
        if not result.equal:
            raise typer.Exit(DIFFERS)


def remined_text(found: RemineReport) -> str:
    if found.equal:
        files = "were replaced" if found.replaced else "were not read"
        return f"The manifests are equal. The window's files {files}."
    return f"They differ in: {', '.join(found.differs)}. Nothing was replaced."


def selftest(
    scratch: Annotated[
        str,
        typer.Option(
            "--scratch-connection",
            help="ID of AIRFLOW_CONN_<ID>: an empty schema in the PDB, with CREATE TABLE and CREATE SEQUENCE.",
        ),
    ],
    pipeline: PipelineOption = None,
    dba: Annotated[
        str | None,
        typer.Option(
            "--dba-connection",
            help="ID of AIRFLOW_CONN_<ID>: a user of the root with ALTER SYSTEM, to archive the redo; default: wait.",
        ),
    ] = None,
    wait_minutes: Annotated[float, typer.Option(min=0, help="How long to wait until the redo is archived.")] = 30,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Prove the whole chain on this database: create small tables in a scratch schema, replicate, compare and drop them.

    The pipeline's own tables, landing, lake and ledger are not touched. The JSON report holds no data of yours: send it with a
    question.
    """
    from redolake import steps
    from redolake.source import connect_params

    with chosen_pipeline(output, pipeline, config, connects=True) as selected:
        result = steps.run_selftest(
            selected,
            connect_params(scratch, os.environ),
            dba=None if dba is None else connect_params(dba, os.environ),
            wait_minutes=wait_minutes,
            report=print_progress,
        )
        rows = [(a.outcome, a.question, a.table, a.detail) for a in result.answers]
        title = f"Self-test on Oracle {result.oracle}, Redolake {result.redolake}: {result.windows} window(s)"
        show(output, result, lambda: grid(title, ("answer", "question", "table", "seen"), rows))
        if not result.proved:
            raise typer.Exit(DIFFERS)


COMMANDS = (remine, selftest)
