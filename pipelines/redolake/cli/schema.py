"""The group `schema`: the versions of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from redolake.cli.options import ConfigOption, OutputOption, PipelineOption, check_table_name, chosen_pipeline
from redolake.cli.output import Output, grid, show, text_of
from redolake.values.scn import LARGEST_SCN
from redolake.values.utc import beside, utc_text

if TYPE_CHECKING:
    from redolake.records.approvals import Approval
    from redolake.steps.shown.schema_versions import SchemaDifference, VersionReport


TableArgument = Annotated[str, typer.Argument(metavar="OWNER.TABLE", help="A captured table.", callback=check_table_name)]
ScnArgument = Annotated[int, typer.Argument(metavar="SCN", min=0, max=LARGEST_SCN)]

app = typer.Typer(no_args_is_help=True)


@app.command(name="log")
def log_versions(
    table: TableArgument, pipeline: PipelineOption = None, config: ConfigOption = None, output: OutputOption = Output.table
) -> None:
    """List the versions of a table: since which SCN, how each is known, what changed, and by which statement."""
    from redolake import steps

    with chosen_pipeline(output, pipeline, config) as selected:
        found = steps.list_versions(selected, table)
        title = f"Versions of {table}, times in UTC"
        show(output, found, lambda: grid(title, LOG_COLUMNS, [log_cells(v) for v in found], ("from SCN",)))


@app.command(name="at")
def show_version(
    table: TableArgument,
    scn: ScnArgument,
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Show the columns of a table as they are at an SCN."""
    from redolake import steps

    with chosen_pipeline(output, pipeline, config) as selected:
        found = steps.schema_at(selected, table, scn)
        is_mapped = any(c.lake for c in found.columns)
        rows = [
            (c.position, c.name, c.type, "" if c.nullable else "NOT NULL", "key" if c.key else "", c.id, *[c.lake] * is_mapped)
            for c in found.columns
        ]
        head = ("position", "column", "type", "null", "key", "id", *["in the lake"] * is_mapped)
        title = f"{found.table} from SCN {found.from_scn}{beside(found.from_at, 'by ')}, {found.origin}"
        show(output, found, lambda: grid(title, head, rows))


@app.command(name="diff")
def show_difference(
    table: TableArgument,
    scn: ScnArgument,
    later_scn: ScnArgument,
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Show what changed in a table's columns between two SCNs, and the statements that did it."""
    from redolake import steps

    with chosen_pipeline(output, pipeline, config) as selected:
        found = steps.schema_difference(selected, table, scn, later_scn)
        show(output, found, lambda: text_of(*difference_lines(found)))


LOG_COLUMNS = ("from SCN", "to SCN", "origin", "changes", "statement", "by", "approved")


def log_cells(version: VersionReport) -> tuple[object, ...]:
    statement = " ".join((version.statement or "").split())
    approved = "\n".join(map(approval_text, version.approvals))
    changes = "\n".join(version.changes)
    since = "\n".join([str(version.from_scn), *utc_text(version.from_at).split()])  # narrow: the statement needs the width
    return since, version.to_scn, version.origin, changes, statement, version.username, approved


def approval_text(made: Approval) -> str:
    """Return what was approved, by whom, when and why, in one line."""
    what = f"{made.policy}: {made.choice}" if made.policy else made.kind
    return f"{what} (SCN {made.at_scn}) by {made.by}, {utc_text(made.at)} UTC" + (f": {made.reason}" if made.reason else "")


def difference_lines(found: SchemaDifference) -> list[str]:
    head = f"{found.table} from SCN {found.from_scn} to {found.to_scn}"
    if not found.changes:
        return [f"{head}: no column differs"]
    return [head, *found.changes, *(f"  by {' '.join(statement.split())}" for statement in found.statements)]
