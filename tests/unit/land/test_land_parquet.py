"""Parquet files are written in parts that do not grow with the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake.land.files import Files
from redolake.land.parquet import GROUP_ROWS, write_parquet

MIB = 2**20


@pytest.mark.parametrize(("rows", "width"), [(1, MIB), (10_000, 8)], ids=["wide rows", "many rows"])
def test_what_waits_in_memory_does_not_grow_with_the_file(tmp_path: Path, rows: int, width: int) -> None:
    before, most = pa.total_allocated_bytes(), 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal most
        for number in range(100):
            most = max(most, pa.total_allocated_bytes() - before)
            yield pa.record_batch({"v": pa.array([f"{number:0{width}}"] * rows)})

    written = write_parquet(Files(str(tmp_path)), "x.parquet", None, batches())

    metadata = pq.ParquetFile(tmp_path / "x.parquet").metadata
    groups = [metadata.row_group(n) for n in range(metadata.num_row_groups)]
    assert (written.rows, len(groups) > 1) == (100 * rows, True)
    assert max(group.num_rows for group in groups) <= GROUP_ROWS + 10_000
    assert most < 40 * MIB
