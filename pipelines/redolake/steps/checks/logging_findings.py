"""Warn where Spark's logs would have what masks keep out of the lake."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from redolake.config import Pipeline
from redolake.errors import Finding

WHY = "of a failed cast its logs have the value, of a masked column too"


def logging_findings(pipeline: Pipeline, spark: Any) -> list[Finding]:
    """Return a warning where a pipeline has masks and Spark's logs have the texts of exceptions."""
    return list(of_session(f"{pipeline.name}.spark", spark)) if pipeline.has_masks else []


def of_session(subject: str, spark: Any) -> Iterator[Finding]:
    from redolake.apply.spark.session import EXECUTOR_JAVA_OPTIONS, LOGGING_ON_HOSTS
    from redolake.job.log_check import is_missing_on_workers, unset_options

    name = LOGGING_ON_HOSTS.name
    if unset := unset_options(spark):
        what = f"{' and '.join(unset)} of this Spark do not name {name}: {WHY}"
        cure = (
            f"start it with `redolake spark serve`, or give both -Dlog4j2.configurationFile=file://FOLDER/{name}; the file is"
        )
        yield Finding(subject, what, f"{cure} in this package, in pipelines/redolake/apply/spark", "warning")
    elif is_missing_on_workers(spark):
        what = f"{EXECUTOR_JAVA_OPTIONS} names a {name} that a host of executors has not: {WHY}"
        yield Finding(subject, what, "install this package at the same path there, or name the file's path there", "warning")
