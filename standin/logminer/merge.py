"""Redo of several threads as one stream: by SCN between threads, in file order within a thread.

Within a thread the SCN may step back (redo that surfaced late); such a record keeps its place in the file, so the key of
the merge is the highest SCN the thread has shown so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa


class _Head:
    """The batch a thread has in hand, with its merge keys and what of it is not handed out yet."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._highest = 0
        self._batch: pa.RecordBatch | None = None
        self.keys = np.empty(0, dtype=np.int64)

    def refill(self) -> bool:
        """Fetch the next batch once this one is used up; False at the end. Reads no earlier than it must, so that a file
        that cannot be read fails behind the rows that come before it."""
        if len(self.keys) == 0:
            self._batch = next((b for b in self._batches if b.num_rows), None)
            if self._batch is not None:
                self.keys = np.maximum(np.maximum.accumulate(self._batch.column("scn").to_numpy()), self._highest)
                self._highest = int(self.keys[-1])
        return len(self.keys) > 0

    def take(self, limit: int) -> tuple[pa.RecordBatch, np.ndarray]:
        """What lies at or below the limit."""
        assert self._batch is not None
        count = int(np.searchsorted(self.keys, limit, side="right"))
        taken = self._batch.slice(0, count), self.keys[:count]
        self._batch, self.keys = self._batch.slice(count), self.keys[count:]
        return taken


def merged(threads: Sequence[Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """Batches in redo order; a thread whose file fails stops the stream there."""
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
