"""Apply one table's part of a batch: for each commit range in order, follow its DDL, check its changes and merge them.

An error holds the table before that range, also an error that nobody foresaw. Only what is not about one table ends the job
(errors.OF_ALL_TABLES): a failed session, a lake that is full, refused or missing, another writer.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from redolake.apply.commit_ranges import CommitRange, plan_commit_ranges
from redolake.apply.context import ApplyContext
from redolake.apply.delivery import prepare_range
from redolake.apply.delivery.prepared import ChangesOf, CommittedChanges, PreparedRange, TableRange, ToAppend, ToMerge
from redolake.apply.epochs import check_reached
from redolake.apply.lake_tables import check_not_nested
from redolake.apply.landed.check_changes import check_finding, check_merged
from redolake.apply.landed.key_texts import is_among, key_text
from redolake.apply.net.history_rows import changed_rows, inserted_rows
from redolake.apply.net.missing_columns import not_in_target
from redolake.apply.own_columns import live, of_change
from redolake.apply.owner import check_owner
from redolake.apply.quarantine.divide import check_key_texts, write_taken
from redolake.apply.set_back import check_not_set_back
from redolake.apply.small_tables import Prepared
from redolake.apply.spark.failures import check_session
from redolake.apply.spark.holds import held_error
from redolake.apply.spark.probes import take_alone
from redolake.apply.target import ATTEMPT, UPSERT, History, Tag, Target, Terms, Writer
from redolake.errors import (
    OF_ALL_TABLES,
    OF_BATCH,
    OF_TABLE,
    InvariantBroken,
    RedolakeError,
    SchemaConflict,
    Transient,
    report_with,
)
from redolake.records.batches.attempt import NO_WORK, Attempt, TableWork
from redolake.records.batches.manifest import RowAccount, TableResult
from redolake.records.batches.spec import TableTask
from redolake.records.codec import to_body
from redolake.values import frames
from redolake.values.target_options import TargetOptions
from redolake.values.terms import ChangeCounts, RowCounts

log = logging.getLogger(__name__)


@dataclass(slots=True)
class TableProgress:
    """`delta_version` is the version of the table that is complete to `complete_to`: a failed range may leave newer ones.
    `work` also has what an attempt before has done."""

    complete_to: int | None
    delta_version: int | None
    work: TableWork = NO_WORK
    merge_seconds: float = 0.0

    def account(self, balance: RowAccount) -> RowAccount:
        """Return the table's account with the changes that were not applied as held."""
        filtered, quarantined = sum(self.work.filtered.values()), sum(self.work.quarantined.values())
        held = balance.held + balance.applied - self.work.count
        return replace(
            balance, applied=self.work.count - filtered - quarantined, filtered=filtered, quarantined=quarantined, held=held
        )


def apply_table(
    context: ApplyContext,
    table: Target,
    task: TableTask,
    changes_of: ChangesOf,
    balance: RowAccount,
    prepared: Prepared | None = None,
    history: History | None = None,
    *,
    is_last: bool = True,
) -> TableResult:
    """`table` still has the position from which the ranges were numbered and counted. `balance` is that count; changes that
    cannot be applied move to `held` in it. `prepared` is what was prepared together with other tables. What nothing explains
    holds the table if this `is_last`, and is raised else."""
    counted_from = table.position
    table.refresh()
    check_position(table, task, counted_from)
    before = done_before(context, table, task, balance)
    progress = TableProgress(complete_to=table.position, delta_version=table.version, work=before)
    balance = replace(balance, before_position=balance.before_position - before.count, applied=balance.applied + before.count)
    error = None if task.hold is None else dict(task.hold.error)
    try:
        if task.hold is None or task.hold.at_scn > context.scns.start:
            check_whose(context, table, task)
            if history is not None and task.destination.history_at_least is not None:
                check_reached(history.log, task.destination.history_at_least, task.table, history.path)
        check_not_set_back(task, context.scns.start, table.position, table.log)
        apply_ranges(context, table, task, changes_of, progress, prepared, history)
    except OF_ALL_TABLES:
        raise
    except RedolakeError as stopped:
        context.check_lake()
        error = stopped.as_dict()
        table.refresh()
    except Exception as surprise:
        check_session(context.spark, surprise, is_last=is_last)
        context.check_lake()
        error = held_error(task.table, table.path, surprise, task.course.latest.mapping)
        table.refresh()
    work = progress.work
    return TableResult(
        table=task.table,
        state="applied" if error is None else "held",
        complete_to=progress.complete_to,
        error=error,
        delta_version=progress.delta_version,
        position=table.position,
        balance=progress.account(balance),
        merge_seconds=round(progress.merge_seconds, 3),
        ddl=work.ddl,
        first_commit_at=work.first_commit_at,
        last_commit_at=work.last_commit_at,
        quarantined_keys=work.quarantined_keys,
        **ChangeCounts.sums([work]),
    )


