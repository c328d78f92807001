"""Ranges from before a table's first description: the first version is right for them if no DDL lies in between.

Nothing describes a table before its first snapshot. But a table that the redo does not change in between is the same: every
window from the range's start to that description is there, and none has a DDL that names the table or one of its objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from redolake.context import PipelineContext
from redolake.errors import ConfigurationError, Finding
from redolake.ledger.entries import VersionEntry
from redolake.reconcile.table_versions import read_versions
from redolake.records.windows import DdlRow, WindowManifest
from redolake.steps.ranges.replay import OldRange, TableHistory
from redolake.values.scn import Scn, ScnRange
from redolake.values.table import TableId, TableVersion


def later_description(context: PipelineContext, table: TableId, scns: ScnRange) -> int | None:
    """Return the SCN of the table's first description where a range begins before it."""
    entries = context.ledger.versions(table)
    return int(entries[0].from_scn) if entries and scns.start < entries[0].from_scn else None


def from_the_start(one: OldRange) -> OldRange:
    """Return the range, where it begins before the first snapshot of a table, with the table's versions from its start on.
    Raises ConfigurationError where nothing proves which the first one is."""
    early = {
        table: beginning(one, past)
        for table, past in one.histories.items()
        if past.first is not None and one.scns.start < past.first
    }
    return replace(one, histories={**one.histories, **early}) if early else one


def beginning(one: OldRange, past: TableHistory) -> TableHistory:
    if later_description(one.context, past.table, one.scns) is None:  # only its contents were read later
        return replace(past, first=int(one.scns.start))
    found = first_version(one.context.ledger.versions(past.table), one.scns, one.manifests)
    if isinstance(found, Finding):
        raise ConfigurationError([found])
    return replace(past, versions=(found, *past.versions[1:]), first=int(one.scns.start))


def proof_lines(described: Mapping[TableId, int]) -> tuple[str, ...]:
    """Say why logs after a range are mined."""
    return tuple(
        f"{table}: first described at SCN {scn}; logs up to there are mined too, to prove that no DDL has changed it until then"
        for table, scn in described.items()
    )


def first_version(entries: Sequence[VersionEntry], scns: ScnRange, windows: Sequence[WindowManifest]) -> TableVersion | Finding:
    """Return the first version, as of the range's start, or why it is not known to be right there."""
    version = read_versions(entries[:1])[0]
    table, described = version.table, int(version.from_scn)
    hole = first_hole(windows, table, ScnRange(scns.start, Scn(described)))
    if hole is not None:
        what = f"it is first described at SCN {described}, and its redo from SCN {hole} to there is not known"
        return Finding(str(table), what, f"begin at SCN {described} or later, mine the range with --from-logs, or leave it out")
    between = (row for window in windows for row in window.ddl if scns.start <= row.scn < described)
    last = max((row.scn for row in between if changes(row, version)), default=None)
    if last is not None:
        what = f"a DDL at SCN {last} changed it before it was first described, at SCN {described}: what it was is not known"
        return Finding(str(table), what, f"begin at SCN {last + 1} or later, or leave it out")
    return replace(version, from_scn=scns.start)


def first_hole(windows: Sequence[WindowManifest], table: TableId, scns: ScnRange) -> int | None:
    """Return the first SCN of a range that no window with the table's redo has; None where they cover it."""
    reached = int(scns.start)
    for window in windows:
        if window.start <= reached < window.end and str(table) in window.tables:
            reached = window.end
    return None if reached >= scns.end else reached


def changes(row: DdlRow, version: TableVersion) -> bool:
    """Return whether a DDL may have changed a table: it names the table or one of its objects, or removes rows of others."""
    names = {(name.owner, name.name) for name in (version.table, version.in_oracle)}
    return bool(row.cascades_from) or row.object_id in version.object_ids or (row.owner, row.table) in names
