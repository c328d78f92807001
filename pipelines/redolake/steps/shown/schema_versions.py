"""Show the versions of a table: what its columns were at an SCN, since when, and how that is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from redolake.context import Run, reader
from redolake.errors import Terminal
from redolake.land.dictionary import Readings
from redolake.ledger.entries import VersionEntry
from redolake.reconcile.approvals import approvals
from redolake.records.approvals import Approval
from redolake.records.codec import from_body
from redolake.schema import conflict_with_dictionary
from redolake.steps.shared.named_tables import named_table
from redolake.steps.shared.scn_times import snapshot_time, time_written
from redolake.values.table import Column, TableId, TableVersion, valid_of

Origin = Literal["read", "derived", "confirmed", "approved"]


@dataclass(frozen=True, slots=True)
class ColumnReport:
    """`id` is ours; `position` is Oracle's SEGMENT_COLUMN_ID. `lake` is what the mapping makes of it, empty where it makes
    nothing; a column that only the lake has is at position 0."""

    id: int
    name: str
    type: str
    nullable: bool
    key: bool
    position: int
    lake: str = ""


@dataclass(frozen=True, slots=True)
class VersionReport:
    """A version, valid in [from_scn, to_scn); `to_scn` is None for the newest.

    read       the dictionary described it, for a snapshot
    derived    a DDL statement in the redo led to it
    confirmed  derived, and the dictionary was read while it was valid, and agreed
    approved   derived from a statement that a person approved, and not confirmed yet

    `approvals` are those about SCNs in its range. The source had written `from_scn` by `from_at`, in UTC: when it was
    the SCN of the last snapshot, or the end of the window that contains it.
    """

    table: str
    from_scn: int
    to_scn: int | None
    origin: Origin
    statement: str | None
    username: str  # who ran it; empty where that is not known
    changes: tuple[str, ...]  # from the version before
    columns: tuple[ColumnReport, ...]
    approvals: tuple[Approval, ...] = ()
    from_at: str | None = None


@dataclass(frozen=True, slots=True)
class SchemaDifference:
    table: str
    from_scn: int
    to_scn: int
    changes: tuple[str, ...]
    statements: tuple[str, ...]


@reader
def list_versions(context: Run, table: str) -> tuple[VersionReport, ...]:
    """Return the table's versions, oldest first, those before its last snapshot included."""
    named = named_table(context, table, past=True)
    entries = entries_of(context, named)
    versions = [from_body(TableVersion, entry.body, f"a version of {entry.table}") for entry in entries]
    ends = [version.from_scn for version in versions[1:]]
    readings, made = Readings(context.landing.dictionary), approvals(context, table=named)
    found = tuple(
        VersionReport(
            table=str(version.table),
            from_scn=int(version.from_scn),
            to_scn=None if end is None else int(end),
            origin=origin(entry, version, end, readings),
            statement=entry.ddl,
            username="" if entry.ddl is None else user_of(context, int(version.from_scn), entry.ddl),
            changes=() if before is None else differences(before, version),
            columns=columns_of(version),
            from_at=snapshot_time(context, version.table, int(version.from_scn))
            or time_written(context, int(version.from_scn)),
        )
        for before, version, entry, end in zip([None, *versions], versions, entries, [*ends, None], strict=False)
    )
    return tuple(with_approvals(version, made) for version in found)


def user_of(context: Run, scn: int, statement: str) -> str:
    """Return who ran a statement, as its landed row says."""
    rows = (row for window in context.landing.windows.with_scn(scn) for row in window.ddl)
    return next((row.username for row in rows if (row.scn, row.sql) == (scn, statement)), "")


def with_approvals(version: VersionReport, made: Sequence[Approval]) -> VersionReport:
    """Return the version with the approvals about SCNs in its range."""
    first, end = version.from_scn, version.to_scn
    own = tuple(one for one in made if one.at_scn is not None and first <= one.at_scn and (end is None or one.at_scn < end))
    is_approved = version.origin == "derived" and any(one.kind == "ddl" and one.at_scn == first for one in own)
    return replace(version, origin="approved" if is_approved else version.origin, approvals=own)


