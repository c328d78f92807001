"""Apply one table's part of a batch: for each commit range in order, follow its DDL, check its changes and merge them.

An error holds the table before that range, also an error that nobody foresaw. Only a failed session, a full lake or another
writer ends the job.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines import crash
from pipelines.apply.assembled_objects import assembled, of_rows, with_assembled, with_pieces, without_pieces
from pipelines.apply.check_changes import check_all, check_finding, count_changes, count_net_changes
from pipelines.apply.commit_ranges import CommitRange, plan_commit_ranges
from pipelines.apply.context import ApplyContext
from pipelines.apply.decoded import Target, decode
from pipelines.apply.delta.commit import Tag
from pipelines.apply.delta.evolve import evolve
from pipelines.apply.delta.features import check_readers
from pipelines.apply.delta.merge import Merged, NetColumns, append, merge
from pipelines.apply.delta.own_columns import live, needed
from pipelines.apply.delta.plain_types import write_plain_types
from pipelines.apply.delta.schema import TargetColumn, check_columns, named
from pipelines.apply.delta.settings import check_layout, settle
from pipelines.apply.delta.table import DeltaTable
from pipelines.apply.failures import check_session, unexpected
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
from pipelines.apply.missing_columns import (
    NOTHING_MISSING,
    Missing,
    fill_known,
    fill_moved,
    find_missing,
    not_in_target,
    with_missing,
)
from pipelines.apply.net import by_key, events, net_change
from pipelines.apply.null_keys import may_be_null, of_whole_rows
from pipelines.apply.set_back import check_not_set_back
from pipelines.apply.whole_rows import whole_rows
from pipelines.apply.whole_tables import with_whole_table
from pipelines.errors import InvariantBroken, RedolakeError, RedoNotUnderstood, SchemaConflict, Transient
from pipelines.records.batch_result import RowAccount, TableResult
from pipelines.records.batch_spec import TableTask
from pipelines.redo import NO_ROWID, Operation
from pipelines.table import TableVersion
from pipelines.target_options import TargetOptions

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CommittedChanges:
    """The committed changes of one range: `count` of them, or the problem for which they cannot be applied."""

    frame: DataFrame
    count: int
    problem: RedolakeError | None = None


ChangesOf = Callable[[int], CommittedChanges]  # by the number of the range


@dataclass(frozen=True, slots=True)
class PreparedRange:
    """The checked changes of a range, to be merged or appended: one per key, except in an append-only table. `missing` are the
    columns of which a change may keep the target's value."""

    commit_range: CommitRange
    changes: DataFrame
    missing: Missing = NOTHING_MISSING


@dataclass(slots=True)
class TableProgress:
    """`delta_version` is the version of the table that is complete to `complete_to`: a failed range may leave newer ones."""

    complete_to: int | None
    delta_version: int | None
    merged: Merged = field(default_factory=Merged)
    applied: int = 0
    merge_seconds: float = 0.0
    ddl: Counter[str] = field(default_factory=Counter)


def apply_table(
    context: ApplyContext,
    table: DeltaTable,
    task: TableTask,
    changes_of: ChangesOf,
    balance: RowAccount,
) -> TableResult:
    """`table` still has the position from which the ranges were numbered and counted. `balance` is that count; changes that
    cannot be applied move to `held` in it."""
    counted_from = table.position
    table.refresh()
    if table.position != counted_from:
        raise Transient("another writer changed the table meanwhile", cure="none: the batch is tried again", table=task.table)
    progress = TableProgress(complete_to=table.position, delta_version=table.version)
    error = None if task.hold is None else dict(task.hold.error)
    try:
        check_not_set_back(task, context.scns.start, table.position, table.log)
        apply_ranges(context, table, task, changes_of, progress)
    except Transient:
        raise
    except RedolakeError as stopped:
        error = stopped.as_dict()
        table.refresh()
    except Exception as surprise:
        check_session(context.spark, surprise)
        error = unexpected(task.table, surprise)
        table.refresh()
    return TableResult(
        table=task.table,
        state="applied" if error is None else "held",
        complete_to=progress.complete_to,
        error=error,
        inserted=progress.merged.inserted,
        updated=progress.merged.updated,
        deleted=progress.merged.deleted,
        delta_version=progress.delta_version,
        position=table.position,
        balance=replace(balance, applied=progress.applied, held=balance.held + balance.applied - progress.applied),
        merge_seconds=round(progress.merge_seconds, 3),
        ddl=dict(progress.ddl),
    )


