"""Ask the database what a first pipelines.yml needs: containers, owners, tables, keys and numbers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from redolake.config import Pipeline, parse_configuration
from redolake.config.tables import default_path
from redolake.context import now
from redolake.errors import ConfigurationError, Finding
from redolake.host.paths import find_crowded
from redolake.host.progress import Report, silent
from redolake.source import (
    ConnectParams,
    ListedTable,
    Source,
    list_tables,
    number_rules,
    open_source,
    probe,
    read_database,
    read_tables,
)
from redolake.source.olr import Described, table_findings
from redolake.source.preflight import READABLE
from redolake.steps.checks.doctor import findings_of, gravity
from redolake.steps.checks.doctor_report import FindingGroup, group_findings
from redolake.steps.setup.first_file import FirstFile, first_file
from redolake.steps.setup.proposal import ProposedTable, propose_table
from redolake.steps.shared.folders import free_path
from redolake.values.datatypes import LARGE_OBJECTS
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.table import LargeObjects, TableId
from redolake.values.table_pattern import TablePattern, is_pattern


@dataclass(frozen=True, slots=True)
class FoundSource:
    """A database that answers. `containers` are its open PDBs; None for a database without containers."""

    name: str
    version: str
    containers: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class FoundTables:
    """The chosen tables. `left_out` are those that a pattern matches and that are none to capture, with the reason."""

    patterns: tuple[str, ...]
    tables: tuple[TableId, ...]
    left_out: Mapping[str, str]
    with_large_objects: tuple[str, ...]

    @property
    def owner(self) -> str | None:
        """The owner of all tables; None if they have several."""
        owners = {table.owner for table in self.tables}
        return owners.pop() if len(owners) == 1 else None


@dataclass(frozen=True, slots=True)
class FirstPipeline:
    """The proposed file. `findings` are what remains to be done, on the database for the most part."""

    text: str
    pipeline: str
    tables: tuple[ProposedTable, ...]
    findings: tuple[Finding, ...]

    @property
    def groups(self) -> tuple[FindingGroup, ...]:
        """The findings, each cause once."""
        return group_findings(self.findings, [str(table.table) for table in self.tables])

    @property
    def captured(self) -> tuple[ProposedTable, ...]:
        return tuple(table for table in self.tables if not table.refused)

    @property
    def refused(self) -> tuple[ProposedTable, ...]:
        return tuple(table for table in self.tables if table.refused)


@contextmanager
def open_unconfigured(params: ConnectParams) -> Iterator[Source]:
    """Connect to a database that no pipeline names yet."""
    with open_source(params) as source:
        yield source


def find_source(source: Source) -> FoundSource:
    database = read_database(source)
    if not database.is_cdb:
        return FoundSource(database.name, database.version, None)
    found = source.query("visible_containers")
    return FoundSource(database.name, database.version, tuple(sorted(r.name for r in found if r.open_mode in READABLE)))


def count_tables(source: Source, container: str | None) -> dict[str, int]:
    """Return how many tables each owner has that can be captured by their kind. Oracle's own users are left out."""
    source.use_container(container)
    owners = [TablePattern.parse(f'"{row.username}".*') for row in source.query("users")]
    listed = list_tables(source, owners, container) if owners else ()
    return dict(sorted(Counter(one.table.owner for one in listed if one.left_out is None).items()))


def find_tables(source: Source, container: str | None, wanted: Sequence[str]) -> FoundTables:
    """Return the tables that names and patterns mean. A bare owner means all its tables. Raises ConfigurationError."""
    entries = [entry if "." in entry else f"{entry}.*" for entry in wanted]
    single, several = [e for e in entries if not is_several(e)], [e for e in entries if is_several(e)]
    scratch = pipeline_of(entries)
    listed: tuple[ListedTable, ...] = ()
    if scratch.patterns:
        listed = list_tables(source, [match.pattern for match in scratch.patterns], container)
    matched = [one for one in listed if scratch.match_of(one.table) is not None]
    plain = [one.table for one in matched if one.left_out is None]
    if several and not plain:
        cure = "correct the owner, or GRANT SELECT, FLASHBACK on its tables to the user of the connection"
        raise ConfigurationError([Finding(", ".join(several), "matches no table that this user may see", cure)])
    tables = tuple(dict.fromkeys([*(TableId.parse(name) for name in single), *plain]))
    left_out = {str(one.table): one.left_out for one in matched if one.left_out is not None}
    return FoundTables(tuple(several), tables, left_out, tuple(map(str, with_large_objects(source, container, tables))))


def pipeline_of(entries: Sequence[str]) -> Pipeline:
    """Return a pipeline with these entries of `tables` and nothing else that counts. Raises ConfigurationError."""
    body = {"source": {"connection": "x"}, "landing": "/x/landing", "lake": "/x/lake", "tables": list(entries)}
    return parse_configuration(json.dumps({"pipelines": {"x": body}}), {}, "the list of tables").pipelines["x"]


