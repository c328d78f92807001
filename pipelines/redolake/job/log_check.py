"""Ask a session whether its Java logs without the texts of exceptions, which may contain values of masked columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

from redolake.apply.spark.session import EXECUTOR_JAVA_OPTIONS, JAVA_OPTIONS, LOGGING, LOGGING_ON_HOSTS

CONFIGURED = re.compile(r"-Dlog4j2?\.configurationFile=(\S+)")
OURS = (LOGGING.name, LOGGING_ON_HOSTS.name)


def unset_options(spark: Any) -> list[str]:
    """Return which of the options of driver and executors name another configuration of log4j than ours, or none."""
    names = (JAVA_OPTIONS, EXECUTOR_JAVA_OPTIONS)
    return [name for name in names if not (file_of(spark, name) or "").endswith(OURS)]


def file_of(spark: Any, option: str) -> str | None:
    found = CONFIGURED.search(spark.conf.get(option, "") or "")
    return found and unquote(urlsplit(found[1]).path)


def is_missing_on_workers(spark: Any) -> bool:
    """Tell whether the file of the executors' option is missing where one of Spark's Python workers runs."""
    file = file_of(spark, EXECUTOR_JAVA_OPTIONS)

    def look(batches: Iterator[Any]) -> Iterator[Any]:
        from pathlib import Path

        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"there": [Path(file or "").is_file()]})

    rows = spark.range(0, 8, 1, 8).mapInArrow(look, "there boolean")
    return not all(row.there for row in rows.collect())
