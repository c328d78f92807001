"""Joins the pieces of a long statement (CSF) before anything looks at its text, also across the borders of batches.

LogMiner cuts SQL_REDO into pieces of at most 4000 bytes, even inside a doubled quote. Pieces follow one another, so their
bytes already lie side by side in the Arrow buffer, and joining is a matter of leaving out offsets.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.errors import MiningIncomplete
from pipelines.mine.copies import EdgeCut

# A statement's pieces are one row of redo: all of these must be equal.
ADDRESS = ("thread", "rs_id", "ssn", "xidusn", "xidslt", "xidsqn")
LARGEST_TEXT_BYTES = 2**30


class PieceJoiner:
    """Feed it batches in LogMiner's order; it hands back whole rows and keeps an unfinished last one for the next batch."""

    def __init__(self) -> None:
        self._held: pa.RecordBatch | None = None

    def feed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._held is not None:
            batch = pa.concat_batches([self._held, batch])
            self._held = None
        if batch.num_rows == 0:
            return batch
        goes_on = _goes_on(batch)
        if not goes_on.any():
            return batch
        whole = batch.num_rows
        while whole and goes_on[whole - 1]:
            whole -= 1
        if whole < batch.num_rows:
            self._held = batch.slice(whole)
        return join(batch.slice(0, whole), goes_on[:whole])

    def close(self) -> None:
        """Raises EdgeCut when the last statement of the slice has no end."""
        if self._held is not None:
            row = self._held.slice(0, 1).to_pylist()[0]
            raise EdgeCut(
                "the statement of a redo row goes on behind the last log of the slice",
                cure="run again when the next log of this redo thread is archived (ALTER SYSTEM ARCHIVE LOG CURRENT)",
                thread=row["thread"],
                rs_id=row["rs_id"].strip(),
                scn=row["scn"],
            )


def _goes_on(batch: pa.RecordBatch) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    flags: np.ndarray[tuple[int], np.dtype[np.bool_]] = (
        pc.equal(batch.column("csf").cast(pa.int64()), 1).fill_null(False).to_numpy(zero_copy_only=False)
    )
    return flags


def join(batch: pa.RecordBatch, goes_on: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> pa.RecordBatch:
    """One row per statement: the first piece's columns and the text of all."""
    if batch.num_rows == 0:
        return batch
    is_head = np.concatenate(([True], ~goes_on[:-1]))
    heads = np.flatnonzero(is_head)
    owner = heads[np.cumsum(is_head) - 1]
    _check_addresses(batch, owner)
    text = batch.column("sql_redo").cast(pa.large_string())
    # Slicing keeps the offsets of the whole buffer, so they may not begin at 0.
    offsets = np.frombuffer(text.buffers()[1], dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    starts = np.concatenate((offsets[heads], offsets[-1:]))
    whole = pa.LargeStringArray.from_buffers(len(heads), pa.py_buffer(starts.tobytes()), text.buffers()[2])
    indices = pa.array(heads)
    whole = pc.if_else(pc.is_valid(text.take(indices)), whole, pa.scalar(None, pa.large_string()))
    at = batch.schema.get_field_index("sql_redo")
    return batch.take(indices).set_column(at, pa.field("sql_redo", pa.large_string()), whole)


def _check_addresses(batch: pa.RecordBatch, owner: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    heads = pa.array(owner)
    for name in ADDRESS:
        column = batch.column(name)
        same = pc.equal(column, column.take(heads)).fill_null(True)
        if not pc.all(same).as_py():
            row = batch.slice(pc.index(same, False).as_py(), 1).to_pylist()[0]
            raise MiningIncomplete(
                f"the second piece of a statement has another {name} than its first",
                cure="run again; if it stays, keep the archived log and report it",
                rs_id=str(row["rs_id"]).strip(),
                scn=row["scn"],
            )


def bounded(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """Parts whose text fits Arrow's 32-bit offsets."""
    if batch.num_rows < 2 or batch.column("sql_redo").nbytes <= LARGEST_TEXT_BYTES:
        return [batch]
    half = batch.num_rows // 2
    return [*bounded(batch.slice(0, half)), *bounded(batch.slice(half))]
