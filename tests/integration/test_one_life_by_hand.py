"""One table's life, replayed by hand: create, load, five DDLs with DML between, mined only afterwards in one backlog.

The rows are equal to the source's at the end of each window, and two backfills of the older half have the rows of then: one
under the columns of then, one under those of today. Without Spark and Delta.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from redolake import steps
from redolake.context import Run
from redolake.context.spark import Spark
from redolake.steps.run import apply, capture
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.generated.table_life import known
from tests.references.plain_lake import PlainLake

Rows = dict[int, dict[str, Any]]

CREATED = (
    "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20), quantity NUMBER(9))",
    "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
)
LIFE = (
    tuple(f"INSERT INTO parts VALUES ({n}, 'place {n}', {10 * n})" for n in range(1, 9)),
    (
        "ALTER TABLE parts ADD (weight NUMBER(6,2) DEFAULT 1.5)",
        "UPDATE parts SET weight = 2.25, place = NULL WHERE id < 3",
        "INSERT INTO parts (id, place) VALUES (20, 'it''s')",
    ),
    (
        "ALTER TABLE parts RENAME COLUMN place TO shelf",
        "UPDATE parts SET shelf = 'moved' WHERE id = 3",
        "DELETE FROM parts WHERE id = 4",
    ),
    ("ALTER TABLE parts DROP COLUMN quantity", "UPDATE parts SET id = 50 WHERE id = 5"),
    (
        "ALTER TABLE parts ADD (quantity VARCHAR2(10))",
        "UPDATE parts SET quantity = 'many' WHERE id IN (1, 50)",
        "INSERT INTO parts (id, quantity) VALUES (4, 'again')",
    ),
    ("ALTER TABLE parts MODIFY (shelf VARCHAR2(40))", "UPDATE parts SET shelf = 'a name of more than twenty letters'"),
)
THEN = 2  # the backfills end with this part of the life


def read_as_of(shop: Shop, scn: int) -> Rows:
    """Return the source's rows by a flashback query."""
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM parts AS OF SCN {scn}")
        names = [column[0] for column in cursor.description]
        return {int(row[0]): dict(zip(names, map(known, row), strict=True)) for row in cursor}


def rows_at(lake: PlainLake, path: str) -> Rows:
    table = lake.tables[path]
    assert table.version is not None
    names = [column.name for column in table.version.columns]
    return {int(row[0]): dict(zip(names, map(known, row), strict=True)) for row in table.rows.values()}


def test_one_life_is_equal_at_each_window_and_replays_under_both_schemas(tmp_path: Path) -> None:
    lake, states = PlainLake(replays=True), dict[int, Rows]()
    with standin(background=False, ddl_age=60) as oracle, lake.in_place_of_spark():
        shop = Shop(oracle, tmp_path)
        shop.run_sql(*CREATED)
        pipeline = shop.pipeline(tables=["SHOP.PARTS"], window={"max_bytes": 1, "slice_bytes": 1}, parallel_sessions=1)
        begun = steps.take_snapshot(pipeline, source=shop.params, spark="no Spark").scn or 0
        for part in LIFE:
            shop.run_sql(*part)
            scn = oracle.database.clock.scn
            states[scn] = read_as_of(shop, scn)  # at once: no flashback query crosses a later DDL
            shop.switch_logs()

        compared = set[int]()
        with Spark(pipeline, "no Spark") as session:
            while capture(Run(pipeline, shop.params)).plan.window:
                assert apply(Run(pipeline, spark=session))
                (table,) = steps.read_status(pipeline).tables
                assert table.error is None
                passed = [scn for scn in states if scn <= int(table.complete_to_scn or 0)]
                if passed:
                    assert rows_at(lake, f"{pipeline.lake}/shop/parts") == states[passed[-1]]
                    compared.add(passed[-1])
        assert compared == set(states)

        then, now = list(states)[THEN], list(states)[-1]
        for schema in ("historic", "current"):
            steps.run_backfill(pipeline, begun + 1, then + 1, ["SHOP.PARTS"], execute=True, spark="no Spark", schema=schema)
        shadow = f"{pipeline.lake}/_shadow/{begun + 1}-{then + 1}"
        assert rows_at(lake, f"{shadow}/shop/parts") == states[then]
        as_today = {
            key: {"ID": row["ID"], "SHELF": row["SHELF"], "WEIGHT": row["WEIGHT"], "QUANTITY": None}
            for key, row in states[then].items()
        }
        assert rows_at(lake, f"{shadow}-current/shop/parts") == as_today
        assert set(states[now][1]) == set(as_today[1])
        assert (states[then][3]["SHELF"], states[now][3]["WEIGHT"]) == ("moved", "1.5")
        statements = [version.statement for version in steps.list_versions(pipeline, "SHOP.PARTS")]
        assert statements[1:] == [part[0] for part in LIFE[1:]]
