"""Prepare a commit range: decode its changes, check them, and compute their net change. Nothing is committed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.apply.assembled_objects import assembled, of_rows, with_assembled, with_pieces, without_pieces
from pipelines.apply.check_changes import check_all, look_at_changes, look_at_net_changes
from pipelines.apply.commit_ranges import CommitRange
from pipelines.apply.context import ApplyContext
from pipelines.apply.decoded import Target, decode
from pipelines.apply.delta.key_range import KeyRange, key_range, ranged_column
from pipelines.apply.delta.own_columns import live, needed
from pipelines.apply.delta.partitions import with_findings
from pipelines.apply.delta.schema import TargetColumn, check_columns, named
from pipelines.apply.delta.table import DeltaTable
from pipelines.apply.index_rows import with_rows
from pipelines.apply.keys import has_null
from pipelines.apply.large_objects import (
    OF_OBJECT,
    files_of,
    named_objects,
    of_objects,
    read_again,
    unfound,
    with_row_ids,
    with_values,
    without_objects,
)
from pipelines.apply.looks import Plan
from pipelines.apply.missing_columns import (
    NOTHING_MISSING,
    Missing,
    fill_known,
    fill_moved,
    look_for_missing,
    missing_of,
    with_missing,
)
from pipelines.apply.net import by_key, events, net_change
from pipelines.apply.null_keys import may_be_null, of_whole_rows
from pipelines.apply.whole_rows import whole_rows
from pipelines.apply.whole_tables import with_whole_table
from pipelines.errors import RedolakeError, RedoNotUnderstood
from pipelines.records.batches.spec import TableTask
from pipelines.values.redo import NO_ROWID, Operation
from pipelines.values.table import TableVersion
from pipelines.values.target_options import TargetOptions

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CommittedChanges:
    """The committed changes of one range: `count` of them, or the problem for which they cannot be applied. `scns` are the
    lowest and the highest SCN of a change; None is not known."""

    frame: DataFrame
    count: int
    problem: RedolakeError | None = None
    scns: tuple[int, int] | None = None


ChangesOf = Callable[[int], CommittedChanges]  # by the number of the range


@dataclass(frozen=True, slots=True)
class TableRange:
    """A commit range of a table that is to be applied."""

    table: DeltaTable
    task: TableTask
    commit_range: CommitRange
    committed: CommittedChanges


@dataclass(frozen=True, slots=True)
class PreparedRange:
    """The checked changes of a range, to be merged or appended: one per key, except in an append-only table. `missing` are the
    columns of which a change may keep the target's value; `keys` is the range of all keys, where MERGE shall use it."""

    commit_range: CommitRange
    changes: DataFrame
    missing: Missing = NOTHING_MISSING
    keys: KeyRange | None = None


