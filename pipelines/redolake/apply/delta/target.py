"""The Delta table of one captured table, as apply asks for it (apply/target.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame

from redolake.apply.commit_ranges import CommitRange
from redolake.apply.context import ApplyContext
from redolake.apply.delta import evolve, key_range, merge, own_columns, partitions, set_back
from redolake.apply.delta.commit import Tag
from redolake.apply.delta.features import check_readers
from redolake.apply.delta.log import our_metadata
from redolake.apply.delta.nested import check_not_nested
from redolake.apply.delta.owner import Owner, check_owner
from redolake.apply.delta.plain_types import write_plain_types
from redolake.apply.delta.schema import check_columns
from redolake.apply.delta.settings import check_layout, check_writable, settle
from redolake.apply.delta.table import DeltaTable
from redolake.apply.delta.writer import Terms, Writer, commit
from redolake.apply.target import ATTEMPT, NetColumns, TargetColumn
from redolake.apply.translation import Translation
from redolake.records.batches.attempt import Attempt
from redolake.records.batches.spec import TableTask
from redolake.records.codec import from_body
from redolake.values.lake_columns import with_lake_names
from redolake.values.table import TableVersion
from redolake.values.target_options import TargetOptions
from redolake.values.terms import RowCounts


class DeltaTarget(DeltaTable):
    @property
    def exists(self) -> bool:
        return self.log is not None

    def attempt(self) -> Attempt | None:
        found = None if self.log is None or self.position is None else self.log.commit_info(self.app_id, self.position)
        note = {} if found is None else our_metadata({"commitInfo": found})
        if found is None or note.get(ATTEMPT) is None:
            return None
        attempt = from_body(Attempt, note[ATTEMPT], self.path)
        return replace(attempt, work=attempt.work.with_rows(rows_of(found)))

    def live(self, options: TargetOptions) -> DataFrame:
        return own_columns.live(self.rows, options)

    def check_owner(self, context: ApplyContext, task: TableTask) -> None:
        check_owner(self.log, owner_of(context, task), task.table, task.target)
        if context.has_neighbours:
            check_not_nested(task.target, task.table)

    def check_not_set_back(self, task: TableTask, start: int) -> None:
        set_back.check_not_set_back(task, start, self.position, self.log)

    def check_columns(self, version: TableVersion, task: TableTask, translation: Translation) -> None:
        check_columns(with_lake_names(version, task.options), task.rules, self.columns, translation)

    def make_ready(self, context: ApplyContext, task: TableTask) -> None:
        assert self.log is not None
        check_readers(self.log, task.options.readers, task.table)
        check_layout(self, task.table, task.options)
        check_writable(self, task.table, task.versions[-1].key_kind)
        write_plain_types(self, {**context.metadata, "table": str(task.table)}, terms_of(context, task))
        settle(self, task.table, task.options, context.metadata, context.may_commit)

    def claim(self, context: ApplyContext, task: TableTask) -> None:
        if (owner := owner_of(context, task)) is not None:
            check_owner(self.log, owner, task.table, task.target)
            settle(self, task.table, owner.mark_options(), context.metadata, context.may_commit)

    def evolve(self, context: ApplyContext, task: TableTask, commit_range: CommitRange) -> None:
        evolve.evolve(context, self, task, commit_range)

    def needs(self, options: TargetOptions) -> tuple[str, ...]:
        return own_columns.needed_columns(options)

    def with_findings(self, changes: DataFrame, key: Sequence[int], options: TargetOptions) -> DataFrame:
        return partitions.with_findings(changes, self.columns, key, options)

    def ranged_column(self, version: TableVersion) -> TargetColumn | None:
        return key_range.ranged_column(self, version)

    @contextmanager
    def commit(
        self, context: ApplyContext, task: TableTask, last_scn: int, metadata: Mapping[str, object]
    ) -> Iterator[ChangeWriter]:
        with commit(self, terms_of(context, task, later=True), Tag(self.app_id, last_scn, metadata), "merge") as writer:
            yield ChangeWriter(writer, task.options)


@dataclass(frozen=True, slots=True)
class ChangeWriter:
    writer: Writer
    options: TargetOptions

    def merge(self, net: DataFrame, has: NetColumns) -> RowCounts | None:
        return merge.merge(self.writer, net, has, self.options)

    def append(self, inserts: DataFrame, count: int) -> RowCounts:
        return merge.append(self.writer, inserts, count, self.options)


def terms_of(context: ApplyContext, task: TableTask, *, later: bool = False) -> Terms:
    return Terms(task.table, owner_of(context, task), context.may_commit, context.check_lake, later=later)


def owner_of(context: ApplyContext, task: TableTask) -> Owner | None:
    return Owner.of(task.app_id, context.origin, task.versions[-1].object_id)


def rows_of(commit: Mapping[str, Any]) -> RowCounts:
    """Return the rows that a commit of changes inserted, updated and deleted, by Delta's own count."""
    metrics = commit.get("operationMetrics") or {}
    if commit.get("operation") != "MERGE":
        return RowCounts(inserted=int(metrics.get("numOutputRows", 0)))
    return RowCounts(**{name: int(metrics.get(f"numTargetRows{name.title()}", 0)) for name in RowCounts().counts})
