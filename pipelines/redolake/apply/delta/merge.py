"""MERGE the net changes into the Delta table; append the changes of an append-only table."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from redolake.apply.delta.enable import enable_features
from redolake.apply.delta.sql import table_at
from redolake.apply.delta.writer import Writer
from redolake.apply.key_range import condition
from redolake.apply.own_columns import of_change
from redolake.apply.spark.quoting import quote
from redolake.apply.spark.session import run_sql
from redolake.apply.spark.shallow import any_of
from redolake.apply.target import OBJECTS, REMOVE, REPLACE, UPSERT, NetColumns, TargetColumn
from redolake.values import frames
from redolake.values.own_columns import DELETED
from redolake.values.target_options import DEFAULT, TargetOptions
from redolake.values.terms import RowCounts

DELETION_VECTORS = "spark.databricks.delta.merge.deletionVectors.persistent"
NO_ROW = "raise_error('a change keeps values of a row that the target does not have')"


def merge(
    writer: Writer, net: DataFrame, has: NetColumns, options: TargetOptions = DEFAULT, changes: int = 0
) -> RowCounts | None:
    """Return what was merged; None where Delta has this transaction already. `changes` is the number of net changes, 0 where it
    is not known: small files are written again, of others the replaced rows are marked in deletion vectors."""
    table, answer = writer.table, list[Row]()
    columns, spark = tuple(table.columns.values()), table.spark
    lacks = [any_of(F.col(frames.unknown(i)) for i in has.missing).alias("lacks")] if has.missing else []
    names = (
        *has.types(table.columns),
        *(["is_read"] if set(has.objects) - set(has.missing) else []),
        *(["is_whole"] if has.has_whole else []),
    )
    view = f"redolake_{uuid.uuid4().hex}"  # tables are merged at the same time
    net.select(*names, *lacks, *of_change(options)).createOrReplaceTempView(view)
    marks = options.readers == "spark" and not table.is_small(changes)
    if marks:
        enable_features(table, ["deletionVectors"], writer.tag.metadata, writer.terms)

    def run_merge(session: SparkSession) -> None:
        session.conf.set(DELETION_VECTORS, "true" if marks else "false")
        answer.extend(run_sql(session, merge_sql(table.path, view, columns, has, options)))

    try:
        writer.run(run_merge)
    finally:
        spark.catalog.dropTempView(view)
    if not answer:  # Delta skipped the commit
        return None
    row = answer[0]
    return RowCounts(**{name: row[f"num_{name}_rows"] for name in RowCounts().counts})


def merge_sql(
    path: str, source: str, columns: Sequence[TargetColumn], has: NetColumns, options: TargetOptions = DEFAULT
) -> str:
    names, marks = {column.id: quote(column.name) for column in columns}, options.deletes == "mark"

    def value(column: TargetColumn) -> str:
        name, new = names[column.id], f"s.{frames.after(column.id)}"
        if column.id in has.missing:
            there = f"CASE WHEN t.{DELETED} THEN {NO_ROW} ELSE t.{name} END" if marks else f"t.{name}"
            return f"CASE WHEN s.u{column.id} THEN {there} ELSE {new} END"
        return f"CASE WHEN s.is_read THEN {new} ELSE t.{name} END" if column.id in has.objects else new

    def inserted_value(column: TargetColumn) -> str:
        """Return the new value. That of the first column fails for a row of which the redo lacks values: once is enough, and a
        condition for each of 1,000 columns would double the plan."""
        new = f"s.{frames.after(column.id)}"
        return f"CASE WHEN s.lacks THEN {NO_ROW} ELSE {new} END" if has.missing and column == columns[0] else new

    own = [f"t.{name} = s.{name}" for name in options.own_columns]
    sets = ", ".join([*(f"t.{names[c.id]} = {value(c)}" for c in columns), *own])
    read = {*has.objects, *has.filled}
    alone = ", ".join([*(f"t.{names[c.id]} = {value(c)}" for c in columns if c.id in read), *own])
    objects_alone = f"WHEN MATCHED AND s.op = '{OBJECTS}' THEN UPDATE SET {alone}\n" if read else ""
    inserted = ", ".join([*(names[c.id] for c in columns), *options.own_columns])
    values = ", ".join([*(inserted_value(c) for c in columns), *(f"s.{name}" for name in options.own_columns)])
    remove = f"UPDATE SET {', '.join(own)}" if marks else "DELETE"
    return (
        f"MERGE INTO {table_at(path)} AS t USING {source} AS s ON {same_row(columns, has, marks)}\n"
        f"WHEN MATCHED AND s.op = '{REMOVE}' THEN {remove}\n"
        f"{objects_alone}"
        f"WHEN MATCHED THEN UPDATE SET {sets}\n"
        f"WHEN NOT MATCHED AND s.op = '{UPSERT}' THEN INSERT ({inserted}) VALUES ({values})"
        f"{insert_removed(columns, has, options) if has.keeps_removed else ''}"
    )


def insert_removed(columns: Sequence[TargetColumn], has: NetColumns, options: TargetOptions) -> str:
    """Return the clause by which a removed row leaves its key in a target that never had the row."""
    names = {column.id: quote(column.name) for column in columns}
    inserted = ", ".join([*(names[i] for i in has.key), *options.own_columns])
    values = ", ".join([*(f"s.{frames.key(i)}" for i in has.key), *(f"s.{name}" for name in options.own_columns)])
    return f"\nWHEN NOT MATCHED AND s.op = '{REMOVE}' THEN INSERT ({inserted}) VALUES ({values})"


def same_row(columns: Sequence[TargetColumn], has: NetColumns, marks: bool) -> str:
    """Return the condition on which a net change finds its row in the target."""
    names = {column.id: quote(column.name) for column in columns}
    same_key = " AND ".join(f"t.{names[i]} {'<=>' if has.has_whole else '='} s.k{i}" for i in has.key)
    same_key += f" AND (s.op <> '{REPLACE}' OR NOT t.{DELETED})" if marks else ""
    if not has.has_whole:
        return same_key if has.within is None else f"{same_key} AND {condition(has.within, 't')}"
    others = "".join(f" AND t.{names[c.id]} <=> s.a{c.id}" for c in columns if c.id not in has.key)
    alive = f" AND NOT t.{DELETED}" if marks else ""
    return f"{same_key} AND (NOT s.is_whole OR (s.op = '{REMOVE}'{alive}{others}))"
