"""A snapshot's files are written by anybody and published once."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake.errors import LandingConflict
from redolake.land.landing import Landing
from redolake.values.table import TableId

TABLE = TableId("SHOP", "A/B table")


def rows(*values):
    return pa.RecordBatch.from_pydict({"ID": list(values)})


@pytest.fixture
def landing(tmp_path):
    return Landing(str(tmp_path), "shop")


def test_a_published_snapshot_names_its_files_and_rows(landing):
    parts = ([rows(1, 2), rows(3)], [rows()])
    files = [landing.snapshots.write_rows(TABLE, 500, part, f"t{n}") for n, part in enumerate(parts)]

    body = landing.snapshots.publish_manifest(TABLE, 500, files)

    assert (body.row_count, body.files) == (3, ("part-t0.parquet", "part-t1.parquet"))
    paths = landing.snapshots.files_of(TABLE, 500, body)
    assert [pq.read_table(f).num_rows for f in paths] == [3, 0]
    assert "/SHOP.A~2FB table~~" in paths[0]


def test_a_second_writer_gets_the_first_ones_snapshot(landing):
    first = landing.snapshots.publish_manifest(TABLE, 500, [landing.snapshots.write_rows(TABLE, 500, [rows(1)], "t1")])

    second = landing.snapshots.publish_manifest(TABLE, 500, [landing.snapshots.write_rows(TABLE, 500, [rows(1)], "t2")])

    assert second == first


def test_other_rows_at_the_same_scn_are_a_conflict(landing):
    landing.snapshots.publish_manifest(TABLE, 500, [landing.snapshots.write_rows(TABLE, 500, [rows(1)], "t1")])

    with pytest.raises(LandingConflict, match="other rows"):
        landing.snapshots.publish_manifest(TABLE, 500, [landing.snapshots.write_rows(TABLE, 500, [rows(1, 2)], "t2")])
