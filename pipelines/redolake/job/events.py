"""The lake's own log: the Delta table `_events` with one row for each event of a pipeline, for readers that speak SQL.

The rows come with the spec (steps/shared/events.py). Their ids are the same however often they are derived from the ledger: a
row that is there is not written again, whoever was killed, and whether or not the ledger was rebuilt meanwhile. The number of
a commit is the time of its newest event in microseconds, so that two writers at one moment exclude each other.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from redolake.apply.context import MayCommit
from redolake.apply.lake_tables import open_table
from redolake.apply.spark.thrown import failure_text
from redolake.apply.target import Tag, Target, Terms
from redolake.errors import LeaseHeld, RedolakeError
from redolake.job.lake import check_lake
from redolake.records.batches.spec import BatchSpec
from redolake.records.maintenance import MaintenanceSpec, MaintenanceTask
from redolake.values.events import FIELDS, commits_of, log_folder
from redolake.values.table import TableId

log = logging.getLogger(__name__)

SCHEMA = ", ".join(f"{name} {kind}" for name, kind in FIELDS.items())
TABLE = TableId("", "_events")  # of the lake, not of Oracle


def write_events(spark: SparkSession, spec: BatchSpec | MaintenanceSpec, may_commit: MayCommit) -> str:
    """Append the events of a spec that the log lacks. Return why that failed, empty where it did not: the ledger still has
    them, and no table waits for the log. Raises LeaseHeld."""
    removes = isinstance(spec, MaintenanceSpec) and spec.events_from is not None
    if spec.lake is None or not (spec.events or removes):
        return ""
    try:
        commits = commits_of(spec.pipeline)
        terms = Terms(TABLE, None, may_commit, partial(check_lake, spec.lake), any_rows=True)
        table = open_table(spark, log_folder(spec.lake.lake), commits)
        if spec.events:
            append(table, terms, Tag(commits, 0, {"pipeline": spec.pipeline}), spec.events)
        if isinstance(spec, MaintenanceSpec) and removes and table.log is not None:
            cut(table, terms, spec)
            table.maintain(spec, MaintenanceTask(TABLE, table.path), terms)
    except LeaseHeld:
        raise
    except Exception as surprise:
        failed = surprise.what if isinstance(surprise, RedolakeError) else failure_text(surprise)
        log.warning("the lake's log is not written: %s", failed)
        return failed
    return ""


def append(table: Target, terms: Terms, tag: Tag, events: Sequence[Mapping[str, Any]]) -> None:
    rows = {event["id"]: tuple(map(event.get, FIELDS)) for event in events}
    if table.log is not None:
        ids = table.spark.createDataFrame([(name,) for name in rows], "id string")
        for found in table.rows().join(F.broadcast(ids), "id", "left_semi").select("id").collect():
            rows.pop(found["id"], None)
    if not rows:
        return
    times = [datetime.fromisoformat(event["happened_at"]) for event in events]
    last = -1 if table.log is None else table.log.txns().get(tag.app_id, -1)
    number = max(last + 1, int(max(times).timestamp() * 1_000_000))
    texts = table.spark.createDataFrame(list(rows.values()), SCHEMA.replace("happened_at timestamp", "happened_at string"))
    frame = texts.withColumn("happened_at", F.col("happened_at").cast("timestamp")).coalesce(1)
    with table.commit(terms, Tag(tag.app_id, number, tag.metadata), "events") as writer:
        writer.append(frame)


def cut(table: Target, terms: Terms, spec: MaintenanceSpec) -> None:
    """Remove the pipeline's events of before `events_from`."""
    limit = datetime.fromisoformat(str(spec.events_from))
    old = f"pipeline = '{spec.pipeline}' AND happened_at < timestamp '{limit.isoformat(sep=' ')}'"
    rows = table.rows()
    if rows.filter(old).limit(1).count():
        with table.commit(terms, Tag("", 0, {"pipeline": spec.pipeline}), "old events") as writer:
            writer.replace(rows.limit(0), old)
