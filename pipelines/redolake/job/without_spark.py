"""What stands for Spark in a batch without changes, which reads and writes no rows: to start Spark takes longer than all that
such a batch does.

Whatever needs Spark after all (a property of a table that is to be set, an event for the lake's log) raises SparkNeeded, with
nothing committed, and the batch is run with Spark. So is one that fails or would hold a table: Spark's driver may be another
host, which sees more of the lake.
"""

from __future__ import annotations

from typing import Any, NoReturn

from redolake.apply.spark.session import MOST_SIDE_BY_SIDE
from redolake.records.batches.manifest import BatchResult
from redolake.records.batches.spec import BatchSpec


class SparkNeeded(BaseException):
    """Spark is needed after all. It is no Exception, as nothing may take it for the failure of a table."""


class Settings:
    """Those of a session that runs no query."""

    def __init__(self) -> None:
        # No local master, whose cores would be asked for: the tables' logs are read side by side, and wait for the store.
        self.getAll = {"spark.master": "none", "spark.driver.cores": str(MOST_SIDE_BY_SIDE)}

    def get(self, name: str, default: str | None = None) -> str | None:
        return self.getAll.get(name, default)

    def set(self, name: str, value: str) -> None:
        self.getAll[name] = value

    def unset(self, name: str) -> None:
        self.getAll.pop(name, None)


class NoSpark:
    """A session, or a DataFrame, that can do nothing."""

    def __init__(self) -> None:
        self.conf = Settings()

    def __getattr__(self, name: str) -> NoReturn:
        raise SparkNeeded(name)


def no_spark() -> Any:
    return NoSpark()


def check_none_newly_held(spec: BatchSpec, result: BatchResult) -> None:
    """Raise SparkNeeded where a table is held that the spec does not hold."""
    holds = {task.table for task in spec.tables if task.hold is not None}
    if any(table.state == "held" and table.table not in holds for table in result.tables):
        raise SparkNeeded("a table would be held")
