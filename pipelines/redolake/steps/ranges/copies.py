"""Whole copies of tables: a version of the live table with the landed changes since then.

A copy has all rows, other than a shadow, so it may take the live table's place (swap.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from redolake.apply.delta.log import VersionToRead
from redolake.config import Pipeline
from redolake.context import PipelineContext, Report, open_context, silent
from redolake.errors import ConfigurationError, Finding
from redolake.host import crash
from redolake.reconcile.contents import Contents
from redolake.reconcile.ledger import reconcile_ledger
from redolake.records.batches.spec import BatchSpec
from redolake.records.windows import WindowManifest
from redolake.steps.ranges.as_of import (
    bases_at,
    new_read,
    position_of,
    replay,
    with_contents,
    with_wrong_keys,
    wrong_text,
)
from redolake.steps.ranges.replay import Destination, choose, shadow_folder
from redolake.steps.shared.spark_session import Spark, spark_when_needed
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """A copy of a table at `target`: version `version`, complete to `version_scn`, with the landed changes up to `to_scn`. The
    rows of `wrong_keys` are known to be wrong: they are in the copy's own quarantine."""

    table: str
    target: str
    version: int
    version_scn: int
    to_scn: int
    wrong_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Copies:
    """`name` is that of the shadow, for `redolake swap`."""

    name: str
    windows: int
    tables: tuple[CopiedTable, ...]
    executed: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        rows = (
            f"{one.table}: Delta version {one.version}, complete to SCN {one.version_scn}, and the landed changes to SCN "
            f"{one.to_scn}, into {one.target}"
            for one in self.tables
        )
        swap = f"to put one in its live table's place: redolake swap OWNER.TABLE --shadow {self.name}"
        wrong = (wrong_text(one.table, one.wrong_keys) for one in self.tables if one.wrong_keys)
        after = (*wrong, swap) if self.executed else ()
        return (f"{self.name}: {self.windows} window(s) {'folded' if self.executed else 'to fold'}", *rows, *after)


def copy_tables(
    pipeline: Pipeline,
    start: str | int,
    end: str | int,
    tables: Sequence[str] | None = None,
    *,
    execute: bool = False,
    spark: Any = None,
    report: Report = silent,
    opens: Callable[[], Any] | None = None,
) -> Copies:
    """Make whole copies of tables as of the last SCN before `end`, from their versions at `start` and the landed changes since.

    A repeat goes on where a killed run ended. Raises NotReadableAsOf for a table that is not known at one of the SCNs.
    """
    with open_context(pipeline) as context:
        chosen = choose(context.pipeline, tables)
        reconcile_ledger(context)
        manifests, entries = context.landing.windows.after(), with_contents(context, chosen)
        moments = (str(start), str(int(end) - 1) if str(end).isdecimal() else str(end))
        first, last = (position_of(context, moment, manifests, entries) for moment in moments)
        if first > last:
            raise ConfigurationError([Finding("range", f"SCN {first.scn} is after SCN {last.scn}", "choose an earlier start")])
        bases = bases_at(context, entries, first, last)
        name = f"{first.scn}-{last.scn + 1}-copy"
        there = copies_named(context, name)
        versions = [there.version(context, table, base) for table, base in bases.items()]
        spec = fold_spec(context, bases, last, manifests, there)
        made = tuple(CopiedTable(str(v.table), str(v.copy), v.version, v.complete_to, last.scn) for v in versions)
        found = Copies(name, 0 if spec is None else len(spec.windows), made)
        if not execute:
            return found
        with spark_when_needed(pipeline, spark, opens) as opened:
            make_copies(context, versions, opened, report)
            fold(context, spec, there, opened, report)
            wrong = wrong_in_copies(versions, last.scn, opened)
        return replace(found, tables=with_wrong_keys(found.tables, wrong), executed=True)


def copies_named(context: PipelineContext, name: str) -> Destination:
    """Return where the whole copies of that name are, or shall be; the batch that they are folded by is a new one."""
    return replace(new_read(context, "copy")[1], folder=f"{shadow_folder(context.pipeline)}/{name}")


def make_copies(context: PipelineContext, versions: Sequence[VersionToRead], spark: Spark, report: Report) -> None:
    from redolake.job.as_of import make_copy

    for one in versions:
        report(f"copying version {one.version} of {one.table}")
        says = {"pipeline": context.name, "table": str(one.table), "copy": True}
        make_copy(spark.session(), one, says, is_whole=True)


def wrong_in_copies(versions: Sequence[VersionToRead], scn: int, spark: Spark) -> Mapping[TableId, tuple[str, ...]]:
    """Return the keys whose rows are known to be wrong in the copies, by the list that each of them has."""
    from redolake.job.as_of import wrong_keys_in
    from redolake.job.lake import has_log

    listed = [one for one in versions if one.copied_quarantine and has_log(one.copied_quarantine)]
    return wrong_keys_in(spark.session(), listed, scn) if listed else {}


def fold_spec(
    context: PipelineContext,
    bases: Mapping[TableId, Contents],
    last: ChainPosition,
    manifests: Sequence[WindowManifest],
    there: Destination,
) -> BatchSpec | None:
    """Return the batch that brings copies from their bases to an SCN; None where all are there."""
    lagging = {table: base for table, base in bases.items() if base.complete_to < last.scn}
    return replay(context, lagging, last, manifests, there) if lagging else None


@crash.writer
def fold(context: PipelineContext, spec: BatchSpec | None, there: Destination, spark: Spark, report: Report) -> None:
    from redolake.job.swap import fold_into_copies

    if spec is None:
        return
    try:
        fold_into_copies(spark.session(), spec, report)
    finally:
        context.landing.files.remove(there.batch)
