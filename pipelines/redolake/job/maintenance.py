"""Maintain Delta tables one after the other, as long as time is left. One that cannot be maintained does not stop others."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from datetime import datetime
from functools import partial

from pyspark.sql import SparkSession

from redolake.apply.context import MayCommit, allow
from redolake.apply.lake_tables import check_not_nested, open_history, open_table
from redolake.apply.owner import Owner
from redolake.apply.spark.failures import check_session
from redolake.apply.spark.thrown import failure_text
from redolake.apply.table_log import app_id_of
from redolake.apply.target import Terms
from redolake.errors import OF_ALL_TABLES, RedolakeError
from redolake.host import crash
from redolake.host.progress import Progress, Report, silent
from redolake.job.events import write_events
from redolake.job.history_prune import shorten_history
from redolake.job.lake import check_lake
from redolake.land.files import Files
from redolake.records.codec import to_file
from redolake.records.maintenance import MaintainedTable, MaintenanceResult, MaintenanceSpec, MaintenanceTask

log = logging.getLogger(__name__)

LEAST_SHARE = 0.1  # of a history, to be worth a copy of the table's rows


def run_maintenance(
    spark: SparkSession, spec: MaintenanceSpec, report: Report = silent, may_commit: MayCommit = allow
) -> MaintenanceResult:
    deadline, found = time.monotonic() + spec.minutes * 60, list[MaintainedTable]()
    for task in spec.tables:
        if found and time.monotonic() >= deadline:
            break
        may_commit()
        done = replace(maintain_or_explain(spark, spec, task, may_commit), is_history=task.of is not None)
        found.append(done)
        line = f"{done.name}: {done.error or f'{done.files_before} files, {done.files_after} now'}"
        report(Progress(line, "maintaining tables", len(found), len(spec.tables)))
    left = tuple(str(task.table) for task in spec.tables[len(found) :])
    result = MaintenanceResult(spec.pipeline, tuple(found), left, write_events(spark, spec, may_commit))
    write_maintenance_result(spec.manifest, result)
    return result


def maintain_or_explain(
    spark: SparkSession, spec: MaintenanceSpec, task: MaintenanceTask, may_commit: MayCommit
) -> MaintainedTable:
    try:
        return maintain(spark, spec, task, may_commit)
    except OF_ALL_TABLES:
        raise
    except RedolakeError as error:
        return MaintainedTable(task.table, error=str(error))
    except Exception as surprise:
        check_session(spark, surprise)
        return MaintainedTable(task.table, error=failure_text(surprise))


def maintain(spark: SparkSession, spec: MaintenanceSpec, task: MaintenanceTask, may_commit: MayCommit) -> MaintainedTable:
    """Rewrite the table's small files if there are many, and remove those of old versions."""
    app_id = app_id_of(spec.pipeline, task.table, 0)
    table = (open_table if task.of is None else open_history)(spark, task.target, app_id)
    if table.log is None:
        return MaintainedTable(task.table, error="no Delta table is there")
    table.log.txns()  # reads each commit: Spark's error for a damaged one has no cure
    check_not_nested(task.target, task.table)
    if task.of is not None and spec.history_from is not None:
        limit = datetime.fromisoformat(spec.history_from)
        shorten_history(spark, task.target, task.of, limit, spec.pipeline, task.table, may_commit, LEAST_SHARE)
        table.refresh()
    owner = Owner.of(app_id if task.of is None else f"{app_id}/history/0")
    terms = Terms(task.table, owner, may_commit, partial(check_lake, spec.lake), any_rows=True)
    files, after, is_due = table.maintain(spec, task, terms)
    log.info("%s: %s files, %s before", task.table, after, files)
    return MaintainedTable(task.table, files, after, is_due)


@crash.writer
def write_maintenance_result(path: str, result: MaintenanceResult) -> None:
    """Replace the result of an earlier attempt: what it did stays done."""
    folder, _, name = path.rpartition("/")
    with Files(folder).open_new(name) as out:
        out.write(to_file(result))