def prepare_range(context: ApplyContext, part: TableRange) -> Plan[PreparedRange]:
    """Decode and check the changes of a range, and compute their net change."""
    table, task, commit_range, committed = part.table, part.task, part.commit_range, part.committed
    if committed.problem is not None:
        raise committed.problem
    version, columns = commit_range.version, table.columns
    check_columns(named(version, task.options), task.rules, columns, context.translation)
    if any(one.rereads_rows for one in task.versions):
        return read_rows(context, part)
    nulls = may_be_null(version) and commit_range.whole is None
    decoded = decode_range(context, part, has_null_keys=nulls)
    nulls = nulls and knows_by_whole_row(task, decoded)
    expected, objects = committed.count, None
    if version.assembled:
        decoded, objects, expected = assemble_objects(context, part, decoded)
    elif version.key and version.hides_rowids:
        decoded = with_row_ids(decoded, version.key)
    if version.key_kind == "append":
        decoded = with_findings(decoded, columns, (), task.options)
        check_all(task, (yield look_at_changes(decoded)), expected)
        return PreparedRange(commit_range, decoded.filter(F.col("operation_code") == Operation.INSERT))
    has_reread = bool(version.reread)
    other = {*version.key, *(column.id for column in (*version.reread, *version.assembled))}
    outside_key, in_index = [c for c in columns.values() if c.id not in other], version.organization == "index"
    looked = (yield look_for_missing(decoded, version.key)) if outside_key or in_index else None
    missing = missing_of(outside_key, looked) if outside_key and looked is not None else NOTHING_MISSING
    if in_index and looked is not None and looked["moved"]:
        decoded = follow_in_index(context, part, decoded)
    happened = by_key(events(with_missing(decoded, missing), version.key, has_reread, nulls), version.key)
    if missing.columns:
        happened = fill_missing(table, happened, missing, version, committed.count, task.options)
    whole = happened.filter(has_null(version.key)) if nulls else None
    happened = happened.filter(~has_null(version.key)) if nulls else happened
    net = net_change(happened, version.key, has_reread, rows_vanish=commit_range.whole is not None and commit_range.removes)
    if whole is not None:
        rows = of_whole_rows(whole, live(table.rows, task.options), columns, version.key, task.options)
        net = net.withColumn("is_whole", F.lit(False)).unionByName(rows, allowMissingColumns=True)
    if has_reread:
        net, expected = read_objects(context, part, decoded, net)
    if objects is not None:
        large = large_columns(table, version)
        net = with_assembled(net, objects, version.key, large, version.documents)
        missing = replace(missing, columns=(*missing.columns, *large))
    net = context.kept.keep(task.table, with_findings(net, columns, version.key, task.options))
    ranged = None if nulls or commit_range.whole is not None else ranged_column(table, version)
    seen = yield look_at_net_changes(net, ranged)
    check_all(task, seen, expected)
    if commit_range.whole is not None:
        net = context.kept.keep(task.table, with_whole_table(context, table, task, commit_range, net))
    return PreparedRange(commit_range, net, missing, key_range(ranged, seen))


def follow_in_index(context: ApplyContext, part: TableRange, decoded: DataFrame) -> DataFrame:
    """Return the changes of an index-organized table, in which UPDATEs change keys, each with the row that it is of."""
    table, task = part.table, part.task
    if task.shadow_from is not None:  # it begins without rows, so nothing says which keys are taken
        raise RedoNotUnderstood(
            "an UPDATE changed the key of a row in an index-organized table, and a shadow does not know which keys are taken",
            cure=f"run `redolake snapshot {task.table} --replace`, or `redolake backfill` from an SCN after it",
            table=task.table,
            scn=part.commit_range.start,
        )
    key = [table.columns[i] for i in part.commit_range.version.key]
    return context.kept.keep(task.table, with_rows(decoded, live(table.rows, task.options), key))


def knows_by_whole_row(task: TableTask, decoded: DataFrame) -> bool:
    """Return whether a change has a NULL in its key, and log how many do."""
    count = int(decoded.filter("null_key").count())
    if count:
        log.info(
            "%s: %s change(s) of rows with a NULL in their key; these rows are known by all their columns", task.table, count
        )
    return count > 0


def read_rows(context: ApplyContext, part: TableRange) -> PreparedRange:
    """Prepare a range of a table whose changes LogMiner does not show. The rows of a batch's first range are those of the
    table's position, and of a later range those of the window's start, or later: its rows were read at the window's end."""
    commit_range, table, version = part.commit_range, part.table, part.commit_range.version
    position = -1 if table.position is None or commit_range.number else table.position
    net = whole_rows(context.spark, part.committed.frame, context.windows, part.task, version, position, context.translation)
    return PreparedRange(commit_range, context.kept.keep(part.task.table, net))


def large_columns(table: DeltaTable, version: TableVersion) -> tuple[TargetColumn, ...]:
    return tuple(table.columns[column.id] for column in version.assembled)


def assemble_objects(context: ApplyContext, part: TableRange, decoded: DataFrame) -> tuple[DataFrame, DataFrame, int]:
    """Return the changes without large objects, the objects, and the number of changes without those of large objects."""
    table, version, changed = part.table, part.commit_range.version, of_objects(part.committed.frame)
    count, large, keep = changed.count(), large_columns(table, version), partial(context.kept.keep, part.task.table)
    pieces = keep(of_rows(decode_objects(context, part, changed, has_pieces=True), version.key))
    check_all(part.task, look_at_changes(pieces).answer(), count)
    both = keep(with_pieces(decoded, pieces, version.key))
    key, rows = [table.columns[i] for i in version.key], live(table.rows, part.task.options)
    read_text = context.translation.read_text
    objects = assembled(both, rows, key, large, part.committed.count, version.documents, read_text, keep)
    return without_pieces(both, large), objects, part.committed.count - count


