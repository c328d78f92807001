"""Snapshots: chunks written by anybody, published once."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.errors import LandingConflict
from pipelines.land.landing import Landing
from pipelines.table import TableId

TABLE = TableId("SHOP", "A/B table")


def rows(*values):
    return pa.RecordBatch.from_pydict({"ID": list(values)})


@pytest.fixture
def landing(tmp_path):
    return Landing(str(tmp_path), "shop")


def test_a_published_snapshot_names_its_files_and_rows(landing):
    chunks = [
        landing.write_snapshot_chunk(TABLE, 500, n, part, "t1") for n, part in enumerate([[rows(1, 2), rows(3)], [rows()]])
    ]

    body = landing.publish_snapshot(TABLE, 500, list(reversed(chunks)))

    assert (body.row_count, body.files) == (3, ("part-t1-00000.parquet", "part-t1-00001.parquet"))
    files = [f"{landing.location(landing.snapshot_folder(TABLE, 500))}/{name}" for name in body.files]
    assert [pq.read_table(f).num_rows for f in files] == [3, 0]
    assert "A%2FB table" in files[0]


def test_a_second_writer_gets_the_first_ones_snapshot(landing):
    first = landing.publish_snapshot(TABLE, 500, [landing.write_snapshot_chunk(TABLE, 500, 0, [rows(1)], "t1")])

    second = landing.publish_snapshot(TABLE, 500, [landing.write_snapshot_chunk(TABLE, 500, 0, [rows(1)], "t2")])

    assert second == first


def test_other_rows_at_the_same_scn_are_a_conflict(landing):
    landing.publish_snapshot(TABLE, 500, [landing.write_snapshot_chunk(TABLE, 500, 0, [rows(1)], "t1")])

    with pytest.raises(LandingConflict, match="other rows"):
        landing.publish_snapshot(TABLE, 500, [landing.write_snapshot_chunk(TABLE, 500, 0, [rows(1, 2)], "t2")])


def test_a_snapshot_with_a_missing_chunk_is_not_published(landing):
    chunk = landing.write_snapshot_chunk(TABLE, 500, 1, [rows(1)], "t1")

    with pytest.raises(LandingConflict, match="missing"):
        landing.publish_snapshot(TABLE, 500, [chunk])
    assert landing.read_snapshot(TABLE, 500) is None