def check_whose(context: ApplyContext, table: Target, task: TableTask) -> None:
    """Raise FolderTaken where the table is another's, or lies in or around another's."""
    check_owner(table.log, Terms.of(context, task).owner, task.table, table.path)
    if context.has_neighbours:
        check_not_nested(table.path, task.table, in_partitions=False)


def done_before(context: ApplyContext, table: Target, task: TableTask, balance: RowAccount) -> TableWork:
    """Return what an attempt of this batch did to the table whose commit has its position, and note it for the accounts of the
    windows. It ended before its manifest, and its changes now count as those of a snapshot."""
    position, scns = table.position, context.scns
    attempt = table.attempt() if position is not None and position >= scns.start else None
    if attempt is None or not attempt.is_part_of(scns.start, scns.end) or attempt.work.count > balance.before_position:
        return NO_WORK
    context.note_earlier(task.table, attempt.work)
    return attempt.work


def apply_ranges(
    context: ApplyContext,
    table: Target,
    task: TableTask,
    changes_of: ChangesOf,
    progress: TableProgress,
    prepared: Prepared | None,
    history: History | None,
) -> None:
    standing = table.position
    position = -1 if standing is None else standing
    ranges = plan_commit_ranges(task, context.scns, position)
    if ranges:
        if table.log is None:
            raise SchemaConflict(
                "the Delta table is missing",
                cure=f"run `redolake snapshot {task.table} --replace`",
                table=task.table,
                path=table.path,
            )
        table.make_ready(context, task)
        progress.complete_to, progress.delta_version = max(context.scns.start - 1, position), table.version
    check_settles(task, ranges)
    for commit_range in ranges:
        context.may_commit()
        check_key_texts(context, table, task, commit_range)
        table.evolve(context, task, commit_range)
        if history is not None:
            history.follow(context, table, task, commit_range.start)
        committed = changes_of(commit_range.number)
        if committed.count or committed.problem or commit_range.whole is not None:
            if prepared is not None and prepared.fits(commit_range, table):
                ready = prepared.outcome.result()
            else:
                ready = take_alone(prepare_range(context, TableRange(table, task, commit_range, committed)))
            began, work = time.monotonic(), work_of(task, commit_range, committed, ready)
            note = Attempt(context.scns.start, context.scns.end, progress.work.plus(work))
            merged = merge_range(context, table, task, commit_range, ready, standing, history, committed.count, note)
            standing = table.position
            progress.merge_seconds += time.monotonic() - began
            context.note_work(task.table, work)
            progress.work = note.work.with_rows(merged)
            progress.complete_to, progress.delta_version = commit_range.last_scn, table.version
            # By one who has committed since the check before the commit.
            check_not_set_back(task, context.scns.start, table.position, table.log)
        elif commit_range.steps:
            progress.work = progress.work.plus(TableWork(ddl=kinds_of(commit_range)))
        progress.complete_to, progress.delta_version = commit_range.last_scn, table.version
    if (there := task.destination).reshape:
        context.may_commit()
        end = context.scns.end
        table.evolve(context, task, CommitRange(len(ranges), end, end, there.reshaped or task.course.latest, there.reshape))


def work_of(task: TableTask, commit_range: CommitRange, committed: CommittedChanges, ready: PreparedRange) -> TableWork:
    """Return what the range does, but for the rows of the Delta table, which its commit counts."""
    mapping, times = commit_range.version.mapping, committed.times or ()
    is_masked = mapping is not None and bool(mapping.masked)
    return TableWork(
        changes=committed.windows,
        filtered=by_window(ready.filtered_in),
        quarantined=by_window(ready.taken.windows),
        masked=committed.count - ready.filtered - ready.taken.count if is_masked else 0,
        nulled=ready.nulled,
        quarantined_keys=None if task.destination.quarantine is None else ready.taken.open_keys,
        ddl=kinds_of(commit_range),
        first_commit_at=min(times).isoformat() if times else None,
        last_commit_at=max(times).isoformat() if times else None,
    )


def kinds_of(commit_range: CommitRange) -> dict[str, int]:
    return dict(Counter(step.kind for step in commit_range.steps))


def by_window(counts: Mapping[int, int]) -> dict[str, int]:
    return {str(start): rows for start, rows in counts.items()}


def check_settles(task: TableTask, ranges: Sequence[CommitRange]) -> None:
    """Raise InvariantBroken if a commit would end before the highest SCN of the table's chunks, which the plan prevents."""
    settles = -1 if (scn := task.destination.settles_at) is None else scn
    for commit_range in ranges[:1]:
        if commit_range.last_scn < settles and commit_range.start <= settles:
            raise InvariantBroken(
                f"a commit would end at SCN {commit_range.last_scn}, and chunks were read up to {settles}",
                cure=f"run `redolake snapshot {task.table} --replace` to go on; nothing was merged. {report_with(OF_BATCH)}",
                table=task.table,
            )


