"""The group `quarantine`: list what is there, read rows again, drop changes."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.text import Text

from redolake.cli.options import (
    DIFFERS,
    ConfigOption,
    OutputOption,
    PipelineOption,
    TableArgument,
    TablesArgument,
    YesOption,
    chosen_pipeline,
    confirm,
    row_keys,
)
from redolake.cli.output import Output, grid, progress, show, without_commands

if TYPE_CHECKING:
    from redolake.steps.proof.quarantine import QuarantineList

COLUMNS = ("table", "key", "state", "commit SCN", "operation")

SHOWN = 200  # changes in a table on the terminal

app = typer.Typer(no_args_is_help=True)

KeyOption = Annotated[
    list[str] | None, typer.Option(help="Only this key, e.g. ID=42; once for each. Default: all that are in quarantine.")
]


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
    return Group(grid(title, COLUMNS, rows), *(Text(without_commands(reason)) for reason in reasons))


@app.command(name="retry")
def retry_quarantine(
    table: TableArgument,
    reason: Annotated[str, typer.Option(help="Why; stored with the decision and in the Delta commit.")],
    key: KeyOption = None,
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Read the rows of the keys again AS OF the table's SCN, and merge them. Keys that are right then leave the quarantine."""
    from redolake import steps

    keys = row_keys(key)
    with chosen_pipeline(output, pipeline, config, connects=True) as selected:
        with progress() as report:
            done = steps.retry_quarantine(selected, table, keys, reason=reason, by=getpass.getuser(), report=report)
        show(output, done, lambda: str(done))
        if done.left:
            raise typer.Exit(DIFFERS)


@app.command(name="drop")
def drop_quarantined(
    table: TableArgument,
    reason: Annotated[str, typer.Option(help="Why; stored with the decision.")],
    key: KeyOption = None,
    pipeline: PipelineOption = None,
    yes: YesOption = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Never apply changes in quarantine. Their rows stay as they are, and `verify` lists them apart."""
    from redolake import steps

    keys = row_keys(key)
    with chosen_pipeline(output, pipeline, config) as selected:
        confirm(selected, yes)
        done = steps.drop_quarantined(selected, table, keys, reason=reason, by=getpass.getuser())
        show(output, done, lambda: str(done))
