"""Group rows by the values of some columns, so that work is done once per combination of values and not once per row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]
LARGEST = 2**31


def combinations(columns: Sequence[pa.Array]) -> tuple[Numbers, Numbers]:
    """Return the number of each row's combination, from 0 in order of appearance, and the first row of each combination.

    NULL is a value of its own. Columns with few values cost the least.
    """
    numbers, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        encoded = column.dictionary_encode(null_encoding="encode")
        values = max(len(encoded.dictionary), 1)
        if values == 1:
            continue
        if size * values > LARGEST:
            numbers, size = _dense(numbers)
        numbers = numbers * values + encoded.indices.to_numpy()
        size *= values
    numbers, size = _dense(numbers)
    first = np.zeros(size, np.int64)
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
    return numbers, first


def _dense(numbers: Numbers) -> tuple[Numbers, int]:
    encoded = pa.array(numbers).dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)
