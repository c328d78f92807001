"""The carried rows of one transaction."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from redolake.land.carried import COLUMNS, read_carried

ROWS = [
    (3, "9.9.9", None, 1, "SHOP", "T", 7),
    (3, "9.9.9", "9.9.9", 3, "SHOP", "T", 7),
    (3, "5.5.5", "9.9.9", 2, "UNKNOWN", "OBJ# 8", 8),  # a parallel server
    (3, "5.5.5", "9.9.9", 7, None, None, None),  # its commit is no change
    (4, "9.9.9", None, 1, "SHOP", "T", 7),  # the same xid in another container
    (3, "1.2.3", None, 1, "SHOP", "T", 7),
]


def test_the_rows_of_one_transaction_and_its_parallel_servers_are_counted_by_object(tmp_path: Path) -> None:
    types = (pa.int32(), pa.string(), pa.string(), pa.int32(), pa.string(), pa.string(), pa.int64())
    schema = pa.schema(list(zip(COLUMNS, types, strict=True)))
    for number, half in enumerate((ROWS[:2], ROWS[2:])):
        table = pa.Table.from_pylist([dict(zip(COLUMNS, row, strict=True)) for row in half], schema)
        pq.write_table(table, tmp_path / f"{number}.parquet")

    found = read_carried([str(tmp_path / f"{number}.parquet") for number in range(2)], 3, "9.9.9", {})

    assert found.rows == {("SHOP", "T", 7): 2, ("UNKNOWN", "OBJ# 8", 8): 1}
    assert found.servers == {"5.5.5"}
