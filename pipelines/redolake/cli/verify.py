"""The command `verify`: compare tables with the source, and show what earlier comparisons found."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from redolake.cli.options import (
    DIFFERS,
    TERMINAL,
    TRY_AGAIN,
    ConfigOption,
    OutputOption,
    PipelineOption,
    TablesArgument,
    chosen_pipeline,
)
from redolake.cli.output import (
    Output,
    console,
    grid,
    print_alert,
    progress,
    show,
    show_declared_gaps,
    show_dropped,
)
from redolake.values.amounts import size
from redolake.values.null_rule import nulled_text
from redolake.values.utc import utc_text

if TYPE_CHECKING:
    from redolake.apply.verify.comparison import Difference
    from redolake.config import Pipeline
    from redolake.records.proofs import TableProof
    from redolake.steps.proof.verify import Verification


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
    from redolake import steps

    if history:
        with chosen_pipeline(output, pipeline, config) as selected:
            show_history(selected, tables or None, output)
        return
    share = None if sample is None else parse_share(sample)
    if due and (tables or share is not None):
        raise typer.BadParameter("--due chooses the tables itself, and compares all of each")
    if share is not None and method is Method.rows:
        raise typer.BadParameter("a sample is of buckets: leave --method out")
    with chosen_pipeline(output, pipeline, config, connects=True) as selected:
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
             *([sum(t.nulled.values())] if "NULL by rule" in columns else []), size(t.source_bytes_read))
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
    from redolake import steps

    found = steps.list_proofs(pipeline, tables)
    columns = ("table", "UTC", "result", "AS OF SCN", "how", "rows", "missing", "extra", "cells", "seconds", "fetched")
    rows = [
        (p.table, utc_text(p.at), result_of(p), p.scn, how_of(p), p.source_rows, p.missing_rows, p.extra_rows,
         p.differing_cells, p.seconds, size(p.source_bytes_read))
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


COMMANDS = (verify,)
