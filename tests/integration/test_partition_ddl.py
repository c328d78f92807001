"""What DDL of partitions does to rows, in the stand-in and through the whole pipeline. Without Spark and Delta."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolake import steps
from tests.fixtures.shop import Shop, open_shop
from tests.integration.test_pipeline import caught_up
from tests.integration.test_vanished_partitions import BY_K, NO_SPARK, created, held, rows, rows_of_source
from tests.references.plain_lake import PlainLake

BY_HASH = "PARTITION BY HASH (k) PARTITIONS 3"
FIRST = tuple(f"INSERT INTO {{t}} VALUES ({n}, {90 * n}, 'old')" for n in range(1, 5))
LATER = ("UPDATE {t} SET a = 'later'", "DELETE FROM {t} WHERE id = 4", "INSERT INTO {t} VALUES (9, 140, 'new')")
STAYS_EQUAL: dict[str, tuple[str, tuple[str, ...]]] = {
    "SPLIT_FAST": (BY_K, ("ALTER TABLE {t} SPLIT PARTITION FOR (180) AT (190) INTO (PARTITION full, PARTITION none)",)),
    "ADD_HASH": (BY_HASH, ("ALTER TABLE {t} ADD PARTITION p4", "ALTER TABLE {t} ADD PARTITION UPDATE INDEXES")),
    "COALESCE_HASH": (BY_HASH, ("ALTER TABLE {t} COALESCE PARTITION", "ALTER TABLE {t} COALESCE PARTITION UPDATE INDEXES")),
    "MERGE_FOR": (BY_K, ("ALTER TABLE {t} MERGE PARTITIONS FOR (5), FOR (150) INTO PARTITION low",)),
    "MOVE_FOR": (BY_K, ("ALTER TABLE {t} MOVE PARTITION FOR (150) UPDATE INDEXES", "ALTER TABLE {t} MOVE PARTITION p1 ONLINE")),
    "MOVED": ("", ("ALTER TABLE {t} MOVE UPDATE INDEXES", "ALTER TABLE {t} MOVE ONLINE")),
    "SHRUNK": (BY_K, ("ALTER TABLE {t} SHRINK SPACE", "ALTER TABLE {t} MODIFY PARTITION FOR (150) SHRINK SPACE CASCADE")),
    "RENAMED": (BY_K, ("ALTER TABLE {t} RENAME PARTITION FOR (150) TO named",)),
}
REMOVES = {
    "TRUNCATE_FOR": (BY_K, ("ALTER TABLE {t} TRUNCATE PARTITION FOR (150) UPDATE INDEXES",)),
    "DROP_FOR": (BY_K, ("ALTER TABLE {t} DROP PARTITION FOR (150) UPDATE INDEXES",)),
}


@pytest.mark.parametrize("fast_split", ["object", "segment", "none"])
def test_each_statement_leaves_tables_equal_or_held(tmp_path: Path, fast_split: str) -> None:
    """Those that remove rows hold their table, and so may those that end partitions."""
    tables, lake = {**STAYS_EQUAL, **REMOVES}, PlainLake(replays=True)
    with lake.in_place_of_spark(), open_shop(tmp_path, fast_split=fast_split) as shop:
        for name, (partitions, _) in tables.items():
            shop.run_sql(*created(name, partitions), *(one.format(t=name) for one in FIRST))
        pipeline = shop.pipeline(tables=[f"SHOP.{name}" for name in tables])
        steps.take_snapshot(pipeline, source=shop.params, spark=NO_SPARK)
        caught_up(shop, pipeline, NO_SPARK)
        for name, (_, statements) in tables.items():
            shop.run_sql(*(one.format(t=name) for one in (*statements[:1], *LATER, *statements[1:])))
        caught_up(shop, pipeline, NO_SPARK)
        shop.run_sql(*(f"UPDATE {name} SET a = 'at the end' WHERE id = 3" for name in tables))
        caught_up(shop, pipeline, NO_SPARK)
        stopped = {name.partition(".")[2]: why for name, why in held(pipeline).items()}
        wrong = [n for n in tables if n not in stopped and rows(lake, pipeline, n.lower()) != rows_of_source(shop, n)]
    assert wrong == []
    assert stopped.keys() == REMOVES.keys(), stopped


def parts(shop: Shop, table: str) -> dict[str, tuple[int, int]]:
    query = "SELECT subobject_name, object_id, data_object_id FROM user_objects WHERE object_name = :1"
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute(query, [table])
        return {name: (number, data) for name, number, data in cursor.fetchall() if name is not None}


def row_ids(shop: Shop, table: str) -> dict[int, str]:
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT id, ROWID FROM {table}")
        return dict(cursor.fetchall())


def test_rows_keep_or_change_their_rowids_as_oracle_documents(tmp_path: Path) -> None:
    with open_shop(tmp_path) as shop:

        def changed(partitions: str, *statements: str) -> set[int]:
            """Return the rows that have other ROWIDs."""
            shop.run_sql(*created("s", partitions), *(one.format(t="s") for one in FIRST))
            before = row_ids(shop, "s")
            shop.run_sql(*(one.format(t="s") for one in statements))
            after = row_ids(shop, "s")
            assert before.keys() == after.keys()
            shop.run_sql("DROP TABLE s PURGE")
            return {key for key in before if before[key] != after[key]}

        whole = "PARTITION BY RANGE (k) (PARTITION p VALUES LESS THAN (999))"
        assert changed(BY_K, *STAYS_EQUAL["SPLIT_FAST"][1]) == set(), "a fast split moves nothing"
        assert changed(BY_K, "ALTER TABLE {t} SPLIT PARTITION FOR (360) AT (350)") == set()
        assert changed(whole, "ALTER TABLE {t} SPLIT PARTITION p AT (200)") == {1, 2, 3, 4}
        assert changed(BY_K, *STAYS_EQUAL["RENAMED"][1]) == set()
        assert changed(BY_K, STAYS_EQUAL["MOVE_FOR"][1][0]) == {2}, "180 is in the partition of 150"
        assert changed("", *STAYS_EQUAL["MOVED"][1][:1]) == {1, 2, 3, 4}
        assert changed(BY_HASH, *STAYS_EQUAL["ADD_HASH"][1]) < {1, 2, 3, 4}, "other partitions keep their rows"
        shop.run_sql(*created("s", BY_K), *(one.format(t="s") for one in FIRST))
        for statement, code in (
            ("ALTER TABLE s COALESCE PARTITION", 14259),
            ("ALTER TABLE s DROP PARTITION FOR (99999)", 14763),
            ("ALTER TABLE s TRUNCATE PARTITION FOR (1, 2)", 14763),
        ):
            with pytest.raises(Exception, match=f"ORA-{code}"):
                shop.run_sql(statement)
        before = parts(shop, "S")
        shop.run_sql(STAYS_EQUAL["SPLIT_FAST"][1][0].format(t="s"))
        assert parts(shop, "S")["FULL"] in before.values()
        assert parts(shop, "S")["NONE"] not in before.values()
