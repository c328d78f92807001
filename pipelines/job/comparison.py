"""Compare Delta tables with the rows that `verify` read from Oracle."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from pipelines.apply.spark.failures import check_session, check_version, failure_text
from pipelines.apply.spark.session import read_as_written
from pipelines.apply.verify.compare import compare
from pipelines.apply.verify.comparison import CompareTask, Comparison
from pipelines.errors import OF_SPARK, InvariantBroken, RedolakeError, report_with
from pipelines.job.damaged_files import check_files
from pipelines.job.lake import check_lake
from pipelines.job.translation import TRANSLATION
from pipelines.records.lakes import LakePlace


def compare_tables(spark: SparkSession, tasks: Sequence[CompareTask], lake: LakePlace | None = None) -> tuple[Comparison, ...]:
    check_lake(lake)
    return tuple(compare_one(spark, task) for task in tasks)


def compare_one(spark: SparkSession, task: CompareTask) -> Comparison:
    """Raise a typed error for what concerns the table alone, and any other one for a failed session."""
    try:
        read_as_written(spark)
        check_files(dict.fromkeys(task.files, "verify again"), task.digests)
        return compare(spark, task, TRANSLATION)
    except RedolakeError:
        raise
    except Exception as surprise:
        check_session(spark, surprise)
        check_version(surprise, task.table, task.delta_version)
        raise InvariantBroken(
            f"the comparison failed: {failure_text(surprise)}",
            cure=f"verify the table once more; nothing was changed. If it comes again, {report_with(OF_SPARK)}",
            table=task.table,
        ) from None  # its text may contain row data
