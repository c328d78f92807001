"""Make rows of a Delta table as Oracle had them AS OF the table's own position, in one commit that says why.

The commit leaves the position as it is: the rows are those that the table should have there, and later changes come from the
redo as always. So no row becomes older.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from redolake.apply.lake_tables import open_table
from redolake.apply.landed.source_rows import check_values, read_source
from redolake.apply.own_columns import live, needed_columns
from redolake.apply.owner import Owner
from redolake.apply.schema import check_columns
from redolake.apply.set_back import check_current
from redolake.apply.spark.quoting import quote
from redolake.apply.table_log import REPAIRS
from redolake.apply.target import REMOVE, UPSERT, NetColumns, Tag, Terms, target_columns
from redolake.apply.translation import Translation
from redolake.apply.verify.buckets import hash_of
from redolake.apply.verify.compare import MOST_LISTED, hash_in_lake, rows_with
from redolake.apply.verify.comparison import CompareTask
from redolake.errors import Terminal
from redolake.records.proofs import FoundRow
from redolake.values import frames
from redolake.values.canonical import BUCKET
from redolake.values.lake_columns import with_lake_names
from redolake.values.redo import Operation
from redolake.values.table import TableVersion
from redolake.values.terms import RowCounts

WHOLE = frozenset({"rows", "twice"})  # kinds of rows that are removed and written as a whole


@dataclass(frozen=True, slots=True)
class RepairTask:
    """`compare` names the table, the SCN and the files with the rows of `found`. `number` is higher than that of any earlier
    repair of the table. `covers` is the newest version whose rows were compared: other writers' changes up to it are found.
    `advances`: the rows are all that have changed since the table's position, which becomes the SCN."""

    compare: CompareTask
    found: tuple[FoundRow, ...]
    number: int
    covers: int | None
    metadata: Mapping[str, object]
    advances: bool = False


def repair(
    spark: SparkSession, task: RepairTask, translation: Translation, may_commit: Callable[[], None]
) -> tuple[int, RowCounts]:
    """Merge the rows, and return the version that has them. A repeated call with the same number commits nothing."""
    one = task.compare
    table = open_table(spark, one.target, one.app_id)
    version = with_lake_names(one.version, one.options)
    check_current(table, Owner.of(one.app_id, one.origin), one.table, one.complete_to, task.covers)
    check_columns(version, one.rules, table.columns, translation)
    source = read_source(spark, one.files, one.version, one.rules, translation, one.options)
    check_values(source, one.version)
    net, has = net_changes(source.frame, live(table.rows(), one.options), task, version)
    stays = Tag(f"{table.app_id}{REPAIRS}", task.number, task.metadata)
    tag = Tag(table.app_id, one.complete_to, task.metadata) if task.advances else stays
    terms = Terms(one.table, Owner.of(one.app_id, one.origin), may_commit, covers=task.covers)
    with table.commit(terms, tag, "repair") as writer:
        merged = writer.merge(lambda: net, has, one.options)
    assert table.version is not None
    return table.version, merged or RowCounts()


