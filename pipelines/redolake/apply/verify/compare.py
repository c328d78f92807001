"""Compare a Delta table with its rows in Oracle AS OF the SCN it is complete to.

Tables with a key are compared by key and cell by cell, append-only tables by how often each row occurs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import assert_never

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from redolake.apply.key_range import WHOLE_NUMBER
from redolake.apply.lake_tables import open_table, read_log
from redolake.apply.landed.key_texts import key_in_lake, without_keys
from redolake.apply.landed.keys import lacks_key
from redolake.apply.landed.source_rows import check_keys, check_values, read_source
from redolake.apply.own_columns import live
from redolake.apply.owner import Owner, check_owner, damage_of
from redolake.apply.quarantine.log import read_events
from redolake.apply.schema import COMMIT_SCN, check_columns, columns_of
from redolake.apply.spark.quoting import quote
from redolake.apply.spark.shallow import any_of
from redolake.apply.spark.text import to_text
from redolake.apply.table_log import TableLog, base_of
from redolake.apply.target import target_columns
from redolake.apply.translation import Translation
from redolake.apply.verify.buckets import add_up, digest, hash_of
from redolake.apply.verify.comparison import CompareTask, Comparison, Difference, Digest
from redolake.errors import OF_TABLE, InvariantBroken, SchemaConflict, TableSetBack, report_with
from redolake.records.proofs import FoundRow
from redolake.values import frames
from redolake.values.canonical import BUCKET, ROW_HASH, Form, HashPlan, columns_behind
from redolake.values.chunks import KeyType
from redolake.values.delivery import (
    Appended,
    Assembled,
    NullableKey,
    Plain,
    RereadRows,
    RereadValues,
    delivery_of,
)
from redolake.values.lake_columns import with_lake_names
from redolake.values.quarantine import fold
from redolake.values.table import Column, TableVersion
from redolake.values.target_options import TargetOptions

MOST_SAMPLES = 10
MOST_LISTED = 1000  # values in a condition
MOST_NAMED = 100_000  # rows that differ: of more, the table is loaded again
OWN_SCN = "redolake: commit SCN"  # as no column of a sane table is called


def compare(spark: SparkSession, task: CompareTask, translation: Translation) -> Comparison:
    """Compare with the Delta version of `complete_to`; batches that are applied meanwhile do not matter."""
    delta_version = version_to_compare(task)
    apart = keys_apart(spark, task)
    delta = in_part(lake_rows(spark, task, delta_version, translation), task)
    if apart:
        delta = without_keys(delta, key_in_lake(task.version, task.options), apart)
    task = replace(task, version=version_of_part(task))
    source = read_source(spark, task.files, task.version, task.rules, translation, task.options, apart=apart)
    counted, version = check_values(source, task.version), with_lake_names(task.version, task.options)
    check_keys(source, task.version)
    match delivery := delivery_of(task.version):
        case Appended():
            found = compare_counts(source.frame, delta, task, delta_version)
        case NullableKey():
            null = lacks_key(version.column(i).name for i in version.key)
            ours = source.frame.filter(~null)
            keyed = compare_keyed(ours, delta.filter(~null), task, delta_version, ours.count())
            found = keyed.with_more(compare_counts(source.frame.filter(null), delta.filter(null), task, delta_version))
        case Plain() | RereadValues() | Assembled() | RereadRows():
            found = compare_keyed(source.frame, delta, task, delta_version, counted.passing)
        case _:
            assert_never(delivery)
    return replace(found, bytes=table_bytes(task), quarantined=len(apart), nulled=counted.nulled)


def keys_apart(spark: SparkSession, task: CompareTask) -> frozenset[str]:
    """Return the keys that the table's quarantine has, AS OF the SCN of the comparison."""
    log = None if task.quarantine is None else read_log(task.target, damage_of(task.app_id))
    if task.quarantine is None or log is None:
        return frozenset()
    load = log.load(task.app_id)
    return frozenset(fold(read_events(spark, task.quarantine, load, task.table), task.complete_to))


def table_bytes(task: CompareTask) -> int | None:
    log = read_log(task.target, damage_of(task.app_id))
    return None if log is None else log.table_bytes()


