"""Compare Delta tables with the rows that `verify` read from Oracle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.sql import SparkSession

from redolake.apply.epochs import cure_of
from redolake.apply.spark.failures import check_session
from redolake.apply.spark.holds import errors_of_table
from redolake.apply.spark.lake_damage import damaged_file
from redolake.apply.spark.session import read_as_written
from redolake.apply.verify.compare import compare, digest_lake, digest_source
from redolake.apply.verify.comparison import CompareTask, Comparison, Digest
from redolake.apply.verify.history import compare_history
from redolake.errors import LakeDamaged
from redolake.job.damaged_files import check_files
from redolake.job.lake import check_lake
from redolake.job.translation import TRANSLATION
from redolake.records.lakes import LakePlace
from redolake.records.proofs import ProvedHistory


def compare_tables(spark: SparkSession, tasks: Sequence[CompareTask], lake: LakePlace | None = None) -> tuple[Comparison, ...]:
    check_lake(lake)
    return tuple(compare_one(spark, task) for task in tasks)


def compare_one(spark: SparkSession, task: CompareTask) -> Comparison:
    with errors_of(spark, task):
        check_files(dict.fromkeys(task.files, "verify again"), task.digests)
        return compare(spark, task, TRANSLATION)


def digest_table(spark: SparkSession, task: CompareTask, lake: LakePlace | None = None) -> Digest:
    """Return the hashes of the table by buckets."""
    check_lake(lake)
    with errors_of(spark, task):
        return digest_lake(spark, task, TRANSLATION)


def digest_rows(spark: SparkSession, task: CompareTask, lake: LakePlace | None = None) -> dict[str, tuple[int, int, int]]:
    """Return the sums by buckets of the rows that were read from Oracle with their hashes."""
    check_lake(lake)
    with errors_of(spark, task):
        check_files(dict.fromkeys(task.files, "verify again"), task.digests)
        return digest_source(spark, task, TRANSLATION)


def compare_with_history(spark: SparkSession, task: CompareTask, path: str) -> ProvedHistory:
    """Compare the version of the table with what its history says of the same SCN."""
    with errors_of(spark, task):
        try:
            return compare_history(spark, task, path)
        except Exception as surprise:
            file = damaged_file(surprise)
            if file is None or f"{path}/" not in file:
                raise
            check_session(spark, surprise)
            what = "Spark could not read a file of the history: it is gone or damaged"
            raise LakeDamaged(what, cure=cure_of(task.table, path), path=file, table=task.table) from None


@contextmanager
def errors_of(spark: SparkSession, task: CompareTask) -> Iterator[None]:
    """Raise a typed error for what concerns the table alone, and any other one for a failed session."""
    what, cure = "the comparison failed", "verify the table once more; nothing was changed"
    with errors_of_table(spark, task.table, what, cure, task.version.mapping, task.delta_version):
        read_as_written(spark)
        yield
