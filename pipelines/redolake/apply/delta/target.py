"""A Delta table as everything else asks for it (apply/target.py)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from redolake.apply.commit_ranges import CommitRange
from redolake.apply.context import ApplyContext
from redolake.apply.delta import evolve, merge, settings, small_merge
from redolake.apply.delta.enable import enable_for
from redolake.apply.delta.features import beyond, check_readers, statistics_clause
from redolake.apply.delta.log import UPKEEP, our_metadata, readable_log
from redolake.apply.delta.plain_types import write_plain_types
from redolake.apply.delta.sql import table_at
from redolake.apply.delta.table import DeltaTable
from redolake.apply.delta.writer import Writer, commit
from redolake.apply.owner import Owner, check_owner
from redolake.apply.spark.quoting import text_literal
from redolake.apply.spark.session import run_sql
from redolake.apply.table_log import VersionToRead
from redolake.apply.target import ATTEMPT, NetColumns, Tag, Terms
from redolake.errors import LakeDamaged
from redolake.host import crash
from redolake.host.filesystem import open_filesystem
from redolake.records.batches.attempt import Attempt
from redolake.records.batches.spec import TableTask
from redolake.records.codec import from_body
from redolake.records.maintenance import MaintenanceSpec, MaintenanceTask
from redolake.values.table import TableId
from redolake.values.target_options import TargetOptions
from redolake.values.terms import RowCounts

# Files of older versions, and their commits: VACUUM takes the first as its horizon, the second goes with a checkpoint.
RETENTION = ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration")


class DeltaTarget(DeltaTable):
    def takes_rows(self, changes: int) -> bool:
        return small_merge.takes_rows(self, changes)

    def attempt(self) -> Attempt | None:
        found = None if self.log is None or self.position is None else self.log.commit_info(self.app_id, self.position)
        note = {} if found is None else our_metadata({"commitInfo": found})
        if found is None or note.get(ATTEMPT) is None:
            return None
        attempt = from_body(Attempt, note[ATTEMPT], self.path)
        return replace(attempt, work=attempt.work.with_rows(rows_of(found)))

    def make_ready(self, context: ApplyContext, task: TableTask) -> None:
        assert self.log is not None
        terms = Terms.of(context, task)
        check_readers(self.log, task.destination.options.readers, task.table)
        settings.check_layout(self, task.table, task.destination.options)
        settings.check_writable(self, task.table, task.course.latest.key_kind)
        write_plain_types(self, {**context.metadata, "table": str(task.table)}, terms)
        settings.settle(self, task.table, task.destination.options, context.metadata, context.may_commit)

    def evolve(self, context: ApplyContext, task: TableTask, commit_range: CommitRange) -> None:
        evolve.evolve(context, self, task, commit_range)

    def commit(self, terms: Terms, tag: Tag, point: str) -> AbstractContextManager[ChangeWriter]:
        return cast(AbstractContextManager[ChangeWriter], commit(self, terms, tag, point, ChangeWriter))

    def make_way(
        self, table: TableId, options: TargetOptions, key_kind: str, metadata: Mapping[str, object], *, replaces: bool
    ) -> None:
        if self.log is None:
            return
        if beyond(self.log, options.readers):
            if not replaces:
                check_readers(self.log, options.readers, table)
            self._rename_log()
        elif settings.is_constrained(self.log):
            if not replaces:
                settings.check_writable(self, table, key_kind)
            settings.drop_constraints(self, table, metadata)

    def put_aside(self, owner: Owner | None, table: TableId) -> None:
        with suppress(LakeDamaged):  # nothing says whose it is
            check_owner(readable_log(self.path), owner, table, self.path, "rebuild")
        self._rename_log()

    def _rename_log(self) -> None:
        """Give the log a name that no reader knows. The files stay until VACUUM, so that what can be read of the table can be
        had back until then."""
        filesystem, root = open_filesystem(self.path)
        filesystem.mv(f"{root}/_delta_log", f"{root}/_delta_log.replaced-{uuid.uuid4().hex}", recursive=True)
        crash.point("snapshot's log put aside")
        self.refresh()

    def enable(
        self, schema: StructType, metadata: Mapping[str, object], terms: Terms, options: TargetOptions | None = None
    ) -> None:
        enable_for(self, schema, metadata, terms)
        if options is None or self.log is None or (clause := statistics_clause(self.log, schema, options)) is None:
            return
        statement = f"ALTER TABLE {table_at(self.path)} {clause}"
        settings.commit_setting(self, terms.table, statement, metadata, terms.may_commit)

    def settle(self, terms: Terms, options: TargetOptions, metadata: Mapping[str, object], comment: str | None = None) -> None:
        settings.settle(self, terms.table, options, metadata, terms.may_commit)
        if comment is not None:
            settings.comment_on(self, terms.table, comment, metadata)

    def copy(self, one: VersionToRead, terms: Terms, metadata: Mapping[str, object], *, is_whole: bool) -> None:
        clone = f"CREATE TABLE {table_at(self.path)} SHALLOW CLONE {table_at(one.path)} VERSION AS OF {int(one.version)}"
        with commit(self, terms, Tag("", 0, metadata), "copy") as writer:
            writer.run(clone)
        tag = Tag(self.base_id, one.complete_to, metadata)  # Delta does not copy the positions of the other one
        with commit(self, terms, tag, "copy's rows" if is_whole else "copy's position") as writer:
            if is_whole:
                writer.replace(DeltaTable(self.spark, one.path, one.app_id).rows(one.version))
            else:
                writer.append(self.spark.createDataFrame([], self.schema))

    def maintain(self, spec: MaintenanceSpec, task: MaintenanceTask, terms: Terms) -> tuple[int, int, bool]:
        assert self.log is not None
        at, before = table_at(self.path), self._files_and_bytes()
        is_due = has_small_files(*before, spec.files, spec.file_bytes)
        if is_due:  # in the order of the table's clustering if it has one
            with commit(self, terms, upkeep(spec, "OPTIMIZE"), "optimize") as writer:
                writer.run(f"OPTIMIZE {at}")
        if spec.history_hours is not None:
            wanted, have = f"interval {spec.history_hours} hours", self.log.properties()
            differing = (name for name in RETENTION if name not in task.own_properties and have.get(name) != wanted)
            if pairs := ", ".join(f"{text_literal(name)} = {text_literal(wanted)}" for name in differing):
                with commit(self, terms, upkeep(spec, "retention"), "retention") as writer:
                    writer.run(f"ALTER TABLE {table_at(self.path)} SET TBLPROPERTIES ({pairs})")
            with commit(self, terms, upkeep(spec, "VACUUM"), "vacuum") as writer:
                writer.run(f"VACUUM {at}")
        return before[0], self._files_and_bytes()[0] if is_due else before[0], is_due

    def _files_and_bytes(self) -> tuple[int, int]:
        detail = run_sql(self.spark, f"DESCRIBE DETAIL {table_at(self.path)}")[0]
        return int(detail["numFiles"]), int(detail["sizeInBytes"])


class ChangeWriter(Writer):
    """The writer with the verb that only changes of rows need."""

    def merge(
        self, net: Callable[[], DataFrame], has: NetColumns, options: TargetOptions, rows: pa.Table | None = None
    ) -> RowCounts | None:
        merged = None if rows is None else small_merge.merge_rows(self, rows, has, options)
        if merged is not None:
            return merged
        return merge.merge(self, net(), has, options, 0 if rows is None else rows.num_rows)


def upkeep(spec: MaintenanceSpec, what: str) -> Tag:
    return Tag("", 0, {"pipeline": spec.pipeline, UPKEEP: what})


def has_small_files(files: int, size: int, fewest: int, file_bytes: int) -> bool:
    """Return whether a table is worth rewriting: it has many files, and they are small."""
    return files >= fewest and size < files * file_bytes


def rows_of(commit: Mapping[str, Any]) -> RowCounts:
    """Return the rows that a commit of changes inserted, updated and deleted, by Delta's own count."""
    metrics = commit.get("operationMetrics") or {}
    if commit.get("operation") != "MERGE":
        return RowCounts(inserted=int(metrics.get("numOutputRows", 0)))
    return RowCounts(**{name: int(metrics.get(f"numTargetRows{name.title()}", 0)) for name in RowCounts().counts})
