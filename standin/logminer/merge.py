"""Merges the redo of several threads: by SCN between threads, in file order within a thread.

Within a thread the SCN may decrease, as redo can reach the log late. Such a record keeps its position in the file, so the
merge key is the highest SCN of the thread so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa


class _Head:
    """The rest of a thread's current batch, with its merge keys."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._highest = 0
        self._batch: pa.RecordBatch | None = None
        self.keys = np.empty(0, dtype=np.int64)

    def refill(self) -> bool:
        """Read the next batch once this one is empty; return False at the end.

        It reads as late as possible: an unreadable file must fail after the rows that precede it.
        """
        if len(self.keys) == 0:
            self._batch = next((b for b in self._batches if b.num_rows), None)
            if self._batch is not None:
                self.keys = np.maximum(np.maximum.accumulate(self._batch.column("scn").to_numpy()), self._highest)
                self._highest = int(self.keys[-1])
        return len(self.keys) > 0

    def take(self, limit: int) -> tuple[pa.RecordBatch, np.ndarray]:
        """Remove and return the records up to the limit, with their keys."""
        assert self._batch is not None
        count = int(np.searchsorted(self.keys, limit, side="right"))
        taken = self._batch.slice(0, count), self.keys[:count]
        self._batch, self.keys = self._batch.slice(count), self.keys[count:]
        return taken


def merged(threads: Sequence[Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """Yield batches in redo order. An unreadable file ends the stream with its error."""
    if len(threads) == 1:
        yield from threads[0]
        return
    heads = [_Head(batches) for batches in threads]
    while heads := [head for head in heads if head.refill()]:
        limit = min(int(head.keys[-1]) for head in heads)
        parts = [part for head in heads if (part := head.take(limit))[0].num_rows]
        keys = np.concatenate([keys for _, keys in parts])
        table = pa.Table.from_batches([batch for batch, _ in parts])
        yield from table.take(np.argsort(keys, kind="stable")).combine_chunks().to_batches()
