"""What a local Spark writes into the terminal of `redolake run`."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines.apply.spark.session import LOGGING

pytestmark = pytest.mark.spark


def is_shown(spark: Any, line: str) -> bool:
    log4j = spark.sparkContext._jvm.org.apache.logging.log4j
    source = log4j.core.config.ConfigurationSource(spark.sparkContext._jvm.java.io.FileInputStream(str(LOGGING)))
    found = log4j.core.config.properties.PropertiesConfigurationFactory().getConfiguration(
        log4j.core.LoggerContext("of the terminal"), source
    )
    found.initialize()
    event = log4j.core.impl.Log4jLogEvent.newBuilder().setLevel(log4j.Level.WARN)
    return not found.getAppender("stderr").isFiltered(event.setMessage(log4j.message.SimpleMessage(line)).build())


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
