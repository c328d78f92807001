"""Commands that prove the copy: verify, remine, selftest."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from pipelines.cli.connections import resolve_connections
from pipelines.cli.options import (
    DIFFERS,
    TERMINAL,
    TRY_AGAIN,
    ConfigOption,
    OutputOption,
    PipelineOption,
    TableArgument,
    TablesArgument,
    YesOption,
    confirm,
    report_errors,
    select_pipeline,
)
from pipelines.cli.output import (
    Output,
    console,
    grid,
    print_alert,
    print_progress,
    progress,
    show,
    show_declared_gaps,
    show_dropped,
)
from pipelines.values.null_rule import nulled_text
from pipelines.values.row_key import parse_row_key
from pipelines.values.utc import utc_text

if TYPE_CHECKING:
    from pipelines.apply.verify.comparison import Difference
    from pipelines.config import Pipeline
    from pipelines.records.proofs import TableProof
    from pipelines.steps.capture.remine import RemineReport
    from pipelines.steps.proof.repair import RepairedTable
    from pipelines.steps.proof.verify import Verification


class Method(StrEnum):
    """How a table is compared."""

    auto = "auto"
    rows = "rows"
    buckets = "buckets"


def parse_share(text: str) -> float:
    """Return a percentage such as `1%` as a share."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?%", text.strip())
    if found is None or not 0 < float(found[1]) < 100:
        raise typer.BadParameter("write a percentage above 0% and below 100%, e.g. 1%")
    return float(found[1]) / 100


