"""Load a table's first contents: Parquet files read AS OF one SCN become the Delta table in one commit."""

from __future__ import annotations

import logging

from pyspark.sql import DataFrame, SparkSession

from redolake.apply.context import MayCommit, allow
from redolake.apply.lake_tables import check_not_nested, open_table
from redolake.apply.landed.source_rows import Counted, check_keys, check_values, read_source
from redolake.apply.own_columns import of_load
from redolake.apply.owner import Owner, Use, check_owner
from redolake.apply.schema import target_schema
from redolake.apply.set_back import last_change
from redolake.apply.spark.failures import check_session
from redolake.apply.spark.quoting import quote
from redolake.apply.table_log import load_id, token_in
from redolake.apply.target import Tag, Target, Terms
from redolake.apply.translation import Translation
from redolake.errors import InvariantBroken, LakeDamaged, LandingConflict, RedolakeError
from redolake.records.loads import SnapshotLoaded, SnapshotSpec, SnapshotTask
from redolake.values.lake_columns import with_lake_names

log = logging.getLogger(__name__)


def load_snapshot(
    spark: SparkSession, spec: SnapshotSpec, task: SnapshotTask, translation: Translation, may_commit: MayCommit = allow
) -> SnapshotLoaded:
    """Replace the table's contents in one commit, whatever its position is: readers find the older contents until then, and
    later in the table's history. Do nothing when the load is there already. Raise LandingConflict when the table is beyond the
    snapshot, and LakeDamaged for a log that cannot be read, unless the spec says `replace`.

    Delta would keep constraints that others have set; they are dropped before. A log is put aside only where no commit makes
    the table right: it is damaged, or has features that the readers of the profile do not know, and which stay for ever."""
    table = open_table(spark, task.target, task.app_id)
    try:
        return load_once(table, spec, task, translation, may_commit)
    except LakeDamaged as damage:
        if not spec.replace:
            raise
        log.warning("%s: %s", task.table, damage)
    except RedolakeError:
        raise
    except Exception as failed:
        check_session(spark, failed)
        if not spec.replace or can_list(table):
            raise
    may_commit()
    table.put_aside(owner_of(spec, task), task.table)
    return load_once(table, spec, task, translation, may_commit)


def can_list(table: Target) -> bool:
    """Return whether Spark finds the table's files, so that its log is not what a commit has failed at."""
    try:
        table.rows().inputFiles()
    except Exception as failed:
        check_session(table.spark, failed)
        return False
    return True


def owner_of(spec: SnapshotSpec, task: SnapshotTask) -> Owner | None:
    return Owner.of(task.app_id, spec.origin, task.version.object_id)


def load_once(
    table: Target, spec: SnapshotSpec, task: SnapshotTask, translation: Translation, may_commit: MayCommit
) -> SnapshotLoaded:
    owner = owner_of(spec, task)
    use: Use = "rebuild" if spec.replace else "load"
    terms = Terms(task.table, owner, may_commit, use=use, any_rows=True)
    check_owner(table.log, owner, task.table, task.target, use)
    check_not_nested(task.target, task.table)
    options = task.options if owner is None else owner.mark_options(task.options)
    metadata = {"pipeline": spec.pipeline, "table": str(task.table), "snapshot_scn": task.scn, "token": spec.token}
    if is_loaded(table, spec, task):
        table.settle(terms, options, metadata, task.comment)
        return SnapshotLoaded(task.table, "applied", False, delta_version=table.version)
    check_newer(table, spec, task)
    table.make_way(task.table, task.options, task.version.key_kind, metadata, replaces=spec.replace)
    # Refuses names that Delta cannot distinguish.
    target_schema(with_lake_names(task.version, task.options), task.rules, translation, task.options)
    counted, contents = read_contents(table.spark, task, translation)
    if task.rows is not None and counted.rows != task.rows:
        raise InvariantBroken(
            f"the source returned {task.rows} rows, the files hold {counted.rows}",
            cure="take the snapshot again",
            table=task.table,
        )
    table.enable(contents.schema, metadata, terms, task.options)
    load = load_id(task.app_id, table.version, spec.token)
    with table.commit(terms, Tag(load, task.scn, metadata), "snapshot") as writer:
        writer.create(contents, task.options)
    if (table.app_id, table.position) != (load, task.scn):
        raise InvariantBroken(
            "another load of the table was committed at the same moment",
            cure=f"run `redolake snapshot {task.table} --replace`",
            table=task.table,
            path=task.target,
        )
    table.settle(terms, options, metadata, task.comment)
    return SnapshotLoaded(task.table, "applied", True, counted.passing, table.version, nulled=dict(counted.nulled))


def read_contents(spark: SparkSession, task: SnapshotTask, translation: Translation) -> tuple[Counted, DataFrame]:
    """Return the counts of what was read, and the table's contents. Where chunks of several SCNs have one row, the chunk with
    the highest SCN counts: the row was changed in between, so that the redo has its newer values."""
    options, counted, contents = task.options, Counted(), None
    for scn, files in files_by_scn(task):
        source = read_source(
            spark, files, task.version, task.rules, translation, options, dict(task.comments), options.partition_by
        )
        counted = counted.plus(check_values(source, task.version))
        check_keys(source, task.version)
        own = of_load(options, scn)
        frame = source.frame.withColumns(own) if own else source.frame
        if contents is None:
            contents = frame
        else:
            key = [source.names[i] for i in task.version.key]
            older = frame.join(contents.select(*map(quote, key)), key, "left_anti").select(frame["*"])
            contents = contents.unionByName(older)
    assert contents is not None, "a snapshot has a file"
    return counted, contents


def files_by_scn(task: SnapshotTask) -> list[tuple[int, tuple[str, ...]]]:
    """Return the files of each SCN, those of the highest first."""
    scns = sorted({task.scns.get(file, task.scn) for file in task.files}, reverse=True)
    return [(scn, tuple(file for file in task.files if task.scns.get(file, task.scn) == scn)) for scn in scns]


def is_loaded(table: Target, spec: SnapshotSpec, task: SnapshotTask) -> bool:
    """Return whether the table has the contents of this load, or of another one AS OF the same SCN that is not to be
    replaced."""
    is_own = table.log is not None and token_in(table.app_id) == spec.token
    return is_own or (table.position == task.scn and not spec.replace)


def check_newer(table: Target, spec: SnapshotSpec, task: SnapshotTask) -> None:
    """Raise LandingConflict where the table is beyond the snapshot, unless it is to be replaced."""
    if (reached := last_change(table)) >= task.scn and not spec.replace:
        raise LandingConflict(
            f"the table is complete to SCN {reached}, the snapshot is of SCN {task.scn}",
            cure="take a new snapshot, or add `--replace` to load this one",
            table=task.table,
            path=task.target,
        )