def apply_ranges(
    context: ApplyContext,
    table: DeltaTable,
    task: TableTask,
    changes_of: ChangesOf,
    progress: TableProgress,
) -> None:
    position = -1 if table.position is None else table.position
    ranges = plan_commit_ranges(task, context.scns, position)
    if ranges:
        if table.log is None:
            raise SchemaConflict(
                "the Delta table is missing",
                cure=f"run `redolake snapshot {task.table} --replace`",
                table=task.table,
                path=task.target,
            )
        check_readers(table.log, task.options.readers, task.table)
        check_layout(table, task.table, task.options)
        write_plain_types(table, {**context.metadata, "table": str(task.table)}, context.may_commit)
        settle(table, task.table, task.options, context.metadata, context.may_commit)
        progress.complete_to, progress.delta_version = max(context.scns.start - 1, position), table.version
    for commit_range in ranges:
        context.may_commit()
        evolve(context, table, task, commit_range)
        committed = changes_of(commit_range.number)
        if committed.count or committed.problem or commit_range.whole is not None:
            ready = prepare_range(context, table, task, commit_range, committed)
            began = time.monotonic()
            progress.merged += merge_range(context, table, task, ready, committed)
            progress.merge_seconds += time.monotonic() - began
            progress.applied += committed.count
        progress.complete_to, progress.delta_version = commit_range.last_scn, table.version
        progress.ddl.update(step.kind for step in commit_range.steps)
    if task.reshape:
        context.may_commit()
        end = context.scns.end
        evolve(context, table, task, CommitRange(len(ranges), end, end, task.reshaped or task.versions[-1], task.reshape))


def prepare_range(
    context: ApplyContext, table: DeltaTable, task: TableTask, commit_range: CommitRange, committed: CommittedChanges
) -> PreparedRange:
    """Decode and check the changes of a range, and compute their net change. Nothing is committed."""
    if committed.problem is not None:
        raise committed.problem
    version, columns = commit_range.version, table.columns
    check_columns(named(version, task.options), task.rules, columns, context.translation)
    if any(one.rereads_rows for one in task.versions):
        return read_rows(context, table, task, commit_range, committed)
    nulls = may_be_null(version) and commit_range.whole is None
    decoded = decode_range(context, table, task, commit_range, committed, has_null_keys=nulls)
    nulls = nulls and knows_by_whole_row(task, decoded)
    expected, objects = committed.count, None
    if version.assembled:
        decoded, objects, expected = assemble_objects(context, table, task, commit_range, committed, decoded)
    elif version.key and version.hides_rowids:
        decoded = with_row_ids(decoded, version.key)
    if version.key_kind == "append":
        check_all(task, count_changes(decoded), expected)
        return PreparedRange(commit_range, decoded.filter(F.col("operation_code") == Operation.INSERT))
    has_reread = bool(version.reread)
    other = {*version.key, *(column.id for column in (*version.reread, *version.assembled))}
    outside_key = [column for column in columns.values() if column.id not in other]
    missing = find_missing(decoded, outside_key, version.key)
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
        net, expected = read_objects(context, table, task, commit_range, committed, decoded, net)
    if objects is not None:
        large = large_columns(table, version)
        net = with_assembled(net, objects, version.key, large, version.documents)
        missing = replace(missing, columns=(*missing.columns, *large))
    net = kept(net)
    check_all(task, count_net_changes(net), expected)
    if commit_range.whole is not None:
        net = kept(with_whole_table(context, table, task, commit_range, net))
    return PreparedRange(commit_range, net, missing)


def knows_by_whole_row(task: TableTask, decoded: DataFrame) -> bool:
    """Return whether a change has a NULL in its key, and log how many do."""
    count = int(decoded.filter("null_key").count())
    if count:
        log.info(
            "%s: %s change(s) of rows with a NULL in their key; these rows are known by all their columns", task.table, count
        )
    return count > 0


def read_rows(
    context: ApplyContext, table: DeltaTable, task: TableTask, commit_range: CommitRange, committed: CommittedChanges
) -> PreparedRange:
    """Prepare a range of a table whose changes LogMiner does not show. The rows of a batch's first range are those of the
    table's position, and of a later range those of the window's start, or later: its rows were read at the window's end."""
    position = -1 if table.position is None or commit_range.number else table.position
    net = whole_rows(context.spark, committed.frame, context.windows, task, commit_range.version, position, context.translation)
    return PreparedRange(commit_range, kept(net))


def merge_range(
    context: ApplyContext, table: DeltaTable, task: TableTask, prepared: PreparedRange, committed: CommittedChanges
) -> Merged:
    version, last_scn = prepared.commit_range.version, prepared.commit_range.last_scn
    scns = f"[{prepared.commit_range.start}, {prepared.commit_range.end})"
    tag = Tag(task.app_id, last_scn, {**context.metadata, "table": str(task.table), "scns": scns})
    context.may_commit()
    if version.key_kind == "append":
        inserts = prepared.changes.count() if version.hides_rowids else committed.count
        merged = append(table, prepared.changes, tag, inserts, task.options)
    else:
        merged = merge_net_change(table, task, prepared, tag)
    table.refresh()
    crash.point("merge")
    if merged != Merged() and table.position != last_scn:
        raise InvariantBroken(
            "the commit left no position in the Delta log", cure="report it", table=task.table, scns=tag.metadata
        )
    return merged


