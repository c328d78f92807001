"""Read tables AS OF one SCN of the source: all of them as they were after the same commits.

At the ends of batches that is a version of each Delta table. In between, the changes that landed up to the SCN are applied to a
copy of the version before it, by the job that applies batches. The copy names the files of the live table and holds only what
changes. An SCN at which a table is not known is refused with the table's name, before anything is read.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from redolake.apply.table_log import VersionToRead
from redolake.context import Run, now, step
from redolake.errors import ConfigurationError, Finding, NotReadableAsOf, one_line
from redolake.host import crash
from redolake.land import layout
from redolake.ledger import TableEntry
from redolake.reconcile.contents import Contents, contents_at
from redolake.reconcile.lacked_gaps import gaps_lacked_at
from redolake.reconcile.lake_place import lake_place
from redolake.reconcile.ledger import reconcile_ledger
from redolake.reconcile.table_versions import versions_of_time
from redolake.records.batches.spec import BatchSpec, TableTask
from redolake.records.gaps import DeclaredGap
from redolake.records.lakes import LakePlace
from redolake.records.windows import WindowManifest
from redolake.steps.ranges.dry_run import changes_of
from redolake.steps.ranges.range_ends import scn_at_time, scn_of
from redolake.steps.ranges.replay import (
    AIMS,
    Aim,
    as_of_then,
    find_covering,
    find_stop,
    live_version,
    plan_batch,
)
from redolake.steps.shared.chosen_folders import check_folder_to_write, check_paths_to_write
from redolake.steps.shared.named_tables import named_tables
from redolake.steps.shared.scn_times import time_written
from redolake.values.moment import AtWindow, parse_moment
from redolake.values.scn import ChainPosition, Scn, ScnRange
from redolake.values.table import TableId

if TYPE_CHECKING:
    from redolake.steps.ranges.swap import CopiedTable

T = TypeVar("T", bound="TableAsOf | CopiedTable")
SHOWN = 5  # keys in a text
LEFT_DAYS = 7  # copies of a process that was killed stay as long as a session might still read them


@dataclass(frozen=True, slots=True)
class TableAsOf:
    """`version` of the Delta table is complete to `version_scn`; where that is below the SCN that was asked for, `replayed`
    says that the landed changes since then were applied to a copy. `lacks` are the declared gaps, as texts, whose changes are
    not in the rows. `wrong_keys` were in quarantine at the SCN: their rows are known to be wrong."""

    table: str
    version: int
    version_scn: int
    replayed: bool
    rows: int | None = None
    lacks: tuple[str, ...] = ()
    wrong_keys: tuple[str, ...] = ()

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a reader of the rows has to know."""
        lacked = (f"{self.table} lacks {gap}" for gap in self.lacks)
        return (*lacked, *((wrong_text(self.table, self.wrong_keys),) if self.wrong_keys else ()))


def wrong_text(table: str, keys: Sequence[str]) -> str:
    """Return that rows are known to be wrong, with the first of their keys."""
    more = f", and {len(keys) - SHOWN} more, which the JSON output lists" if len(keys) > SHOWN else ""
    what = f"the rows of {len(keys)} keys in quarantine are known to be wrong"
    return one_line(f"{table}: {what}: {', '.join(keys[:SHOWN])}{more}")