@reader
def schema_at(context: Run, table: str, scn: int) -> VersionReport:
    """Return the version that is valid at an SCN. Raises Terminal for an SCN before the first one."""
    versions = list_versions(context, table)
    valid = valid_of(versions, scn)
    if valid is None:
        raise Terminal(
            f"the first version of the table is of SCN {versions[0].from_scn}",
            cure=f"name this SCN or a later one; `redolake schema log {table}` lists the versions",
            table=table,
            scn=scn,
        )
    return valid


@reader
def schema_difference(context: Run, table: str, scn: int, later_scn: int) -> SchemaDifference:
    """Return what changed from one SCN to another, with the statements between them."""
    first, last = sorted((scn, later_scn))
    before, after = (schema_at(context, table, at) for at in (first, last))
    between = [v for v in list_versions(context, table) if before.from_scn < v.from_scn <= last]
    found = changes_between(before.columns, after.columns)
    return SchemaDifference(before.table, first, last, found, tuple(v.statement for v in between if v.statement is not None))


def entries_of(context: Run, table: TableId) -> list[VersionEntry]:
    entries = context.ledger.versions(table)
    if not entries:
        raise Terminal(
            "no version of the table is known",
            cure="name a captured table as OWNER.TABLE; its first snapshot records the first version",
            table=table,
        )
    return entries


def origin(entry: VersionEntry, version: TableVersion, end: int | None, readings: Readings) -> Origin:
    if entry.source == "baseline":
        return "read"
    for reading in readings.newest_first(0, int(version.from_scn), end):
        described = reading.table(version.table)
        if described is not None and (end is None or described.scn_before < end):
            return "derived" if conflict_with_dictionary(version, described) else "confirmed"
    return "derived"


def columns_of(version: TableVersion) -> tuple[ColumnReport, ...]:
    added = () if version.mapping is None else version.mapping.added
    own = (ColumnReport(one.id, one.name, one.type, nullable=True, key=False, position=0, lake=str(one)) for one in added)
    return (*(report(column, version) for column in version.columns), *own)


def report(column: Column, version: TableVersion) -> ColumnReport:
    is_key = column.id in version.key
    return ColumnReport(
        column.id, column.name, str(column.type), column.nullable, is_key, column.segment_id, in_lake(column, version)
    )


def in_lake(column: Column, version: TableVersion) -> str:
    """Return what the mapping makes of a column of Oracle; empty where it makes nothing."""
    if version.mapping is None:
        return ""
    computed = version.mapping.at(column.id)
    return version.mapping.name(column.id) or "" if computed is None else str(computed)


def differences(before: TableVersion, after: TableVersion) -> tuple[str, ...]:
    found, filters = changes_between(columns_of(before), columns_of(after)), (filter_of(before), filter_of(after))
    return found if filters[0] == filters[1] else (*found, f"where: {filters[1] or 'all rows'}")


def filter_of(version: TableVersion) -> str:
    return "" if version.mapping is None or version.mapping.where is None else version.mapping.where.text


def changes_between(before: tuple[ColumnReport, ...], after: tuple[ColumnReport, ...]) -> tuple[str, ...]:
    """Describe each column that differs, by our ids: a column that was dropped and added again is another one."""
    old, new = ({column.id: column for column in side} for side in (before, after))
    found = [f"dropped {old[i].name} {old[i].type}" for i in old if i not in new]
    found += [f"added {new[i].name} {new[i].type}" for i in new if i not in old]
    for i in old.keys() & new.keys():
        was, now = old[i], new[i]
        if was.name != now.name:
            found.append(f"renamed {was.name} to {now.name}")
        if was.type != now.type:
            found.append(f"{now.name}: {was.type} became {now.type}")
        if was.nullable != now.nullable:
            found.append(f"{now.name}: {'NULL allowed' if now.nullable else 'NOT NULL'}")
        if was.lake != now.lake:
            found.append(f"{now.name}: in the lake {now.lake or 'as it is'}")
        if was.key != now.key:
            found.append(f"{now.name}: {'part of the key' if now.key else 'no longer part of the key'}")
    return tuple(sorted(found))