def lake_rows(spark: SparkSession, task: CompareTask, delta_version: int, translation: Translation) -> DataFrame:
    """Return the rows that readers see, as the source's are compared with them, and OWN_SCN."""
    version = with_lake_names(task.version, task.options)
    delta = open_table(spark, task.target, task.app_id).rows(delta_version)
    check_columns(version, task.rules, columns_of(delta.schema), translation)
    return with_commit(live(delta, task.options), task.options)


def in_part(rows: DataFrame, task: CompareTask) -> DataFrame:
    """Return the rows of the part that is compared."""
    if task.part is None or task.hashing is None:
        return rows
    bucket = bucket_of(task, task.hashing)
    return rows.filter(~bucket.isin(*task.part.buckets)) if task.part.others else rows_with(rows, bucket, task.part.buckets)


def in_ranges(rows: DataFrame, task: CompareTask) -> DataFrame:
    """Return the rows in the ranges of the key that are hashed."""
    if task.ranges is None:
        return rows
    columns = target_columns(with_lake_names(task.version, task.options))
    name = next(column.name for column in columns if column.id == task.ranges.column)
    value, kind = F.col(quote(name)), task.ranges.type
    if not WHOLE_NUMBER.fullmatch(rows.schema[name].dataType.simpleString()):
        value = F.greatest(value, value)  # for which Delta passes over no file: another program may have written its statistics

    def within(low: str | None, high: str | None) -> Expression:
        from_low = F.lit(True) if low is None else value >= limit_of(low, kind)
        to_high = F.lit(True) if high is None else value < limit_of(high, kind)
        return (value.isNull() if low is None else F.lit(False)) | (from_low & to_high)

    return rows.filter(any_of(within(low, high) for low, high in task.ranges.limits))


def limit_of(text: str, kind: KeyType) -> Expression:
    return F.lit(Decimal(text)) if kind == "number" else F.lit(text.strip()).cast("timestamp_ntz")


def rows_with(rows: DataFrame, value: Expression, values: Sequence[str]) -> DataFrame:
    """Return the rows with one of the values, however many these are."""
    if len(values) <= MOST_LISTED:
        return rows.filter(value.isin(*values))
    listed = F.broadcast(rows.sparkSession.createDataFrame([(one,) for one in values], "listed string"))
    return rows.withColumn("value", value).join(listed, F.col("value") == F.col("listed"), "left_semi").drop("value")


def version_of_part(task: CompareTask) -> TableVersion:
    """Return the version with the columns that are compared."""
    kept = columns_behind(task.version, () if task.part is None else task.part.columns)
    return replace(task.version, columns=tuple(c for c in task.version.columns if c.id in kept))


def hash_in_lake(task: CompareTask, columns: Sequence[tuple[int, Form]]) -> Expression:
    names = {column.id: column.name for column in target_columns(with_lake_names(task.version, task.options))}
    return hash_of(columns, names.__getitem__)


def bucket_of(task: CompareTask, plan: HashPlan) -> Expression:
    return F.substring(hash_in_lake(task, plan.bucketed), 1, plan.digits)


def digest_lake(spark: SparkSession, task: CompareTask, translation: Translation) -> Digest:
    """Return the hashes of the Delta version of `complete_to` by buckets."""
    assert task.hashing is not None
    delta_version = version_to_compare(task)
    rows = in_ranges(lake_rows(spark, task, delta_version, translation), task)
    found = digest(rows, bucket_of(task, task.hashing), hash_in_lake(task, task.hashing.columns), OWN_SCN).collect()
    check_not_beyond(max((row["scn"] for row in found if row["scn"] is not None), default=None), task, delta_version)
    return Digest(delta_version, sums_of(found), table_bytes(task))


def digest_source(spark: SparkSession, task: CompareTask, translation: Translation) -> dict[str, tuple[int, int, int]]:
    """Return the sums of the rows that pass the table's filter, from rows that were read with their bucket and their hash."""
    beside = (BUCKET, ROW_HASH)
    source = read_source(spark, task.files, task.version, task.rules, translation, task.options, beside=beside)
    check_values(source, task.version)
    hashed = source.frame.select(F.col(quote(BUCKET)).alias("bucket"), F.col(quote(ROW_HASH)).alias("hash"))
    return sums_of(add_up(hashed).collect())


