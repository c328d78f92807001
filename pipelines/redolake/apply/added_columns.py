"""Add columns with their values to a table that has all its other ones, in one commit at its own position.

Such a column was left out, or pipelines.yml computes it now, or computes it in another way. The files have the key and what
it is made of AS OF the position, so the commit is a load like that of a snapshot: the commits after it continue it by its own
name, and a history begins an epoch with it.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from redolake.apply.lake_tables import open_table
from redolake.apply.landed.source_rows import SourceRows, check_keys, check_values, read_source
from redolake.apply.owner import Owner
from redolake.apply.schema import OURS, check_columns, target_schema
from redolake.apply.set_back import check_current
from redolake.apply.spark.quoting import quote
from redolake.apply.table_log import load_id
from redolake.apply.target import Tag, Target, Terms, target_columns
from redolake.apply.translation import Translation
from redolake.errors import Terminal
from redolake.records.loads import SnapshotLoaded, SnapshotSpec, SnapshotTask
from redolake.values import frames
from redolake.values.joined_columns import names_of, version_to_read
from redolake.values.lake_columns import with_lake_names
from redolake.values.own_columns import DELETED
from redolake.values.table import of_columns

IS_READ = "is_read"


def add_columns(
    spark: SparkSession, spec: SnapshotSpec, task: SnapshotTask, translation: Translation, may_commit: Callable[[], None]
) -> SnapshotLoaded:
    """Add the columns. A repeat after a kill writes them once more, with the same values.

    Raise Terminal where the table has other rows than those that were read, and Transient where it has commits above the SCN.
    """
    table, owner = open_table(spark, task.target, task.app_id), Owner.of(task.app_id, spec.origin, task.version.object_id)
    check_current(table, owner, task.table, task.scn)
    check_others(table, task, translation)
    read, options = version_to_read(task.version, task.joins), task.options
    source = read_source(spark, task.files, read, task.rules, translation, options, dict(task.comments), options.partition_by)
    counted = check_values(source, read)
    check_keys(source, read)
    names = ", ".join(names_of(task.version, task.joins))
    metadata = {
        "pipeline": spec.pipeline, "table": str(task.table), "snapshot_scn": task.scn, "token": spec.token, "filled": names,
    }  # fmt: skip
    terms = Terms(task.table, owner, may_commit, exact=True)
    table.enable(source.frame.select(*(quote(source.names[i]) for i in task.joins)).schema, metadata, terms)
    joined = join(table.rows(), source, task)
    check_rows(joined, task, counted.passing)
    load = load_id(task.app_id, table.version, spec.token)
    with table.commit(terms, Tag(load, task.scn, metadata), "columns added") as writer:
        writer.create(contents(joined, table, source, task), task.options)
    return SnapshotLoaded(task.table, "applied", True, counted.passing, table.version, nulled=dict(counted.nulled))


def check_others(table: Target, task: SnapshotTask, translation: Translation) -> None:
    """Raise SchemaConflict unless the table has all the other columns of the version, and the lake can hold the new ones."""
    lake = with_lake_names(task.version, task.options)
    target_schema(lake, task.rules, translation, task.options)
    others = of_columns(lake, {column.id for column in lake.columns} - {*task.joins})
    there = {number: column for number, column in table.columns.items() if number not in task.joins}
    check_columns(others, task.rules, there, translation)


def join(rows: DataFrame, source: SourceRows, task: SnapshotTask) -> DataFrame:
    """Return the table's rows, each with the values that were read for its key."""
    key = [(F.col(quote(source.names[i])).alias(frames.key(i))) for i in task.version.key]
    new = [(F.col(quote(source.names[i])).alias(frames.after(i))) for i in task.joins]
    values = source.frame.select(*key, *new, F.lit(True).alias(IS_READ))
    same = [rows[quote(source.names[i])] == values[frames.key(i)] for i in task.version.key]
    return rows.join(values, same, "left")


def check_rows(joined: DataFrame, task: SnapshotTask, read: int) -> None:
    """Raise Terminal unless the table's rows are exactly those that were read."""
    is_live: Expression = F.lit(True) if task.options.deletes == "remove" else ~F.col(DELETED)
    found = joined.agg(
        F.count_if(is_live).alias("live"), F.count_if(is_live & F.col(IS_READ)).alias("read"), F.count(IS_READ).alias("all")
    ).collect()[0]
    if not found["live"] == found["read"] == found["all"] == read:
        raise Terminal(
            f"the table has {found['live']} rows, the source has {read} for it AS OF SCN {task.scn}, and {found['read']} of "
            "these have the same key: the columns of the others would have no values",
            cure=f"run `redolake verify {task.table}` and `redolake repair {task.table} --execute --reason TEXT` with the old "
            f"columns, then fill the new ones again; or `redolake snapshot {task.table} --replace`",
            table=task.table,
        )


def contents(joined: DataFrame, table: Target, source: SourceRows, task: SnapshotTask) -> DataFrame:
    """Return the rows with the columns in the order of the version, and Redolake's own ones after them."""
    fields = {field.name: field for field in table.schema.fields}
    read = {field.name: field for field in source.frame.schema.fields}
    lake = target_columns(with_lake_names(task.version, task.options))
    names = {column.id: column.name for column in lake}
    own = [name for name in fields if name not in names.values()]

    def value(number: int) -> Expression:
        name = names[number]
        if number in task.joins:
            return F.col(frames.after(number)).alias(name, metadata=read[name].metadata)
        kept = {key: said for key, said in fields[name].metadata.items() if key.startswith(OURS)}
        return F.col(quote(name)).alias(name, metadata=kept)

    return joined.select(*(value(column.id) for column in lake), *(F.col(quote(name)) for name in own))
