"""A new user's order of set-up: rows first, then supplemental logging, then at once a snapshot and the first windows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.source import handover
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import caught_up, differences
from tests.references.plain_lake import PlainLake

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


@pytest.fixture(params=[True, False], ids=["refused by seconds", "refused by SCN"])
def just_made(tmp_path: Path, request: Any) -> Iterator[Shop]:
    """Return a source whose table was made and given its logging just now."""
    with standin(ddl_age=0, flashback_by_seconds=request.param) as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql(PARTS, "INSERT INTO parts VALUES (1, 'A')", "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
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


def test_a_snapshot_right_after_the_set_up_waits_until_oracle_can_read_the_table(
    just_made: Shop, no_spark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    def let_time_pass(seconds: float) -> None:
        waited.append(seconds)
        just_made.oracle.database.clock.skip(round(seconds))

    monkeypatch.setattr(handover, "sleep", let_time_pass)
    pipeline = just_made.pipeline(tables=["SHOP.PARTS"])

    taken = steps.take_snapshot(pipeline, source=just_made.params, spark=no_spark)

    assert [(table.table, table.rows) for table in taken.tables] == [("SHOP.PARTS", 1)]
    assert sum(waited) < 15
    assert differences(just_made, pipeline) == {}


def test_verify_right_after_a_ddl_says_what_to_wait_for(just_made: Shop, no_spark: str) -> None:
    clock = just_made.oracle.database.clock
    clock.skip(10)
    pipeline = just_made.pipeline(tables=["SHOP.PARTS"])
    steps.take_snapshot(pipeline, source=just_made.params, spark=no_spark)
    just_made.run_sql("ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS")

    early = steps.verify_tables(pipeline, source=just_made.params, spark=no_spark)
    clock.skip(10)
    caught_up(just_made, pipeline, no_spark)
    later = steps.verify_tables(pipeline, source=just_made.params, spark=no_spark)

    by_seconds = just_made.oracle.database.options.flashback_by_seconds
    assert ["let capture and apply pass the DDL" in str(table) for table in early.not_compared] == [True] * by_seconds
    assert later.equal