def sums_of(found: Iterable[Row]) -> dict[str, tuple[int, int, int]]:
    return {str(row["bucket"]): (int(row["n"]), int(row["a"]), int(row["b"])) for row in found}


def compare_keyed(source: DataFrame, delta: DataFrame, task: CompareTask, delta_version: int, rows: int) -> Comparison:
    """Compare row by row and cell by cell; `source` has so many `rows`.

    A row of the source is joined with each row of the lake that has its key: one more than there are is extra."""
    version, complete_to = with_lake_names(task.version, task.options), task.complete_to
    columns = target_columns(version)
    both = side_by_side(source, delta, columns, version.key)
    missing, extra = F.col("in_delta").isNull(), F.col("in_source").isNull()
    counts = both.agg(
        F.count_if(~extra).alias("source_rows"),
        F.count_if(~missing).alias("delta_rows"),
        F.count_if(missing).alias("missing_rows"),
        F.count_if(extra).alias("extra_rows"),
        F.coalesce(F.sum(F.when(~missing & ~extra, differing_cells(columns))), F.lit(0)).alias("differing_cells"),
        F.max("commit_scn").alias("last_commit"),
    ).collect()[0].asDict()  # fmt: skip
    check_not_beyond(counts.pop("last_commit"), task, delta_version)
    twice = counts["source_rows"] - rows
    counts = {**counts, "source_rows": rows, "extra_rows": counts["extra_rows"] + twice}
    if not (counts["missing_rows"] or counts["extra_rows"] or counts["differing_cells"]):
        return Comparison(version.table, complete_to, delta_version, **counts)
    samples = sample(both, columns, version.key, missing, extra)
    again = rows_with_one_key(delta, version) if twice else None
    if again is not None:
        samples = (*samples, *sample_twice(again, version))[:MOST_SAMPLES]
    found = name_keyed(both, again, task, missing, extra)
    compared = Comparison(version.table, complete_to, delta_version, **counts, samples=samples)
    return replace(compared, found=found[:MOST_NAMED], names_all=task.hashing is not None and len(found) <= MOST_NAMED)


def rows_with_one_key(delta: DataFrame, version: TableVersion) -> DataFrame:
    """Return each key that several rows of the lake have, as d<id>, and how many `rows` do."""
    keys = [F.col(quote(column.name)).alias(f"d{column.id}") for column in target_columns(version) if column.id in version.key]
    return delta.select(*keys).groupBy(*(f"d{i}" for i in version.key)).agg(F.count("*").alias("rows")).filter("rows > 1")


def sample_twice(again: DataFrame, version: TableVersion) -> tuple[Difference, ...]:
    by_id = {column.id: column for column in target_columns(version)}
    key = F.concat_ws(", ", *(to_text(F.col(f"d{i}"), by_id[i]) for i in version.key))
    shown = again.select(key.alias("key"), F.concat(F.col("rows").cast("string"), F.lit(" rows")).alias("delta"))
    return tuple(
        Difference(row["key"], "*", "1 row", row["delta"]) for row in shown.orderBy("key").limit(MOST_SAMPLES).collect()
    )


def name_keyed(
    both: DataFrame, again: DataFrame | None, task: CompareTask, missing: Expression, extra: Expression
) -> tuple[FoundRow, ...]:
    """Return the rows that differ, up to one more than MOST_NAMED, by key."""
    if task.hashing is None:
        return ()
    columns, key = target_columns(with_lake_names(task.version, task.options)), task.hashing.key
    differ = differing_cells(columns) > 0
    kind = F.when(missing, F.lit("missing")).when(extra, F.lit("extra")).when(differ, F.lit("differing"))
    keys = [F.coalesce(F.col(f"s{i}"), F.col(f"d{i}")).alias(frames.key(i)) for i, _ in key]
    found = both.select(kind.alias("kind"), *keys).filter("kind IS NOT NULL")
    if again is not None:
        found = again.select(F.lit("twice").alias("kind"), *(F.col(f"d{i}").alias(frames.key(i)) for i, _ in key)).unionByName(
            found
        )
    hashed = hash_of(key, frames.key)
    named = found.select(
        "kind", hashed.alias("hash"), *(F.col(frames.key(i)).cast("string").alias(frames.key(i)) for i, _ in key)
    )
    return tuple(
        FoundRow(row["kind"], row["hash"], tuple(row[frames.key(i)] for i, _ in key))
        for row in named.limit(MOST_NAMED + 1).collect()
    )


