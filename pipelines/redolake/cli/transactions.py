"""The group `tx`: list open transactions, drop one."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import typer

from redolake.cli.options import ConfigOption, OutputOption, PipelineOption, chosen_pipeline
from redolake.cli.output import Output, grid, show, show_dropped

if TYPE_CHECKING:
    from redolake.reconcile.dropped_transactions import OpenTransactionReport

COLUMNS = ("xid", "start SCN", "started at", "age", "rows", "user", "thread")

app = typer.Typer(no_args_is_help=True)


@app.command(name="list")
def list_transactions(
    pipeline: PipelineOption = None, config: ConfigOption = None, output: OutputOption = Output.table
) -> None:
    """List the transactions that were open at the end of the last batch, with their carried rows, and the dropped ones."""
    from redolake import steps

    with chosen_pipeline(output, pipeline, config) as selected:
        found = steps.list_transactions(selected)
        until = "" if found.read_to_at is None else f", redo read to {found.read_to_at}"
        rows = [transaction_cells(t) for t in found.open]
        none = f"No transaction is open{until}."
        show(output, found, lambda: grid(f"Open transactions{until}", COLUMNS, rows, ("xid", "start SCN")) if rows else none)
        if output is Output.table:
            show_dropped(found.dropped)


def transaction_cells(found: OpenTransactionReport) -> tuple[object, ...]:
    age = "" if found.age_seconds is None else str(timedelta(seconds=found.age_seconds))
    thread = f"{found.thread}, container {found.con_id}"
    return (found.xid, found.start_scn, found.first_at, age, found.rows, found.username, thread)
