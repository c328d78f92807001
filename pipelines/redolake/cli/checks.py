"""The command `selftest`: prove the whole chain on a database."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from redolake.cli.options import (
    ConfigOption,
    OutputOption,
    PipelineOption,
    chosen_pipeline,
)
from redolake.cli.output import (
    Output,
    grid,
    progress,
    show,
)
from redolake.operations import Verdict


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
        with progress() as report:
            result = steps.run_selftest(
                steps.Run(selected, report=report),
                connect_params(scratch, os.environ),
                dba=None if dba is None else connect_params(dba, os.environ),
                wait_minutes=wait_minutes,
            )
        rows = [(a.outcome, a.question, a.table, a.detail) for a in result.answers]
        title = f"Self-test on Oracle {result.oracle}, Redolake {result.redolake}: {result.windows} window(s)"
        show(output, result, lambda: grid(title, ("answer", "question", "table", "seen"), rows))
        if not result.proved:
            raise typer.Exit(Verdict.DIFFERS)


COMMANDS = (selftest,)
