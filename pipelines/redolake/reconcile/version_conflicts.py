"""What contradicts a table's versions: its settings, the dictionary, or a DDL that may not count. Each holds the table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from redolake.context import Run
from redolake.errors import SchemaConflict
from redolake.land.dictionary import Readings
from redolake.records.windows import DdlRow
from redolake.schema import Derived, conflict_with_dictionary, key_difference, valid_at
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.scn import Scn
from redolake.values.table import TableId, TableVersion


def key_policy_conflict(context: Run, version: TableVersion) -> SchemaConflict | None:
    """Return a conflict if `key` in pipelines.yml differs from the key that the contents were read with."""
    wanted = context.pipeline.table(version.table).key_policy
    if wanted == version.policy:
        return None
    return SchemaConflict(
        f"pipelines.yml says `key: {wanted}`, and the table was read with `key: {version.policy}`",
        cure=f"`redolake snapshot {version.table} --replace` reads it again with the present key; or declare the "
        f"old key and `redolake resume {version.table}`",
        table=version.table,
    )


def key_lost(readings: Readings, known: Sequence[TableVersion], resetlogs_id: int, start: int) -> SchemaConflict | None:
    """Return a conflict if the unique index of declared key columns is gone.

    No DDL of the table shows that an index was dropped, but the dictionary read after a window's redo does, before the first
    row is merged that the index did not guard.
    """
    version, since = known[-1], max(start, known[0].from_scn)
    if version.key_kind != "columns":
        return None
    for reading in readings.newest_first(resetlogs_id, since):
        here = reading.table(version.table)
        if here is not None and here.object_id == version.object_id:
            lost = key_difference(version, here)
            return None if lost is None else lost_key(version, lost, here.scn_before)
    return None


def lost_key(version: TableVersion, why: str, scn: Scn) -> SchemaConflict:
    table = version.table
    return SchemaConflict(
        f"the declared key no longer identifies rows: {why}",
        cure=f"create the unique index, or declare another `key` for {table} in pipelines.yml; then `redolake snapshot {table} "
        "--replace` reads the table again",
        table=table,
        scn=scn,
        policy="primary_key",
    )


def dictionary_conflict(
    readings: Readings,
    table: TableId,
    derived: Derived,
    resetlogs_id: int,
    start: int,
    end: int,
    *,
    is_held: bool = False,
) -> SchemaConflict | None:
    """Compare the versions with the last dictionary read inside the range: all DDL before that reading has landed. For a table
    that is held already, the SCN since which both differ is not needed."""
    for reading in readings.newest_first(resetlogs_id, max(start, int(derived.versions[0].from_scn)), end):
        here = reading.table(table)
        known = valid_at(derived.versions, Scn(reading.scn) if here is None else here.scn_before)
        if reading.lookup_name(table) != known.in_oracle:
            if here is not None and here.object_id == known.object_id and here.scn_before < end:
                return renamed_without_ddl(known, here)
            continue  # before the new name was declared; what has the old one is another table
        if here is None:
            return None if known.dropped_at is not None else table_missing(table)
        if here.scn_before < end:  # a later dictionary may contain a DDL that has not landed yet
            found = conflict_with_dictionary(known, here)
            if found is None or is_held:
                return found
            return with_agreement(found, readings, derived, resetlogs_id, int(here.scn_before))
    return None


def with_agreement(
    found: SchemaConflict, readings: Readings, derived: Derived, resetlogs_id: int, below: int
) -> SchemaConflict:
    """Return the conflict with the last SCN at which the dictionary still agreed: what no DDL explains happened after it."""
    first = int(derived.versions[0].from_scn)
    for reading in readings.newest_first(resetlogs_id, first, below):
        here = reading.table(derived.versions[0].table)
        if here is not None and not conflict_with_dictionary(valid_at(derived.versions, here.scn_before), here):
            first = max(first, int(here.scn_before))
            break
    found.where = {**found.where, "agreed_until": first}
    return found


def unseen_partitions(derived: Derived, readings: Readings, resetlogs_id: int) -> SchemaConflict | None:
    """Return the conflict of a partitioned table that was renamed, and looked up under its old name after that.

    Oracle may have created partitions by then. Neither their name nor their OBJECT_ID was known, so their rows have not landed.
    The top index of an index-organized table stays.
    """
    table = derived.versions[-1].table
    for was, version in pairwise(derived.versions):
        if was.in_oracle == version.in_oracle:
            continue
        described = readings.last_before(table, resetlogs_id, version.from_scn - 1)
        described = described or readings.first_after(table, resetlogs_id, version.from_scn)
        if not (bool(was.parts) if described is None else described.partitioned):
            continue
        after = readings.just_after(table, resetlogs_id, version.from_scn)
        if after is None or after.object_id != version.object_id:
            return SchemaConflict(
                f"the partitioned table was renamed to {version.in_oracle} before that was declared; Oracle may have created "
                "partitions in between, whose rows were not landed",
                cure=f"run `redolake snapshot {table} --replace` to read the table as it is now",
                table=table,
                scn=version.from_scn,
                policy="recreate",
            )
    return None


def doubtful_ddl(
    table: TableId, rows: Sequence[DdlRow], doubtful: Collection[int | None], ids: set[int], names: set[TableId]
) -> SchemaConflict | None:
    """Return the conflict of a DDL of the table or of one that cascades to it, at the SCN before a RESETLOGS, which may have
    undone it (see redo.Window)."""
    at_end = (row for row in rows if row.scn in doubtful)
    row = next((row for row in at_end if row.object_id in ids or TableId(row.owner, row.table) in names), None)
    if row is None:
        return None
    return SchemaConflict(
        "a DDL ran at the last SCN before a RESETLOGS, and it is not certain whether it still counts",
        cure=f"run `redolake snapshot {table} --replace` to read the table as it is now",
        table=table,
        scn=row.scn,
        policy="unknown_ddl",
    )


def renamed_without_ddl(version: TableVersion, found: DictionaryTable) -> SchemaConflict:
    return SchemaConflict(
        f"the table is called {found.in_oracle} now, and no RENAME in the redo explains it, as after DBMS_REDEFINITION",
        cure=f"remove its `renamed_to`, if it has one, and run `redolake snapshot {version.table} --replace` to read the table "
        "that has its name now",
        table=version.table,
        scn=found.scn_before,
        policy="recreate",
    )


def table_missing(table: TableId) -> SchemaConflict:
    """Return the conflict of a table that is gone without a DDL that names it: DROP USER .. CASCADE, or a tablespace with its
    contents."""
    return SchemaConflict(
        "the dictionary no longer shows the table, and the redo contains no DDL that explains it",
        cure=f"if it is still there, grant SELECT on it again and `redolake resume {table}`; if it was created again, "
        f"`redolake snapshot {table} --replace`; otherwise remove it from `tables`",
        table=table,
        policy="drop_table",
    )
