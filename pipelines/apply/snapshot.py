"""Load a table's first contents: Parquet files read AS OF one SCN become the Delta table in one commit."""

from __future__ import annotations

from contextlib import nullcontext, suppress

from pyspark.sql import SparkSession

from pipelines.apply.delta.commit import Tag
from pipelines.apply.delta.create import overwrite
from pipelines.apply.delta.features import beyond, check_readers
from pipelines.apply.delta.log import read_log
from pipelines.apply.delta.own_columns import of_load
from pipelines.apply.delta.owner import Owner, Use, check_owner
from pipelines.apply.delta.schema import target_schema, with_lake_names
from pipelines.apply.delta.settings import check_writable, comment_on, is_constrained, settle
from pipelines.apply.delta.table import DeltaTable
from pipelines.apply.landed.source_rows import check_values, read_source
from pipelines.apply.translation import Translation
from pipelines.errors import InvariantBroken, LakeDamaged, LandingConflict
from pipelines.host import crash
from pipelines.host.filesystem import open_filesystem
from pipelines.records.loads import SnapshotLoaded, SnapshotSpec, SnapshotTask


def load_snapshot(spark: SparkSession, spec: SnapshotSpec, task: SnapshotTask, translation: Translation) -> SnapshotLoaded:
    """Do nothing when the table is at this position already. Raise LandingConflict when it is beyond, unless the spec says
    `replace`: then the table is removed first, because Delta would skip an older txn version, and evolve an older default.
    Removed as well is one with features that its readers do not know, or with constraints: Delta would keep them; and one whose
    log is damaged."""
    table = DeltaTable(spark, task.target, task.app_id)
    damage = table.damage()
    if damage is not None and not spec.replace:
        raise damage
    owner = Owner.of(task.app_id, spec.origin, task.version.object_id)
    use: Use = "rebuild" if spec.replace else "load"
    with suppress(LakeDamaged) if damage is not None else nullcontext():
        check_owner(table.log, owner, task.table, task.target, use)
    if damage is not None:
        remove_table(task.target)
        table.refresh()
    if table.position == task.scn and not spec.replace:
        return SnapshotLoaded(task.table, "applied", False, delta_version=table.version)
    passed = max((scn for scn in (table.position, table.filled_to) if scn is not None), default=None)
    if passed is not None and passed >= task.scn:
        check_replace(spec, task, passed)
        remove_table(task.target)
    elif table.log is not None and beyond(table.log, task.options.readers):
        if not spec.replace:
            check_readers(table.log, task.options.readers, task.table)
        remove_table(task.target)
    elif table.log is not None and is_constrained(table.log):
        if not spec.replace:
            check_writable(table, task.table, task.version.key_kind)
        else:
            remove_table(task.target)
    # Refuses names that Delta cannot distinguish.
    target_schema(with_lake_names(task.version, task.options), task.rules, translation, task.options)
    options, comments = task.options, dict(task.comments)
    source = read_source(spark, task.files, task.version, task.rules, translation, options, comments, options.partition_by)
    rows = check_values(source, task.version)
    if task.rows is not None and rows != task.rows:
        raise InvariantBroken(
            f"the source returned {task.rows} rows, the files hold {rows}", cure="take the snapshot again", table=task.table
        )
    own = of_load(task.options, task.scn)
    contents = source.frame.withColumns(own) if own else source.frame
    metadata = {"pipeline": spec.pipeline, "table": str(task.table), "snapshot_scn": task.scn, "token": spec.token}
    check_owner(read_log(task.target), owner, task.table, task.target, use)  # the checks took long: another may have come
    overwrite(contents, task.target, Tag(task.app_id, task.scn, metadata).options(), task.options)
    table.refresh()
    crash.point("snapshot")
    settle(table, task.table, task.options if owner is None else owner.mark_options(task.options), metadata)
    comment_on(table, task.table, task.comment, metadata)
    return SnapshotLoaded(task.table, "applied", True, rows, table.version)


def check_replace(spec: SnapshotSpec, task: SnapshotTask, position: int) -> None:
    if not spec.replace:
        raise LandingConflict(
            f"the table is complete to SCN {position}, the snapshot is of SCN {task.scn}",
            cure="take a new snapshot, or add `--replace` to load this one (it removes the table's history)",
            table=task.table,
            path=task.target,
        )


def remove_table(path: str) -> None:
    """Remove the log first: without it the other files are no table."""
    filesystem, root = open_filesystem(path)
    filesystem.rm(f"{root}/_delta_log", recursive=True)
    crash.point("snapshot's log removed")
    filesystem.rm(root, recursive=True)
    crash.point("snapshot removed")
