"""Decide whether a failure concerns one table, or the session, the lake, the machine or another writer."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Sequence
from typing import TypeVar

from pyspark.sql import SparkSession

from redolake.apply.spark.conditions import CONCURRENT, NO_FILE, OF_TARGET
from redolake.apply.spark.thrown import Thrown, chain_of, failure_text, worker_words
from redolake.apply.spark.troubles import check_trouble
from redolake.errors import (
    ConfigurationError,
    Finding,
    RedolakeError,
    SparkLost,
    Transient,
    VersionRemoved,
)
from redolake.host.arrow_check import CURE, FAULT
from redolake.values.table import TableId

NO_PACKAGE = ("ModuleNotFoundError", "ImportError", "PySparkImportError")
OTHER_PACKAGE = ("Can't get attribute", "module 'redolake")  # what the worker's version of the package does not have
NO_PYTHON = "Cannot run program"
NO_ROOM = tuple(os.strerror(number) for number in (errno.ENOMEM, errno.EAGAIN))
# Classes of SQLSTATE that say what is wrong with values, a statement, users' code or files.
OF_TABLES = (
    "02", "07", "0A", "21", "22", "23", "24", "2B", "38", "39", "3F", "42", "46", "51", "54", "55", "56038", "HV", "KD", "P0",
)  # fmt: skip

log = logging.getLogger(__name__)
T = TypeVar("T")


def try_twice(step: Callable[[bool], T]) -> T:
    """Return what the step returns; a failure that nothing explains is tried once more. The step gets whether it is the last
    time, for `check_session`."""
    try:
        return step(False)
    except RedolakeError:
        raise
    except Exception as surprise:
        log.info("tried once more: %s", failure_text(surprise))
    return step(True)  # not above: a second failure would have the first one as its context, and be judged by it too


def check_session(spark: SparkSession, surprise: Exception, *, is_last: bool = True) -> None:
    """Raise when the failure does not concern one table: space, rights, memory, a worker, the store, another writer, the
    session, or a loss within Spark. Raise the failure itself when nothing explains it, and it can be tried again."""
    thrown = chain_of(surprise)
    check_workers(surprise, thrown)
    check_trouble(surprise, thrown, needs_session=False)
    if is_conflict(surprise, thrown):
        raise Transient("another writer changed the table meanwhile", cure="wait: the batch is tried again") from surprise
    check_answers(spark, surprise)
    check_trouble(surprise, thrown, needs_session=True)
    check_cluster(surprise, thrown)
    if not is_last and is_unexplained(thrown):
        raise surprise


def is_unexplained(thrown: Sequence[Thrown]) -> bool:
    """Return whether the innermost exception has a condition, and none of values, statements, files or Delta."""
    condition = thrown[-1].condition if thrown else None
    return condition is not None and not condition.startswith(OF_TARGET) and not thrown[-1].state.startswith(OF_TABLES)


def check_workers(surprise: Exception, thrown: Sequence[Thrown]) -> None:
    """Raise ConfigurationError for Python workers that cannot do their work for any table."""
    if FAULT in str(surprise):
        raise ConfigurationError([Finding("pyarrow of Spark's Python workers", FAULT, CURE)]) from surprise
    what = worker_words(surprise, thrown) or next((one.message for one in thrown if _is_of_workers(one)), None)
    if what is not None and not any(words in what for words in NO_ROOM):
        cure = (
            "give Spark's hosts the same Redolake, under the same version of Python, by `redolake spark pack --force` or an "
            "installation, and run again: no table is held"
        )
        raise ConfigurationError([Finding("Python of Spark's workers", what[:300], cure)]) from surprise


def _is_of_workers(one: Thrown) -> bool:
    return (
        one.name in NO_PACKAGE
        or (one.name == "AttributeError" and one.message.startswith(OTHER_PACKAGE))
        or (one.name == "IOException" and one.message.startswith(NO_PYTHON))
        or (one.condition or "").startswith("PYTHON_VERSION_MISMATCH")
    )


def check_cluster(surprise: Exception, thrown: Sequence[Thrown]) -> None:
    """Raise SparkLost when the innermost exception is Spark's own and has no condition. A value, the analysis of a statement
    and Delta have conditions or exceptions of their own; the rest is lost executors, blocks and connections."""
    if thrown and thrown[-1].name == "SparkException" and thrown[-1].condition is None:
        cure = "wait: the batch is tried again; see the logs of Spark's driver and executors if it comes again"
        raise SparkLost(
            f"Spark has failed, and no table is the reason: {failure_text(surprise)[:300]}", cure=cure
        ) from surprise


def is_conflict(surprise: Exception, thrown: Sequence[Thrown]) -> bool:
    conditions = (one.condition or "" for one in thrown)
    return "Concurrent" in type(surprise).__name__ or any(one.startswith(CONCURRENT) for one in conditions)


def check_answers(spark: SparkSession, surprise: Exception) -> None:
    """Raise SparkLost when the failure has ended the session."""
    try:
        spark.sql("SELECT 1").collect()
    except Exception as failed:
        cure = "wait: the batch is tried again in a new session; see the log and the memory of Spark's driver if it comes again"
        raise SparkLost(f"Spark does not answer any more: {failure_text(surprise)[:300]}", cure=cure) from failed


def check_version(surprise: Exception, table: TableId, delta_version: int) -> None:
    """Raise VersionRemoved when the failure says that files of the version are gone."""
    if any(words in str(surprise) for words in NO_FILE):
        raise VersionRemoved(
            f"files of version {delta_version} of the Delta table are gone",
            cure="VACUUM or log retention has removed them. If newer versions exist, verify again when the next batch is "
            "recorded; if that is the newest version, run `redolake snapshot "
            f"{table} --replace`",
            table=table,
            delta_version=delta_version,
        ) from surprise