def verify(
    tables: TablesArgument = None,
    pipeline: PipelineOption = None,
    method: Annotated[
        Method,
        typer.Option(
            help="`rows`: read all rows of both sides; `buckets`: let both sides hash them, and read those of buckets that "
            "differ; `auto`: by buckets from 100,000 rows on."
        ),
    ] = Method.auto,
    sample: Annotated[
        str | None, typer.Option(metavar="PERCENT", help="Compare only this share of each table's buckets, e.g. 1%.")
    ] = None,
    due: Annotated[
        bool, typer.Option("--due", help="Only tables not compared for `verify.every`, for as long as `verify.budget`.")
    ] = False,
    history: Annotated[bool, typer.Option("--history", help="Show earlier results, and compare nothing.")] = False,
    show_values: Annotated[
        bool, typer.Option("--show-values", help="Show the values that differ; default: only their keys and columns.")
    ] = False,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Compare Delta tables with the source AS OF their applied SCN, cell by cell."""
    from pipelines import steps

    with report_errors(output):
        if history:
            show_history(select_pipeline(pipeline, config), tables or None, output)
            return
        share = None if sample is None else parse_share(sample)
        if due and (tables or share is not None):
            raise typer.BadParameter("--due chooses the tables itself, and compares all of each")
        if share is not None and method is Method.rows:
            raise typer.BadParameter("a sample is of buckets: leave --method out")
        selected = resolve_connections(select_pipeline(pipeline, config))
        with progress() as report:
            result = steps.verify_tables(selected, tables or None, report=report, method=method.value, sample=share, due=due)
        if not show_values:
            result = without_values(result)
        columns = [
            "table", "AS OF SCN", "UTC", "Delta version", "source rows", "Delta rows", "differing cells",
            *(["NULL by rule"] if any(t.nulled for t in result.tables) else []), "fetched",
        ]  # fmt: skip
        rows = [
            (t.table, t.applied_scn, utc_text(t.applied_at), t.delta_version, t.source_rows, t.delta_rows, t.differing_cells,
             *([sum(t.nulled.values())] if "NULL by rule" in columns else []), shown_bytes(t.source_bytes_read))
            for t in result.tables
        ]  # fmt: skip
        if output is Output.table:
            show_verdict(result)
        show(output, result, lambda: grid("Source and Delta, cell by cell", columns, rows) if rows else "")
        if output is Output.table:
            show_differences(result)
        if not result.equal:
            raise typer.Exit(code_of(result))


def show_history(pipeline: Pipeline, tables: list[str] | None, output: Output) -> None:
    """Show the results of earlier comparisons, the newest first."""
    from pipelines import steps

    found = steps.list_proofs(pipeline, tables)
    columns = ("table", "UTC", "result", "AS OF SCN", "how", "rows", "missing", "extra", "cells", "seconds", "fetched")
    rows = [
        (p.table, utc_text(p.at), result_of(p), p.scn, how_of(p), p.source_rows, p.missing_rows, p.extra_rows,
         p.differing_cells, p.seconds, shown_bytes(p.source_bytes_read))
        for p in found
    ]  # fmt: skip
    show(output, found, lambda: grid("Comparisons", columns, rows) if rows else "No table was compared yet.")


def result_of(proof: TableProof) -> str:
    by_rule = f", {nulled_text(proof.nulled)}" if proof.nulled else ""
    if proof.is_equal and proof.history is not None and not proof.history.is_equal:
        return "equal, its HISTORY DIFFERS"
    if proof.is_equal and proof.quarantined_keys:
        return f"equal but for {proof.quarantined_keys} keys in quarantine{by_rule}"
    return f"equal{by_rule}" if proof.is_equal else "not compared" if proof.error else f"DIFFERS{by_rule}"


def how_of(proof: TableProof) -> str:
    if proof.error:
        return proof.error
    if proof.method != "buckets":
        return "all rows" if proof.method == "rows" else "repaired rows"
    of = f", a sample of {proof.share:.1%}" if proof.share < 1 else ""
    at = f", at SCNs {', '.join(map(str, proof.scns))}" if proof.scns else ""
    return f"{proof.differing_buckets} of {proof.buckets} buckets differed{of}{at}"


def shown_bytes(count: int) -> str:
    """Return a number of bytes as people read it."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def without_values(result: Verification) -> Verification:
    """Return the result with `a value` in place of each value that differs: terminals and logs are read by others too."""

    def hidden(found: Difference) -> Difference:
        if found.column == "*":  # a row that only one side has
            return found
        source, delta = (None if value is None else "a value" for value in (found.source, found.delta))
        return replace(found, source=source, delta=delta)

    tables = (replace(table, samples=tuple(hidden(one) for one in table.samples)) for table in result.tables)
    return replace(result, tables=tuple(tables))


def code_of(result: Verification) -> int:
    """Return the exit code of tables that differ, or else of tables that could not be compared."""
    if not all(table.equal for table in result.tables):
        return DIFFERS
    return TRY_AGAIN if all(one.may_pass for one in result.not_compared) else TERMINAL


def show_verdict(result: Verification) -> None:
    differing, equal = sum(not t.equal for t in result.tables), sum(t.equal for t in result.tables)
    compared = equal + differing + len(result.not_compared)
    verdict = f"{equal} of {compared} tables are equal to the source" if compared else "There is no table to compare"
    if apart := sum(t.equal and bool(t.quarantined_keys) for t in result.tables):
        verdict += f", {apart} of them but for keys in quarantine"
    if differing:
        verdict += f", {differing} differ"
    if by_rule := [f"{t.table}: {nulled_text(t.nulled)}" for t in result.tables if t.nulled]:
        verdict += f"; {'; '.join(by_rule)}"
    if result.not_compared:
        verdict += f", {len(result.not_compared)} could not be compared"
    console.print(Text(verdict, style="green" if result.equal else "red"), soft_wrap=True)
    for one in result.not_compared:
        print_alert(str(one))


def show_differences(result: Verification) -> None:
    samples = [(t.table, d.key, d.column, d.source, d.delta) for t in result.tables for d in t.samples]
    if samples:
        console.print(grid("First differences", ("table", "key", "column", "source", "Delta"), samples))
    show_declared_gaps(result.declared_gaps)
    show_dropped(result.dropped)


def row_key(text: str) -> dict[str, str]:
    """Return the key that was given on the command line."""
    try:
        return parse_row_key(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def repair(
    table: TableArgument,
    reason: Annotated[str, typer.Option(help="Why; stored with the repair and in the Delta commit.")],
    key: Annotated[
        list[str] | None,
        typer.Option(
            help="Repair the row with this key, e.g. ID=42; once for each row. Default: what the last comparison found."
        ),
    ] = None,
    pipeline: PipelineOption = None,
    config: ConfigOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Read rows that differ again AS OF the table's SCN, and merge and compare them. Other rows stay as they are."""
    from pipelines import steps

    with report_errors(output):
        keys = [row_key(text) for text in key or ()]
        selected = resolve_connections(select_pipeline(pipeline, config))
        with progress() as report:
            result = steps.repair_table(selected, table, reason=reason, keys=keys, report=report)
        show(output, without_samples(result), lambda: f"{result}\n{cost_of(result)}")
        if not result.equal:
            raise typer.Exit(DIFFERS)


def without_samples(result: RepairedTable) -> RepairedTable:
    """Return the result without values, which terminals and logs need not show."""
    return replace(result, samples=())


def cost_of(result: RepairedTable) -> str:
    read = f"{result.source_rows_read} rows, {shown_bytes(result.source_bytes_read)} were fetched from Oracle"
    lake = "" if result.lake_bytes_read is None else f"; Delta files of {shown_bytes(result.lake_bytes_read)} were searched"
    return f"{read}{lake}, in {result.seconds:g} s"


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
    from pipelines import steps

    with report_errors(output):
        if in_place and discard:
            raise typer.BadParameter("choose one of --replace and --discard")
        selected = resolve_connections(select_pipeline(pipeline, config))
        if discard:
            confirm(selected, yes)
            names = steps.discard_windows(selected, window)
            show(output, {"discarded": names}, lambda: "\n".join(f"{name}: the next run mines it again" for name in names))
            return
        with progress() as report:
            result = steps.remine_window(selected, window, report=report, in_place=in_place)
        show(output, result, lambda: remined_text(result))
        if not result.equal:
            raise typer.Exit(DIFFERS)


def remined_text(found: RemineReport) -> str:
    if found.equal:
        return "The manifests are equal." + (" The window's files were replaced." if found.replaced else "")
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
    from pipelines import steps
    from pipelines.source import connect_params

    with report_errors(output):
        result = steps.run_selftest(
            resolve_connections(select_pipeline(pipeline, config)),
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


COMMANDS = (verify, repair, remine, selftest)
