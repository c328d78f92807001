"""How a table is written in the lake, as the configuration says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from redolake.values.own_columns import DELETED, MetadataName

Readers = Literal["any", "spark"]
Names = Literal["as_is", "lower"]
Deletes = Literal["remove", "mark"]

# Why a property of a Delta table is not for `properties`, by its name. Delta does not distinguish upper and lower case in it.
REFUSED_PROPERTIES: Mapping[str, str] = {
    r"columnMapping\.|enableDeletionVectors|enableTypeWidening|enableVariantShredding|feature\.|minReaderVersion|"
    r"minWriterVersion|ignoreProtocolDefaults|checkpointPolicy": "`readers` decides on features",
    r"enableChangeDataFeed|enableChangeDataCapture": "set `change_data_feed`",
    r"appendOnly": "no row could be changed or deleted",
    r"constraints\.|invariants": "Oracle decides which rows there are",
    r"setTransactionRetentionDuration": "Delta would forget how far an idle table is applied",
    r"coordinatedCommits\.|managedCommits?\.|redirect": "commits would be where Redolake does not read them",
    r"enableIcebergCompat|enableIcebergWriterCompat|universalFormat\.": "it forbids deletion vectors, which MERGE into a large "
    "table needs",
    r"compatibility\.symlinkFormatManifest\.": "it forbids deletion vectors, which MERGE into a large table needs",
    r"inCommitTimestampEnablement|requireCheckpointProtectionBeforeVersion|rowTracking\.|rowTrackingSuspended|"
    r"lastCommitTimestamp|lastUpdateVersion|clusteringColumns|generationExpression|identity\.": "Delta itself sets it",
}


def why_refused(name: str) -> str | None:
    """Return why a property may not be set; None for one that may."""
    if name.lower().startswith("redolake."):
        return "it says whose the table is"
    for pattern, reason in REFUSED_PROPERTIES.items():
        if re.match(rf"delta\.(?:{pattern})", name, re.IGNORECASE):
            return reason
    return None


NEW_SNAPSHOT = {"new snapshot": True}  # of an option with whose change existing rows do not fit; others are followed


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """The options of a target: `Pipeline.target_options` takes those of the table, else the pipeline's, and a plan asks
    `differing` what a change needs. The names in `cluster_by` and `partition_by` are Oracle's.

    readers   `spark`: a Delta feature once it is needed. `any`: none that a reader must know beyond timestamps without a
              zone; a change that would need one rewrites the table
    deletes   `mark`: deleted rows stay, with `_deleted`
    """

    readers: Readers = "spark"
    column_names: Names = field(default="as_is", metadata=NEW_SNAPSHOT)
    metadata_columns: tuple[MetadataName, ...] = field(default=("_commit_scn",), metadata=NEW_SNAPSHOT)
    deletes: Deletes = field(default="remove", metadata=NEW_SNAPSHOT)
    properties: tuple[tuple[str, str], ...] = ()
    cluster_by: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = field(default=(), metadata=NEW_SNAPSHOT)

    def differing(self, other: TargetOptions, *, new_snapshot: bool) -> Iterator[str]:
        """Yield the options that differ, and with which existing rows do not fit; else those that a batch follows."""
        for option in fields(self):
            if bool(option.metadata) == new_snapshot and getattr(self, option.name) != getattr(other, option.name):
                yield option.name

    def name(self, oracle_name: str) -> str:
        """Return the name of a column in the lake."""
        return oracle_name.lower() if self.column_names == "lower" else oracle_name

    @property
    def own_columns(self) -> tuple[str, ...]:
        """Redolake's columns, which come after Oracle's."""
        return (*self.metadata_columns, *((DELETED,) if self.deletes == "mark" else ()))


DEFAULT = TargetOptions()
