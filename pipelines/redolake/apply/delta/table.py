"""A handle of one Delta table that reads its log and columns once, and once more after each commit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from redolake.apply.delta.log import DeltaLog, read_log
from redolake.apply.owner import damage_of
from redolake.apply.schema import columns_of
from redolake.apply.table_log import Damage, load_in
from redolake.apply.target import TargetColumn

# For a table this small, or so small beside its changes, MERGE is cheaper when it rewrites the files than when it marks rows as
# deleted, and the table keeps few files. The replaced files stay until VACUUM, which is why larger tables get deletion vectors.
REWRITTEN_BYTES, BYTES_A_CHANGE = 1 << 20, 256


class DeltaTable:
    """`base_id` names our commits, with the load whose contents they continue. Call `refresh` after each commit, and where
    commits of others must be seen."""

    def __init__(self, spark: SparkSession, path: str, base_id: str, damage: Damage | None = None) -> None:
        self.spark, self.path, self.base_id = spark, path, base_id
        self.log_error = damage or damage_of(base_id)  # of a file of the log that cannot be read
        self.is_proved = False  # that we were alone with the last commit, by what was read after it

    def refresh(self) -> None:
        self.is_proved = False
        for name in ("log", "app_id", "position", "schema", "columns", "fields"):
            self.__dict__.pop(name, None)

    def see_others(self) -> None:
        """Refresh if there are commits that have not been read."""
        log = read_log(self.path, self.log_error)
        if self.version != (None if log is None else log.version):
            self.refresh()
            self.log = log

    @cached_property
    def log(self) -> DeltaLog | None:
        return read_log(self.path, self.log_error)

    @property
    def bytes(self) -> int | None:
        """The size of the table's files; None when it is not known, or there is no table."""
        return None if self.log is None else self.log.table_bytes()

    def is_small(self, changes: int = 0) -> bool:
        """Return whether a MERGE of so many changes does best to write all files again."""
        return self.bytes is not None and self.bytes <= max(REWRITTEN_BYTES, BYTES_A_CHANGE * changes)

    @cached_property
    def app_id(self) -> str:
        """The application id of commits that continue the table's contents."""
        return self.base_id if self.log is None else self.log.current_id(self.base_id)

    @cached_property
    def position(self) -> int | None:
        """The SCN of our last commit; None when there is none."""
        return None if self.log is None else self.log.last_txn(self.app_id)

    @cached_property
    def columns(self) -> Mapping[int, TargetColumn]:
        """The table's columns by our column id."""
        return columns_of(self.schema)

    @cached_property
    def schema(self) -> StructType:
        """The table's schema by its log: a Connect session that outlives its client may answer with an older one."""
        return self.rows().schema if self.log is None else StructType.fromJson(dict(self.log.schema()))

    @cached_property
    def fields(self) -> Mapping[str, Any]:
        """The table's fields by name, as the log contains them."""
        return {} if self.log is None else {field["name"]: field for field in self.log.schema()["fields"]}

    def allows_null(self, column: str) -> bool:
        return column not in self.fields or bool(self.fields[column]["nullable"])

    def comment_of(self, column: str) -> str:
        return str(self.fields.get(column, {}).get("metadata", {}).get("comment", ""))

    @property
    def version(self) -> int | None:
        """The table's latest Delta version; None when there is no table."""
        return None if self.log is None else self.log.version

    @property
    def standing(self) -> object:
        """What another writer of ours changes with each of its commits: how far the table is, and by which load."""
        return self.app_id, self.position, self.filled_to

    @property
    def load(self) -> str:
        """The part of the application id that names the load whose contents the table continues."""
        return load_in(self.app_id)

    @property
    def filled_to(self) -> int | None:
        """The SCN of the last ADD COLUMN whose default was filled in."""
        return None if self.log is None else self.log.last_txn(self.filling_id)

    @property
    def filling_id(self) -> str:
        """The application id of commits that fill in defaults: they leave the position to commits of changes."""
        return f"{self.app_id}/ddl"

    def rows(self, version: int | None = None) -> DataFrame:
        """Return all rows, of now or of a version."""
        of_version = {} if version is None else {"versionAsOf": str(version)}
        return self.spark.read.format("delta").options(**of_version).load(self.path)
