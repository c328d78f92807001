"""Nightly maintenance of tables holds none of them, unless rows get other ROWIDs and ROWID is the key. Without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from redolake import steps
from redolake.schema import derive
from tests.fixtures.shop import open_shop
from tests.integration.test_pipeline import caught_up, differences
from tests.integration.test_renamed_tables import held
from tests.references.plain_lake import PlainLake
from tests.unit.schema.ddl_golden import ORDERS, row

LISTED = "PARTITION BY LIST (region) (PARTITION p1 VALUES ('W'), PARTITION p2 VALUES ('E'))"
HASHED = "PARTITION BY LIST (region) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 (PARTITION p1 VALUES ('W', 'E'))"
MAINTENANCE = (
    "ALTER TABLE {0} PARALLEL (DEGREE 4 INSTANCES DEFAULT)",
    "ALTER TABLE {0} DISABLE TABLE LOCK",
    "ALTER TABLE {0} ENABLE TABLE LOCK",
    "ALTER TABLE {0} NO FLASHBACK ARCHIVE",
    "ALTER TABLE {0} DEFAULT COLLATION BINARY_CI",
    "ALTER TABLE {0} MODIFY PARTITION p1 UNUSABLE LOCAL INDEXES",
    "ALTER TABLE {0} MODIFY PARTITION p1 REBUILD UNUSABLE LOCAL INDEXES",
    "ALTER TABLE {0} MODIFY PARTITION p1 ADD VALUES ('X', 'Y')",
    "INSERT INTO {0} (id, region) VALUES (9, 'Y')",
    "ALTER TABLE {0} MODIFY PARTITION p1 DROP VALUES ('X')",
    "ALTER TABLE {0} MODIFY PARTITION p1 READ ONLY",
    "ALTER TABLE {0} MODIFY PARTITION p1 READ WRITE PCTFREE 5",
    "ALTER TABLE {0} MODIFY DEFAULT ATTRIBUTES TABLESPACE users",
    "ALTER TABLE {0} MODIFY (t COLLATE BINARY_CI)",
    "ALTER TABLE {0} MODIFY (t) DROP DOMAIN",
    "ALTER TABLE {0} ADD (twice NUMBER GENERATED ALWAYS AS (id * 2) VIRTUAL BY USER FOR STATISTICS)",
    "ALTER TABLE {0} DROP COLUMN twice",
    "ALTER TABLE {0} ADD (token RAW(4) DEFAULT HEXTORAW('0aff') NOT NULL, mark VARCHAR2(5) COLLATE BINARY_CI DEFAULT 'm')",
    "UPDATE {0} SET t = 'later' WHERE id = 1",
)
MOVING = (
    "ALTER TABLE {0} MODIFY PARTITION p1 SHRINK SPACE CASCADE",
    "ALTER TABLE {0} MODIFY PARTITION p1 COALESCE SUBPARTITION",
    "ALTER TABLE {0} MODIFY PARTITION p1 ADD SUBPARTITION s9 UPDATE INDEXES",
    "ALTER TABLE {0} SHRINK SPACE",
)


def test_maintenance_holds_no_table(tmp_path: Path) -> None:
    moved = [f"moved{number}" for number in range(len(MOVING))]
    with open_shop(tmp_path, ddl_age=60) as shop, PlainLake(replays=True).in_place_of_spark():
        for name in ("parts", *moved):
            shop.run_sql(
                f"CREATE TABLE {name} (id NUMBER(9) PRIMARY KEY, region VARCHAR2(5), t VARCHAR2(20)) "
                f"{LISTED if name == 'parts' else HASHED} ENABLE ROW MOVEMENT",
                f"ALTER TABLE {name} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
                *(f"INSERT INTO {name} VALUES ({n}, '{'WE'[n % 2]}', 'row {n}')" for n in range(8)),
            )
        pipeline = shop.pipeline(tables=[f"SHOP.{name.upper()}" for name in ("parts", *moved)])
        steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
        shop.run_sql(*(statement.format("parts") for statement in MAINTENANCE))
        for name, statement in zip(moved, MOVING, strict=True):
            shop.run_sql(
                f"DELETE FROM {name} WHERE id = 3", statement.format(name), f"UPDATE {name} SET t = 'later' WHERE id > 4"
            )
        caught_up(shop, pipeline, "no Spark")

        assert held(pipeline) == {}
        assert differences(shop, pipeline) == {}


DDL = [statement.format("orders") for statement in (*MAINTENANCE, *MOVING) if statement.startswith("ALTER TABLE")]


@pytest.mark.parametrize("sql", [sql for sql in DDL if "MODIFY (t" not in sql and " twice" not in sql])
def test_maintenance_holds_a_table_by_rowid_only_where_rows_get_other_rowids(sql: str) -> None:
    hold = derive([replace(ORDERS, key=(0,), key_kind="rowid")], [row(sql)]).hold

    assert (hold is not None) is any(statement.format("orders") == sql for statement in MOVING)
    assert hold is None or "ROWID is the key" in hold.error.what
