"""Tables of as many columns as Oracle allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake.apply.verify.compare import compare
from redolake.apply.verify.comparison import CompareTask, Difference
from redolake.job.snapshot import run_snapshot
from redolake.job.translation import TRANSLATION
from redolake.records.loads import SnapshotSpec, SnapshotTask
from redolake.values.table import Column, OracleType
from tests.integration.spark.specs import ID, TABLE, version

pytestmark = pytest.mark.spark

MOST = 1_000  # Oracle's limit
WIDE = version(columns=(ID, *(Column(n, f"C{n}", OracleType("VARCHAR2", length=100), n) for n in range(2, MOST + 1))))


def rows_of(file: Path, *changed: tuple[int, str]) -> str:
    """Write three rows. `changed` columns have another value in the second one."""
    rows = {"ID": pa.array([1, 2, 3], pa.decimal128(10, 0))}
    others = {column.name: [f"{column.name} {row}" for row in (1, 2, 3)] for column in WIDE.columns[1:]}
    for column, value in changed:
        others[f"C{column}"][1] = value
    pq.write_table(pa.table({**rows, **others}), file)
    return str(file)


def test_tables_of_1000_columns_are_loaded_and_compared_cell_by_cell(spark: Any, tmp_path: Path) -> None:
    target, loaded, source = (
        str(tmp_path / "lake"),
        rows_of(tmp_path / "loaded"),
        rows_of(tmp_path / "now", (2, "x"), (MOST, "y")),
    )
    spec = SnapshotTask(TABLE, target, "p/T/1", WIDE, (loaded,), rows=3, scn=5)
    (result,) = run_snapshot(spark, SnapshotSpec("p", 5, "token", (spec,), str(tmp_path / "snapshot.json"))).tables
    assert result.error is None

    same, other = (
        compare(spark, CompareTask(TABLE, target, WIDE, (file,), 5, result.delta_version), TRANSLATION)
        for file in (loaded, source)
    )

    assert (same.equal, same.source_rows, same.delta_rows) == (True, 3, 3)
    assert (other.differing_cells, other.missing_rows, other.extra_rows) == (2, 0, 0)
    assert set(other.samples) == {Difference("2", "C2", "x", "C2 2"), Difference("2", "C1000", "y", "C1000 2")}
