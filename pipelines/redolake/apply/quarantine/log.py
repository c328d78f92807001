"""The table of a captured table's quarantine: one row for each event of a key.

A row counts once the captured table is complete to its `position`. It is committed before the MERGE that leaves the key out, so
that no change is lost between the two. Rows of an attempt that ended here are above the position; the next attempt replaces
them in the commit that adds its own rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from redolake.apply.lake_tables import open_table, read_log
from redolake.apply.table_log import Damage
from redolake.apply.target import Tag, Target, Terms
from redolake.errors import LakeDamaged, Transient
from redolake.values.quarantine import Event, is_in_version
from redolake.values.table import TableId

Rows = Sequence[Mapping[str, object]]
STEPS = 20  # bits of a transaction version for the ranges of one lease

# `load` names the load of the captured table that the event is of: a newer one makes the keys right again. An UPDATE that moves
# its row has two keys.
SCHEMA = (
    "table_name string, load string, position bigint, event string, key string, other_key string, class string, code string, "
    "reason string, operation string, scn bigint, commit_scn bigint, commit_time timestamp_ntz, xid string, redo_thread int, "
    "row_id string, redo string, row string, by string, why string, at string, delta_version bigint"
)
FIELDS = tuple(part.split()[0] for part in SCHEMA.split(", "))


def damage_in(table: object, path: str) -> Damage:
    """Return the error of a file of the log of the table's quarantine at `path`."""
    what = "the Delta log of the quarantine is damaged"
    cure = (
        f"put {path} back from a copy and run `redolake resume {table}`. Without a copy, remove what is left of it, and run "
        f"`redolake snapshot {table} --replace`, which reads the rows again that were in it"
    )
    return lambda file, why: LakeDamaged(f"{what}: {why}", cure=cure, path=file, table=table)


def is_there(path: str, table: object) -> bool:
    """Return whether anything was ever in quarantine. Raise LakeDamaged for a log that cannot be read."""
    log = read_log(path, damage_in(table, path))
    if log is not None:
        log.txns()  # reads each commit: Spark's error for a damaged one names no table
    return log is not None


def read_events(spark: SparkSession, path: str, load: str, table: object) -> list[Event]:
    """Return the events of a load; none where nothing was ever in quarantine."""
    if not is_there(path, table):
        return []
    read = ("event", "key", "other_key", "position", "at", "commit_scn", "delta_version")
    rows = events_frame(spark, path).filter(F.col("load") == load).select(*read).collect()
    return list(map(event_in, rows))


def event_in(row: Row) -> Event:
    keys = keys_of(row["key"], row["other_key"])
    return Event(row["event"], keys, row["position"], row["at"] or "", row["commit_scn"], row["delta_version"])


def events_frame(spark: SparkSession, path: str) -> DataFrame:
    """Return the table of events. An older Redolake has written it without the newest columns."""
    frame = open_table(spark, path, "").rows()
    return frame if "delta_version" in frame.columns else frame.withColumn("delta_version", F.lit(None).cast("bigint"))


def keys_of(key: str, other: str | None) -> tuple[str, ...]:
    return (key,) if other is None else (key, other)


def open_events(spark: SparkSession, path: str, table: TableId, app_id: str = "") -> Target:
    """Return the quarantine of a table, to write there."""
    return open_table(spark, path, app_id, damage_in(table, path))


def write(there: Target, terms: Terms, tag: Tag, point: str, rows: Rows, where: str | None = None) -> None:
    """Append rows, in place of those of a predicate where one is given."""
    frame = there.spark.createDataFrame([tuple(row.get(name) for name in FIELDS) for row in rows], SCHEMA).coalesce(1)
    with there.commit(replace(terms, any_rows=True), tag, point) as writer:
        if where is None or there.log is None:
            writer.append(frame, new_columns=True)
        else:
            writer.replace(frame, where, new_columns=True)


def replace_events(there: Target, terms: Terms, rows: Rows, load: str, start: int, tag: Tag) -> None:
    """Commit the rows in place of all that the load has from the position `start` on. Raise Transient if others are there
    then."""
    quoted = load.replace("'", "")
    if rows or there.log is not None:
        write(there, terms, tag, "quarantine", rows, f"load = '{quoted}' AND position >= {start}")
    wanted = sorted((str(row["event"]), str(row["key"])) for row in rows)
    if is_there(there.path, terms.table) and tail(there.spark, there.path, load, start) != wanted:
        raise Transient(
            "another writer changed the table's quarantine meanwhile", cure="wait: the batch is tried again", table=terms.table
        )


def tail(spark: SparkSession, path: str, load: str, start: int) -> list[tuple[str, str]]:
    rows = events_frame(spark, path).filter((F.col("load") == load) & (F.col("position") >= start)).select("event", "key")
    return sorted((row["event"], row["key"]) for row in rows.collect())


def add_events(there: Target, terms: Terms, rows: Rows, metadata: Mapping[str, object]) -> None:
    """Commit what people have decided, behind all that counts already."""
    write(there, terms, Tag("", 0, metadata), "quarantine decision", rows)


def copy_events(there: Target, terms: Terms, path: str, load: str, scn: int, version: int) -> None:
    """Make the quarantine `there` of the events at `path` of a load that count in a version of its table. What a killed attempt
    has left there is replaced; raise Transient for what another one writes meanwhile."""
    rows: list[Row] = []
    if is_there(path, terms.table):
        rows = events_frame(there.spark, path).filter((F.col("load") == load) & (F.col("position") <= scn)).collect()
    kept = [row.asDict() for row in rows if is_in_version(event_in(row), scn, version)]
    if kept or there.log is not None:
        write(there, replace(terms, exact=True), Tag("", 0, {"copy": True}), "quarantine copied", kept, "true")


def version_of(lease: int | None, step: int) -> int:
    """Return a transaction version that is higher with each lease and each range of it: a writer that has lost the lease does
    not commit after its successor."""
    return ((lease or 0) << STEPS) + min(step, (1 << STEPS) - 1)
