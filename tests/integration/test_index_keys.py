"""UPDATEs of the key of an index-organized table are followed by the keys. Without Spark and Delta."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolake import steps
from tests.fixtures.shop import open_shop
from tests.integration.test_pipeline import caught_up, differences
from tests.integration.test_renamed_tables import held
from tests.references.plain_lake import PlainLake

TAKEN_BACK = ("SAVEPOINT s", "DELETE FROM {0}", "ROLLBACK TO SAVEPOINT s")
LIVES = {
    "shifted": ["UPDATE {0} SET id = id + 1"],  # onto keys that are left in the same statement
    "exchanged": ["UPDATE {0} SET id = 4 - id"],
    "chained": ["UPDATE {0} SET id = 7 WHERE id = 1", "UPDATE {0} SET id = 8 WHERE id = 7"],
    "entered": [
        "DELETE FROM {0} WHERE id = 2",
        "UPDATE {0} SET id = 2 WHERE id = 1",
        "UPDATE {0} SET what = 'x' WHERE id = 2",
    ],
    "replaced": ["INSERT INTO {0} VALUES (5, 'a')", "UPDATE {0} SET id = 6 WHERE id = 5", "INSERT INTO {0} VALUES (5, 'b')"],
    "returned": ["UPDATE {0} SET id = 9 WHERE id = 3", "UPDATE {0} SET id = 3 WHERE id = 9"],
    "unmoved": [*TAKEN_BACK, "UPDATE {0} SET what = 'x'"],
}


@pytest.mark.parametrize("replays", [False, True], ids=["net changes", "one by one"])
def test_changed_keys_are_followed_unless_their_transaction_took_changes_back(tmp_path: Path, replays: bool) -> None:
    with open_shop(tmp_path, ddl_age=60) as shop, PlainLake(replays=replays).in_place_of_spark():
        for name in (*LIVES, "doubtful"):
            shop.run_sql(
                f"CREATE TABLE {name} (id NUMBER(9), what VARCHAR2(9), PRIMARY KEY (id)) ORGANIZATION INDEX",
                f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
                *(f"INSERT INTO {name} VALUES ({n}, 'row {n}')" for n in (1, 2, 3)),
            )
        pipeline = shop.pipeline(tables=[f"SHOP.{name.upper()}" for name in (*LIVES, "doubtful")])
        steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
        for name, statements in LIVES.items():
            shop.run_sql(*(statement.format(name) for statement in statements))
        caught_up(shop, pipeline, "no Spark")
        assert held(pipeline) == {}
        assert differences(shop, pipeline) == {}

        shop.run_sql(*(statement.format("doubtful") for statement in (*TAKEN_BACK, "UPDATE {0} SET id = id + 1")))
        caught_up(shop, pipeline, "no Spark")
        assert set(held(pipeline)) == {"SHOP.DOUBTFUL"}
        assert "rows have no ROWIDs" in held(pipeline)["SHOP.DOUBTFUL"]