def merge_net_change(table: DeltaTable, task: TableTask, prepared: PreparedRange, tag: Tag) -> Merged:
    """Raise RedoNotUnderstood, with nothing merged, where a change keeps values of a row that the target does not have."""
    version, missing = prepared.commit_range.version, prepared.missing
    present = prepared.changes.columns
    read = version.reread if "is_read" in present else ()
    objects = tuple(column.id for column in (*read, *version.assembled))
    has = NetColumns(version.key, objects, missing.ids, prepared.commit_range.filled, "is_whole" in present)
    try:
        return merge(table, prepared.changes, has, tag, task.options)
    except Exception as failed:
        check_session(table.spark, failed)
        if missing.columns:
            key = [table.columns[column_id] for column_id in version.key]
            lacking = not_in_target(prepared.changes, live(table.rows, task.options), missing, key)
            check_finding(task, lacking.agg(F.min("finding")).collect()[0][0])
        raise


def large_columns(table: DeltaTable, version: TableVersion) -> tuple[TargetColumn, ...]:
    return tuple(table.columns[column.id] for column in version.assembled)


def assemble_objects(
    context: ApplyContext,
    table: DeltaTable,
    task: TableTask,
    commit_range: CommitRange,
    committed: CommittedChanges,
    decoded: DataFrame,
) -> tuple[DataFrame, DataFrame, int]:
    """Return the changes without large objects, the objects, and the number of changes without those of large objects."""
    version, changed = commit_range.version, of_objects(committed.frame)
    count, large = changed.count(), large_columns(table, version)
    pieces = kept(of_rows(decode_objects(context, table, task, commit_range, changed, has_pieces=True), version.key))
    check_all(task, count_changes(pieces), count)
    both = kept(with_pieces(decoded, pieces, version.key))
    key, rows = [table.columns[i] for i in version.key], live(table.rows, task.options)
    read_text = context.translation.read_text
    objects = assembled(both, rows, key, large, committed.count, version.documents, read_text)
    return without_pieces(both, large), objects, committed.count - count


def read_objects(
    context: ApplyContext,
    table: DeltaTable,
    task: TableTask,
    commit_range: CommitRange,
    committed: CommittedChanges,
    decoded: DataFrame,
    net: DataFrame,
) -> tuple[DataFrame, int]:
    """Return the net changes with the large objects that were read again, and the number of changes that `net` stands for."""
    version = commit_range.version
    files = files_of(context.windows, task, commit_range.start - 1)
    again = read_again(context.spark, files, version, task, context.translation)
    changed = of_objects(committed.frame)
    count, late = changed.count(), any(file.late for file in files)
    objects, unnamed = named_objects(decode_objects(context, table, task, commit_range, changed), version.key)
    if count and not late and (missing := unfound(objects, again, decoded, version.key) + unnamed.count()):
        names = ", ".join(column.name for column in version.reread)
        raise RedoNotUnderstood(
            f"{missing} change(s) of large objects belong to rows that were neither read again nor deleted ({names})",
            cure=f"run `redolake snapshot {task.table} --replace`; where it comes again, leave the columns out (`exclude`)",
            table=task.table,
            scn=commit_range.last_scn,
        )
    return with_values(net, objects, again, version, late=late), committed.count - count


def decode_objects(
    context: ApplyContext,
    table: DeltaTable,
    task: TableTask,
    commit_range: CommitRange,
    changed: DataFrame,
    *,
    has_pieces: bool = False,
) -> DataFrame:
    """Return the changes of large objects with the key that their text shows (b<id>). Without a ROWID they have the
    placeholder. With `has_pieces`, what they do is wanted too."""
    version = commit_range.version
    columns = tuple(table.columns[i] for i in version.key)
    target = Target(columns, version.key, frozenset(), also=OF_OBJECT, has_pieces=has_pieces)
    decoded = decode(changed, known_versions(task, commit_range), task.rules, target, context.translation, task.mined_names)
    return decoded if version.organization != "index" else decoded.withColumn("row_id", F.lit(NO_ROWID))


def known_versions(task: TableTask, commit_range: CommitRange) -> tuple[TableVersion, ...]:
    return tuple(version for version in task.versions if version.from_scn < commit_range.end) or task.versions[:1]


def decode_range(
    context: ApplyContext,
    table: DeltaTable,
    task: TableTask,
    commit_range: CommitRange,
    committed: CommittedChanges,
    *,
    has_null_keys: bool = False,
) -> DataFrame:
    columns = tuple(table.columns.values())
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
    known = known_versions(task, commit_range)
    apart = commit_range.version.reread or commit_range.version.assembled
    changes = without_objects(committed.frame) if apart else committed.frame
    decoded = decode(changes, known, task.rules, target, context.translation, task.mined_names, task.known_from)
    return kept(decoded)


def kept(frame: DataFrame) -> DataFrame:
    """Keep the rows in the executors: MERGE plans its source several times, with everything it is computed from.

    The count that follows computes them; an eager checkpoint would run a job of its own for that.
    """
    return frame.localCheckpoint(eager=False)


def fill_missing(
    table: DeltaTable, happened: DataFrame, missing: Missing, version: TableVersion, count: int, options: TargetOptions
) -> DataFrame:
    filled = fill_known(happened, missing, version.key)
    if not missing.keys_change:
        return filled
    key = [table.columns[column_id] for column_id in version.key]
    return by_key(fill_moved(filled, live(table.rows, options), missing, key, count), version.key)
