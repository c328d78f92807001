"""How a table is written in the lake, as the configuration says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Readers = Literal["widest", "spark"]
Names = Literal["as_is", "lower"]
Deletes = Literal["remove", "mark"]
MetadataName = Literal["_commit_scn", "_commit_time", "_op", "_xid", "_redo_thread"]

DELETED = "_deleted"


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """The names in `cluster_by` and `partition_by` are Oracle's.

    readers   `spark`: a Delta feature once it is needed. `widest`: none that a reader must know beyond timestamps without a
              zone; a change that would need one rewrites the table
    deletes   `mark`: deleted rows stay, with `_deleted`
    """

    readers: Readers = "spark"
    names: Names = "as_is"
    metadata_columns: tuple[MetadataName, ...] = ("_commit_scn",)
    deletes: Deletes = "remove"
    properties: tuple[tuple[str, str], ...] = ()
    cluster_by: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()

    def name(self, oracle_name: str) -> str:
        """Return the name of a column in the lake."""
        return oracle_name.lower() if self.names == "lower" else oracle_name

    @property
    def own_columns(self) -> tuple[str, ...]:
        """Redolake's columns, which come after Oracle's."""
        return (*self.metadata_columns, *((DELETED,) if self.deletes == "mark" else ()))


DEFAULT = TargetOptions()
