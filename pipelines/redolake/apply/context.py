"""What all tables of one batch share while they are applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from redolake.apply.spark.kept import KeptRows
from redolake.apply.translation import Translation
from redolake.host.progress import Report, silent
from redolake.records.batches.attempt import TableWork, Windows
from redolake.records.batches.spec import LandedWindow
from redolake.values.scn import ScnRange
from redolake.values.table import TableId

MayCommit = Callable[[], None]  # called before each commit; raises Transient when another writer holds the lease


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
    has_neighbours: bool = False  # other pipelines in the lake or around it, whose tables may lie inside or around these
    lease: int | None = None  # under which the batch writes
    # How many merged changes the row accounts have under another term than they were counted under before anything was merged:
    # by table, that term, the right one, and the window, as TableWork has it.
    moved: Counter[tuple[TableId, str, str, str]] = field(default_factory=Counter)

    @property
    def metadata(self) -> dict[str, object]:
        """The user metadata of every commit of the batch."""
        return {"pipeline": self.pipeline, "batch": str(self.scns), "token": self.token}

    def note_work(self, table: TableId, work: TableWork) -> None:
        """Note the changes of a table that were merged, and that the row accounts have as applied."""
        self._move(table, "applied", "filtered", work.filtered)
        self._move(table, "applied", "quarantined", work.quarantined)

    def note_earlier(self, table: TableId, work: TableWork) -> None:
        """Note the changes that an earlier attempt has merged, and that the row accounts have as older than the table."""
        self._move(table, "before_position", "applied", work.changes)
        self.note_work(table, work)

    def forget_work(self, table: TableId) -> None:
        """Take back what was noted of a table, which is applied again."""
        for one in [one for one in list(self.moved) if one[0] == table]:
            del self.moved[one]

    def _move(self, table: TableId, counted_as: str, term: str, windows: Windows) -> None:
        for window, rows in windows.items():
            self.moved[table, counted_as, term, window] += rows
