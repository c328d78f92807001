"""Under which names the redo of older versions was mined: LogMiner writes a row with the column names of mining time.

A row is generic (`COL n`) once the table has another version in Oracle's dictionary. It is not certain that RENAME COLUMN makes
one. Without it, older rows have the new names, and after two columns have exchanged theirs, each has the other's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redolake.context import Run
from redolake.errors import SchemaConflict
from redolake.land.dictionary import Readings
from redolake.records.batches.carry import OpenTransaction
from redolake.records.batches.spec import MinedNames
from redolake.records.readers import lowest_scn
from redolake.records.windows import DdlRow, WindowManifest
from redolake.schema.ddl import effect_of
from redolake.schema.versions import same_type
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.scn import ChainPosition
from redolake.values.table import TableVersion


def mined_names(
    context: Run,
    versions: Sequence[TableVersion],
    windows: Sequence[WindowManifest],
    carried: Sequence[OpenTransaction],
    readings: Readings,
) -> tuple[MinedNames, ...]:
    """Return the names of the dictionary at mining time for each slice and version where they differ from the version's.

    The slices are those of the batch's windows, and of older ones from which rows of open transactions are carried over.
    """
    table, last = versions[-1].table, windows[-1]
    described_now = (reading.table(table) for reading in readings.newest_first(last.resetlogs_id, 0))
    newest = next((one for one in described_now if one is not None), None)
    if newest is None or not (has_renames(versions) or names_then(versions[-1], newest)):
        return ()
    found = []
    for window in windows_of_rows(context, windows, carried):
        for number, scn in dictionary_scns(window).items():
            described = readings.last_before(table, window.resetlogs_id, scn)
            for version in versions:
                names = None if described is None else names_then(version, described)
                if names is not None and version.from_scn < window.end <= last.end:
                    found.append(MinedNames(window.start, number, version.from_scn, names))
    return tuple(found)


def windows_of_rows(
    context: Run, windows: Sequence[WindowManifest], carried: Sequence[OpenTransaction]
) -> Sequence[WindowManifest]:
    """Return the batch's windows, and the older ones from which rows of open transactions may be carried over."""
    oldest = oldest_start(windows, carried)
    is_older = bool(carried) or oldest < windows[0].start
    return context.landing.windows.after(ChainPosition(windows[0].resetlogs_id, oldest)) if is_older else windows


def oldest_start(windows: Sequence[WindowManifest], carried: Sequence[OpenTransaction]) -> int:
    """Return the lowest SCN that a change in the batch may have."""
    return min([lowest_scn(windows[0]), *(transaction.start_scn for transaction in carried)])


def columns_known_from(
    context: Run,
    first: TableVersion,
    windows: Sequence[WindowManifest],
    carried: Sequence[OpenTransaction],
) -> int:
    """Return the SCN below which the columns of a change are not known, 0 if there is none.

    The first version is that of a dictionary reading. It is valid for older changes of transactions that were open then,
    unless a DDL ran between them and the reading: some statements do not wait for open transactions.
    """
    if oldest_start(windows, carried) >= first.from_scn:
        return 0
    older = (row for w in windows_of_rows(context, windows, carried) for row in w.ddl if row.scn < first.from_scn)
    return max((row.scn for row in older if row.object_id == first.object_id and may_change_columns(row, first)), default=0)


def may_change_columns(row: DdlRow, version: TableVersion) -> bool:
    """Return whether a statement before the version may have changed its columns; if it did, it cannot be followed again."""
    try:
        return effect_of(row, version).version != version
    except SchemaConflict:
        return True


def has_renames(versions: Sequence[TableVersion]) -> bool:
    names: dict[int, str] = {}
    return any(names.setdefault(c.id, c.name) != c.name for version in versions for c in version.columns)


def dictionary_scns(window: WindowManifest) -> dict[int, int]:
    """Return by slice the SCN at which it began to be mined."""
    slices: Mapping[str, Mapping[str, int]] = window.circumstance.get("slices", {})
    return {int(number): scn for number, facts in slices.items() if (scn := facts.get("dictionary_scn")) is not None}


def names_then(version: TableVersion, described: DictionaryTable) -> Mapping[str, int] | None:
    """Return our column ids by the dictionary's names. None if the names are the version's, or if the columns are others:
    LogMiner shows rows of such a version as `COL n`."""
    stored = {column.segment_id: column for column in described.columns if column.stored}
    hidden = sum(1 for column in version.ignored if column.segment_id)
    if described.object_id != version.object_id or len(stored) != len(version.columns) + hidden:
        return None
    if not all(c.segment_id in stored and same_type(stored[c.segment_id].type, c.type) for c in version.columns):
        return None
    names = {stored[column.segment_id].name: column.id for column in version.columns}
    return None if names == {column.name: column.id for column in version.columns} else names
