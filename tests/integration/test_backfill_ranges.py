"""Any SCN range that has landed is replayed under the schema of its time, whatever snapshots were taken since, with Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines import steps
from pipelines.errors import ConfigurationError
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.references.delta_table import delta_rows

pytestmark = pytest.mark.spark


def caught_up(shop: Shop, pipeline: Any, spark: Any) -> int:
    """Apply everything; return the SCN that is landed to."""
    shop.switch_logs()
    steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)
    return int(steps.read_status(pipeline).landed_to_scn or 0)


def current_scn(shop: Shop) -> int:
    with shop.oracle.connect("SYSTEM") as connection, connection.cursor() as cursor:
        return int(cursor.execute("SELECT current_scn FROM v$database").fetchone()[0])


def shadow_rows(pipeline: Any, spark: Any, start: Any, end: Any) -> dict[int, tuple[Any, ...]]:
    """Return the rows of the shadow by their ID, without `_commit_scn`."""
    done = steps.run_backfill(pipeline, start, end, ["SHOP.PARTS"], execute=True, spark=spark)
    rows = delta_rows(done.recorded.tables[0].target)
    return {row["ID"]: tuple(value for name, value in row.items() if name not in ("ID", "_commit_scn")) for row in rows}


def test_a_range_from_before_the_last_snapshot_is_replayed_with_the_columns_of_its_time(tmp_path: Path, spark: Any) -> None:
    with standin(threads=2, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql(
            "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20), quantity NUMBER(9))",
            "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            *(f"INSERT INTO parts VALUES ({n}, 'W{n}', {n})" for n in range(1, 6)),
        )
        pipeline = shop.pipeline(tables=["SHOP.PARTS"])
        taken = steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        shop.run_sql(
            "UPDATE parts SET quantity = 10 WHERE id = 1",
            "INSERT INTO parts VALUES (6, 'new', 6)",
            "DELETE FROM parts WHERE id = 6",
            "UPDATE parts SET id = 20 WHERE id = 2",
        )
        middle = caught_up(shop, pipeline, spark)
        shop.run_sql("DELETE FROM parts WHERE id IN (3, 4)")
        last = caught_up(shop, pipeline, spark)
        held_at = current_scn(shop)
        shop.run_sql(
            "ALTER TABLE parts DROP PRIMARY KEY",
            "ALTER TABLE parts DROP COLUMN place",
            "ALTER TABLE parts ADD (place NUMBER(9))",
            "ALTER TABLE parts ADD PRIMARY KEY (id)",
        )
        caught_up(shop, pipeline, spark)
        again = steps.take_snapshot(pipeline, ["SHOP.PARTS"], replace=True, source=shop.params, spark=spark)
        shop.run_sql("INSERT INTO parts VALUES (30, 3, 33)")
        caught_up(shop, pipeline, spark)

        assert shadow_rows(pipeline, spark, taken.scn + 1, middle) == {
            1: ("W1", 10, False), 6: (None, None, True), 2: (None, None, True), 20: ("W2", 2, False),
        }  # fmt: skip
        assert shadow_rows(pipeline, spark, middle, last) == {3: (None, None, True), 4: (None, None, True)}
        assert shadow_rows(pipeline, spark, again.scn + 1, "now") == {30: (3, 33, False)}
        with pytest.raises(
            ConfigurationError, match=r"end the range at SCN \d+, or begin it at SCN \d+, where a snapshot"
        ) as stop:
            steps.prepare_backfill(pipeline, middle, "now")
        assert held_at < int(stop.value.findings[0].cure.split()[5].strip(",")) < again.scn
        plan = steps.prepare_backfill(pipeline, taken.scn + 1, middle).details
        assert {kind: plan.tables[0].changes[kind] for kind in ("update", "delete")} == {"update": 2, "delete": 1}
