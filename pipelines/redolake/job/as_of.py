"""Tables AS OF one SCN: a version of each Delta table, and where the SCN lies between two versions, a copy of the older one to
which the landed changes in between are applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from redolake.apply.lake_tables import open_table, read_log
from redolake.apply.owner import Owner, check_owner, damage_of
from redolake.apply.quarantine.log import copy_events, open_events, read_events
from redolake.apply.table_log import VersionToRead
from redolake.apply.target import Terms
from redolake.errors import ConfigurationError, Finding, NotReadableAsOf
from redolake.host import crash
from redolake.host.filesystem import open_filesystem
from redolake.host.progress import Report, silent
from redolake.job.job import run
from redolake.job.lake import LakeFiles
from redolake.records.batches.spec import BatchSpec
from redolake.records.lakes import LakePlace
from redolake.values.quarantine import Wrong, wrong_as_of, wrong_keys
from redolake.values.table import TableId


def answer_query(spark: SparkSession, views: Mapping[str, DataFrame], sql: str) -> tuple[list[str], list[tuple[object, ...]]]:
    """Return the columns and the rows of a user's query over the views. Raise ConfigurationError for a text that Spark does not
    take as a query: a statement that writes is none."""
    for name, frame in views.items():
        frame.createOrReplaceTempView(name)
    try:
        spark.sql(f"SELECT * FROM ({sql}\n)")  # analyzed, not run: only a query may stand there
        answered = spark.sql(sql)
        return answered.columns, [tuple(row) for row in answered.collect()]
    except PySparkException as refused:
        why = str(refused).strip().partition("\n")[0]  # that of a text that cannot be parsed begins with an empty line
        cure = f"write a query that Spark can run, over the views {', '.join(views)}"
        raise ConfigurationError([Finding("--sql", f"not answered: {why}", cure)]) from None
    finally:
        for name in views:
            spark.catalog.dropTempView(name)


def check_versions(versions: Sequence[VersionToRead]) -> None:
    """Raise NotReadableAsOf for a version that its table does not have any more, or that has other contents by now."""
    for one in versions:
        log = read_log(one.path, damage_of(one.app_id))
        found = None if log is None else log.position(one.app_id, one.version)
        if found is None or one.position not in (None, found):
            raise NotReadableAsOf(
                f"version {one.version} of its Delta table, complete to SCN {one.complete_to}, is not kept any more",
                cure="choose a newer SCN; Delta keeps versions as long as `delta.logRetentionDuration` and VACUUM leave them",
                table=one.table,
                path=one.path,
            )


def read_versions(
    spark: SparkSession, versions: Sequence[VersionToRead], spec: BatchSpec | None, scn: int, report: Report = silent
) -> tuple[Mapping[TableId, DataFrame], Mapping[TableId, tuple[str, ...]]]:
    """Return the tables' rows AS OF an SCN. `spec` is the batch over the copies, None without any."""
    check_versions(versions)
    for one in versions:
        if one.copy is not None and spec is not None:
            make_copy(spark, one, {"pipeline": spec.pipeline, "copy": True})
    if spec is not None:
        bring_on(spark, spec, report)
    return {one.table: frame_of(spark, one) for one in versions}, wrong_keys_in(spark, versions, scn)


def make_copy(spark: SparkSession, one: VersionToRead, metadata: Mapping[str, object], *, is_whole: bool = False) -> None:
    """Make the copy of a version, unless it is there. What a killed attempt has left is removed first."""
    assert one.copy is not None
    log = read_log(one.copy, damage_of(one.app_id, one.copy))
    if log is not None and log.position(one.app_id) is not None:
        return
    if log is not None:
        check_owner(log, Owner.of(one.app_id), one.table, one.copy)
        remove_copy(one.copy)
    check_versions([one])
    terms = Terms(one.table, Owner.of(one.app_id), check_lake=partial(check_versions, [one]))
    copy_list(spark, one, terms)
    open_table(spark, one.copy, one.app_id + load_of(one)).copy(one, terms, metadata, is_whole=is_whole)


@crash.writer
def remove_copy(path: str) -> None:
    filesystem, root = open_filesystem(path)
    filesystem.rm(root, recursive=True)
    crash.point("copy removed")


def bring_on(spark: SparkSession, spec: BatchSpec, report: Report) -> None:
    """Apply what has landed since to copies. Raise NotReadableAsOf for one that cannot be brought to the batch's end."""
    check_result(spec, run(spark, spec, report))


def wrong_keys_in(spark: SparkSession, versions: Sequence[VersionToRead], scn: int) -> dict[TableId, tuple[str, ...]]:
    """Return the keys in the versions' quarantines, in order, of the tables that have any."""
    there = quarantines_of(versions)
    found = {
        one.table: read_wrong_as_of(spark, one, scn) for one in versions if {one.quarantine, one.copied_quarantine} & there
    }
    return {table: tuple(sorted(wrong)) for table, wrong in found.items() if wrong}


def quarantines_of(versions: Sequence[VersionToRead]) -> set[str]:
    """Return the quarantines that are there, of the tables and of their copies: one listing for each folder."""
    paths = {path for one in versions for path in (one.quarantine, one.copied_quarantine) if path is not None}
    folders = {path.rpartition("/")[0] for path in paths}
    return paths & {f"{folder}/{name}" for folder in folders for name in LakeFiles(folder).names("")}


def read_wrong_as_of(spark: SparkSession, one: VersionToRead, scn: int) -> dict[str, Wrong]:
    if one.copy is not None and one.copied_quarantine is not None:
        return wrong_keys(read_events(spark, one.copied_quarantine, load_of(one), one.table), scn)
    if one.quarantine is None:
        return {}
    return wrong_as_of(read_events(spark, one.quarantine, load_of(one), one.table), scn, one.version)


def copy_list(spark: SparkSession, one: VersionToRead, terms: Terms) -> None:
    """Give a copy a quarantine of its own, with the keys that are wrong in the version and their changes."""
    if one.quarantine is None or one.copied_quarantine is None:
        return
    there = open_events(spark, one.copied_quarantine, one.table)
    copy_events(there, terms, one.quarantine, load_of(one), one.complete_to, one.version)


def check_result(spec: BatchSpec, result: object) -> None:
    for done in getattr(result, "tables", ()):
        if done.state == "held" or done.complete_to != spec.end - 1:
            error = done.error or {}
            raise NotReadableAsOf(
                f"the changes up to SCN {spec.end - 1} cannot be applied: {error.get('code')}: {error.get('what')}",
                cure=f"choose SCN {spec.start - 1}, or leave the table out",
                table=done.table,
            )


def frame_of(spark: SparkSession, one: VersionToRead) -> DataFrame:
    if one.copy is not None:
        return open_table(spark, one.copy, one.app_id).rows()
    return open_table(spark, one.path, one.app_id).rows(one.version)


def load_of(one: VersionToRead) -> str:
    """Return what names the load whose contents the version has; empty where its log is gone."""
    log = read_log(one.path, damage_of(one.app_id))
    return "" if log is None else log.load(one.app_id, one.version)


def write_as_parquet(frame: DataFrame, path: str) -> int:
    """Write a table to a folder that is not there yet; return the number of its rows."""
    frame.write.mode("error").parquet(path)
    crash.point("rows as of")
    return int(frame.sparkSession.read.parquet(path).count())


@crash.writer
def remove_copies(place: LakePlace, folder: str) -> None:
    LakeFiles(place.lake).remove(folder)


def copies_in(place: LakePlace, folder: str) -> list[str]:
    """Return the names of the reads that have left copies in the lake."""
    return LakeFiles(place.lake).names(folder)
