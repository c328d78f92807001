"""Give each captured table a folder of its own in the lake: find those that have none, before anything is written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from redolake.apply.lake_tables import read_log
from redolake.apply.owner import Owner, Use, cure_of, why_taken
from redolake.apply.table_log import TableLog
from redolake.config import Pipeline
from redolake.config.tables import default_path
from redolake.context import Run, with_recorded_tables
from redolake.errors import ConfigurationError, Finding, LakeDamaged
from redolake.host.filesystem import storage_errors
from redolake.host.paths import find_crowded
from redolake.land.landing import Landing
from redolake.reconcile.table_versions import app_id, origin
from redolake.values.table import TableId, yaml_table

LOGS_AT_ONCE = 16
NOTHING_LANDED = "nothing yet"  # in place of where a landing began that has not


def folder_findings(pipeline: Pipeline, first: Collection[TableId] = ()) -> dict[TableId, Finding]:
    """Return a finding for each table whose folder another table has, or that lies in or around another's or the landing.

    The tables in `first`, which have contents, keep their folders; so do those that are listed before those of a pattern."""
    listed = {table.id for table in pipeline.tables if not pipeline.is_of_pattern(table)}
    ordered = sorted((t.id for t in pipeline.tables), key=lambda table: (table not in first, table not in listed, table))
    folders: list[tuple[str, object]] = [(pipeline.landing_folder, "the landing")]
    folders += [(pipeline.target(table), table) for table in ordered]
    taken = find_crowded(folders)
    return {table: shared_finding(pipeline, table, taken[table]) for table in ordered if table in taken}


def shared_finding(pipeline: Pipeline, table: TableId, other: object) -> Finding:
    own, used = pipeline.table(table), [pipeline.table(one.id).path for one in pipeline.tables]
    what = f"its folder {own.path} is that of {other}, or one lies in the other"
    entry = f"{{table: {yaml_table(str(table))}, target: {free_path(default_path(table), used)}}}"
    return Finding(str(table), what, f"give it a folder of its own in `tables`: {entry}, with the table's other settings")


def free_path(path: str, used: Iterable[str]) -> str:
    """Return a path like this one that is no used one on any store, nor in or around it."""
    known = [(one, one) for one in used]
    return next(found for number in count(2) if "" not in find_crowded([*known, (found := f"{path}-{number}", "")]))


def taken_folders(context: Run, tables: Sequence[TableId], *, replaces: bool = False) -> dict[TableId, Finding]:
    """Return a finding for each table in whose folder another owner's Delta table is, by what is written into that one. Raises
    ConfigurationError if the lake cannot be read."""
    began = origin(context) or NOTHING_LANDED
    with ThreadPoolExecutor(LOGS_AT_ONCE) as pool:
        logs = dict(zip(tables, pool.map(lambda table: log_of(context.pipeline, table), tables), strict=True))
    found = dict[TableId, Finding]()
    use: Use = "rebuild" if replaces else "load"
    for table, log in logs.items():
        try:
            if isinstance(log, LakeDamaged):
                raise log
            own = Owner.of(app_id(context, table, 0), began)  # as the table was written: names in app ids are escaped
            what = None if log is None or own is None else why_taken(log, own, use)
        except LakeDamaged as error:
            if not (replaces and table in with_contents(context)):  # else it is this pipeline's, and is loaded again
                found[table] = Finding(str(table), error.what, error.cure)
            continue
        if what is not None:
            found[table] = Finding(str(table), f"{what}: {context.pipeline.target(table)}", cure_of(what, table))
    return found


def log_of(pipeline: Pipeline, table: TableId) -> TableLog | LakeDamaged | None:
    """Return the table's log, or why it cannot be read."""
    try:
        return read_log(pipeline.target(table))
    except LakeDamaged as error:
        return error
    except storage_errors() as error:
        what = f"the lake cannot be read: {getattr(error, 'strerror', None) or error}"
        cure = "give this process the right to read it, and run again"
        raise ConfigurationError([Finding(pipeline.target(table), what, cure)]) from error


def refused_folders(context: Run, tables: Sequence[TableId], *, replaces: bool = False) -> dict[TableId, Finding]:
    """Return why tables cannot be loaded to their folders."""
    crowded = folder_findings(context.pipeline, with_contents(context))
    return {**taken_folders(context, tables, replaces=replaces), **{t: f for t, f in crowded.items() if t in tables}}


def with_contents(context: Run) -> set[TableId]:
    return {entry.table for entry in context.ledger.tables() if entry.complete_to_scn is not None}


def find_shared(pipelines: Iterable[Pipeline]) -> list[Finding]:
    """Return a finding for each table whose folder one of another pipeline has, as far as the landings record what patterns
    have matched. Each pipeline's own tables are checked alone."""
    folders, places = list[tuple[str, tuple[str, TableId]]](), dict[tuple[str, TableId], str]()
    for pipeline in pipelines:
        recorded = with_recorded_tables(pipeline, Landing(pipeline.landing, pipeline.name))
        alone = folder_findings(recorded)
        for table in (one.id for one in recorded.tables if one.id not in alone):
            places[pipeline.name, table] = recorded.target(table)
            folders.append((recorded.target(table), (pipeline.name, table)))
    found: Mapping[tuple[str, TableId], tuple[str, TableId]] = find_crowded(folders)
    return [
        Finding(
            f"{name}: {table}",
            f"its folder {places[name, table]} is that of {other} of pipeline {of}, or one lies in the other",
            "give one of the pipelines another `lake`, or one of the tables a `target`",
        )
        for (name, table), (of, other) in found.items()
    ]