def net_changes(source: DataFrame, lake: DataFrame, task: RepairTask, version: TableVersion) -> tuple[DataFrame, NetColumns]:
    """Return what becomes of the rows that were found. Rows of a key are merged under it; rows without a key, or that the lake
    has several times, are removed by all their columns and written again."""
    one = task.compare
    assert one.hashing is not None
    hashed = hash_in_lake(one, one.hashing.bucketed)
    named = {column.id: column.name for column in target_columns(version)}
    keyed = {row.hash for row in task.found if row.kind not in WHOLE}
    whole = {row.hash for row in task.found if row.kind in WHOLE}
    both = keyed & whole
    keyed -= both  # several times in the lake, and different
    if whole and one.options.deletes == "mark" and version.key_kind != "append":
        raise Terminal(
            "several rows of the lake have one key or a NULL in it, and `deletes: mark` cannot remove single ones",
            cure=f"run `redolake snapshot {one.table} --replace`",
            table=one.table,
        )
    ours = as_values(source.withColumn("hash", hashed), named)
    theirs = as_values(rows_with(lake, hashed, sorted(keyed | whole)).withColumn("hash", hashed), named)
    is_whole = F.col("hash").isin(*sorted(whole)) if len(whole) <= MOST_LISTED else F.lit(False)
    if len(whole) > MOST_LISTED:
        raise Terminal(
            f"{len(whole)} rows without a key of their own differ, and {MOST_LISTED} are repaired at once",
            cure=f"run `redolake snapshot {one.table} --replace`",
            table=one.table,
        )
    gone = theirs.filter(~is_whole).join(ours.select("hash").distinct(), "hash", "left_anti")
    parts = [
        with_op(ours.filter(~is_whole), UPSERT, whole=False),
        with_op(gone, REMOVE, whole=False),
        with_op(theirs.filter(is_whole).distinct(), REMOVE, whole=True),
        with_op(ours.filter(is_whole), UPSERT, whole=True),
    ]
    net = parts[0]
    for part in parts[1:]:
        net = net.unionByName(part)
    existing = theirs.select("hash").distinct().withColumn("exists", F.lit(True))
    operation = F.when(F.col("exists"), F.lit(int(Operation.UPDATE))).otherwise(F.lit(int(Operation.INSERT)))
    keys = {frames.key(i): F.col(frames.after(i)) for i, _ in one.hashing.key}
    net = net.join(existing, "hash", "left").withColumns({**keys, **provenance(task, operation)})
    if not one.hashing.key:  # a row without a key is found by all its columns: the first one stands for a key
        first = one.version.columns[0].id
        net = net.withColumn(frames.key(first), F.col(frames.after(first)))
        return net, NetColumns(key=(first,), has_whole=True)
    return net, NetColumns(key=tuple(i for i, _ in one.hashing.key), has_whole=bool(whole))


def as_values(rows: DataFrame, named: Mapping[int, str]) -> DataFrame:
    return rows.select("hash", *(F.col(quote(name)).alias(frames.after(i)) for i, name in named.items()))


def with_op(rows: DataFrame, op: str, *, whole: bool) -> DataFrame:
    return rows.withColumns({"op": F.lit(op), "is_whole": F.lit(whole)})


def provenance(task: RepairTask, operation: Expression) -> dict[str, Expression]:
    """Return the columns of a change that Redolake's own columns are made of: a repaired row is known AS OF the SCN alone."""
    nothing = {need: F.lit(None) for need in needed_columns(task.compare.options)}
    known = {"commit_scn": F.lit(task.compare.complete_to).cast("bigint"), "operation_code": operation}
    return {**nothing, "commit_thread": F.lit(None).cast("int"), **known}


def hash_keys(
    spark: SparkSession, task: CompareTask, keys: tuple[tuple[str, ...], ...], translation: Translation
) -> tuple[FoundRow, ...]:
    """Return rows by their keys' values, given as text in the order of the key."""
    assert task.hashing is not None
    ids = [i for i, _ in task.hashing.key]
    names = [frames.key(i) for i in ids]
    in_lake = {column.id: column for column in target_columns(with_lake_names(task.version, task.options))}
    given = spark.createDataFrame(list(keys), ", ".join(f"{name} string" for name in names))
    types = {i: translation.spark_type(in_lake[i].type, task.rules.get(i)) for i in ids}
    typed = given.select(*(F.col(frames.key(i)).cast(types[i]).alias(frames.key(i)) for i in ids))
    found = typed.select(
        hash_of(task.hashing.key, frames.key).alias("hash"), *(F.col(name).cast("string") for name in names)
    ).collect()
    return tuple(FoundRow("differing", row["hash"], tuple(row[name] for name in names)) for row in found)


def keys_in_oracle(spark: SparkSession, task: CompareTask, hashes: frozenset[str], translation: Translation) -> frozenset[str]:
    """Return the hashes in Oracle of the keys that the mapping makes those with the given hashes in the lake. The files have
    all keys, with the hash of each."""
    assert task.hashing is not None
    source = read_source(spark, task.files, task.version, task.rules, translation, task.options, beside=(BUCKET,))
    key = hash_in_lake(task, task.hashing.key)
    found = rows_with(source.frame, key, sorted(hashes)).select(quote(BUCKET)).collect()
    return frozenset(str(row[BUCKET]) for row in found)
