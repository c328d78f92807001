"""What is in the quarantine of a table, and what people decide about it. Batches write there through `apply/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from redolake.apply.lake_tables import read_log
from redolake.apply.owner import damage_of, table_in
from redolake.apply.quarantine.log import add_events, events_frame, is_there, keys_of, open_events, read_events
from redolake.apply.spark.holds import errors_of_table
from redolake.apply.table_log import VersionToRead
from redolake.apply.target import Terms
from redolake.values.quarantine import PUT_ASIDE, Event, Kind, Wrong, wrong_keys
from redolake.values.table import TableId


def read_wrong(spark: SparkSession, path: str, target: str, app_id: str, position: int) -> dict[str, Wrong]:
    """Return the keys that are wrong in the table at the position."""
    return wrong_keys(read_own_events(spark, path, target, app_id), position)


def read_own_events(spark: SparkSession, path: str, target: str, app_id: str) -> list[Event]:
    return read_events(spark, path, load_of(target, app_id), table_in(app_id))


def load_of(target: str, app_id: str) -> str:
    """Return what names the load whose contents the table has."""
    log = read_log(target, damage_of(app_id))
    return "" if log is None else log.load(app_id)


def read_changes(spark: SparkSession, path: str, target: str, app_id: str, wrong: Mapping[str, Wrong]) -> list[dict[str, Any]]:
    """Return the changes of the keys that are wrong, as rows of the quarantine, in the order of their commits."""
    if not wrong or not is_there(path, table_in(app_id)):
        return []
    load = load_of(target, app_id)
    rows = events_frame(spark, path).filter((F.col("load") == load) & F.col("event").isin(*PUT_ASIDE)).collect()
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
    delta_version: int | None = None,
) -> None:
    """Record what was decided of keys of a table that is complete to the position. `delta_version` of it has rows that were
    read again."""
    base = {
        "table_name": str(table), "load": load_of(target, app_id), "position": position, "event": kind, "by": by, "why": why,
        "at": datetime.now(UTC).isoformat(), "delta_version": delta_version,
    }  # fmt: skip
    add(spark, path, [{**base, "key": key} for key in keys], {"event": kind, "by": by, "why": why}, table)


def list_again(spark: SparkSession, one: VersionToRead, wrong: Mapping[str, Wrong]) -> None:
    """List the keys of a copy in the quarantine of its live table, which is as complete as the copy, with their changes."""
    own, copied = str(one.quarantine), str(one.copied_quarantine)
    at, position = datetime.now(UTC).isoformat(), one.complete_to
    base = {"load": load_of(one.path, one.app_id), "position": position, "event": "listed", "at": at}
    changes = read_changes(spark, copied, str(one.copy), one.app_id, wrong)
    rows = [
        {**row, **base, "key": key, "other_key": None}
        for row in changes
        for key in keys_of(row["key"], row["other_key"])
        if key in wrong
    ]
    add(spark, own, rows, {"event": "listed"}, one.table)
    if dropped := [key for key, found in wrong.items() if found.state == "dropped"]:
        why = "it was dropped before the swap that is undone"
        record_decision(spark, own, one.path, one.app_id, "dropped", dropped, position, by="", why=why, table=one.table)


def add(
    spark: SparkSession, path: str, rows: Sequence[Mapping[str, object]], metadata: Mapping[str, object], table: TableId
) -> None:
    what, cure = "the quarantine cannot be written", "run the command again; nothing was changed"
    with errors_of_table(spark, table, what, cure):
        add_events(open_events(spark, path, table), Terms(table, None), rows, {"table": str(table), **metadata})