def read_objects(context: ApplyContext, part: TableRange, decoded: DataFrame, net: DataFrame) -> tuple[DataFrame, int]:
    """Return the net changes with the large objects that were read again, and the number of changes that `net` stands for."""
    task, commit_range, version = part.task, part.commit_range, part.commit_range.version
    files = files_of(context.windows, task, commit_range.start - 1)
    again = read_again(context.spark, files, version, task, context.translation)
    changed = of_objects(part.committed.frame)
    count, late = changed.count(), any(file.late for file in files)
    objects, unnamed = named_objects(decode_objects(context, part, changed), version.key)
    if count and not late and (missing := unfound(objects, again, decoded, version.key) + unnamed.count()):
        names = ", ".join(column.name for column in version.reread)
        raise RedoNotUnderstood(
            f"{missing} change(s) of large objects belong to rows that were neither read again nor deleted ({names})",
            cure=f"run `redolake snapshot {task.table} --replace`; where it comes again, leave the columns out "
            "(`exclude_columns`)",
            table=task.table,
            scn=commit_range.last_scn,
        )
    return with_values(net, objects, again, version, late=late), part.committed.count - count


def decode_objects(context: ApplyContext, part: TableRange, changed: DataFrame, *, has_pieces: bool = False) -> DataFrame:
    """Return the changes of large objects with the key that their text shows (b<id>). Without a ROWID they have the
    placeholder. With `has_pieces`, what they do is wanted too."""
    task, version = part.task, part.commit_range.version
    columns = tuple(part.table.columns[i] for i in version.key)
    target = Target(columns, version.key, frozenset(), also=OF_OBJECT, has_pieces=has_pieces)
    decoded = decode(
        changed,
        known_versions(task, part.commit_range, part.committed.scns),
        task.rules,
        target,
        context.translation,
        task.mined_names,
    )
    return decoded if version.organization != "index" else decoded.withColumn("row_id", F.lit(NO_ROWID))


def known_versions(task: TableTask, commit_range: CommitRange, scns: tuple[int, int] | None) -> tuple[TableVersion, ...]:
    """Return the versions of the range's changes. Each one is a part of the plan, with a decoder of its own, so those that none
    of the changes has are left out: else a range would cost more with each DDL that the table ever had."""
    known = tuple(version for version in task.versions if version.from_scn < commit_range.end) or task.versions[:1]
    if scns is None:
        return known
    low, high = scns
    first = max((number for number, version in enumerate(known) if version.from_scn <= low), default=0)
    return tuple(v for number, v in enumerate(known) if number == first or (number > first and v.from_scn <= high))


def decode_range(context: ApplyContext, part: TableRange, *, has_null_keys: bool = False) -> DataFrame:
    task, commit_range = part.task, part.commit_range
    columns = tuple(part.table.columns.values())
    defaulted = frozenset(c.id for c in columns if c.default is not None or c.id in task.defaulted)
    target = Target(
        columns,
        commit_range.version.key,
        defaulted,
        bool(commit_range.version.reread),
        needed(task.options),
        computed=frozenset(column.id for version in task.versions for column in version.columns if column.has_default),
        filled=commit_range.filled,
        has_null_keys=has_null_keys,
    )
    known = known_versions(task, commit_range, part.committed.scns)
    apart = commit_range.version.reread or commit_range.version.assembled
    changes = without_objects(part.committed.frame) if apart else part.committed.frame
    decoded = decode(changes, known, task.rules, target, context.translation, task.mined_names, task.known_from)
    return context.kept.keep(task.table, decoded)


def fill_missing(
    table: DeltaTable, happened: DataFrame, missing: Missing, version: TableVersion, count: int, options: TargetOptions
) -> DataFrame:
    filled = fill_known(happened, missing, version.key)
    if not missing.keys_change:
        return filled
    key = [table.columns[column_id] for column_id in version.key]
    return by_key(fill_moved(filled, live(table.rows, options), missing, key, count), version.key)
