"""`verify`: compare tables with the source, and show what earlier comparisons found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from redolake.errors import ConfigurationError, Finding, plain_lines
from redolake.operations.declared import AnyTables, Option, Outcome, Verdict, operation
from redolake.values.amounts import size
from redolake.values.null_rule import nulled_text
from redolake.values.utc import utc_text

if TYPE_CHECKING:
    from redolake.apply.verify.comparison import Difference
    from redolake.context import Run
    from redolake.records.proofs import TableProof
    from redolake.steps.proof.verify import Verification

Method = Annotated[
    Any,
    Option(
        "How a table is compared.",
        choices={
            "auto": "by buckets from 100,000 rows on",
            "rows": "read all rows of both sides",
            "buckets": "let both sides hash them, and read those of buckets that differ",
        },
    ),
]
Sample = Annotated[str | None, Option("Compare only this share of each table's buckets, e.g. 1%.")]
Due = Annotated[bool, Option("Only tables not compared for `verify.every`, for as long as `verify.budget`.")]
Earlier = Annotated[bool, Option("Show earlier results, and compare nothing.")]
ShowValues = Annotated[bool, Option("Show the values that differ; default: only their keys and columns.")]


@operation("verify", looks=True, connects=lambda chosen: not chosen["history"])
def verify(
    run: Run,
    tables: AnyTables = (),
    method: Method = "auto",
    sample: Sample = None,
    due: Due = False,
    history: Earlier = False,
    show_values: ShowValues = False,
) -> Outcome:
    """Compare Delta tables with the source AS OF their applied SCN, cell by cell.

    Each table is read from Oracle once, and apply continues meanwhile. The results are stored with SCN and Delta version.
    """
    from redolake import steps

    if history:
        proofs = steps.list_proofs(run.pipeline, tables or None)
        return Outcome(proofs, plain_lines(map(proof_line, proofs)) or ("No table was compared yet.",))
    share = None if sample is None else parse_share(sample)
    if due and (tables or share is not None):
        refuse("due", "chooses the tables itself, and compares all of each")
    if share is not None and method == "rows":
        refuse("sample", "is of buckets, and the method is rows")
    found = steps.verify_tables(run, tables or None, method=method, sample=share, due=due)
    found = found if show_values else without_values(found)
    return Outcome(found, plain_lines(lines_of(found)), verdict_of(found))


def refuse(option: str, what: str) -> None:
    raise ConfigurationError([Finding(f"--{option}", what, "leave it out, or what it excludes")])


def parse_share(text: str) -> float:
    """Return a percentage such as `1%` as a share. Raises ConfigurationError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?%", text.strip())
    if found is None or not 0 < float(found[1]) < 100:
        cure = "write a percentage above 0% and below 100%, e.g. 1%"
        raise ConfigurationError([Finding("--sample", f"{text!r} is no share", cure)])
    return float(found[1]) / 100


def without_values(result: Verification) -> Verification:
    """Return the result with `a value` in place of each value that differs: terminals and logs are read by others too."""

    def hidden(found: Difference) -> Difference:
        if found.column == "*":  # a row that only one side has
            return found
        source, delta = (None if value is None else "a value" for value in (found.source, found.delta))
        return replace(found, source=source, delta=delta)

    return replace(result, samples={table: tuple(map(hidden, found)) for table, found in result.samples.items()})


def verdict_of(result: Verification) -> Verdict:
    """Tables that differ come before those that could not be compared."""
    if not all(table.equal for table in result.tables):
        return Verdict.DIFFERS
    if result.equal:
        return Verdict.DONE
    return Verdict.LATER if all(one.may_pass for one in result.not_compared) else Verdict.STOPPED


def lines_of(result: Verification) -> Iterator[str]:
    from redolake.steps.shared.status import dropped_lines, gap_lines

    yield headline(result)
    for one in (*result.not_compared, *sorted(result.tables, key=lambda table: table.equal)):
        yield from str(one).split("\n")
    for table, samples in result.samples.items():
        for found in samples:
            yield f"{table} {found.key} {found.column}: {found.source} in the source, {found.delta} in Delta"
    yield from gap_lines(result.declared_gaps)
    yield from dropped_lines(result.dropped)


def headline(result: Verification) -> str:
    differing, equal = sum(not t.equal for t in result.tables), sum(t.equal for t in result.tables)
    compared = equal + differing + len(result.not_compared)
    verdict = f"{equal} of {compared} tables are equal to the source" if compared else "There is no table to compare"
    if apart := sum(t.equal and bool(t.quarantined_keys) for t in result.tables):
        verdict += f", {apart} of them but for keys in quarantine"
    if differing:
        verdict += f", {differing} differ"
    if by_rule := [f"{t.table}: {nulled_text(t.nulled)}" for t in result.tables if t.nulled]:
        verdict += f"; {'; '.join(by_rule)}"
    return f"{verdict}, {len(result.not_compared)} could not be compared" if result.not_compared else verdict


def proof_line(one: TableProof) -> str:
    counts = f"{one.missing_rows} rows missing, {one.extra_rows} extra, {one.differing_cells} cells differ"
    found = f"{one.source_rows} rows, {one.seconds} s, {size(one.source_bytes_read)} fetched"
    where = "" if one.scn is None else f" AS OF SCN {one.scn}"
    return f"{utc_text(one.at)} {one.table}: {result_of(one)}{where}, {counts}, {how_of(one)}, {found}"


def result_of(proof: TableProof) -> str:
    by_rule = f", {nulled_text(proof.nulled)}" if proof.nulled else ""
    if proof.has_equal_rows and not proof.equal:
        return "equal, its HISTORY DIFFERS"
    if proof.has_equal_rows and proof.quarantined_keys:
        return f"equal but for {proof.quarantined_keys} keys in quarantine{by_rule}"
    return f"equal{by_rule}" if proof.has_equal_rows else "not compared" if proof.error else f"DIFFERS{by_rule}"


def how_of(proof: TableProof) -> str:
    if proof.error:
        return proof.error
    if proof.method != "buckets":
        return "all rows" if proof.method == "rows" else "repaired rows"
    of = f", a sample of {proof.share:.1%}" if proof.share < 1 else ""
    at = f", at SCNs {', '.join(map(str, proof.scns))}" if proof.scns else ""
    return f"{proof.differing_buckets} of {proof.buckets} buckets differed{of}{at}"
