"""Find the tables that may own changes which LogMiner resolved to no table: rows of a partition that came and went between two
readings of the dictionary. The table stops before them, unless it is proven that they are another's.

A DDL that ends a partition waits for the transactions that changed it, and no OBJECT_ID is given twice. So a partition that a
reading lacks either ended before that reading, with all its changes, or began after it. Where no DDL of the table ended any
partition between the changes and the next reading of it, they are another's. The table waits until that redo is landed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from redolake.context import Run
from redolake.errors import SchemaConflict
from redolake.land.ddl_text import may_end_partition
from redolake.land.dictionary import Readings
from redolake.reconcile.truncated_by_parents import ddl_rows
from redolake.records.windows import UnknownObject, WindowManifest, others_objects, unknown_objects
from redolake.values.dictionary_table import DictionaryTable
from redolake.values.scn import ChainPosition
from redolake.values.table import TableId, TableVersion


def find_unknown_object(
    context: Run,
    known: Sequence[TableVersion],
    windows: Sequence[WindowManifest],
    readings: Readings,
    object_ids: Collection[int],
    dropped_at: int | None = None,
) -> SchemaConflict | None:
    """Return the conflict of an object with changes that the table may own. Its contents were read with the first of the
    `known` versions, `object_ids` are those that it is known to have had, and `dropped_at` is the SCN of its DROP, if it is
    gone. The conflict `waits` where redo that is not landed yet decides."""
    resetlogs_id, start, baseline = windows[0].resetlogs_id, windows[0].start, known[0]
    found = [one for one in merge_objects(windows) if one.number not in object_ids]
    found = [one for one in found if dropped_at is None or one.first <= dropped_at]
    open_ones = [one for one in found if may_own(baseline, one, readings, resetlogs_id)]
    if not open_ones:
        return None
    of_others = readings.object_ids(resetlogs_id, start) | others(context, readings, baseline, windows)
    open_ones = [one for one in open_ones if one.number == 0 or one.number not in of_others]
    ended = [(partition_ended(context, known, one, windows, readings, object_ids), one) for one in open_ones]
    possible = sorted((pair for pair in ended if pair[0] is not False), key=lambda pair: pair[0] is None)
    if not possible:
        return None
    (is_possible, one), table = possible[0], baseline.table
    which = f"object {one.number}" if one.number else "an object without number"
    what = f"the redo has {one.changes} change(s) of {which}, SCN {one.first} to {one.last}, that no reading of the dictionary"
    if is_possible is None:
        return SchemaConflict(
            f"{what} knows; whether they may be the table's is known once the redo up to the next reading of it is landed",
            cure="let capture and apply go on: the table is caught up by itself, or held",
            table=table,
            scn=one.first,
            waits=True,
        )
    return SchemaConflict(
        f"{what} knows and no DDL shows to be of another table: perhaps a partition of this table that was created and ended "
        "meanwhile",
        cure=f"run `redolake snapshot {table} --replace` to read the table as it is now; to resume it would stop at the "
        "same rows. It is right whoever's rows they are, which a DDL of this table that may have ended a partition leaves open",
        table=table,
        scn=one.first,
        policy="unknown_ddl",
    )


def partition_ended(
    context: Run,
    known: Sequence[TableVersion],
    one: UnknownObject,
    windows: Sequence[WindowManifest],
    readings: Readings,
    object_ids: Collection[int],
) -> bool | None:
    """Return whether a DDL of the table may have ended the object between its last change and the next reading, which lacks it:
    None where that redo is not landed yet."""
    resetlogs_id, table, ids = windows[0].resetlogs_id, known[0].table, {*object_ids, one.number}
    after = readings.first_after(table, resetlogs_id, one.last)
    if not one.number or (after is not None and after.object_id != known[0].object_id):
        return True
    landed = {w.start: w for w in context.landing.windows.after(ChainPosition(resetlogs_id, one.last))}
    landed |= {window.start: window for window in windows if window.end > one.last}
    end, covered = one.last, list[WindowManifest]()
    for window in sorted(landed.values(), key=lambda window: window.start):
        is_next = window.start <= end and window.resetlogs_id == resetlogs_id and str(table) in window.tables
        if not is_next:
            return True  # a gap, another incarnation, or redo without the table's DDL
        covered, end = [*covered, window], window.end
        if after is not None and window.end > after.scn_before:
            break
    names = {table, *(version.in_oracle for version in known)}
    rows = ddl_rows(known, windows[0].start, covered, readings) if covered else []
    of_table = (row for row in rows if row.object_id in ids or TableId(row.owner, row.table) in names)
    if any(row.scn >= one.first and may_end_partition(row.sql) for row in of_table):
        return True
    return None if after is None or end <= after.scn_before else False


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


def others(context: Run, readings: Readings, baseline: TableVersion, windows: Sequence[WindowManifest]) -> set[int]:
    """Return the objects of which DDL in the windows, or in those around them, shows that they are tables that are not
    captured."""
    resetlogs_id, start = windows[0].resetlogs_id, windows[0].start
    found = set[int]().union(*map(others_objects, windows))
    before = readings.last_before(baseline.table, resetlogs_id, start)
    since = start if before is None else min(start, int(before.scn_before))
    around = context.landing.windows.after(ChainPosition(resetlogs_id, since))
    return found.union(*map(others_objects, around))
