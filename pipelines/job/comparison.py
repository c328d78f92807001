"""Compare Delta tables with the rows that `verify` read from Oracle."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from pipelines.apply.comparison import CompareTask, Comparison
from pipelines.apply.delta.compare import compare
from pipelines.apply.failures import check_space
from pipelines.errors import RedolakeError
from pipelines.job.translation import TRANSLATION


def compare_tables(spark: SparkSession, tasks: Sequence[CompareTask]) -> tuple[Comparison, ...]:
    try:
        return tuple(compare(spark, task, TRANSLATION) for task in tasks)
    except RedolakeError:
        raise
    except Exception as surprise:
        check_space(surprise)
        raise
