"""Repair rows of a Delta table that `verify` found, and compare them again."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import SparkSession

from redolake.apply.verify.compare import compare
from redolake.apply.verify.comparison import CompareTask, Comparison
from redolake.apply.verify.repair import RepairTask, hash_keys, keys_in_oracle, repair
from redolake.job.comparison import errors_of
from redolake.job.damaged_files import check_files
from redolake.job.lake import check_lake
from redolake.job.translation import TRANSLATION
from redolake.records.lakes import LakePlace
from redolake.records.proofs import FoundRow
from redolake.values.terms import RowCounts


def repair_rows(
    spark: SparkSession, task: RepairTask, lake: LakePlace | None, may_commit: Callable[[], None]
) -> tuple[int, RowCounts, Comparison]:
    """Return the version that the commit has made, its counts, and the comparison of the rows after it. `may_commit` raises
    when another writer holds the lease."""
    check_lake(lake)
    with errors_of(spark, task.compare):
        check_files(dict.fromkeys(task.compare.files, "repair again"), task.compare.digests)
        return *repair(spark, task, TRANSLATION, may_commit), compare(spark, task.compare, TRANSLATION)


def name_keys(spark: SparkSession, task: CompareTask, keys: tuple[tuple[str, ...], ...]) -> tuple[FoundRow, ...]:
    """Return the rows with these keys, whose values are texts."""
    with errors_of(spark, task):
        return hash_keys(spark, task, keys, TRANSLATION)


def map_keys(spark: SparkSession, task: CompareTask, hashes: frozenset[str]) -> frozenset[str]:
    """Return the hashes in Oracle of the keys that have these hashes in the lake."""
    with errors_of(spark, task):
        check_files(dict.fromkeys(task.files, "repair again"), task.digests)
        return keys_in_oracle(spark, task, hashes, TRANSLATION)
