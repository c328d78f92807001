"""Functions of users' code, good and bad ones, for tests of `transform`."""

from __future__ import annotations

import os
import time
from itertools import count

import pyarrow as pa
import pyarrow.compute as pc

CALLS = count()


def initials(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the first letter of CUST_NM in capitals, and how long NOTE is."""
    letters = pc.utf8_upper(pc.utf8_slice_codeunits(batch.column("CUST_NM"), 0, 1))
    return pa.RecordBatch.from_arrays([letters, pc.utf8_length(batch.column("NOTE"))], names=["initial", "NOTE"])


def sized(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return how long NAME is."""
    return pa.RecordBatch.from_arrays([pc.utf8_length(batch.column("NAME"))], names=["size"])


def size_of_s(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return how long S is."""
    return pa.RecordBatch.from_arrays([pc.utf8_length(batch.column("S"))], names=["made"])


def counted(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([next(CALLS)] * batch.num_rows, pa.int64())], names=["n"])


def of_all_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([batch.num_rows] * batch.num_rows, pa.int64())], names=["n"])


def short(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.slice(0, 1)


def other_columns(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def failing(batch: pa.RecordBatch) -> pa.RecordBatch:
    raise KeyError(f"secret {batch.to_pylist()}")


def ending(_: pa.RecordBatch) -> pa.RecordBatch:
    raise SystemExit(7)


def killing(_: pa.RecordBatch) -> pa.RecordBatch:
    os._exit(7)


def hanging(_: pa.RecordBatch) -> pa.RecordBatch:
    while True:
        time.sleep(0.01)


def texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(["x"] * batch.num_rows)], names=["n"])


def shouting(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return NOTE in upper case; one value makes it raise."""
    if "bad" in rows.column("NOTE").to_pylist():
        raise ValueError("the note of a row is bad")
    return pa.RecordBatch.from_arrays([pc.utf8_upper(rows.column("NOTE"))], names=["LOUD"])


def running_total(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a number that depends on the rows before."""
    return pa.RecordBatch.from_arrays([pa.array(range(batch.num_rows), pa.int64())], names=["n"])


def sorted_notes(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return lengths in the order of the notes, and not of the rows."""
    lengths = pc.utf8_length(batch.column("NOTE").sort()).cast(pa.int64())
    return pa.RecordBatch.from_arrays([lengths], names=["n"])


def leaving(_: pa.RecordBatch) -> pa.RecordBatch:
    os._exit(0)


def interrupting(_: pa.RecordBatch) -> pa.RecordBatch:
    raise KeyboardInterrupt("secret")


def nothing(_: pa.RecordBatch) -> None:
    return None


def table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def twice(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([1] * batch.num_rows)] * 2, names=["n", "n"])


def fractions(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([1.5] * batch.num_rows)], names=["n"])


def many_columns(batch: pa.RecordBatch) -> pa.RecordBatch:
    names = [f"column_{number}" for number in range(300)]
    return pa.RecordBatch.from_arrays([pa.array([1] * batch.num_rows)] * len(names), names=names)