@dataclass(frozen=True, slots=True)
class ReadAsOf:
    """The tables AS OF `scn`, which the source had written by `at`. `files` is where they were written; `result` are the rows
    of a query, each a list of texts, under `columns`."""

    scn: int
    at: str | None
    tables: tuple[TableAsOf, ...]
    files: str | None = None
    columns: tuple[str, ...] = ()
    result: tuple[tuple[str | None, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """The versions to read AS OF `scn`. The batch `spec` brings those with a copy there; its folder is called `name`."""

    scn: int
    at: str | None
    versions: tuple[VersionToRead, ...]
    spec: BatchSpec | None
    name: str
    lake: LakePlace
    lacked: Mapping[TableId, Sequence[DeclaredGap]]

    @property
    def tables(self) -> tuple[TableAsOf, ...]:
        return tuple(
            TableAsOf(
                str(one.table),
                one.version,
                self.scn if one.copy is None else one.complete_to,
                one.copy is not None,
                lacks=tuple(gap_text(gap) for gap in self.lacked.get(one.table, ())),
            )
            for one in self.versions
        )

    def version_of(self, table: TableId) -> VersionToRead:
        return next(one for one in self.versions if one.table == table)


@step
def plan_read(context: Run, moment: str, tables: Sequence[str] | None = None) -> ReadPlan:
    """Return what is to be read for a moment (values/moment.py). Raises NotReadableAsOf with the first table that was not, or
    is not, known at its SCN."""
    chosen = named_tables(context, tables)
    reconcile_ledger(context)
    manifests = context.landing.windows.after()
    entries = with_contents(context, chosen)
    at = position_of(context, moment, manifests, entries)
    bases = bases_at(context, entries, at)
    lagging = {table: base for table, base in bases.items() if not base.has(at)}
    name, there = new_read(context, "read")
    return ReadPlan(
        scn=at.scn,
        at=time_written(context, at.scn),
        versions=tuple(
            there.version(context, table, base) if table in lagging else live_version(context, table, base)
            for table, base in bases.items()
        ),
        spec=replay(context, lagging, at, manifests, there) if lagging else None,
        name=name,
        lake=lake_place(context),
        lacked=gaps_lacked_at(context, bases, at),
    )


def gap_text(gap: DeclaredGap) -> str:
    return f"the changes from SCN {gap.start.scn} to {gap.last_position.scn}, a declared gap: {gap.reason or gap.kind}"


# --- The SCN, and whether each table is known there ---------------------------------------------------------------------


def with_contents(context: Run, chosen: Sequence[TableId]) -> list[TableEntry]:
    entries = []
    for table in chosen:
        entry = context.ledger.table(table)
        if entry is None or entry.complete_to_scn is None:
            raise NotReadableAsOf("the table has no contents yet", cure=f"`redolake snapshot {table}`", table=table)
        entries.append(entry)
    return entries


def position_of(context: Run, text: str, manifests: Sequence[WindowManifest], entries: Sequence[TableEntry]) -> ChainPosition:
    """Return the moment's SCN: that of the last commit that counts. A time is the end of the last window before it."""
    try:
        scn = scn_of_moment(context, text, manifests, entries)
    except ValueError as wrong:
        cure = "`redolake status` shows the SCN of each table, `redolake windows` what has landed"
        raise ConfigurationError([Finding("as of", str(wrong), cure)]) from None
    return ChainPosition(incarnation_at(scn, manifests, entries), scn)


def scn_of_moment(context: Run, text: str, manifests: Sequence[WindowManifest], entries: Sequence[TableEntry]) -> int:
    moment = parse_moment(text)
    match moment:
        case int():
            return moment
        case "now":
            return min(entry.position for entry in entries).scn
        case "first":
            raise ValueError("`first` is no moment of all tables: name an SCN, a time, or `now`")
        case AtWindow():
            return scn_of(moment, manifests, {}, is_last=True) - 1
        case datetime():
            times = context.ledger.end_times(m.end_position for m in manifests)
            return scn_at_time(moment, manifests, times, is_last=False) - 1


def incarnation_at(scn: int, manifests: Sequence[WindowManifest], entries: Sequence[TableEntry]) -> int:
    """Return the incarnation of the SCN in the line of the present database: a RESETLOGS ends the one before it."""
    found = next((m.resetlogs_id for m in reversed(manifests) if m.start <= scn), None)
    return found if found is not None else min(entry.position.resetlogs_id for entry in entries)


def bases_at(
    context: Run, entries: Sequence[TableEntry], first: ChainPosition, last: ChainPosition | None = None
) -> dict[TableId, Contents]:
    """Return the version that each table has at `first`, or from which its rows of then are made. Raise NotReadableAsOf for a
    table that is not known there, or at `last`."""
    tables, ends = [entry.table for entry in entries], (first,) if last is None else (first, last)
    for at in ends:
        check_gaps(context, at, tables)
    found = contents_at(context, tables, first)
    for entry in entries:
        for at in ends:
            check_known(entry, found[entry.table], at)
    return {table: base for table, base in found.items() if base is not None}


def check_gaps(context: Run, at: ChainPosition, tables: Sequence[TableId]) -> None:
    for gap in context.landing.gaps.all():
        if gap.start.chain_position <= at < gap.last_position:
            raise NotReadableAsOf(
                f"SCN {at.scn} lies in a declared gap: "
                f"the redo from SCN {gap.start.scn} to {gap.last_position.scn} was never read",
                cure=f"choose SCN {gap.start.scn - 1} or lower, or one after the tables were read again",
                table=", ".join(map(str, tables)),
                scn=at.scn,
            )


def check_known(entry: TableEntry, base: Contents | None, at: ChainPosition) -> None:
    if entry.position < at:
        raise NotReadableAsOf(
            f"the table is complete to SCN {entry.complete_to_scn} only"
            + (f", where it is held: {(entry.error or {}).get('what')}" if entry.state == "held" else ""),
            cure=f"choose SCN {entry.complete_to_scn} or lower, or wait until apply has passed SCN {at.scn}",
            table=entry.table,
            scn=at.scn,
        )
    if base is None or base.resetlogs_id != at.resetlogs_id:
        first = "" if entry.snapshot_scn is None else f" (its last snapshot is AS OF SCN {entry.snapshot_scn})"
        raise NotReadableAsOf(
            f"the table had no contents yet at SCN {at.scn}, or was being read{first}",
            cure="choose a later SCN, or leave the table out",
            table=entry.table,
            scn=at.scn,
        )


# --- Between two versions -----------------------------------------------------------------------------------------------


def new_read(context: Run, aim: Literal["read", "copy", "history"]) -> tuple[str, Aim]:
    """Return a new name, and a destination of that name: folders of the lake and of the landing that are removed afterwards."""
    name = f"{now():%Y%m%dT%H%M%S}-{uuid.uuid4().hex}"
    folder = f"{context.pipeline.lake.rstrip('/')}/{layout.lake_copies(name)}"
    return name, replace(AIMS[aim], folder=folder, batch=layout.as_of_folder(name))


def replay(
    context: Run,
    bases: Mapping[TableId, Contents],
    at: ChainPosition,
    manifests: Sequence[WindowManifest],
    there: Aim,
) -> BatchSpec:
    """Return a batch that brings copies of the tables from their versions to the SCN, and no further. Raise NotReadableAsOf
    where its redo is not there, and for a table that is not known at the SCN."""
    first = min(base.complete_to for base in bases.values()) + 1
    scns = ScnRange(Scn(first), Scn(at.scn + 1))
    entries = [
        as_of_then(entry, base.complete_to, base.resetlogs_id, snapshot_at(context, table, base.complete_to))
        for table, base in bases.items()
        if (entry := context.ledger.table(table)) is not None
    ]
    of_time = {t: versions_of_time(context.ledger.versions(t), base.complete_to + 1) for t, base in bases.items()}
    try:
        find_covering([m for m in manifests if m.resetlogs_id == at.resetlogs_id], scns, context.landing.pruned)
        start = ChainPosition(at.resetlogs_id, first)
        spec, windows = plan_batch(context, manifests, start, scns.end, entries, of_time)
    except ConfigurationError as refused:
        raise NotReadableAsOf(
            f"from SCN {first - 1}, where a version of the table is, to SCN {at.scn} the redo is not landed without a break: "
            f"{refused.findings[0].what}",
            cure=f"choose SCN {first - 1}, the end of a batch; or {refused.findings[0].cure}",
            table=", ".join(map(str, bases)),
        ) from None
    for task in spec.tables:
        check_stops(task, windows[-1], bases[task.table].complete_to, at)
    return there.aim(context, spec, scns)


def snapshot_at(context: Run, table: TableId, scn: int) -> int | None:
    """Return the SCN if the table's contents of then are those of a snapshot: it lacks what was open at it."""
    return None if context.landing.snapshots.redo_needed_from(table, scn) is None else scn


def check_stops(task: TableTask, last: WindowManifest, complete_to: int, at: ChainPosition) -> None:
    """Raise NotReadableAsOf for a table that a DDL stops before the SCN, and for one whose rows are known only at the ends of
    windows, inside a window with changes of it."""
    for finding in find_stop(task, ScnRange(Scn(complete_to + 1), Scn(at.scn + 1))):
        cure = f"choose SCN {complete_to}, or leave the table out"
        raise NotReadableAsOf(finding.what, cure=cure, table=task.table)
    is_reread = any(delivery.rereads for delivery in task.course.deliveries)
    if is_reread and last.end != at.scn + 1 and changes_of(task.table, [last]):
        raise NotReadableAsOf(
            "values of its rows are read again at the ends of windows, and are not known in between",
            cure=f"choose SCN {last.start - 1} or SCN {last.end - 1}, or leave the table out",
            table=task.table,
            scn=at.scn,
        )


# --- Reading ------------------------------------------------------------------------------------------------------------


@contextmanager
def opened_as_of(context: Run, plan: ReadPlan) -> Iterator[tuple[Mapping[TableId, Any], Mapping[TableId, tuple[str, ...]]]]:
    """Yield the tables of a plan as data frames, which can be read until the end of the block, and the keys that are wrong."""
    from redolake.job.as_of import read_versions

    remove_left(context, plan.lake)
    between = sum(one.copy is not None for one in plan.versions)
    replayed = f", {between} of them between two versions" if between else ""
    context.report(f"reading {len(plan.versions)} table(s) AS OF SCN {plan.scn}{replayed}")
    try:
        yield read_versions(context.spark.session(), plan.versions, plan.spec, plan.scn, context.report)
    finally:
        if plan.spec is not None:
            remove_read(context, plan.lake, plan.name)


@crash.writer
def remove_read(context: Run, lake: LakePlace, name: str) -> None:
    """Remove what a read has written: the copies in the lake, and what its batch left in the landing."""
    from redolake.job.as_of import remove_copies

    remove_copies(lake, layout.lake_copies(name))
    context.landing.files.remove(layout.as_of_folder(name))


def remove_left(context: Run, lake: LakePlace) -> None:
    """Remove what reads have left that were killed more than LEFT_DAYS ago."""
    from redolake.job.as_of import copies_in

    in_landing = context.landing.files.names(layout.AS_OF)  # the batches of whole copies are there alone
    for name in sorted({*copies_in(lake, layout.lake_copies()), *in_landing}):
        began = name.partition("-")[0]
        if datetime.strptime(began, "%Y%m%dT%H%M%S").replace(tzinfo=UTC) < now() - timedelta(days=LEFT_DAYS):
            remove_read(context, lake, name)


@step
def read_as_of(
    context: Run, moment: str, tables: Sequence[str] | None = None, *, to: str | None = None, sql: str | None = None
) -> ReadAsOf:
    """Write the tables AS OF a moment as Parquet to the folder `to`, or answer a query over them, or count their rows."""
    if to is not None:
        check_folder_to_write(context.configured, "--to", to)
    plan = plan_read(context, moment, tables)
    with opened_as_of(context, plan) as (frames, wrong):
        known = with_wrong_keys(plan.tables, wrong)
        found = ReadAsOf(plan.scn, plan.at, known)
        if to is not None:
            return replace(found, tables=write_all(context, frames, to, known), files=to)
        if sql is not None:
            return answer(found, context.spark.session(), frames, sql)
        rows = {str(table): frame.count() for table, frame in frames.items()}
        return replace(found, tables=tuple(replace(one, rows=rows[one.table]) for one in known))


def with_wrong_keys(tables: Sequence[T], wrong: Mapping[TableId, tuple[str, ...]]) -> tuple[T, ...]:
    return tuple(replace(one, wrong_keys=wrong.get(TableId.parse(one.table), ())) for one in tables)


def write_all(context: Run, frames: Mapping[TableId, Any], to: str, tables: Sequence[TableAsOf]) -> tuple[TableAsOf, ...]:
    """Write each table into a folder of its own. Return the tables with their rows."""
    from redolake.job.as_of import write_as_parquet

    named = [context.pipeline.table(table).path for table in frames]
    paths = dict(zip(frames, check_paths_to_write(context.pipeline, "--to", to, named), strict=True))
    rows = {}
    for table, frame in frames.items():
        rows[str(table)] = write_as_parquet(frame, paths[table])
        context.report(f"{table}: {rows[str(table)]} rows written to {paths[table]}")
    return tuple(replace(one, rows=rows[one.table]) for one in tables)


def answer(found: ReadAsOf, spark: Any, frames: Mapping[TableId, Any], sql: str) -> ReadAsOf:
    """Run a query in which each table is a view: OWNER_NAME, and its name alone where no other table has it."""
    from redolake.job.as_of import answer_query

    columns, rows = answer_query(spark, {name: frames[table] for name, table in view_names(frames).items()}, sql)
    return replace(found, columns=tuple(columns), result=tuple(tuple(None if v is None else str(v) for v in r) for r in rows))


def view_names(tables: Mapping[TableId, Any]) -> dict[str, TableId]:
    names = [table.name for table in tables]
    alone = {table.name: table for table in tables if names.count(table.name) == 1}
    return {**{f"{table.owner}_{table.name}": table for table in tables}, **alone}
