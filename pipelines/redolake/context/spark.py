"""One Spark session for all jobs of a run, opened when the first one needs it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any, Self

from redolake.config import Pipeline
from redolake.errors import RedolakeError, SparkLost
from redolake.host.connect_token import url_of_connection
from redolake.host.progress import Report, silent
from redolake.host.secrets import connection_variable

REMOTE = "REDOLAKE_SPARK_REMOTE"


def open_spark(pipeline: Pipeline) -> Any:
    """Return a session for this process by the pipeline's Spark settings."""
    from redolake.apply.spark.start import start_session

    if pipeline.spark.mode == "connect":
        return start_session("connect", remote_of(pipeline), pipeline.spark.settings)
    places = (pipeline.landing, pipeline.lake)
    return start_session("local", pipeline.spark.master, pipeline.spark.settings, places)


def stop_session(session: Any) -> None:
    """Raise SparkLost where its Java was killed: what comes next needs another process."""
    try:
        session.stop()
    except Exception as failed:
        what, cure = "Spark's Java has ended, and this process cannot start another", "run the command again"
        raise SparkLost(what, cure=cure) from failed


def remote_of(pipeline: Pipeline) -> str:
    """Return the Connect server's URL from REDOLAKE_SPARK_REMOTE or the named Airflow connection in the environment. Raises
    ConfigurationError."""
    if remote := os.environ.get(REMOTE):
        return url_of_connection(remote, REMOTE)
    variable = connection_variable(pipeline.spark.connection)
    return url_of_connection(os.environ.get(variable, ""), variable)


class Spark:
    """One Spark session for all batches: the given one, or one that is opened when the first batch needs it, by `opens` where
    that is given, and stopped at the end of the block."""

    def __init__(
        self,
        pipeline: Pipeline,
        given: Any = None,
        opens: Callable[[], Any] | None = None,
        report: Report = silent,
    ) -> None:
        self._pipeline, self._given, self._own, self._opens, self._report = pipeline, given, None, opens, report
        self._opening = Lock()  # a snapshot may be loaded beside batches

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, surprise: BaseException | None, __: object) -> None:
        try:
            check_damage(self._pipeline, self, surprise)
        finally:
            with suppress(SparkLost):  # the work is done, or the first error says why it is not
                self.stop()

    def session(self) -> Any:
        if self._given is not None:
            return self._given
        with self._opening:
            if self._own is None:
                self._report("opening a Spark session")
                self._own = open_spark(self._pipeline) if self._opens is None else self._opens()
            return self._own

    @property
    def is_used(self) -> bool:
        return (self._own or self._given) is not None

    def replace(self) -> None:
        """Give up a session that has ended; the next call of `session` opens another."""
        from redolake.apply.spark.session import give_up

        ended, self._given, self._own = self._own or self._given, None, None
        if ended is not None:
            give_up(ended)

    def stop(self) -> None:
        """Close the session if this process opened it; the next batch opens another. Raises SparkLost if none can be opened."""
        own, self._own = self._own, None
        if own is not None:
            stop_session(own)


def check_damage(pipeline: Pipeline, spark: Spark, surprise: BaseException | None) -> None:
    """Raise the error of a file that Spark could not read, with the table that it is of, in place of Java's stack."""
    if isinstance(surprise, Exception) and not isinstance(surprise, RedolakeError) and spark.is_used:
        damage = damage_of_tables(pipeline, surprise)
        if damage is not None:
            raise damage from None


def damage_of_tables(pipeline: Pipeline, surprise: Exception) -> RedolakeError | None:
    """Return the error of a file that Spark could not read, with the table that it is of; None for any other failure."""
    from redolake.apply import epochs  # PySpark takes seconds
    from redolake.apply.quarantine.log import damage_in
    from redolake.apply.spark.lake_damage import damage_of_file, damaged_file, table_damage

    text, what = str(surprise), "Spark cannot read a file"
    file = damaged_file(surprise)
    for table in (one.id for one in pipeline.tables):
        if file and (older := pipeline.history_target(table)) is not None and f"{older}/" in text:
            return epochs.damage_in(table, older)(file, what)
        if file and f"{(path := pipeline.quarantine_path(table))}/" in text:
            return damage_in(table, path)(file, what)
        if f"{(path := pipeline.target(table))}/" in text and (found := table_damage(table, path, surprise)) is not None:
            return found
    return None if file is None else damage_of_file(file, what)
