"""Commands before the first run, and before the first one of another version: validate, plan, doctor, setup-sql .."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from redolake.cli.connections import airflow_executors, read_from_airflow, resolve_connections
from redolake.cli.options import (
    ConfigOption,
    OutputOption,
    PipelineOption,
    chosen_pipeline,
    report_errors,
    select_pipeline,
)
from redolake.cli.output import Output, doctor_text, findings_text, naming, progress, show
from redolake.config import DEFAULT_FILE, Pipeline, load_configuration
from redolake.config.file import config_file
from redolake.errors import Finding, one_line
from redolake.operations import Verdict
from redolake.source.setup_sql import RDS_HOURS, Flavour, Grants, KeyLogging

if TYPE_CHECKING:
    from redolake.steps.plan_edit import EditPlan


def report_findings(output: Output, findings: Sequence[Finding], good: str, following: str) -> None:
    """Print how many findings there are, all of them, and what comes next unless one is an error; then exit with
    MISUSED."""
    errors = [finding for finding in findings if finding.severity == "error"]
    body = {"ok": not errors, "findings": findings}
    counts = f"{len(errors)} error(s), {len(findings) - len(errors)} warning(s)\n"
    closing = "" if errors else f"{'No error.' if findings else good} Next: {following}"
    show(output, body, lambda: Text.assemble(*((counts, findings_text(findings)) if findings else ()), closing))
    if errors:
        raise typer.Exit(Verdict.MISUSED)


def validate(
    spark: Annotated[
        bool,
        typer.Option(
            "--spark",
            help="Also start Spark, or ask the Connect server; let it write there, and resolve expressions of mappings.",
        ),
    ] = False,
    olr: Annotated[
        bool,
        typer.Option(
            "--olr", help="Also ask each OpenLogReplicator, and look for up to three seconds at what a running one sends."
        ),
    ] = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Check pipelines.yml, folders, the ledger, and Java and jars for Spark, without connecting to Oracle."""
    from redolake import steps

    with report_errors(output):
        pipelines = load_configuration(config).pipelines.values()
        for pipeline in pipelines:
            read_from_airflow(resolve_connections(pipeline).ledger.connection)
        executors = airflow_executors()
        file = config or config_file()
        findings = steps.package_findings(file.absolute().parent)
        for pipeline in pipelines:
            findings += steps.validate(steps.Run(pipeline), executors=executors, start_spark=spark, ask_olr=olr, file=file)
        findings += steps.find_equal_keys(pipelines)
        if not any(finding.severity == "error" for finding in findings):
            findings += steps.find_shared(pipelines)
        report_findings(output, findings, "The configuration is good.", "redolake doctor")


