"""One table's part of a batch: its pieces in order, each evolved, checked and merged as one commit.

What is not understood holds the table before that piece; an error that nobody foresaw does too. Only a dead session or
another writer ends the job.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from pipelines import crash
from pipelines.apply.commit_ranges import CommitRange, plan_commit_ranges
from pipelines.apply.decoded import FINDINGS, decode
from pipelines.apply.delta.commit import Tag, tagged
from pipelines.apply.delta.evolve import evolve
from pipelines.apply.delta.log import last_txn, latest_version, written_by_another
from pipelines.apply.delta.merge import Merged, append, count_all, merge, total
from pipelines.apply.delta.schema import check_columns, read_columns
from pipelines.apply.missing_columns import complete, open_columns
from pipelines.apply.net import events, net_change
from pipelines.apply.translation import Translation
from pipelines.errors import (
    InvariantBroken,
    KeyNeeded,
    LakeFull,
    NotLogged,
    RedolakeError,
    SchemaConflict,
    TableSetBack,
    Transient,
)
from pipelines.records.batch_result import RowAccount, TableResult
from pipelines.records.batch_spec import TableTask
from pipelines.scn import ScnRange
from pipelines.table import TableId

NO_SPACE = ("No space left on device", "Disk quota exceeded", "File too large")  # ENOSPC, EDQUOT, EFBIG as the JVM tells them


@dataclass(frozen=True, slots=True)
class CommittedChanges:
    """The committed changes of one piece: `count` of them, or the reason why they are not understood."""

    frame: DataFrame
    count: int
    problem: RedolakeError | None = None


@dataclass(slots=True)
class _Progress:
    complete_to: int | None
    merged: Merged = field(default_factory=Merged)
    applied: int = 0


def apply_table(
    spark: SparkSession,
    task: TableTask,
    scns: ScnRange,
    changes: Callable[[int], CommittedChanges],
    balance: RowAccount,
    metadata: Mapping[str, object],
    translation: Translation,
    position: int | None,
    may_commit: Callable[[], None],
) -> TableResult:
    """`changes` of a piece by its number; `balance` as counted before, of which this moves what it could not apply to held.
    `position` is the one that the counting was based on: pieces are numbered from it. `may_commit` raises Transient when
    another writer has begun."""
    if last_txn(task.target, task.app_id) != position:
        raise Transient(
            "another writer changed the table meanwhile", cure="nothing: the batch is tried again", table=task.table
        )
    progress = _Progress(complete_to=position)
    error = None if task.hold is None else dict(task.hold.error)
    try:
        check_not_set_back(task, scns.start, position)
        apply_ranges(spark, task, scns, changes, progress, metadata, translation, may_commit)
    except Transient:
        raise
    except RedolakeError as stopped:
        error = stopped.as_dict()
    except Exception as surprise:
        check_session(spark, surprise)
        error = unexpected(task.table, surprise)
    return TableResult(
        table=task.table,
        state="applied" if error is None else "held",
        complete_to=progress.complete_to,
        error=error,
        inserted=progress.merged.inserted,
        updated=progress.merged.updated,
        deleted=progress.merged.deleted,
        delta_version=latest_version(task.target),
        position=last_txn(task.target, task.app_id),
        balance=replace(balance, applied=progress.applied, held=balance.held + balance.applied - progress.applied),
    )


def check_not_set_back(task: TableTask, start: int, position: int | None) -> None:
    """The Delta log's position lies before the batch where nothing changed since, and just so where older contents were put
    back: only what the last batch has left there tells one from the other. RESTORE and other writers leave the position where
    it was; commits of their own tell of them."""
    if task.hold is not None and task.hold.at_scn <= start:
        return
    what = None
    if task.at_least is not None and (position is None or position < task.at_least):
        what = (
            f"the Delta table has the commits up to SCN {position}, and had those up to SCN {task.at_least} before: it is an "
            "older copy, or was set back by a load that did not end"
        )
    elif position is not None and (another := written_by_another(task.target, f"{task.app_id.rpartition('/')[0]}/")):
        version, operation = another
        what = f"somebody else has written version {version} of the Delta table ({operation}), its rows are another state's"
    if what is not None:
        cure = f"`redolake snapshot {task.table} --replace` reads the table anew"
        raise TableSetBack(what, cure=cure, table=task.table, path=task.target)


def apply_ranges(
    spark: SparkSession,
    task: TableTask,
    scns: ScnRange,
    changes: Callable[[int], CommittedChanges],
    progress: _Progress,
    metadata: Mapping[str, object],
    translation: Translation,
    may_commit: Callable[[], None],
) -> None:
    position = progress.complete_to
    pieces = plan_commit_ranges(task, scns, -1 if position is None else position)
    if pieces:
        if latest_version(task.target) is None:
            raise SchemaConflict(
                "the target table is not there",
                cure=f"`redolake snapshot {task.table} --replace`",
                table=task.table,
                path=task.target,
            )
        progress.complete_to = max(scns.start - 1, -1 if position is None else position)
    for piece in pieces:
        may_commit()
        evolve(spark, task, piece, metadata, translation)
        committed = changes(piece.number)
        if committed.count or committed.problem:
            progress.merged += merge_range(spark, task, piece, committed, metadata, translation, may_commit)
            progress.applied += committed.count
        progress.complete_to = piece.last_scn


def merge_range(
    spark: SparkSession,
    task: TableTask,
    piece: CommitRange,
    committed: CommittedChanges,
    metadata: Mapping[str, object],
    translation: Translation,
    may_commit: Callable[[], None],
) -> Merged:
    if committed.problem is not None:
        raise committed.problem
    have = read_columns(spark, task.target)
    check_columns(piece.version, task.rules, have, translation)
    columns, key = tuple(have.values()), piece.version.key
    known = tuple(version for version in task.versions if version.from_scn < piece.end) or task.versions[:1]
    defaulted = [c.id for c in columns if c.default is not None or c.id in task.defaulted]
    # Kept by the executors: MERGE plans its source several times, and would plan all that lies behind it.
    decoded = decode(committed.frame, known, task.rules, columns, key, defaulted, translation).localCheckpoint()
    tag = Tag(task.app_id, piece.last_scn, {**metadata, "table": str(task.table), "scns": f"[{piece.start}, {piece.end})"})
    if piece.version.key_kind == "append":
        check_all(task, count_all(decoded), committed.count)
        may_commit()
        merged = append(task.target, decoded, columns, tag, committed.count)
    else:
        if left_open := open_columns(decoded, [c for c in columns if c.id not in key]):
            target = spark.read.format("delta").load(task.target)
            decoded = complete(decoded, target, left_open, [have[column_id] for column_id in key], committed.count)
        net = net_change(events(decoded, key), key).localCheckpoint()
        check_all(task, total(net), committed.count)
        may_commit()
        with tagged(spark, tag):
            merged = merge(spark, task.target, net, columns, key)
    crash.point("merge")
    if merged != Merged() and last_txn(task.target, task.app_id) != piece.last_scn:
        raise InvariantBroken(
            "the commit left no position in the Delta log", cure="report it", table=task.table, scns=tag.metadata
        )
    return merged


def check_all(task: TableTask, told: tuple[int, Any], expected: int) -> None:
    """Nothing is merged unless every change is understood and every change is in."""
    counted, found = told
    if found is not None:
        kind = FINDINGS[found["code"]]
        raise kind(found["what"], cure=cure_of(kind, task), table=task.table, scn=found["scn"], commit_scn=found["commit_scn"])
    if counted != expected:
        raise InvariantBroken(
            f"{expected} changes were to be applied, {counted} came out of decoding",
            cure="nothing was merged; report it with the batch file and the landed windows",
            table=task.table,
        )


def cure_of(kind: type[RedolakeError], task: TableTask) -> str:
    table = task.table
    anew = f"`redolake snapshot {table} --replace` takes the table anew"
    if kind is KeyNeeded:
        return (
            f"declare `key: rowid`, or the columns of a unique index, for {table} in pipelines.yml, and then {anew}; "
            "that alone is enough where this was the only change"
        )
    if kind is NotLogged:
        columns = "PRIMARY KEY" if task.versions[-1].key_kind == "primary" else "ALL"
        return f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA ({columns}) COLUMNS, unless it is on again; then {anew}"
    later = f"the landed redo is kept: report it, and go on by `redolake resume {table}` with a Redolake that understands it"
    fit = f"where a value does not fit, give its column another scale, or `string`, under `columns` of {table} first"
    return f"{anew} ({fit}); {later}"


def check_session(spark: SparkSession, surprise: Exception) -> None:
    """Raises when the failure is not this table's: no space is left, the session is dead, or somebody else wrote the table
    meanwhile."""
    check_space(surprise)
    if "DELTA_CONCURRENT" in str(surprise) or "Concurrent" in type(surprise).__name__:
        raise Transient("another writer changed the table meanwhile", cure="nothing: the batch is tried again") from surprise
    try:
        spark.sql("SELECT 1").collect()
    except Exception as dead:
        raise surprise from dead


def check_space(surprise: Exception) -> None:
    full = next((words for words in NO_SPACE if words in str(surprise)), None)
    if full is not None:
        cure = "free space for the lake and for Spark's own files, and run again: no commit was cut short, no table is held"
        raise LakeFull(f"Spark cannot write: {full}", cure=cure) from surprise


def unexpected(table: TableId, surprise: Exception) -> dict[str, Any]:
    return {
        "code": type(surprise).__name__,
        "what": str(surprise).strip()[:2000],
        "where": {"table": str(table)},
        "cure": f"report it; `redolake resume {table}` tries again, `redolake snapshot {table} --replace` takes the table anew",
    }