def named_tables(found: FoundTables) -> tuple[TableId, ...]:
    """Return the tables that no pattern matches."""
    if not found.patterns:
        return found.tables
    scratch = pipeline_of(found.patterns)
    return tuple(table for table in found.tables if scratch.match_of(table) is None)


def is_several(entry: str) -> bool:
    return entry.startswith("!") or is_pattern(entry)


def with_large_objects(source: Source, container: str | None, tables: Sequence[TableId]) -> Iterator[TableId]:
    for table, found in read_tables(source, tables, container).items():
        if any(column.type.name in LARGE_OBJECTS for column in found.captured):
            yield table


def propose_pipeline(
    source: Source,
    *,
    name: str,
    connection: str,
    container: str | None,
    found: FoundTables,
    large_objects: LargeObjects,
    landing: str,
    lake: str,
    ledger: str | None = None,
    maps: bool = False,
    olr: Described | None = None,
    report: Report = silent,
) -> FirstPipeline:
    """Return the file that captures the tables, as far as they can be. `maps` as in `propose_table`; with `olr`,
    OpenLogReplicator reads the redo. Raises ConfigurationError if none can be captured."""
    probed = probe(source, container, found.tables, report)
    report(f"measuring the numbers of {len(probed.tables)} table(s)")
    numbers = number_rules(source, container, probed.tables.values())
    tables = tuple(
        propose_table(probed.tables[table], numbers.get(table, {}), large_objects, maps=maps, is_stream=olr is not None)
        for table in found.tables
        if table in probed.tables
    )
    database = probed.database
    origin = "" if database is None else f" from {database.name} ({database.version})"
    tables = with_targets(tables if olr is None else [given_by_olr(one, probed.tables[one.table]) for one in tables])
    file = FirstFile(
        name=name,
        connection=connection,
        container=container,
        landing=landing,
        lake=lake,
        ledger=ledger,
        large_objects=large_objects,
        patterns=found.patterns,
        tables=tables,
        named=named_tables(found),
        stream=None if olr is None else (olr.address, olr.alias),
        head=f"Written by `redolake init` on {now():%Y-%m-%d}{origin}.",
    )
    captured = [table.table for table in tables if not table.refused]
    if not captured:
        refused = [Finding(str(t.table), "; ".join(t.refused), "choose other tables") for t in tables]
        raise ConfigurationError(refused or findings_of(pipeline_of(list(map(str, found.tables))), probed, found.tables))
    text = first_file(file)
    pipeline = parse_configuration(text, {}).pipelines[name].with_matched(found.tables)
    findings = list(findings_of(pipeline, probed, captured))
    if missing := [table for table in found.tables if table not in probed.tables]:
        about_missing = findings_of(pipeline_of(list(map(str, missing))), probed, missing)
        findings += [finding for finding in about_missing if finding not in findings]
    findings += [] if olr is None else olr.findings
    needed = (finding for finding in findings if finding.severity != "note")
    return FirstPipeline(text, name, tables, tuple(sorted(needed, key=gravity)))


def given_by_olr(proposed: ProposedTable, described: DictionaryTable) -> ProposedTable:
    """Return the table without the columns that OpenLogReplicator does not give exactly, refused where it does not give it."""
    found, name = [*table_findings(described)], str(described.table)
    columns = [finding.subject.removeprefix(f"{name}.") for finding in found if finding.subject != name]
    whole = [finding.what for finding in found if finding.subject == name]
    if proposed.rereads_rows or proposed.large_objects in ("reread", "redo"):
        whole.append("needs rows that are read again, which is not done with OpenLogReplicator")
    out = [name for name in columns if name not in proposed.exclude_columns]
    why = tuple(f"{name} is left out: OpenLogReplicator does not give it exactly" for name in out)
    return replace(
        proposed,
        exclude_columns=(*proposed.exclude_columns, *out),
        why=(*proposed.why, *why),
        refused=(*proposed.refused, *whole),
    )


def with_targets(tables: Sequence[ProposedTable]) -> tuple[ProposedTable, ...]:
    """Return the tables with a `target` for those whose folder would be another's: names that differ by case alone."""
    paths = {table.table: default_path(table.table) for table in sorted(tables, key=lambda one: one.table) if not table.refused}
    for table, other in find_crowded((path, table) for table, path in paths.items()).items():
        paths[table] = free_path(paths[table], paths.values())
        why = f"its folder would be that of {other}, so it has a `target`"
        tables = [replace(one, target=paths[table], why=(*one.why, why)) if one.table == table else one for one in tables]
    return tuple(tables)


def name_of(text: str) -> str:
    """Return a pipeline's name made from that of a container or connection."""
    found = re.sub(r"\W+", "_", text.removeprefix("oracle_").lower(), flags=re.ASCII).strip("_")
    return found if re.fullmatch(r"[a-z]\w*", found) else f"oracle_{found}".rstrip("_")
