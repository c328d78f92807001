"""What one process reads of one table for its first contents, and how fast."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from redolake.context import Run
from redolake.values.table import TableId

EVERYTHING = (0, 1)  # the number of a worker that reads chunks of a table, and how many there are


@dataclass(frozen=True, slots=True)
class ReadTask:
    """What one process reads of one table, AS OF the SCN at which its snapshot was begun.

    `by_itself`: a policy reads it again, within the limits of `resnapshot`. `waits`: it waits for the hours in which chunks may
    begin. Once `stop` is set, no further chunk is read.
    """

    run: Run
    table: TableId
    scn: int
    worker: tuple[int, int] = EVERYTHING
    by_itself: bool = False
    waits: bool = True
    stop: threading.Event | None = None

    def seconds_ahead(self, rows: int, begun_at: float) -> float:
        """Return how long to wait where so many rows came faster than `rows_per_second`."""
        most = self.run.pipeline.settings(self.table).snapshot.rows_per_second
        return 0.0 if most is None else max(0.0, rows / most - (time.monotonic() - begun_at))
