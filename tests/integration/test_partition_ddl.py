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
BY_LIST = (
    "PARTITION BY LIST (k) (PARTITION low VALUES (90, 180), PARTITION high VALUES (270, 360), PARTITION rest VALUES (DEFAULT))"
)
_RANGES = "(PARTITION low VALUES LESS THAN (200), PARTITION high VALUES LESS THAN (MAXVALUE)) ENABLE ROW MOVEMENT"
BY_RANGE_HASH = f"PARTITION BY RANGE (k) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 {_RANGES}"
BY_RANGE_LIST = (
    "PARTITION BY RANGE (k) SUBPARTITION BY LIST (id) SUBPARTITION TEMPLATE (SUBPARTITION one VALUES (1), SUBPARTITION more "
    f"VALUES (DEFAULT)) {_RANGES}"
)
BY_LIST_RANGE = (
    "PARTITION BY LIST (k) SUBPARTITION BY RANGE (id) (PARTITION low VALUES (90, 180) (SUBPARTITION a VALUES LESS THAN (2), "
    "SUBPARTITION b VALUES LESS THAN (MAXVALUE)), PARTITION rest VALUES (DEFAULT))"
)
HALVED = "ALTER TABLE {t} SPLIT PARTITION low AT (100) INTO (PARTITION low, PARTITION middle)"
STAYS_EQUAL |= {
    "SPLIT_LIST": (
        BY_LIST,
        ("ALTER TABLE {t} SPLIT PARTITION low VALUES (90) INTO (PARTITION a, PARTITION low) UPDATE INDEXES",),
    ),
    "SPLIT_DEFAULT": (BY_LIST, ("ALTER TABLE {t} SPLIT PARTITION rest VALUES (140) INTO (PARTITION rest, PARTITION others)",)),
    "SPLIT_FAST_LIST": (BY_LIST, ("ALTER TABLE {t} SPLIT PARTITION rest VALUES (7) INTO (PARTITION seven, PARTITION rest)",)),
    "SPLIT_IN_MANY": (BY_LIST, ("ALTER TABLE {t} SPLIT PARTITION high INTO (PARTITION a VALUES (270), PARTITION high)",)),
    "MERGE_LIST": (BY_LIST, ("ALTER TABLE {t} MERGE PARTITIONS low, high INTO PARTITION low",)),
    "MERGE_DEFAULT": (BY_LIST, ("ALTER TABLE {t} MERGE PARTITIONS high, rest",)),
    "SPLIT_RANGE_HASH": (BY_RANGE_HASH, (HALVED,)),
    "SPLIT_RANGE_LIST": (BY_RANGE_LIST, (HALVED,)),
    "SPLIT_FAST_COMPOSITE": (BY_RANGE_LIST, ("ALTER TABLE {t} SPLIT PARTITION high AT (9999)",)),
    "MERGE_RANGE_HASH": (BY_RANGE_HASH, ("ALTER TABLE {t} MERGE PARTITIONS low, high INTO PARTITION high SUBPARTITIONS 3",)),
    "MERGE_RANGE_LIST": (BY_RANGE_LIST, ("ALTER TABLE {t} MERGE PARTITIONS low, high INTO PARTITION low",)),
    "MERGE_LIST_RANGE": (BY_LIST_RANGE, ("ALTER TABLE {t} MERGE PARTITIONS low, rest",)),
    "SPLIT_SUB": (BY_LIST_RANGE, ("ALTER TABLE {t} SPLIT SUBPARTITION b AT (3) INTO (SUBPARTITION b, SUBPARTITION c)",)),
    "MERGE_SUB": (BY_LIST_RANGE, ("ALTER TABLE {t} MERGE SUBPARTITIONS a, b INTO SUBPARTITION a",)),
}
# Rows come into a partition that the next statement ends, before the dictionary is read.
CAME_AND_WENT = {
    "LISTS": (BY_LIST, STAYS_EQUAL["SPLIT_LIST"][1][0], "ALTER TABLE {t} MERGE PARTITIONS a, low INTO PARTITION a"),
    "COMPOSITES": (BY_RANGE_HASH, HALVED, "ALTER TABLE {t} MERGE PARTITIONS low, middle INTO PARTITION both"),
    "SUBPARTITIONS": (BY_LIST_RANGE, STAYS_EQUAL["SPLIT_SUB"][1][0], "ALTER TABLE {t} MERGE SUBPARTITIONS b, c"),
}
REMOVES = {
    "TRUNCATE_FOR": (BY_K, ("ALTER TABLE {t} TRUNCATE PARTITION FOR (150) UPDATE INDEXES",)),
    "DROP_FOR": (BY_K, ("ALTER TABLE {t} DROP PARTITION FOR (150) UPDATE INDEXES",)),
}