def differs(column: Column) -> Expression:
    return ~F.col(f"s{column.id}").eqNullSafe(F.col(f"d{column.id}"))


def differing_cells(columns: Sequence[Column]) -> Expression:
    """Return how many cells differ, as one aggregate for all columns: Oracle allows 1,000, and Java's stack does not hold a
    sum of so many terms."""
    return F.size(F.filter(F.array(*map(differs, columns)), lambda is_other: is_other))


def with_commit(delta: DataFrame, options: TargetOptions) -> DataFrame:
    """Add OWN_SCN: the commit SCN of each row, NULL where the table has none. A column of Oracle may have its name."""
    own = F.col(COMMIT_SCN) if COMMIT_SCN in options.own_columns else F.lit(None)
    return delta.withColumn(OWN_SCN, own.cast("bigint"))


def version_to_compare(task: CompareTask) -> int:
    """Return the Delta version that has the contents of `complete_to`. Raise an error when the table has no such version."""
    log = read_log(task.target, damage_of(task.app_id))
    if log is None:
        raise SchemaConflict(
            "the Delta table is missing",
            cure=f"if a snapshot of it is being loaded, wait and verify again; else run `redolake snapshot {task.table} "
            "--replace`",
            table=task.table,
            path=task.target,
        )
    if log.version < task.delta_version:
        raise TableSetBack(
            f"the Delta table is at version {log.version}, and was at version {task.delta_version} when it was complete to SCN "
            f"{task.complete_to}: an older copy was put back",
            cure=f"run `redolake snapshot {task.table} --replace` to rebuild the table",
            table=task.table,
            path=task.target,
        )
    check_owner(log, Owner.of(task.app_id, task.origin), task.table, task.target)
    own = base_of(task.app_id)
    found = log.last_version_with(task.delta_version, own)
    check_seen_by_readers(log, own, found, task)
    return found


def check_seen_by_readers(log: TableLog, own: str, compared: int, task: CompareTask) -> None:
    """Raise TableSetBack where another writer has changed rows after the version to compare, so that readers see other rows."""
    since = [one for one in log.foreign_writes(own) if one[0] > compared] if task.app_id else []
    for version, operation in since[:1]:
        raise TableSetBack(
            f"readers see rows that another writer changed in version {version} of the Delta table ({operation}), after "
            f"version {compared}, which is complete to SCN {task.complete_to}",
            cure=f"run `redolake snapshot {task.table} --replace` to rebuild the table",
            table=task.table,
            path=task.target,
        )


def check_not_beyond(last_commit: int | None, task: CompareTask, delta_version: int) -> None:
    if last_commit is not None and last_commit > task.complete_to:
        raise InvariantBroken(
            f"the table contains a commit of SCN {last_commit}",
            cure=f"run `redolake snapshot {task.table} --replace`; and {report_with(OF_TABLE)}: that version was recorded as "
            "complete to a lower SCN",
            table=task.table,
            complete_to=task.complete_to,
            delta_version=delta_version,
        )


def compare_counts(source: DataFrame, delta: DataFrame, task: CompareTask, delta_version: int) -> Comparison:
    """Compare both sides as multisets: a row that differs in one cell is missing once and extra once."""
    version = with_lake_names(task.version, task.options)
    both = count_rows(source, delta, version)
    in_source, in_delta, none = F.col("source"), F.col("delta"), F.lit(0)
    counts = both.agg(
        *(F.coalesce(F.sum(rows), none).alias(name) for name, rows in (
            ("source_rows", in_source),
            ("delta_rows", in_delta),
            ("missing_rows", F.greatest(in_source - in_delta, none)),
            ("extra_rows", F.greatest(in_delta - in_source, none)),
        )),
        F.max("commit_scn").alias("last_commit"),
    ).collect()[0].asDict()  # fmt: skip
    check_not_beyond(counts.pop("last_commit"), task, delta_version)
    if not (counts["missing_rows"] or counts["extra_rows"]):
        return Comparison(version.table, task.complete_to, delta_version, **counts, differing_cells=0)
    samples, found = sample_counts(both, version), name_counted(both, task)
    compared = Comparison(version.table, task.complete_to, delta_version, **counts, differing_cells=0, samples=samples)
    return replace(compared, found=found[:MOST_NAMED], names_all=task.hashing is not None and len(found) <= MOST_NAMED)


