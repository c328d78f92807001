"""Migrated and chained rows: which ROW_ID LogMiner shows for each of their changes is not published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from tests.fixtures.shop import open_shop
from tests.integration.test_pipeline import caught_up
from tests.references.source_comparison import compare_with_source

pytestmark = pytest.mark.spark

LONG, COMMIT = "'" + "x" * 90 + "'", "COMMIT"
# {0} to {2} are three keys, of which the first one is in the lake.
BORN = f"INSERT INTO {{t}} VALUES ({{1}}, 1, {LONG})"
GROWN = ("INSERT INTO {t} VALUES ({1}, 1, 'short')", f"UPDATE {{t}} SET a = {LONG} WHERE id = {{1}}")
GONE, OLD_GONE, NEW_GONE = (f"DELETE FROM {{t}} WHERE id = {{{n}}}" for n in (1, 0, 2))
MOVED = "UPDATE {t} SET id = {2} WHERE id = {1}"
LIVES: dict[str, tuple[str, ...]] = {
    "chained, and gone": (BORN, GONE),
    "grown, and gone": (*GROWN, GONE),
    "gone in a later transaction": (*GROWN, COMMIT, GONE),
    "gone, and another": (BORN, GONE, *GROWN),
    "gone, another, and gone": (OLD_GONE, f"INSERT INTO {{t}} VALUES ({{0}}, 1, {LONG})", OLD_GONE),
    "gone, another, and gone later": (OLD_GONE, COMMIT, f"INSERT INTO {{t}} VALUES ({{0}}, 1, {LONG})", OLD_GONE),
    "another key, and gone": (BORN, MOVED, NEW_GONE),
    "another key, and stays": (BORN, MOVED),
    "another key and back": (BORN, MOVED, "UPDATE {t} SET id = {1} WHERE id = {2}", GONE),
    "an old row gets another key, and goes": (f"UPDATE {{t}} SET id = {{1}}, a = {LONG} WHERE id = {{0}}", GONE),
    "another partition": (f"UPDATE {{t}} SET k = 250, a = {LONG} WHERE id = {{0}}", "UPDATE {t} SET k = 20 WHERE id = {0}"),
    "all keys": (BORN, COMMIT, "UPDATE {t} SET id = id + 1 WHERE id BETWEEN {0} AND {2}"),
    "an old row grows, and goes": (f"UPDATE {{t}} SET a = {LONG} WHERE id = {{0}}", OLD_GONE),
    "shrunk": ("ALTER TABLE {t} SHRINK SPACE", f"UPDATE {{t}} SET a = {LONG} WHERE id = {{0}}"),
}  # fmt: skip
BY_K = "PARTITION BY RANGE (k) INTERVAL (100) (PARTITION p1 VALUES LESS THAN (100)) ENABLE ROW MOVEMENT"
# With a filter, the lake may lack rows that were there: so it does not say whether a row came, or came back.
CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "SHOP.T": ({}, list(LIVES)[:-1]),
    "SHOP.MARKED": ({"deletes": "mark"}, list(LIVES)[:-1]),
    "SHOP.VERSIONS": ({"history": "scd2"}, list(LIVES)[:-1]),
    "SHOP.FILTERED": ({"where": "ID < 10000"}, ["gone in a later transaction", "gone, another, and gone", "all keys"]),
    "SHOP.SHRUNK": ({}, ["grown, and gone", "all keys", "shrunk"]),
    "SHOP.HELD": ({"where": "ID < 10000"}, ["chained, and gone"]),
    "SHOP.ROWIDS": ({"key": "rowid"}, ["grown, and gone", "gone in a later transaction"]),
}


@pytest.mark.parametrize("reading", ["delete", "both"])
def test_a_migrated_row_that_is_deleted_is_gone(tmp_path: Path, spark: Any, reading: str) -> None:
    moved_rows = {"delete": "insert first", "both": "delete first"}[reading]
    with open_shop(tmp_path, migrated_row_ids=reading, moved_rows=moved_rows) as shop:
        for name, (_, lives) in CASES.items():
            shop.run_sql(
                f"CREATE TABLE {name} (id NUMBER(9) PRIMARY KEY, k NUMBER(9), a VARCHAR2(200)) {BY_K}",
                f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
                *(f"INSERT INTO {name} VALUES ({n}, 1, 'old')" for n in range(0, 10 * len(lives), 10)),
            )
        pipeline = shop.pipeline(tables=[{"table": name, **settings} for name, (settings, _) in CASES.items()])
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        for name, (_, lives) in CASES.items():
            for n, life in enumerate(lives):
                shop.run_sql(*(one.format(10 * n, 10 * n + 1, 10 * n + 2, t=name) for one in LIVES[life]))
        caught_up(shop, pipeline, spark)
        held = {t.table: str(t.error) for t in steps.read_status(pipeline).tables if t.error}
        assert list(held) == ["SHOP.HELD"]
        assert "show two ROW_IDs" in held["SHOP.HELD"]
        by_key = [name for name in CASES if name not in (*held, "SHOP.ROWIDS", "SHOP.VERSIONS")]
        assert compare_with_source(pipeline, shop.params, by_key).equal
        verified = steps.verify_tables(pipeline, ["SHOP.ROWIDS", "SHOP.VERSIONS"], source=shop.params, spark=spark).tables
        of_rowids, with_history = sorted(verified, key=lambda one: str(one.table))
        assert with_history.equal, with_history
        assert "its history says the same" in str(with_history)
        assert of_rowids.extra_rows, "only a comparison finds it, as doctor says"
        assert "it stays in the lake after its DELETE" in str(steps.examine(steps.Run(pipeline, shop.params)).findings)
