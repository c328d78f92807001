"""Load a table's first contents: Parquet chunks read AS OF one SCN become the Delta table in one commit, once."""

from __future__ import annotations

import fsspec
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipelines import crash
from pipelines.apply.delta.commit import Tag
from pipelines.apply.delta.create import overwrite
from pipelines.apply.delta.evolve import filling
from pipelines.apply.delta.log import last_txn, latest_version
from pipelines.apply.delta.schema import COMMIT_SCN, target_schema
from pipelines.apply.source_rows import check_values, read_source
from pipelines.apply.translation import Translation
from pipelines.errors import InvariantBroken, LandingConflict
from pipelines.records.snapshot_load import SnapshotLoaded, SnapshotSpec, SnapshotTask


def load_snapshot(spark: SparkSession, spec: SnapshotSpec, task: SnapshotTask, translation: Translation) -> SnapshotLoaded:
    """Nothing happens when the table has just this position. Raises LandingConflict when it is beyond, unless the spec says
    `replace`: then the table is removed first, for Delta would skip an older txn version, and evolve the fill of a default."""
    position, filled = last_txn(task.target, task.app_id), last_txn(task.target, filling(task.app_id))
    if position == spec.scn and not spec.replace:
        return SnapshotLoaded(task.table, "applied", False, delta_version=latest_version(task.target))
    passed = max((scn for scn in (position, filled) if scn is not None), default=None)
    if passed is not None and passed >= spec.scn:
        check_replace(spec, task, passed)
        remove_table(task.target)
    target_schema(task.version, task.rules, translation)  # refuses names Delta cannot tell apart
    source = read_source(spark, task.files, task.version, task.rules, translation)
    rows = check_values(source, task.version)
    if task.rows is not None and rows != task.rows:
        raise InvariantBroken(
            f"the source gave {task.rows} rows, the files hold {rows}", cure="take the snapshot again", table=task.table
        )
    contents = source.frame.withColumn(COMMIT_SCN, F.lit(spec.scn).cast("bigint"))
    metadata = {"pipeline": spec.pipeline, "table": str(task.table), "snapshot_scn": spec.scn, "token": spec.token}
    overwrite(contents, task.target, Tag(task.app_id, spec.scn, metadata).options())
    crash.point("snapshot")
    return SnapshotLoaded(task.table, "applied", True, rows, latest_version(task.target))


def check_replace(spec: SnapshotSpec, task: SnapshotTask, position: int) -> None:
    if not spec.replace:
        raise LandingConflict(
            f"the table is complete to SCN {position}, the snapshot is of SCN {spec.scn}",
            cure="take a new snapshot, or say `--replace` to begin anew from this one (the table's history is removed)",
            table=task.table,
            path=task.target,
        )


def remove_table(path: str) -> None:
    """Its log first: without it the rest is no table."""
    filesystem, root = fsspec.core.url_to_fs(path)
    filesystem.rm(f"{root}/_delta_log", recursive=True)
    crash.point("snapshot's log removed")
    filesystem.rm(root, recursive=True)
    crash.point("snapshot removed")
