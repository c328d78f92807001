"""Resolve the patterns of `tables` against the dictionary: which tables are captured, announced, left out, or gone.

The result is recorded in the landing, so that all other steps know the tables without Oracle.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from redolake.config import Pipeline
from redolake.context import Run, step, with_captured, with_recorded_tables
from redolake.errors import ConfigurationError, Finding
from redolake.land.landing import Landing
from redolake.reconcile.ledger import reconcile_once
from redolake.reconcile.table_versions import present_object_ids
from redolake.reconcile.tables import capture_scn
from redolake.records.captured import CapturedTables
from redolake.source import ListedTable, Source, list_tables, read_current_scn
from redolake.source.dictionary import query_tables
from redolake.values.scn import BEFORE_ALL
from redolake.values.table import Renamed, TableId

log = logging.getLogger(__name__)
NO_OBJECTS: Mapping[int, TableId] = {}


def match_tables(context: Run, oracle: Source) -> None:
    """Let the run's pipeline have the tables that its patterns match now, and record them where they have changed.

    Raises ConfigurationError if a pattern matches nothing and the pipeline has no tables yet.
    """
    pipeline = context.pipeline
    if not pipeline.patterns:
        return
    scn, listed = read_list(pipeline, oracle)
    objects = present_object_ids(context)
    while True:
        number, before = context.landing.captured.newest()
        made = resolve_patterns(pipeline, listed, scn, before, objects)
        empty = [finding for finding in find_unmatched(pipeline, listed) if finding.severity == "error"]
        if before is None and empty:
            raise ConfigurationError(empty)
        if before is not None and replace(made, scn=before.scn) == before:
            break
        if context.landing.captured.write_captured(number, made):
            report_changes(pipeline, before, made)
            break
    context.pipeline = with_captured(context.configured, made)


def announced_tables(context: Run) -> tuple[str, ...]:
    """Return the tables that match a pattern, came later, and are not captured."""
    if not context.pipeline.patterns:
        return ()
    _, recorded = context.landing.captured.newest()
    return () if recorded is None else tuple(recorded.announced)


@step
def joined_tables(context: Run) -> list[str]:
    """Return the tables that a pattern has added, whose redo is landed, and that have no contents yet."""
    reconcile_once(context)
    new = {entry.table for entry in context.ledger.tables("new")}
    by_pattern = new & {table.id for table in context.pipeline.tables} - {table.id for table in context.configured.tables}
    end = context.landing.chain_end()
    newest = BEFORE_ALL if end is None else end.chain_position
    return [str(table) for table in sorted(by_pattern) if capture_scn(context, table, newest) is not None]


def read_list(pipeline: Pipeline, oracle: Source) -> tuple[int, tuple[ListedTable, ...]]:
    """Return the tables of the owners that patterns name, and an SCN before they were listed."""
    oracle.use_container(pipeline.source.container)
    scn = int(read_current_scn(oracle))
    listed = list_tables(oracle, [match.pattern for match in pipeline.patterns], pipeline.source.container)
    plain = [one.table for one in listed if one.left_out is None and pipeline.match_of(one.table) is not None]
    ids = {table: int(rows[0].object_id) for table, rows in query_tables(oracle, "table_object", plain).items() if rows}
    return scn, tuple(replace(one, object_id=ids.get(one.table)) for one in listed)


def resolve_patterns(
    pipeline: Pipeline,
    listed: Sequence[ListedTable],
    scn: int,
    before: CapturedTables | None,
    objects: Mapping[int, TableId] = NO_OBJECTS,
) -> CapturedTables:
    """Return the tables that patterns match. One that is there when its pattern is resolved first is captured; a later one
    only with `new_tables: capture`. `objects` are the captured tables by OBJECT_ID: a table that has one of these was renamed.
    """
    single = {table.id for table in pipeline.tables if before is None or str(table.id) not in before.tables}
    matched = {one.table: one for one in listed if one.table not in single and pipeline.match_of(one.table) is not None}
    known = {TableId.parse(text) for text in (before.tables if before else ())}
    old_patterns = set(before.patterns if before else ())
    kept = {table for table in known if table not in single and pipeline.match_of(table) is not None}
    renamed = renamed_tables(matched.values(), kept, objects, before)
    doubles = doubled_tables(pipeline, matched.values(), renamed, objects)
    captured, announced = set(kept), dict[str, int]()
    for table, one in matched.items():
        match = pipeline.match_of(table)
        assert match is not None
        if one.left_out is not None or table in kept or table in doubles or table in renamed.values():
            continue
        if pipeline.new_tables == "capture" or match.match not in old_patterns:
            captured.add(table)
        else:
            announced[str(table)] = (before.announced if before else {}).get(str(table), scn)
    there = {one.table for one in listed}
    missing = sorted(table for table in kept if renamed.get(table, table) not in there)
    gone = {str(table): (before.gone if before else {}).get(str(table), scn) for table in missing}
    left_out = {t: one.left_out for t, one in matched.items() if one.left_out is not None and t not in kept} | doubles
    return CapturedTables(
        scn=scn,
        patterns=tuple(match.match for match in pipeline.patterns),
        tables=tuple(map(str, sorted(captured))),
        announced=dict(sorted(announced.items())),
        left_out={str(table): why for table, why in sorted(left_out.items())},
        gone=gone,
        renamed={str(table): str(name) for table, name in sorted(renamed.items())},
    )


def renamed_tables(
    matched: Iterable[ListedTable], kept: Container[TableId], objects: Mapping[int, TableId], before: CapturedTables | None
) -> dict[TableId, TableId]:
    """Return the present names of captured tables that were renamed to another name that a pattern matches.

    Where another table has got the old name, by a RENAME of its own or by DBMS_REDEFINITION, only a person knows which of the
    two is meant, so a new rename is not followed. One that was followed stays so.
    """
    of_object = {one.table: objects.get(one.object_id or 0) for one in matched if one.object_id is not None}
    then = {TableId.parse(table): TableId.parse(name) for table, name in (before.renamed if before else {}).items()}
    now = {entry: table for table, entry in of_object.items() if entry is not None and entry in kept}
    unsettled = {entry for entry in now if entry not in then and entry in of_object}
    found = {entry: name for entry, name in then.items() if entry in kept} | now
    return {entry: name for entry, name in found.items() if name != entry and entry not in unsettled}


def doubled_tables(
    pipeline: Pipeline, matched: Iterable[ListedTable], renamed: Renamed, objects: Mapping[int, TableId]
) -> dict[TableId, str]:
    """Return the matched tables that no entry of their own can have, with the reason."""
    in_oracle = {table.in_oracle: table.id for table in pipeline.tables if table.in_oracle != table.id}
    found = {}
    for one in matched:
        table, entry = one.table, objects.get(one.object_id or 0) or in_oracle.get(one.table)
        if table in renamed and table not in renamed.values():
            found[table] = f"has the name under which {renamed[table]} was captured before it was renamed"
        elif entry is not None and entry != table and renamed.get(entry) != table:
            found[table] = f"is the table that {entry} was before it was renamed"
    return found


def find_unmatched(pipeline: Pipeline, listed: Iterable[ListedTable], before: CapturedTables | None = None) -> list[Finding]:
    """Return a finding for each pattern that matches no table at all, now or before, and for each exclusion that excludes
    none."""
    tables = [one.table for one in listed] + [TableId.parse(table) for table in (before.tables if before else ())]
    found = []
    for match in pipeline.matches:
        if not any(match.pattern.matches(table) for table in tables):
            what = "excludes no table" if match.excludes else "matches no table that this user may see"
            cure = "correct the pattern, or remove it from `tables`"
            grants = "" if match.excludes else "; or GRANT SELECT, FLASHBACK on the tables to the user of the connection"
            found.append(Finding(match.match, what, cure + grants, "warning" if match.excludes else "error"))
    return [finding for finding in found if finding.severity == "error"] or found


def pattern_findings(pipeline: Pipeline, oracle: Source) -> tuple[Pipeline, list[Finding]]:
    """Return the pipeline with the tables that its patterns match now, and findings of the patterns. Records nothing."""
    scn, listed = read_list(pipeline, oracle)
    landing = Landing(pipeline.landing, pipeline.name)
    _, before = landing.captured.newest()
    pipeline = with_recorded_tables(pipeline, landing)
    made = resolve_patterns(pipeline, listed, scn, before)
    found = find_unmatched(pipeline, listed, before)
    for table in made.announced:
        found.append(Finding(table, "is new, matches a pattern, and is not captured", JOIN.format(table=table), "warning"))
    for table in made.gone:
        cure = f"exclude it with `!{table}`, or grant SELECT on it again"
        what = "is no longer in the dictionary: it was dropped, or privileges are missing"
        found.append(Finding(table, what, cure, "warning"))
    for table, why in made.left_out.items():
        found.append(Finding(table, f"matches a pattern and is left out: it {why}", severity="note"))
    there = [table for table in made.tables if table not in made.gone]
    gone = [TableId.parse(table) for table in made.gone]
    kept = [table for table in pipeline.tables if table.id not in gone]
    return pipeline.model_copy(update={"tables": kept}).with_matched(map(TableId.parse, there)), found


def report_changes(pipeline: Pipeline, before: CapturedTables | None, made: CapturedTables) -> None:
    """Log what is new: tables that joined, that are announced, and that are gone."""
    old = before or CapturedTables(0, (), (), {}, {}, {})
    joined = [table for table in made.tables if table not in old.tables]
    log.info("%s: patterns match %s table(s), %s of them new", pipeline.name, len(made.tables), len(joined))
    for table in (table for table in made.announced if table not in old.announced):
        log.warning("%s is new and matches a pattern; it is not captured: %s", table, JOIN.format(table=table))
    for table, name in made.renamed.items():
        if old.renamed.get(table) != name:
            log.info("%s was renamed to %s, which a pattern matches, and goes on", table, name)
    for table, why in made.left_out.items():
        if table not in old.left_out:
            log.info("%s matches a pattern and is left out: it %s", table, why)
    for table in (table for table in made.gone if table not in old.gone):
        log.warning("%s is no longer in the dictionary: it was dropped, or privileges on it are missing", table)


JOIN = "list {table} in `tables`, set `new_tables: capture`, or exclude it with `!{table}`"
