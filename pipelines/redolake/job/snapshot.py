"""Load the tables of one snapshot; a table that cannot be loaded is held, the others are loaded."""

from __future__ import annotations

import logging
from functools import partial

from pyspark.sql import SparkSession

from redolake.apply.added_columns import add_columns
from redolake.apply.context import MayCommit, allow
from redolake.apply.snapshot import load_snapshot
from redolake.apply.spark.failures import check_session, try_twice
from redolake.apply.spark.holds import errors_of_table, held_error
from redolake.apply.spark.session import read_as_written
from redolake.errors import OF_ALL_TABLES, RedolakeError
from redolake.host import crash
from redolake.host.progress import Progress, Report, silent
from redolake.job.damaged_files import check_files
from redolake.job.lake import check_usable
from redolake.job.translation import TRANSLATION
from redolake.land.cures import snapshot_again
from redolake.land.files import Files
from redolake.records.codec import to_file
from redolake.records.loads import SnapshotLoaded, SnapshotResult, SnapshotSpec, SnapshotTask

log = logging.getLogger(__name__)


def run_snapshot(
    spark: SparkSession, spec: SnapshotSpec, report: Report = silent, may_commit: MayCommit = allow
) -> SnapshotResult:
    tables = []
    for task in spec.tables:
        may_commit()
        loaded = try_twice(partial(load_or_hold, spark, spec, task, may_commit))
        log.info("%s: %s, %s rows loaded AS OF SCN %s", task.table, loaded.state, loaded.rows, task.scn)
        tables.append(loaded)
        line = f"{task.table}: {loaded.rows} rows" if loaded.loaded else f"{task.table}: nothing loaded"
        report(Progress(line, "loading tables", len(tables), len(spec.tables)))
    result = SnapshotResult(spec.pipeline, spec.scn, tuple(tables))
    write_snapshot_result(spec.manifest, result)
    return result


def run_filling(spark: SparkSession, spec: SnapshotSpec, may_commit: MayCommit = allow) -> SnapshotLoaded:
    """Add columns to the one table of the spec. An error leaves the table as it is, and holds nothing."""
    check_usable(spec.lake)
    (task,) = spec.tables
    what, cure = "the columns could not be added", "run it once more, which is right whatever was committed"
    with errors_of_table(spark, task.table, what, cure, task.version.mapping):
        read_as_written(spark)
        check_files(dict.fromkeys(task.files, "run it again"), spec.digests)
        loaded = add_columns(spark, spec, task, TRANSLATION, may_commit)
    write_snapshot_result(spec.manifest, SnapshotResult(spec.pipeline, spec.scn, (loaded,)))
    return loaded


def load_or_hold(
    spark: SparkSession, spec: SnapshotSpec, task: SnapshotTask, may_commit: MayCommit, is_last: bool
) -> SnapshotLoaded:
    try:
        check_files(dict.fromkeys(task.files, snapshot_again(task.table)), spec.digests)
        return load_snapshot(spark, spec, task, TRANSLATION, may_commit)
    except OF_ALL_TABLES:
        raise
    except RedolakeError as error:
        check_usable(spec.lake)
        return SnapshotLoaded(task.table, "held", False, error=error.as_dict())
    except Exception as surprise:
        check_session(spark, surprise, is_last=is_last)
        check_usable(spec.lake)
        return SnapshotLoaded(
            task.table, "held", False, error=held_error(task.table, task.target, surprise, task.version.mapping)
        )


@crash.writer
def write_snapshot_result(path: str, result: SnapshotResult) -> None:
    """Replace the result of an earlier attempt: the tables themselves say what is loaded."""
    folder, _, name = path.rpartition("/")
    with Files(folder).open_new(name) as out:
        out.write(to_file(result))
