"""What all tables of one batch share while they are applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from pipelines.apply.spark.kept import KeptRows
from pipelines.apply.translation import Translation
from pipelines.records.batches.spec import LandedWindow
from pipelines.values.scn import ScnRange
from pipelines.values.table import TableId

Report = Callable[[str], None]
MayCommit = Callable[[], None]  # called before each commit; raises Transient when another writer holds the lease


def silent(line: str) -> None:
    """Report nothing."""


def allow() -> None:
    """Let every commit happen."""


@dataclass(frozen=True, slots=True)
class ApplyContext:
    spark: SparkSession
    pipeline: str
    scns: ScnRange
    token: str
    translation: Translation
    may_commit: MayCommit = allow
    report: Report = silent
    windows: tuple[LandedWindow, ...] = ()
    check_lake: Callable[[], None] = allow  # called before a table is held; raises when the lake as a whole cannot be used
    origin: str = ""
    kept: KeptRows = field(default_factory=KeptRows)
    lease: int | None = None  # under which the batch writes
    # How many merged changes were filtered or quarantined, by table, term of the row account, and start of their window.
    parts: Counter[tuple[TableId, str, int]] = field(default_factory=Counter)

    @property
    def metadata(self) -> dict[str, object]:
        """The user metadata of every commit of the batch."""
        return {"pipeline": self.pipeline, "batch": str(self.scns), "token": self.token}
