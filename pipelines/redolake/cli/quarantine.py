"""The group `quarantine`: list what is there, read rows again, drop changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.console import Group

from redolake.cli.options import (
    ConfigOption,
    OutputOption,
    PipelineOption,
    TablesArgument,
    chosen_pipeline,
)
from redolake.cli.output import Output, grid, show, text_of

if TYPE_CHECKING:
    from redolake.steps.proof.quarantine import QuarantineList

COLUMNS = ("table", "key", "state", "commit SCN", "operation")

SHOWN = 200  # changes in a table on the terminal

app = typer.Typer(no_args_is_help=True)


@app.command(name="list")
def list_quarantine(
    tables: TablesArgument = None,
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """List the changes that could not be applied, with their keys. JSON has their redo or their row too."""
    from redolake import steps

    with chosen_pipeline(output, pipeline, config) as selected:
        found = steps.list_quarantine(selected, tables or None)
        show(output, found, lambda: quarantine_text(found))


def quarantine_text(found: QuarantineList) -> Group | str:
    """Return the changes, and below them why each of them could not be applied: these texts are too long for a column."""
    if not found.changes:
        return "No change is in quarantine."
    shown = found.changes[:SHOWN]
    rows = [(c.table, c.keys, c.state, c.commit_scn, c.operation) for c in shown]
    title = f"{found.keys} key(s) in quarantine" + (f", {found.dropped} dropped" if found.dropped else "")
    if len(found.changes) > SHOWN:
        title += f"; the first {SHOWN} of {len(found.changes)} changes, --output json has all"
    reasons = dict.fromkeys(
        f"{c.table} {c.keys} at SCN {c.commit_scn}: {': '.join(filter(None, (c.error, c.reason)))}" for c in shown
    )
    return Group(grid(title, COLUMNS, rows), *(text_of(reason) for reason in reasons))