def doctor(
    pipeline: PipelineOption = None,
    spark: Annotated[
        bool,
        typer.Option("--spark", help="Also start Spark, and let it parse the expressions of mappings and resolve their types."),
    ] = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Check the source: ARCHIVELOG, supplemental logging, privileges, tables, types. List all findings with their cures."""
    from redolake import steps

    with chosen_pipeline(output, pipeline, config, connects=True) as selected:
        with progress() as report:
            found = steps.examine(steps.Run(selected, report=report), ask_spark=spark, file=config or config_file())
        show(output, found, lambda: doctor_text(found, f"No problems found. Next: redolake run -p {selected.name}"))
        if not found.ok:
            raise typer.Exit(Verdict.MISUSED)


def plan(pipeline: PipelineOption = None, config: ConfigOption = None, output: OutputOption = Output.table) -> None:
    """Show what the edited pipelines.yml means for each table, before a run acts on it. Only ledger and landing are read.

    Exits with 3 if a table would be held.
    """
    from redolake import steps

    with chosen_pipeline(output, pipeline, config) as selected:
        found = steps.plan_edit(selected)
        show(output, found, lambda: edit_text(found))
        if any(edit.effect == "held" for edit in found.edits):
            raise typer.Exit(Verdict.DIFFERS)


def edit_text(found: EditPlan) -> Text:
    text = Text(f"{len(found.edits)} of {len(found.tables)} table(s) of {found.pipeline} would change\n", style="bold")
    if found.handover:
        text.append("changes ", style="yellow")
        text.append(f"source: {found.handover}\n")
    for edit in found.edits:
        text.append(f"{edit.effect:7} ", style=EFFECT_STYLES.get(edit.effect, "yellow"))
        text.append(naming(one_line(f"{edit.table}: {edit.what}")) + "\n")
        text.append(naming(one_line(f"    do this: {edit.cure}")) + "\n" if edit.cure else "", style="dim")
    for pattern in found.patterns:
        text.append(f"joins   {pattern}: the next plan asks the dictionary which tables it matches\n")
    text.rstrip()
    return text


def setup_sql(
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
    flavour: Annotated[
        Flavour | None,
        typer.Option(help="Where it runs; default: what connection and `container` suggest, else cdb."),
    ] = None,
    user: Annotated[str | None, typer.Option(help="The user; default: the connection's, else C##REDOLAKE or REDOLAKE.")] = None,
    container: Annotated[str | None, typer.Option(help="The PDB with the tables; default: the pipeline's.")] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(help="OWNER.TABLE or a pattern, as in `tables`; may be repeated. Default: the pipeline's tables."),
    ] = None,
    key_logging: Annotated[
        KeyLogging | None,
        typer.Option(
            help="Log keys per captured table, or of all tables of the PDB or database; default: table, and database where "
            "tables are captured by pattern."
        ),
    ] = None,
    force_logging: Annotated[bool, typer.Option("--force-logging", help="Also set FORCE LOGGING.")] = False,
    archive_lag_target: Annotated[
        int | None, typer.Option(min=60, max=7200, metavar="SECONDS", help="Also set ARCHIVE_LAG_TARGET.")
    ] = None,
    retention_hours: Annotated[int, typer.Option(min=1, help="RDS: how long archived logs are kept.")] = RDS_HOURS,
    grants: Annotated[
        Grants | None,
        typer.Option(
            help="Let the user read the captured tables (of a pattern: those that match now), or any table; default: table, "
            "and any where tables are captured by pattern or not known."
        ),
    ] = None,
    primary: Annotated[
        bool, typer.Option("--primary", help="Only the user of `source.primary`, which a standby's pipeline asks.")
    ] = False,
    prompt: Annotated[
        bool, typer.Option("--prompt/--no-prompt", help="Ask for the password, or let the caller DEFINE `password`.")
    ] = True,
) -> None:
    """Print the script a DBA runs first in SQL*Plus: user, grants, supplemental logging. It needs no pipelines file."""
    from redolake import steps

    with report_errors(Output.table):
        sys.stdout.write(
            steps.write_setup_sql(
                described_pipeline(pipeline, config),
                flavour=flavour,
                user=user,
                container=container,
                tables=table or (),
                key_logging=key_logging,
                force_logging=force_logging,
                archive_lag_seconds=archive_lag_target,
                retention_hours=retention_hours,
                prompts=prompt,
                grants=grants,
                primary=primary,
            )
        )


def olr_config(
    check: Annotated[
        Path | None,
        typer.Option(
            "--check", help="Compare this OpenLogReplicator.json, and name what would lose or blur values.", exists=True
        ),
    ] = None,
    thread: Annotated[int | None, typer.Option("--thread", help="With `streams`: the redo thread whose file is meant.")] = None,
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Print the OpenLogReplicator.json that a pipeline with `kind: openlogreplicator` needs, or check an existing one."""
    from redolake import steps

    with chosen_pipeline(output, pipeline, config) as selected:
        if check is None:
            sys.stdout.write(steps.write_olr_config(selected, thread) + "\n")
            return
        following = f"redolake doctor -p {selected.name}"
        report_findings(output, steps.check_olr_file(selected, check), "The settings lose nothing.", following)


def described_pipeline(name: str | None, config: Path | None) -> Pipeline | None:
    """Return the pipeline, or None if none is named and the default file does not exist yet."""
    if name is None and config is None and not Path(DEFAULT_FILE).exists():
        return None
    return select_pipeline(name, config)


EFFECT_STYLES = {"held": "red", "joins": "green"}

COMMANDS = (validate, plan, doctor, setup_sql, olr_config)
