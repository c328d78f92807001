"""Commands for pipelines that have lost redo: recover, close-gap."""

from __future__ import annotations

import getpass
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.text import Text

from redolake.cli.options import (
    DIFFERS,
    TERMINAL,
    ConfigOption,
    OutputOption,
    PipelineOption,
    YesOption,
    check_table_names,
    chosen_pipeline,
    confirm,
)
from redolake.cli.output import Output, print_progress, progress, show
from redolake.values.utc import beside

if TYPE_CHECKING:
    from redolake.steps.run import RecoveredLoss


def recover(
    pipeline: PipelineOption = None,
    restored: Annotated[bool, typer.Option("--restored", help="Check again after logs were restored.")] = False,
    snapshot: Annotated[bool, typer.Option("--snapshot", help="Continue from now and read the tables again.")] = False,
    declare_gap: Annotated[
        bool, typer.Option("--declare-gap", help="Continue without the lost redo; the gap stays visible.")
    ] = False,
    to_scn: Annotated[
        int | None, typer.Option("--to-scn", help="End of the gap; default: the SCN from which no redo is missing.")
    ] = None,
    position: Annotated[int | None, typer.Option("--position", help="Continue from this SCN; it is checked.")] = None,
    reason: Annotated[str, typer.Option(help="Stored with the decision.")] = "",
    tables: Annotated[
        list[str] | None, typer.Option("--table", help="With --snapshot: read only these tables; the others are held.")
    ] = None,
    yes: YesOption = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Show which redo is lost and what each option costs; with an option, carry it out.

    Redolake chooses nothing for you. Exits with 0 if the position can continue, 1 while a choice is open.
    """
    from redolake import steps

    asked: list[tuple[Literal["snapshot", "gap", "position"], int | None]] = []
    asked += [("snapshot", None)] if snapshot else []
    asked += [("gap", to_scn)] if declare_gap else []
    asked += [("position", position)] if position is not None else []
    if len(asked) + restored > 1 or (to_scn is not None and not declare_gap):
        raise typer.BadParameter("choose one of --restored, --snapshot, --declare-gap [--to-scn] and --position")
    with chosen_pipeline(output, pipeline, config, connects=True) as selected:
        if asked:
            confirm(selected, yes)
            kind, scn = asked[0]
            recovered = steps.recover_redo_loss(
                selected, kind, scn=scn, reason=reason, by=getpass.getuser(), tables=tables or None, report=print_progress
            )
            body = {**asdict(recovered.gap), "snapshots": recovered.snapshots}
            show(output, body, lambda: declared_text(recovered))
            return
        found = steps.recheck_redo_loss(selected) if restored else steps.inspect_redo_loss(selected)
        show(output, found, lambda: Text(steps.recovery_text(found)))
        if found.lost:
            raise typer.Exit(TERMINAL)


def close_gap(
    scn: Annotated[
        int | None, typer.Argument(help="An SCN in the declared gap; default: the only one that tables lack.", min=0)
    ] = None,
    tables: Annotated[
        list[str] | None,
        typer.Option("--table", help="Close it for this table only; once for each.", callback=check_table_names),
    ] = None,
    logs: Annotated[
        list[str] | None,
        typer.Option(
            "--logs", help="A restored log, or a folder of them, at a path that the database can read; default: V$ARCHIVED_LOG."
        ),
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Mine the logs and read the rows again; default: show the plan.")
    ] = False,
    reason: Annotated[str, typer.Option(help="Stored with the repair; --execute needs it.")] = "",
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Close a declared gap from logs that were restored since: the tables get the changes that it lacks.

    Exits with 1 while logs are missing, and with 3 where a table stays as it is.
    """
    from redolake import steps

    with chosen_pipeline(output, pipeline, config, connects=True) as selected:
        with progress() as report:
            found = steps.close_gap(
                selected, scn, tables, logs=logs or (), execute=execute, reason=reason, by=getpass.getuser(), report=report
            )
        show(output, found, lambda: Text("\n".join(line for line in found.lines if line)))
        if found.missing or any(table.why_not for table in found.tables):
            raise typer.Exit(TERMINAL if found.missing else DIFFERS)


def declared_text(made: RecoveredLoss) -> str:
    gap = made.gap
    lines = [
        f"{gap.kind}: SCN {gap.from_scn}{beside(gap.from_at)} to {gap.to_scn - 1} is not read; the next run continues after it"
    ]
    lines += [f"  transaction {t.xid} (open since SCN {t.start_scn}): {t.rows} row(s) dropped" for t in gap.dropped]
    lines += [f"  {t.table}: {t.rows} rows AS OF SCN {t.scn}{beside(t.at)}" for t in made.snapshots]
    return "\n".join(lines)


COMMANDS = (recover, close_gap)
