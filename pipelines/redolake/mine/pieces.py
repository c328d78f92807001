"""Join the pieces of a long statement (CSF = 1), also across batches, before its text is read.

LogMiner cuts SQL_REDO into pieces of at most 4000 bytes, even inside a doubled quote. Pieces are consecutive rows, so their
bytes are adjacent in the Arrow buffer, and joining them only removes offsets.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from redolake.errors import MiningIncomplete, report_with
from redolake.mine.copies import EdgeCut

# The pieces of a statement are one redo row, so these columns must be equal.
ADDRESS = ("thread", "rs_id", "ssn", "xidusn", "xidslt", "xidsqn")
LARGEST_TEXT_BYTES = 2**30


class PieceJoiner:
    """Joins pieces batch by batch, in LogMiner's order. An unfinished last row waits for the next batch."""

    def __init__(self) -> None:
        self._held: pa.RecordBatch | None = None

    def feed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the complete rows so far."""
        if self._held is not None:
            batch = pa.concat_batches([self._held, batch])
            self._held = None
        if batch.num_rows == 0:
            return batch
        continues = _continues(batch)
        if not continues.any():
            return batch
        complete = batch.num_rows
        while complete and continues[complete - 1]:
            complete -= 1
        if complete < batch.num_rows:
            self._held = batch.slice(complete)
        return join(batch.slice(0, complete), continues[:complete])

    def close(self) -> None:
        """Raise EdgeCut if the last statement of the slice is unfinished."""
        if self._held is not None:
            row = self._held.select(["thread", "rs_id", "scn"]).slice(0, 1).to_pylist()[0]
            raise EdgeCut(
                "the statement of a redo row continues after the last log of the slice",
                cure="run again when the next log of this redo thread is archived (ALTER SYSTEM ARCHIVE LOG CURRENT)",
                thread=row["thread"],
                rs_id=row["rs_id"].strip(),
                scn=row["scn"],
            )


def _continues(batch: pa.RecordBatch) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    flags: np.ndarray[tuple[int], np.dtype[np.bool_]] = (
        pc.equal(batch.column("csf").cast(pa.int64()), 1).fill_null(False).to_numpy(zero_copy_only=False)
    )
    return flags


def join(batch: pa.RecordBatch, continues: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> pa.RecordBatch:
    """Return one row per statement, with the columns of its first piece and the text of all pieces."""
    if batch.num_rows == 0:
        return batch
    is_head = np.concatenate(([True], ~continues[:-1]))
    heads = np.flatnonzero(is_head)
    owner = heads[np.cumsum(is_head) - 1]
    _check_addresses(batch, owner)
    text = batch.column("sql_redo").cast(pa.large_string())
    # A slice keeps the offsets of its buffer, so they may not start at 0.
    offsets = np.frombuffer(text.buffers()[1], dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    starts = np.concatenate((offsets[heads], offsets[-1:]))
    joined = pa.LargeStringArray.from_buffers(len(heads), pa.py_buffer(starts.tobytes()), text.buffers()[2])
    indices = pa.array(heads)
    joined = pc.if_else(pc.is_valid(text.take(indices)), joined, pa.scalar(None, pa.large_string()))
    at = batch.schema.get_field_index("sql_redo")
    return batch.take(indices).set_column(at, pa.field("sql_redo", pa.large_string()), joined)


def _check_addresses(batch: pa.RecordBatch, owner: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    heads = pa.array(owner)
    for name in ADDRESS:
        column = batch.column(name)
        same = pc.equal(column, column.take(heads)).fill_null(True)
        if not pc.all(same).as_py():
            row = batch.select(["rs_id", "scn"]).slice(pc.index(same, False).as_py(), 1).to_pylist()[0]
            raise MiningIncomplete(
                f"the second piece of a statement differs from its first in {name}",
                cure=f"run again; if it fails again, keep the archived log and {report_with('this message')}",
                rs_id=str(row["rs_id"]).strip(),
                scn=row["scn"],
            )


def split_by_size(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """Split the batch into parts whose text fits Arrow's 32-bit offsets."""
    if batch.num_rows < 2 or batch.column("sql_redo").nbytes <= LARGEST_TEXT_BYTES:
        return [batch]
    half = batch.num_rows // 2
    return [*split_by_size(batch.slice(0, half)), *split_by_size(batch.slice(half))]
