"""Create a table of the lake for a table version, with our column ids."""

from __future__ import annotations

from redolake.apply.context import ApplyContext, MayCommit, allow
from redolake.apply.schema import target_schema
from redolake.apply.target import Tag, Target, Terms
from redolake.apply.translation import Translation
from redolake.records.batches.spec import TableTask
from redolake.values.lake_columns import with_lake_names
from redolake.values.table import Rules, TableVersion
from redolake.values.target_options import DEFAULT, TargetOptions


def create_table(
    table: Target,
    version: TableVersion,
    rules: Rules,
    translation: Translation,
    tag: Tag | None = None,
    options: TargetOptions = DEFAULT,
    may_commit: MayCommit = allow,
) -> None:
    """Create an empty table, at the tag's position or without one."""
    schema = target_schema(with_lake_names(version, options), rules, translation, options)
    with table.commit(Terms(version.table, None, may_commit), tag or Tag("", 0, {}), "shadow") as writer:
        writer.create(table.spark.createDataFrame([], schema), options)


def create_shadow(context: ApplyContext, table: Target, task: TableTask) -> None:
    """Create the empty shadow table that the task asks for, unless it is there, under the version of its first SCN."""
    there = task.destination
    if there.shadow_from is None or table.log is not None:
        return
    version = task.course.valid_at(there.shadow_from)
    tag = Tag(there.app_id, there.shadow_from - 1, context.metadata)
    create_table(table, version, task.course.rules, context.translation, tag, there.options, context.may_commit)