def merge_range(
    context: ApplyContext,
    table: Target,
    task: TableTask,
    commit_range: CommitRange,
    prepared: PreparedRange,
    standing: int | None,
    history: History | None = None,
    count: int = 0,
    note: Attempt | None = None,
) -> RowCounts:
    """`note` is what the attempt has done with this commit. `standing` is the position from which the range goes on. Raises
    Transient if the table has another one by now: a batch whose process was killed may still be committed by its Connect
    server, and Delta skips only a position that it has."""
    last_scn, scns = commit_range.last_scn, f"[{commit_range.start}, {commit_range.end})"
    metadata = {
        **context.metadata,
        "table": str(task.table),
        "scns": scns,
        **({} if note is None else {ATTEMPT: to_body(note)}),
    }
    if (terms := Terms.of(context, task, later=True)).owner is not None:
        check_owner(table.log, terms.owner, task.table, table.path)  # before the table says that it is ours
        table.settle(terms, terms.owner.mark_options(), context.metadata)
    check_position(table, task, standing)
    is_empty = isinstance(prepared, ToMerge) and prepared.is_empty
    with table.commit(terms, Tag(table.app_id, last_scn, metadata), "merge") as writer:
        write_taken(context, table, task, commit_range, prepared.taken)
        if history is not None and commit_range.whole is None and not is_empty:  # single changes of rows read again: not known
            record_changes(context, history, table, task, commit_range, prepared, count)
        match prepared:
            case ToAppend(changes, count):
                writer.append(as_rows(changes, table, task.destination.options))
                merged = RowCounts(inserted=count)
            case ToMerge() if prepared.is_empty:
                merged = RowCounts()
            case ToMerge():
                merged = merge_net_change(context, table, task, prepared, writer)
            case _:
                assert_never(prepared)
    if merged != RowCounts() and table.position != last_scn:
        raise InvariantBroken(
            "the commit left no position in the Delta log",
            cure=f"run `redolake snapshot {task.table} --replace` to go on; and {report_with(OF_TABLE)}",
            table=task.table,
            scns=metadata,
        )
    return merged


def as_rows(inserts: DataFrame, table: Target, options: TargetOptions) -> DataFrame:
    """Return INSERTs as rows of the table."""
    values = (F.col(frames.after(c.id)).cast(c.type).alias(c.name) for c in table.columns.values())
    return inserts.withColumn("op", F.lit(UPSERT)).select(*values, *of_change(options))


def record_changes(
    context: ApplyContext,
    history: History,
    table: Target,
    task: TableTask,
    commit_range: CommitRange,
    prepared: PreparedRange,
    count: int,
) -> None:
    """Append the range's changes to the table's history, before they are merged: the target has the rows before them."""
    match prepared:
        case ToAppend(inserts):
            rows = inserted_rows(inserts, table.columns)
        case ToMerge():
            assert prepared.events is not None, "`follow` has refused other deliveries"
            check_in_target(table, task, prepared)
            rows, version, healed = live(table.rows(), task.destination.options), commit_range.version, prepared.taken.healed
            heals = is_among(key_text(version, lambda i: F.col(frames.key(i))), healed) if healed else None
            rows = changed_rows(
                prepared.events, rows, table.columns, version.key, prepared.missing.ids, count, heals,
                asks_target=prepared.asks_target,
            )  # fmt: skip
        case _:
            assert_never(prepared)
    history.record(context, table, task, rows, commit_range.last_scn)


def check_in_target(table: Target, task: TableTask, prepared: ToMerge) -> None:
    """Raise RedoNotUnderstood where a change keeps values of a row that the target does not have."""
    if not prepared.missing.columns:
        return
    key = [table.columns[column_id] for column_id in prepared.has.key]
    lacking = not_in_target(prepared.changes(), live(table.rows(), task.destination.options), prepared.missing, key)
    check_finding(task, lacking.agg(F.min("finding")).collect()[0][0])


def check_position(table: Target, task: TableTask, position: int | None) -> None:
    if table.position != position:
        raise Transient("another writer changed the table meanwhile", cure="wait: the batch is tried again", table=task.table)


def merge_net_change(context: ApplyContext, table: Target, task: TableTask, prepared: ToMerge, writer: Writer) -> RowCounts:
    """Raise RedoNotUnderstood, with nothing merged, where a change keeps values of a row that the target does not have."""
    try:
        merged = writer.merge(prepared.changes, prepared.has, task.destination.options, prepared.rows)
    except Exception as failed:
        check_session(context.spark, failed)
        check_in_target(table, task, prepared)
        raise
    if merged is None:
        return RowCounts()
    check_merged(task, merged, prepared.upserts)
    return merged