@pytest.mark.parametrize(("fast_split", "partition_ids"), [("object", "new"), ("segment", "name"), ("none", "new")])
def test_each_statement_leaves_tables_equal_or_held(tmp_path: Path, fast_split: str, partition_ids: str) -> None:
    """Those that remove rows hold their table, and so may those that end partitions."""
    tables, lake = {**STAYS_EQUAL, **REMOVES}, PlainLake(replays=True)
    with lake.in_place_of_spark(), open_shop(tmp_path, fast_split=fast_split, partition_ids=partition_ids) as shop:
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


@pytest.mark.parametrize("partition_ids", ["new", "name"])
def test_rows_of_a_partition_of_lists_or_of_a_composite_that_came_and_went_hold_the_table(
    tmp_path: Path, partition_ids: str
) -> None:
    lake = PlainLake(replays=True)
    with lake.in_place_of_spark(), open_shop(tmp_path, partition_ids=partition_ids) as shop:
        for name, (partitions, *_) in CAME_AND_WENT.items():
            shop.run_sql(*created(name, partitions), *(one.format(t=name) for one in FIRST))
        pipeline = shop.pipeline(tables=[f"SHOP.{name}" for name in CAME_AND_WENT])
        steps.take_snapshot(pipeline, source=shop.params, spark=NO_SPARK)
        caught_up(shop, pipeline, NO_SPARK)
        for name, (_, first, second) in CAME_AND_WENT.items():
            shop.run_sql(*(one.format(t=name) for one in (first, *LATER, second)))
        for _ in range(2):  # a reading of the dictionary that is later than the DDL decides
            caught_up(shop, pipeline, NO_SPARK)
        stopped = held(pipeline)
        # A partition that keeps its number under its name is one that the readings know.
        known = {"LISTS"} if partition_ids == "name" else set()
        assert all(rows(lake, pipeline, name.lower()) == rows_of_source(shop, name) for name in known)
    assert stopped.keys() == {f"SHOP.{name}" for name in CAME_AND_WENT.keys() - known}
    assert all("that no reading of the dictionary knows" in why for why in stopped.values()), stopped


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
        assert changed(BY_LIST, *STAYS_EQUAL["SPLIT_LIST"][1]) == {1, 2}
        assert changed(BY_LIST, *STAYS_EQUAL["SPLIT_FAST_LIST"][1]) == set()
        assert changed(BY_RANGE_LIST, *STAYS_EQUAL["SPLIT_FAST_COMPOSITE"][1]) == set()
        assert changed(BY_RANGE_HASH, HALVED) == {1, 2}
        assert changed(BY_LIST_RANGE, *STAYS_EQUAL["MERGE_SUB"][1]) == {1, 2}, "other partitions keep their rows"
        for partitions, statement, code in (
            (BY_LIST, "ALTER TABLE s SPLIT PARTITION low VALUES (270)", 14313),
            (BY_LIST, "ALTER TABLE s SPLIT PARTITION low VALUES (90, 180)", 14314),
            (BY_LIST, "ALTER TABLE s SPLIT PARTITION low VALUES (90) INTO (PARTITION high, PARTITION low)", 14013),
            (BY_HASH, "ALTER TABLE s MERGE PARTITIONS FOR (1), FOR (2)", 14255),
            (BY_RANGE_HASH, "ALTER TABLE s SPLIT SUBPARTITION FOR (1, 1) VALUES (1)", 14255),
            (BY_LIST, "ALTER TABLE s MERGE SUBPARTITIONS low, high", 14253),
            (BY_RANGE_LIST, "ALTER TABLE s MERGE SUBPARTITIONS low_one, high_more", 14638),
        ):
            shop.run_sql(*created("s", partitions))
            with pytest.raises(Exception, match=f"ORA-{code}"):
                shop.run_sql(statement)
            shop.run_sql("DROP TABLE s PURGE")
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
