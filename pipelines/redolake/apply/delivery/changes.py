"""What the deliveries by key have in common: decode a range's changes, and fill in what their redo does not contain."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import DataFrame

from redolake.apply.context import ApplyContext
from redolake.apply.delivery.prepared import TableRange
from redolake.apply.landed.decoded import Target, decode
from redolake.apply.landed.key_texts import key_in_lake, without_keys
from redolake.apply.landed.keys import is_moved
from redolake.apply.landed.mapped_changes import with_mapping
from redolake.apply.mapping import maps_key
from redolake.apply.net.history_rows import MOVED
from redolake.apply.net.index_rows import with_rows
from redolake.apply.net.key_collisions import with_collisions, with_entering
from redolake.apply.net.missing_columns import (
    NOTHING_MISSING,
    Missing,
    fill_known,
    fill_moved,
    missing_of,
    probe_missing,
    with_missing,
)
from redolake.apply.net.net_change import by_key, events, without_filtered
from redolake.apply.own_columns import live, needed_columns
from redolake.apply.spark.probes import Plan
from redolake.apply.target import TargetColumn
from redolake.errors import ChunksNeedOneScn, RedoNotUnderstood
from redolake.values.history import NEEDS


def decode_range(
    context: ApplyContext,
    part: TableRange,
    changes: DataFrame | None = None,
    *,
    shows_touched: bool = False,
    keeps_before: bool = False,
    shows_trouble: bool = False,
) -> DataFrame:
    """Decode the range's changes, or these of them. `shows_touched`, `keeps_before`, `shows_trouble` add columns (Target)."""
    there, course, commit_range = part.there, part.task.course, part.commit_range
    columns = source_columns(context, part)
    target = Target(
        columns,
        part.key,
        part.columns_with_default(columns),
        shows_touched,
        tuple(dict.fromkeys((*needed_columns(there.options), *(NEEDS if there.history else ())))),
        computed=frozenset(column.id for version in course.versions for column in version.columns if column.has_default),
        filled=commit_range.filled,
        has_null_keys=keeps_before,
        has_trouble=shows_trouble,
    )
    rows = part.committed.frame if changes is None else changes
    decoded = decode(
        rows, part.known_versions, course.rules, target, context.translation, course.mined_names, course.known_from
    )
    isolates = shows_trouble and there.quarantine is not None and "transform" in there.quarantine.classes
    return context.kept.keep(part.task.table, with_mapping(decoded, part.version, part.key, isolates=isolates))


def source_columns(context: ApplyContext, part: TableRange) -> tuple[TargetColumn, ...]:
    """Return the columns of the changes as the target has them, and those that a mapping replaces as it would have them."""
    have, mapping = part.table.columns, part.version.mapping
    if mapping is None:
        return tuple(have.values())
    replaced = {one.id for one in mapping.computed}
    types = {c.id: context.translation.spark_type(c.type, part.task.course.rules.get(c.id)) for c in part.version.columns}
    plain = tuple(column for column in have.values() if column.id not in replaced)
    return (*plain, *(TargetColumn(c.id, c.name, types[c.id]) for c in part.version.columns if c.id in replaced))


def filled_events(
    context: ApplyContext,
    part: TableRange,
    decoded: DataFrame,
    apart: Collection[int] = (),
    *,
    objects: bool = False,
    nulls: bool = False,
    healed: Collection[str] = (),
) -> Plan[tuple[DataFrame, Missing]]:
    """Return the events (net.events) of the changes, by key, with the values that their redo lacks, and the columns that still
    keep the target's. The values of the columns `apart` come from elsewhere; what the target has at the keys `healed` is of
    no row any more."""
    table, key = part.table, part.key
    outside_key = [column for column in table.columns.values() if column.id not in {*key, *apart}]
    in_index = part.version.organization == "index"
    looked = (yield probe_missing(decoded, key)) if outside_key or in_index else None
    missing = missing_of(outside_key, looked) if outside_key and looked is not None else NOTHING_MISSING
    if part.is_mixed and looked is not None and looked["moved"] and (missing.columns or in_index):
        raise moved_in_chunks(part)
    if in_index and looked is not None and looked["moved"]:
        decoded = follow_in_index(context, part, decoded, healed)
    if maps_key(part.version):
        decoded = with_entering(decoded, key)
    if part.there.history is not None:
        decoded = decoded.withColumn(MOVED, is_moved(key))
    happened = by_key(events(with_missing(decoded, missing), key, objects, nulls), key)
    if missing.columns:
        happened = fill_missing(part, happened, missing)
    if maps_key(part.version):
        taken = live(table.rows(), part.there.options)
        happened = by_key(with_collisions(happened, taken, [table.columns[i] for i in key]), key)
    return (happened if part.filter is None else without_filtered(happened, counts_nulls=part.counts_nulls)), missing


def moved_in_chunks(part: TableRange) -> ChunksNeedOneScn:
    """Return the error of a row that moved to another key and keeps values: another row may have its old key by now."""
    name = part.task.table
    return ChunksNeedOneScn(
        "an UPDATE changed the key of a row while chunks were read AS OF several SCNs, and the redo does not contain all of "
        "its values",
        cure=f"log ALL columns, or raise UNDO_RETENTION or `snapshot.sessions`; then run `redolake snapshot {name} --replace`",
        table=name,
        scn=part.commit_range.start,
    )


def follow_in_index(context: ApplyContext, part: TableRange, decoded: DataFrame, healed: Collection[str]) -> DataFrame:
    """Return the changes of an index-organized table, in which UPDATEs change keys, each with the row that it is of."""
    table, task, there = part.table, part.task, part.there
    if there.shadow_from is not None:  # it begins without rows, so nothing says which keys are taken
        raise RedoNotUnderstood(
            "an UPDATE changed the key of a row in an index-organized table, and a shadow does not know which keys are taken",
            cure=f"run `redolake snapshot {task.table} --replace`, or begin the range after it",
            table=task.table,
            scn=part.commit_range.start,
        )
    key, rows = [table.columns[i] for i in part.key], live(table.rows(), there.options)
    if healed:
        rows = without_keys(rows, key_in_lake(part.version, there.options), healed)
    return context.kept.keep(task.table, with_rows(decoded, rows, key))


def fill_missing(part: TableRange, happened: DataFrame, missing: Missing) -> DataFrame:
    filled = fill_known(happened, missing, part.key)
    if not missing.keys_change:
        return filled
    key, rows = [part.table.columns[i] for i in part.key], live(part.table.rows(), part.there.options)
    return by_key(fill_moved(filled, rows, missing, key, part.committed.count), part.key)
