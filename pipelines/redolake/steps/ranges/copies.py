"""Whole copies of tables: a version of the live table with the landed changes since then.

A copy has all rows, other than a shadow, so it may take the live table's place (swap.py).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from redolake.config import Pipeline
from redolake.context import PipelineContext, Report, now, open_context, silent
from redolake.errors import ConfigurationError, Finding, plain_lines
from redolake.host import crash
from redolake.land import layout
from redolake.ledger import TableEntry
from redolake.reconcile.contents import Contents, contents_at
from redolake.reconcile.ledger import reconcile_ledger
from redolake.reconcile.table_versions import app_id
from redolake.records.batches.spec import BatchSpec
from redolake.records.windows import WindowManifest
from redolake.steps.ranges.as_of import (
    check_gaps,
    check_known,
    position_of,
    replay,
    with_contents,
    with_own_quarantines,
    wrong_text,
)
from redolake.steps.shared.named_tables import named_tables
from redolake.steps.shared.spark_session import Spark, spark_when_needed
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId

if TYPE_CHECKING:
    from redolake.job.as_of import VersionToRead


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
        swap = f"to put one in its live table's place: `redolake swap OWNER.TABLE --shadow {self.name}`"
        wrong = (wrong_text(one.table, one.wrong_keys) for one in self.tables if one.wrong_keys)
        after = (*wrong, swap) if self.executed else ()
        head = f"{self.name}: {self.windows} window(s) {'folded' if self.executed else 'to fold'}"
        return plain_lines((head, *rows, *after))


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
        chosen = named_tables(context, tables)
        reconcile_ledger(context)
        manifests, entries = context.landing.windows.after(), with_contents(context, chosen)
        moments = (str(start), str(int(end) - 1) if str(end).isdecimal() else str(end))
        first, last = (position_of(context, moment, manifests, entries) for moment in moments)
        if first > last:
            raise ConfigurationError([Finding("range", f"SCN {first.scn} is after SCN {last.scn}", "choose an earlier start")])
        bases = bases_at(context, entries, first, last)
        name = f"{first.scn}-{last.scn + 1}-copy"
        paths = {table: copy_path(context, table, name) for table in chosen}
        spec = fold_spec(context, bases, last, manifests, paths, name)
        tables_copied = (
            CopiedTable(str(table), paths[table], base.version, base.complete_to, last.scn) for table, base in bases.items()
        )
        found = Copies(name, 0 if spec is None else len(spec.windows), tuple(tables_copied))
        if not execute:
            return found
        with spark_when_needed(pipeline, spark, opens) as opened:
            make_copies(context, bases, name, opened, report)
            fold(context, spec, opened, report)
            wrong = wrong_in_copies(context, bases, name, last.scn, opened)
        tables_made = (replace(one, wrong_keys=wrong.get(TableId.parse(one.table), ())) for one in found.tables)
        return replace(found, tables=tuple(tables_made), executed=True)


def bases_at(
    context: PipelineContext, entries: Sequence[TableEntry], first: ChainPosition, last: ChainPosition
) -> dict[TableId, Contents]:
    """Return the versions from which the copies begin. A base is complete to the SCN, not above it."""
    check_gaps(context, first, [entry.table for entry in entries])
    check_gaps(context, last, [entry.table for entry in entries])
    found, bases = contents_at(context, [entry.table for entry in entries], first), dict[TableId, Contents]()
    for entry in entries:
        base = found[entry.table]
        check_known(entry, base, first)
        check_known(entry, base, last)
        assert base is not None, "check_known has refused it"
        bases[entry.table] = base
    return bases


def copy_path(context: PipelineContext, table: TableId, name: str) -> str:
    return f"{folder_of(context, name)}/{context.pipeline.table(table).path}"


def folder_of(context: PipelineContext, name: str) -> str:
    return f"{context.pipeline.lake.rstrip('/')}/_shadow/{name}"


def copy_of(context: PipelineContext, table: TableId, base: Contents, name: str) -> VersionToRead:
    """Return the version of the live table from which the copy of a shadow begins."""
    from redolake.job.as_of import VersionToRead

    pipeline, app = context.pipeline, app_id(context, table, base.resetlogs_id)
    quarantines = pipeline.quarantine_path(table), pipeline.quarantine_path(table, folder_of(context, name))
    path = copy_path(context, table, name)
    return VersionToRead(table, pipeline.target(table), base.version, app, base.complete_to, base.position, path, *quarantines)


def make_copies(context: PipelineContext, bases: Mapping[TableId, Contents], name: str, spark: Spark, report: Report) -> None:
    from redolake.job.swap import make_copy

    for table, base in bases.items():
        report(f"copying version {base.version} of {table}")
        one = copy_of(context, table, base, name)
        make_copy(spark.session(), one, {"pipeline": context.name, "table": str(table), "copy": True})


def wrong_in_copies(
    context: PipelineContext, bases: Mapping[TableId, Contents], name: str, scn: int, spark: Spark
) -> Mapping[TableId, tuple[str, ...]]:
    """Return the keys whose rows are known to be wrong in the copies, by the list that each of them has."""
    from redolake.job.as_of import wrong_keys_in
    from redolake.job.lake import has_log

    copies = [copy_of(context, table, base, name) for table, base in bases.items()]
    listed = [one for one in copies if one.copied_quarantine and has_log(one.copied_quarantine)]
    return wrong_keys_in(spark.session(), listed, scn) if listed else {}


def fold_spec(
    context: PipelineContext,
    bases: Mapping[TableId, Contents],
    last: ChainPosition,
    manifests: Sequence[WindowManifest],
    paths: Mapping[TableId, str],
    shadow: str,
) -> BatchSpec | None:
    """Return the batch that brings the copies of a shadow from their bases to an SCN; None where all are there."""
    lagging = {table: base for table, base in bases.items() if base.complete_to < last.scn}
    if not lagging:
        return None
    name = f"{now():%Y%m%dT%H%M%S}-{uuid.uuid4().hex}"
    spec = replay(context, lagging, last, manifests, name)
    redirected = replace(spec, tables=tuple(replace(task, target=paths[task.table]) for task in spec.tables))
    return with_own_quarantines(context, redirected, folder_of(context, shadow))


@crash.writer
def fold(context: PipelineContext, spec: BatchSpec | None, spark: Spark, report: Report) -> None:
    from redolake.job.swap import fold_into_copies

    if spec is None:
        return
    try:
        fold_into_copies(spark.session(), spec, report)
    finally:
        context.landing.files.remove(layout.as_of_folder(spec.manifest.split("/")[-2]))
