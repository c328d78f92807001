"""A new user's order of set-up: rows first, then supplemental logging, then at once a snapshot and the first windows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines import steps
from standin.serve import standin
from tests.fix_shop import Shop
from tests.integration.test_pipeline import caught_up, differences
from tests.plain_lake import PlainLake

PARTS = "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))"
MINIMAL = "ALTER DATABASE {} SUPPLEMENTAL LOG DATA"


@pytest.fixture
def no_spark() -> Iterator[str]:
    with PlainLake().in_place_of_spark():
        yield "no Spark"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Shop]:
    """Return a source without supplemental logging; a table has rows, and its newest redo is not archived yet."""
    with standin(threads=2, log_bytes=64 * 1024, archive_lag_target=0, supplemental=frozenset()) as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql(PARTS, "INSERT INTO parts VALUES (1, 'A')")
        shop.run_sql("INSERT INTO parts VALUES (2, 'B')", "UPDATE parts SET place = 'C' WHERE id = 1")
        yield shop


def set_up(shop: Shop) -> Any:
    shop.run_sql(MINIMAL.format("ADD"), user="SYS")
    shop.run_sql("ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
    return shop.pipeline(tables=["SHOP.PARTS"])


def test_rows_from_before_supplemental_logging_do_not_stop_the_first_window(fresh: Shop, no_spark: str) -> None:
    pipeline = set_up(fresh)
    steps.take_snapshot(pipeline, source=fresh.params, spark=no_spark)
    fresh.run_sql("INSERT INTO parts VALUES (3, 'D')", "DELETE FROM parts WHERE id = 2")

    caught_up(fresh, pipeline, no_spark)

    assert differences(fresh, pipeline) == {}
    (landed,) = steps.list_windows(pipeline)
    assert landed.rows > 3, "the older rows are in the window"
