"""Find the tables that may own changes which LogMiner resolved to no table: rows of a partition that came and went between two
readings of the dictionary. The table stops before them, unless it is proven that they are another's.

A DDL that ends a partition waits for the transactions that changed it, and no OBJECT_ID is given twice. So a partition that a
reading lacks either ended before that reading, with all its changes, or began after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from redolake.context import PipelineContext
from redolake.errors import SchemaConflict
from redolake.land.dictionary import Readings
from redolake.records.windows import UnknownObject, WindowManifest, others_objects, unknown_objects
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.scn import ChainPosition
from redolake.values.table import TableVersion


def find_unknown_object(
    context: PipelineContext,
    baseline: TableVersion,
    windows: Sequence[WindowManifest],
    readings: Readings,
    object_ids: Collection[int],
    dropped_at: int | None = None,
) -> SchemaConflict | None:
    """Return the conflict of an object with changes that the table may own. `baseline` is the version that its contents were
    read with, `object_ids` are those that it is known to have had, and `dropped_at` is the SCN of its DROP, if it is gone."""
    resetlogs_id, start = windows[0].resetlogs_id, windows[0].start
    found = [one for one in merge_objects(windows) if one.number not in object_ids]
    found = [one for one in found if dropped_at is None or one.first <= dropped_at]
    open_ones = [one for one in found if may_own(baseline, one, readings, resetlogs_id)]
    if not open_ones:
        return None
    known = readings.object_ids(resetlogs_id, start) | others(context, readings, baseline, windows)
    one = next((one for one in open_ones if one.number == 0 or one.number not in known), None)
    if one is None:
        return None
    table, which = baseline.table, f"object {one.number}" if one.number else "an object without number"
    return SchemaConflict(
        f"the redo has {one.changes} change(s) of {which}, SCN {one.first} to {one.last}, that no reading of the dictionary "
        "knows and no DDL shows to be of another table: perhaps a partition of this table that was created and ended meanwhile",
        cure=f"run `redolake snapshot {table} --replace` to read the table as it is now; to resume it would stop at the same "
        "rows",
        table=table,
        scn=one.first,
        policy="unknown_ddl",
    )


def merge_objects(windows: Sequence[WindowManifest]) -> list[UnknownObject]:
    """Return the unknown objects of all windows, each once, by the SCN of their first change."""
    found: dict[int, UnknownObject] = {}
    for window in windows:
        for one in unknown_objects(window):
            found[one.number] = found[one.number].merge(one) if one.number in found else one
    return sorted(found.values(), key=lambda one: one.first)


def may_own(baseline: TableVersion, one: UnknownObject, readings: Readings, resetlogs_id: int) -> bool:
    """Return whether the object may be a partition of the table, as far as its own descriptions say."""
    if one.last < baseline.from_scn:
        return False
    described = list(descriptions(baseline, one, readings, resetlogs_id))
    if one.number and any(one.first <= here.scn_before <= one.last for here in described):
        return False  # it existed then, and the table did not have it
    if one.number and one.first <= baseline.from_scn:
        return False
    after = described[-1] if described and described[-1].scn_before > one.last else None
    is_same = after is not None and after.object_id == baseline.object_id
    if is_same and one.in_bin:
        return False  # only tables get there, with all their partitions
    return any(here.partitioned for here in described) if described else bool(baseline.parts)


def descriptions(
    baseline: TableVersion, one: UnknownObject, readings: Readings, resetlogs_id: int
) -> Iterator[DictionaryTable]:
    """Yield the descriptions of the table from the last one before the object's first change to the first one after its last,
    in the order of their SCNs."""
    before = readings.last_before(baseline.table, resetlogs_id, one.first)
    between = [reading.table(baseline.table) for reading in readings.newest_first(resetlogs_id, one.first, one.last + 1)]
    after = readings.first_after(baseline.table, resetlogs_id, one.last)
    yield from (here for here in (before, *reversed(between), after) if here is not None)


def others(context: PipelineContext, readings: Readings, baseline: TableVersion, windows: Sequence[WindowManifest]) -> set[int]:
    """Return the objects of which DDL in the windows, or in those around them, shows that they are tables that are not
    captured."""
    resetlogs_id, start = windows[0].resetlogs_id, windows[0].start
    found = set[int]().union(*map(others_objects, windows))
    before = readings.last_before(baseline.table, resetlogs_id, start)
    since = start if before is None else min(start, int(before.scn_before))
    around = context.landing.windows.after(ChainPosition(resetlogs_id, since))
    return found.union(*map(others_objects, around))
