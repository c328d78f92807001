"""Kinds of tables through the whole pipeline: partitioned in each way, index-organized, in a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import caught_up
from tests.references.source_comparison import compare_with_source
from tests.tables.table_kinds import CLUSTER, KINDS

pytestmark = pytest.mark.spark

ROWS_AT_THE_END = {
    "BY_MONTH": 6, "BY_PARENT": 5, "BY_LIST": 5, "NO_KEY": 4, "BY_INDEX": 8, "INDEX_PARTS": 7, "IN_CLUSTER": 5, "COMPRESSED": 5,
    "BY_MOMENT": 2,
}  # fmt: skip
# What is uncertain about Oracle's redo, and the tables that it concerns.
READINGS = {
    "as index-organized rows without ROW_ID": ({}, tuple(KINDS)),
    "with the ROW_ID of the leaf block, and DDL of interval partitions": (
        {"iot_row_ids": "block", "shows_interval_ddl": True},
        ("BY_MONTH", "BY_INDEX", "INDEX_PARTS", "BY_MOMENT"),
    ),
}


def captured(name: str) -> dict[str, str]:
    kind = KINDS[name]
    return {"table": f"SHOP.{name}", **({"key": kind.key} if kind.key != "primary" else {})}


@pytest.fixture(params=READINGS.values(), ids=READINGS)
def reading(request: Any, tmp_path: Path) -> Iterator[tuple[Shop, tuple[str, ...]]]:
    """Yield the source under one reading, and the names of the tables to capture."""
    options, names = request.param
    with standin(threads=2, log_bytes=64 * 1024, archive_lag_target=0, reuses_rowids=True, **options) as oracle:
        yield Shop(oracle, tmp_path), names


def test_every_kind_of_table_equals_the_source(reading: tuple[Shop, tuple[str, ...]], spark: Any) -> None:
    shop, names = reading
    shop.run_sql(CLUSTER, *(f"CREATE TABLE {name} {kind.definition}" for name, kind in KINDS.items()))
    shop.run_sql(*(f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS" for name in KINDS))
    shop.run_sql("ALTER TABLE no_key ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
    shop.run_sql(
        *(f"INSERT INTO by_month VALUES ({n}, DATE '2025-12-01' + {n} * 20, 'row {n}')" for n in range(1, 6)),
        *(f"INSERT INTO by_parent VALUES ({n}, {1 + n % 5})" for n in range(1, 8)),
        *(f"INSERT INTO by_list VALUES ({n}, '{region}', {n})" for n, region in enumerate(("W", "E", "SE", "W"))),
        *(f"INSERT INTO no_key VALUES ({n}, 'row')" for n in (1, 1, 5, 20, 20)),
        *(f"INSERT INTO by_index VALUES ({n}, 'b{n}', 'row {n}')" for n in range(1, 9)),
        *(f"INSERT INTO index_parts VALUES ({n}, 'row {n}')" for n in range(1, 9)),
        *(f"INSERT INTO by_moment VALUES (TIMESTAMP '2026-01-01 10:00:00.00000{n}', 'row {n}')" for n in (1, 2)),
        *(f"INSERT INTO in_cluster VALUES ({n}, 'row {n}')" for n in range(1, 5)),
        *(f"INSERT INTO compressed (a, hidden) VALUES ({n}, {n})" for n in range(1, 5)),
    )
    pipeline = shop.pipeline(tables=[captured(name) for name in names])
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)

    shop.run_sql(
        "INSERT INTO by_month VALUES (9, DATE '2027-03-04', 'a new partition')",
        "UPDATE by_month SET day = DATE '2027-05-01' WHERE id = 1",
        "UPDATE by_month SET t = 'after its move' WHERE id = 1",
        "UPDATE by_month SET id = 10 WHERE id = 2 AND NOT EXISTS (SELECT 1 FROM by_parent WHERE m = 2)",
        "DELETE FROM by_month WHERE id = 3",
        "UPDATE by_list SET n = n + 1 WHERE region = 'E' AND MOD(n, 2) = 7",
        "DELETE FROM by_list WHERE id = 0",
        "INSERT INTO by_list VALUES (7, 'SE', 7)",
        "UPDATE no_key SET n = 15 WHERE ROWID = (SELECT MIN(ROWID) FROM no_key WHERE n = 1)",
        "DELETE FROM no_key WHERE ROWID = (SELECT MIN(ROWID) FROM no_key WHERE n = 20)",
        "UPDATE by_index SET t = 'changed' WHERE a < 4",
        "SAVEPOINT here",
        "UPDATE by_index SET t = 'undone' WHERE a < 6",
        "INSERT INTO by_index VALUES (99, 'x', 'undone')",
        "DELETE FROM by_index WHERE a > 5",
        "ROLLBACK TO SAVEPOINT here",
        "DELETE FROM by_index WHERE a = 7",
        "INSERT INTO by_index VALUES (7, 'b7', 'again')",
        "INSERT INTO by_index VALUES (50, 'n', NULL)",
        "UPDATE index_parts SET t = 'changed' WHERE a < 5",
        "DELETE FROM index_parts WHERE a = 8",
        "UPDATE in_cluster SET t = 'changed' WHERE id = 1",
        "INSERT INTO in_cluster VALUES (9, NULL)",
        "UPDATE compressed SET a = 100, hidden = NULL WHERE a = 1",
        "INSERT INTO compressed (a) VALUES (9)",
    )
    caught_up(shop, pipeline, spark)
    shop.run_sql(
        "ALTER TABLE by_list ADD PARTITION north VALUES ('N')",
        "INSERT INTO by_list VALUES (8, 'N', 8)",
        "INSERT INTO by_month VALUES (11, DATE '2030-01-01', 'later')",
        "UPDATE by_month SET t = 'in the new one' WHERE id = 11",
        "UPDATE by_index SET b = 'x' WHERE a < 4",
        "UPDATE by_index SET a = a + 1 WHERE b = 'x'",  # onto keys that others have until then
        "UPDATE by_index SET a = 6 - a WHERE b = 'x'",  # two exchange theirs
        "UPDATE by_index SET a = 100 WHERE a = 2 AND b = 'x'",
        "UPDATE by_index SET a = 101 WHERE a = 100",
        "UPDATE by_index SET t = 'moved' WHERE a = 101",
        "DELETE FROM by_index WHERE a = 5",
        "UPDATE by_index SET a = 5, b = 'b5' WHERE a = 101",
        "UPDATE by_moment SET t = 'in the same millisecond' WHERE t = 'row 2'",
        "UPDATE by_moment SET at = TIMESTAMP '2026-01-01 10:00:01' WHERE t = 'row 1'",
    )
    caught_up(shop, pipeline, spark)

    status = steps.read_status(pipeline)
    assert {t.table: str(t.error) for t in status.tables if t.state == "held"} == {}
    verified = compare_with_source(pipeline, shop.params)
    assert verified.equal, verified
    assert {t.table: t.delta_rows for t in verified.tables} == {f"SHOP.{name}": ROWS_AT_THE_END[name] for name in names}

    shop.run_sql(
        "ALTER TABLE no_key SPLIT PARTITION high AT (18) INTO (PARTITION middle, PARTITION high)",
        "ALTER TABLE by_list DROP PARTITION north",
        "SAVEPOINT here",
        "UPDATE by_index SET t = 'undone' WHERE a = 8",
        "ROLLBACK TO SAVEPOINT here",
        "UPDATE by_index SET a = 51 WHERE a = 50",
    )
    caught_up(shop, pipeline, spark)
    held = {t.table: str(t.error) for t in steps.read_status(pipeline).tables if t.state == "held"}
    reasons = {
        "SHOP.NO_KEY": "ROWID is the key",
        "SHOP.BY_LIST": "DROP PARTITION removed rows",
        "SHOP.BY_INDEX": "whose rows have no ROWIDs",
    }
    assert set(held) == {table for table in reasons if table.removeprefix("SHOP.") in names}
    assert all(reasons[table] in error for table, error in held.items())
