"""Commands before the first run: validate, doctor, setup-sql."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from pipelines.cli.options import (
    CONFIGURATION,
    ConfigOption,
    NameArgument,
    OutputOption,
    report_errors,
    select_pipeline,
)
from pipelines.cli.output import Output, findings_text, show
from pipelines.config import load_configuration
from pipelines.errors import Finding


def report_findings(output: Output, findings: Sequence[Finding], none_found: str) -> None:
    """Print all findings; exit with CONFIGURATION if one is an error."""
    errors = [finding for finding in findings if finding.severity == "error"]
    body = {"ok": not errors, "findings": findings}
    show(output, body, lambda: findings_text(findings) if findings else none_found)
    if errors:
        raise typer.Exit(CONFIGURATION)


def validate(config: ConfigOption = None, output: OutputOption = Output.table) -> None:
    """Check pipelines.yml, folders and the ledger, without connecting to Oracle."""
    from pipelines import steps

    with report_errors(output):
        findings = [f for pipeline in load_configuration(config).pipelines.values() for f in steps.validate(pipeline)]
        report_findings(output, findings, "The configuration is good. Next: redolake doctor")


def doctor(name: NameArgument = None, config: ConfigOption = None, output: OutputOption = Output.table) -> None:
    """Check the source: ARCHIVELOG, supplemental logging, privileges, tables, types. List all findings with their cures."""
    from pipelines import steps

    with report_errors(output):
        pipeline = select_pipeline(name, config)
        report_findings(output, steps.run_doctor(pipeline), f"No problems found. Next: redolake run {pipeline.name}")


def setup_sql(name: NameArgument = None, config: ConfigOption = None) -> None:
    """Print the statements a DBA runs first: user, grants, supplemental logging of the captured tables."""
    from pipelines import steps

    with report_errors(Output.table):
        sys.stdout.write(steps.setup_sql(select_pipeline(name, config)))


COMMANDS = (validate, doctor, setup_sql)