def count_rows(source: DataFrame, delta: DataFrame, version: TableVersion) -> DataFrame:
    """Return each different row as c<id>, how often it is in `source` and in `delta`, and its newest commit in Delta."""
    values = [F.col(quote(c.name)).alias(f"c{c.id}") for c in version.columns]
    no_scn = F.lit(None).cast("bigint").alias("commit_scn")
    ours = source.select(*values, F.lit(1).alias("source"), F.lit(0).alias("delta"), no_scn)
    theirs = delta.select(*values, F.lit(0).alias("source"), F.lit(1).alias("delta"), F.col(OWN_SCN).alias("commit_scn"))
    rows = ours.unionByName(theirs).groupBy(*(f"c{c.id}" for c in version.columns))
    return rows.agg(F.sum("source").alias("source"), F.sum("delta").alias("delta"), F.max("commit_scn").alias("commit_scn"))


def sample_counts(both: DataFrame, version: TableVersion) -> tuple[Difference, ...]:
    row = F.concat_ws(", ", *(F.coalesce(to_text(F.col(f"c{c.id}"), c), F.lit("NULL")) for c in version.columns))
    counts = [F.concat(F.col(side).cast("string"), F.lit(" rows")).alias(side) for side in ("source", "delta")]
    differing = both.filter("source != delta").select(row.alias("key"), F.lit("*").alias("column"), *counts)
    return tuple(Difference(**row.asDict()) for row in differing.orderBy("key").limit(MOST_SAMPLES).collect())


def name_counted(both: DataFrame, task: CompareTask) -> tuple[FoundRow, ...]:
    """Return the rows that differ, up to one more than MOST_NAMED: by the hash of their key, which has a NULL, or of all their
    columns where there is no key."""
    if task.hashing is None:
        return ()
    hashed = hash_of(task.hashing.bucketed, "c{}".format)
    found = both.filter("source != delta").select(hashed.alias("hash")).distinct().limit(MOST_NAMED + 1).collect()
    return tuple(FoundRow("rows", row["hash"]) for row in found)


def side_by_side(source: DataFrame, delta: DataFrame, columns: Sequence[Column], key: Sequence[int]) -> DataFrame:
    ours = source.select(*(F.col(quote(c.name)).alias(f"s{c.id}") for c in columns), F.lit(1).alias("in_source"))
    theirs = delta.select(
        *(F.col(quote(c.name)).alias(f"d{c.id}") for c in columns),
        F.col(OWN_SCN).alias("commit_scn"),
        F.lit(1).alias("in_delta"),
    )
    same_key = F.lit(True)
    for column_id in key:
        same_key = same_key & (F.col(f"s{column_id}") == F.col(f"d{column_id}"))
    return ours.join(theirs, same_key, "full_outer")


def sample(
    both: DataFrame,
    columns: Sequence[Column],
    key_ids: Sequence[int],
    missing: Expression,
    extra: Expression,
) -> tuple[Difference, ...]:
    by_id = {column.id: column for column in columns}
    key = F.concat_ws(", ", *(to_text(F.coalesce(F.col(f"s{i}"), F.col(f"d{i}")), by_id[i]) for i in key_ids))
    nothing = F.lit(None).cast("string")
    found = [
        F.when(missing, F.struct(F.lit("*").alias("column"), F.lit("row").alias("source"), nothing.alias("delta"))),
        F.when(extra, F.struct(F.lit("*").alias("column"), nothing.alias("source"), F.lit("row").alias("delta"))),
        *(
            F.when(
                ~missing & ~extra & differs(c),
                F.struct(
                    F.lit(c.name).alias("column"),
                    to_text(F.col(f"s{c.id}"), c).alias("source"),
                    to_text(F.col(f"d{c.id}"), c).alias("delta"),
                ),
            )
            for c in columns
        ),
    ]
    cells = both.select(key.alias("key"), F.explode(F.array_compact(F.array(*found))).alias("cell"))
    rows = cells.select("key", "cell.column", "cell.source", "cell.delta").orderBy("key", "column").limit(MOST_SAMPLES)
    return tuple(Difference(**row.asDict()) for row in rows.collect())
