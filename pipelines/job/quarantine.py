"""What is in the quarantine of a table, and what people decide about it. Batches write there through pipelines/apply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipelines.apply.delta.log import load_in, read_log
from pipelines.apply.quarantine.log import add_events, events_frame, read_events
from pipelines.apply.spark.failures import check_session
from pipelines.apply.spark.thrown import failure_text
from pipelines.errors import OF_SPARK, InvariantBroken, RedolakeError, report_with
from pipelines.values.quarantine import Event, Kind, Wrong, wrong_keys
from pipelines.values.table import TableId


def read_wrong(spark: SparkSession, path: str, target: str, app_id: str, position: int) -> dict[str, Wrong]:
    """Return the keys that are wrong in the table at the position."""
    return wrong_keys(read_own_events(spark, path, target, app_id), position)


def read_own_events(spark: SparkSession, path: str, target: str, app_id: str) -> list[Event]:
    return read_events(spark, path, load_of(target, app_id))


def load_of(target: str, app_id: str) -> str:
    """Return what names the load whose contents the table has."""
    log = read_log(target)
    return "" if log is None else load_in(log.current_id(app_id))


def read_changes(spark: SparkSession, path: str, target: str, app_id: str, wrong: Mapping[str, Wrong]) -> list[dict[str, Any]]:
    """Return the changes of the keys that are wrong, as rows of the quarantine, in the order of their commits."""
    if not wrong or read_log(path) is None:
        return []
    load = load_of(target, app_id)
    rows = events_frame(spark, path).filter((F.col("load") == load) & (F.col("event") == "quarantined")).collect()
    since = {key: one.since for key, one in wrong.items()}
    found = [
        row.asDict()
        for row in rows
        if any(row["position"] >= since[key] for key in (row["key"], row["other_key"]) if key in since)
    ]
    return sorted(found, key=lambda row: (row["commit_scn"], row["scn"], row["key"]))


def record_decision(
    spark: SparkSession,
    path: str,
    target: str,
    app_id: str,
    kind: Kind,
    keys: Sequence[str],
    position: int,
    *,
    by: str,
    why: str,
    table: TableId,
) -> None:
    """Record what was decided of keys of a table that is complete to the position."""
    base = {
        "table_name": str(table), "load": load_of(target, app_id), "position": position, "event": kind, "by": by, "why": why,
        "at": datetime.now(UTC).isoformat(),
    }  # fmt: skip
    try:
        add_events(
            spark, path, [{**base, "key": key} for key in keys], {"table": str(table), "event": kind, "by": by, "why": why}
        )
    except RedolakeError:
        raise
    except Exception as surprise:
        check_session(spark, surprise)
        raise InvariantBroken(
            f"the quarantine cannot be written: {failure_text(surprise)}",
            cure=f"run the command again; nothing was changed. If it comes again, {report_with(OF_SPARK)}",
            table=table,
        ) from None  # its text may contain row data
