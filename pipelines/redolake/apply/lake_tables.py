"""The tables of the lake. Only this module says what they are: docs/development/adding-a-target.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redolake.apply.delta import log
from redolake.apply.delta.nested import check_not_nested, owner_around
from redolake.apply.spark.lake_damage import damage_of_file
from redolake.apply.table_log import Damage, TableLog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from redolake.apply.target import History, Target

__all__ = ["check_not_nested", "open_history", "open_table", "owner_around", "read_log"]


def read_log(path: str, damage: Damage = damage_of_file) -> TableLog | None:
    """Return what the table at `path` says of itself; None where there is none. Raise `damage` for files that are lacking."""
    return log.read_log(path, damage)


def open_table(spark: SparkSession, path: str, app_id: str, damage: Damage | None = None) -> Target:
    """Return the table at `path`, to which we commit under `app_id` and the load that it has."""
    from redolake.apply.delta.target import DeltaTarget  # PySpark takes seconds

    return DeltaTarget(spark, path, app_id, damage)


def open_history(spark: SparkSession, path: str, app_id: str) -> History:
    """Return the table with the history of one; `app_id` is that of the other one."""
    from redolake.apply.delta.history import DeltaHistory

    return DeltaHistory(spark, path, app_id)
