"""What Spark writes into the terminal of `redolake run`, and into the logs of hosts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from redolake.apply.spark.session import LOGGING, LOGGING_ON_HOSTS

pytestmark = pytest.mark.spark


def configured_by(spark: Any, file: Path) -> Any:
    log4j = spark.sparkContext._jvm.org.apache.logging.log4j
    source = log4j.core.config.ConfigurationSource(spark.sparkContext._jvm.java.io.FileInputStream(str(file)))
    found = log4j.core.config.properties.PropertiesConfigurationFactory().getConfiguration(
        log4j.core.LoggerContext("of the test"), source
    )
    found.initialize()
    return found


def configured(spark: Any, file: Path) -> Any:
    """Return the appender `stderr` of a configuration of log4j."""
    return configured_by(spark, file).getAppender("stderr")


def warning(spark: Any, line: str, thrown: Any = None) -> Any:
    log4j = spark.sparkContext._jvm.org.apache.logging.log4j
    event = log4j.core.impl.Log4jLogEvent.newBuilder().setLevel(log4j.Level.WARN).setLoggerName("org.apache.spark.Some")
    return event.setMessage(log4j.message.SimpleMessage(line)).setThrown(thrown).build()


def is_shown(spark: Any, line: str) -> bool:
    return not configured(spark, LOGGING).isFiltered(warning(spark, line))


@pytest.mark.parametrize(
    "line",
    [
        "RDD 33 was locally checkpointed, its lineage has been truncated and cannot be recomputed after unpersisting",
        "Merge source has SQLMetric(id: 1, value: 2) rows in initial scan but SQLMetric(id: 2, value: 40) rows in second scan",
        "Broadcasting large task binary with size 4.6 MiB",
        "Could not validate number of records due to missing statistics.",
        "The SQL config 'spark.sql.parser.escapedStringLiterals' has been deprecated.",
    ],
)
def test_what_each_batch_does_on_purpose_is_no_line(spark: Any, line: str) -> None:
    assert not is_shown(spark, line)


def test_other_warnings_are_shown(spark: Any) -> None:
    assert is_shown(spark, "Lost task 0.0 in stage 20.0 (TID 14) (127.0.0.1 executor driver): java.lang.StackOverflowError")
    assert is_shown(spark, "first line\nNot enough space to cache rdd_4_0 in memory!")


@contextmanager
def logged(spark: Any) -> Iterator[list[tuple[str, str, str]]]:
    """Yield a list that afterwards has level, logger and message of what Spark logged, whoever would see it."""
    java = spark.sparkContext._jvm
    log4j, written, seen = java.org.apache.logging.log4j, java.java.io.StringWriter(), []
    layout = log4j.core.layout.PatternLayout.newBuilder().withPattern("%p\x1f%c\x1f%m\x1e").withAlwaysWriteExceptions(False)
    appender = log4j.core.appender.WriterAppender.createAppender(layout.build(), None, written, "written", True, True)
    appender.start()
    root = log4j.LogManager.getContext(False).getConfiguration().getRootLogger()
    root.addAppender(appender, None, None)
    try:
        yield seen
    finally:
        root.removeAppender("written")
        seen += [tuple(event.split("\x1f")) for event in written.toString().split("\x1e")[:-1]]


def test_a_write_that_fails_by_a_row_is_no_line_of_java(spark: Any, tmp_path: Path) -> None:
    """Our own error says which row, and why; Java's stacks would say its values."""
    target = str(tmp_path / "target")
    spark.range(0).selectExpr("id", "id AS v").write.format("delta").save(target)
    rows = spark.range(2).selectExpr("id", "if(id < 0, id, raise_error('clear-4711')) AS v")
    rows.createOrReplaceTempView("raising")
    merge = f"MERGE INTO delta.`{target}` t USING raising s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
    level = spark.sparkContext._jvm.org.apache.logging.log4j.Level.toLevel
    terminal = configured_by(spark, LOGGING)

    with logged(spark) as events:
        for fail in (lambda: rows.write.parquet(str(tmp_path / "files")), lambda: spark.sql(merge), rows.collect):
            with pytest.raises(Exception, match="clear-4711"):
                fail()

    assert ("ERROR", "org.apache.spark.util.Utils", "Aborting task") in events
    assert [
        (logger, message)
        for of, logger, message in events
        if level(of).isMoreSpecificThan(terminal.getLoggerConfig(logger).getLevel()) and is_shown(spark, message)
    ] == []


@pytest.mark.parametrize("clear", ["clear-4711", "clear-4711\n\tat org.clear-4711.Of(Row.java:1)\nCaused by: clear-4711"])
@pytest.mark.parametrize("cast", ["cast(v AS int)", "cast(v AS date)", "to_timestamp(v)", "raise_error(v)"])
def test_the_log_of_a_host_says_where_a_cast_failed_and_not_of_which_value(spark: Any, cast: str, clear: str) -> None:
    with pytest.raises(Exception, match="clear-4711") as failed:
        spark.createDataFrame([(clear,)], ["v"]).selectExpr(cast).collect()
    thrown = failed.value._origin  # type: ignore[attr-defined]
    text = thrown.toString()

    layout = configured(spark, LOGGING_ON_HOSTS).getLayout()
    lines = [
        layout.toSerializable(warning(spark, "Exception in task 1.0 in stage 7.0 (TID 3)", thrown)),
        layout.toSerializable(warning(spark, f"Lost task 0.0 in stage 7.0 (TID 3) (10.0.0.7 executor 0): {text}")),
        layout.toSerializable(warning(spark, f"Job aborted. {failed.value}")),
    ]

    assert [line for line in lines if "clear" in line] == []
    assert "Exception in task 1.0 in stage 7.0 (TID 3) (thrown in org.apache.spark." in lines[0]
    assert "Lost task 0.0 in stage 7.0 (TID 3) (10.0.0.7 executor 0): org.apache.spark." in lines[1]
    assert all(line.count("\n") == 1 for line in lines)


def test_the_log_of_a_host_has_warnings_whole(spark: Any) -> None:
    layout = configured(spark, LOGGING_ON_HOSTS).getLayout()
    line = layout.toSerializable(warning(spark, "Not enough space to cache rdd_4_0 in memory!"))
    assert line.endswith(" WARN Some: Not enough space to cache rdd_4_0 in memory!\n")
