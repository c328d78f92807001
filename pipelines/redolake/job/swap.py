"""Whole copies of a table beside it, and the commit that puts one in the table's place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from pyspark.sql import SparkSession

from redolake.apply.lake_tables import open_table, read_log
from redolake.apply.owner import Owner, damage_of
from redolake.apply.set_back import last_change
from redolake.apply.table_log import REPAIRS, VersionToRead, base_of
from redolake.apply.target import Tag, Terms
from redolake.errors import SchemaConflict, TableSetBack, Terminal
from redolake.host.progress import Report
from redolake.job.as_of import bring_on, make_copy
from redolake.job.lake import check_lake
from redolake.records.batches.spec import BatchSpec
from redolake.records.lakes import LakePlace


def position_of_copy(path: str, app_id: str) -> int | None:
    """Return the SCN to which a whole copy is complete; None where there is none. Raise TableSetBack for a copy whose rows
    another writer has changed."""
    log = read_log(path, damage_of(app_id, path))
    if log is None:
        return None
    position = log.position(app_id)
    for version, _ in [] if position is None else log.foreign_writes(base_of(app_id))[:1]:
        raise TableSetBack(
            f"another writer has changed rows in version {version} of the copy",
            cure="remove the folder, and make the copy again",
            path=path,
        )
    return position


def keep_newest(spark: SparkSession, kept: VersionToRead, metadata: Mapping[str, object]) -> None:
    """Make a whole copy of a table as it is."""
    log = read_log(kept.path, damage_of(kept.app_id))
    if log is not None:  # else there is nothing to keep: swap_rows says so
        make_copy(spark, replace(kept, version=log.version), metadata, is_whole=True)


def fold_into_copies(spark: SparkSession, spec: BatchSpec, report: Report) -> None:
    """Apply what has landed since to whole copies, so that all are at the batch's end, also those of which nothing changed."""
    bring_on(spark, spec, report)
    for task in spec.tables:
        copy = open_table(spark, task.destination.target, task.destination.app_id)
        if copy.position is not None and copy.position < spec.end - 1:
            tag = Tag(copy.app_id, spec.end - 1, {"pipeline": spec.pipeline, "table": str(task.table), "copy": True})
            with copy.commit(
                Terms(task.table, Owner.of(task.destination.app_id, spec.origin)), tag, "copy's position"
            ) as writer:
                writer.append(spark.createDataFrame([], copy.schema))


def find_swap(target: str, app_id: str, shadow: str, scn: int) -> tuple[str, int] | None:
    """Return the copy that a swap at an SCN has kept, and the Delta version, if it is the newest commit of the table."""
    log = read_log(target, damage_of(app_id))
    says = {} if log is None else log.newest_metadata()
    is_it = log is not None and (says.get("swap"), says.get("scn")) == (shadow, scn)
    return (str(says.get("kept")), log.version) if is_it and log is not None else None


def swap_rows(
    spark: SparkSession, one: VersionToRead, number: int, metadata: Mapping[str, object], may_commit: Callable[[], None],
    lake: LakePlace | None = None, origin: str = "",
) -> int:  # fmt: skip
    """Put the copy's rows in the table's place, in one commit that leaves its position as it is. Return the Delta version.
    `origin` is where the landing began.

    Raise Terminal unless both are complete to the same SCN, and SchemaConflict where they have other columns."""
    live, other = open_table(spark, one.path, one.app_id), open_table(spark, str(one.copy), one.app_id)
    if live.log is None or live.columns != other.columns:
        raise SchemaConflict(
            "the copy has other columns than the table, or the table is missing",
            cure=f"make another copy, or run `redolake snapshot {one.table} --replace`",
            table=one.table,
            path=other.path,
        )
    if (reached := last_change(live)) > one.complete_to:
        raise Terminal(
            f"the table has commits up to SCN {reached}, and the copy is complete to SCN {one.complete_to}: it would get older",
            cure="run it again, which brings the copy to the table's position",
            table=one.table,
        )
    tag = Tag(f"{live.app_id}{REPAIRS}", number, metadata)
    owner, covers = Owner.of(one.app_id, origin), live.version  # what others have changed until now is to be replaced
    terms = Terms(one.table, owner, may_commit, partial(check_lake, lake), covers=covers)
    with live.commit(terms, tag, "swap") as writer:
        writer.replace(other.rows())
    assert live.version is not None
    return live.version
