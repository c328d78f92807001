"""Redo in the forms of all releases, from the stand-in through LogMiner and landing to a plain fold.

Spark disposes of such rows as the fold does: tests/integration/test_histories.py and tests/integration/spark/test_assemble.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.references.plain_lake import PlainLake

FORMS = {"undo_first": True, "forgets_sequences": True, "undo_unlogged": True}
PARALLEL = "ALTER SESSION ENABLE PARALLEL DML"


def test_parallel_dml_and_redo_out_of_order_end_as_oracle_shows_the_table(tmp_path: Path) -> None:
    """Two sessions on two redo threads; each batch is applied while one of them, or a coordinator, is open."""
    with PlainLake().in_place_of_spark(), standin(threads=2, log_bytes=64 * 1024, archive_lag_target=0, **FORMS) as oracle:
        shop = Shop(oracle, tmp_path)
        shop.run_sql(
            "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, quantity NUMBER(9))",
            "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            "CREATE TABLE source (id NUMBER(9))",
            *(f"INSERT INTO source VALUES ({n})" for n in range(20)),
        )
        pipeline = shop.pipeline(tables=["SHOP.PARTS"])
        steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
        first, second = (oracle.connect("SHOP", instance_name=name) for name in shop.instances)
        with first as one, second as two, one.cursor() as a, two.cursor() as b:
            a.execute(PARALLEL)
            a.execute("INSERT /*+ PARALLEL(parts 3) */ INTO parts SELECT id, 0 FROM source")
            opened = [caught_up(shop, pipeline)]
            for statement in (
                "INSERT INTO parts VALUES (100, 1)",
                "SAVEPOINT s",
                "UPDATE parts SET quantity = 2 WHERE id = 100",
                "UPDATE parts SET id = 101 WHERE id = 100",
                "ROLLBACK TO SAVEPOINT s",
            ):
                b.execute(statement)
            one.commit()
            opened.append(caught_up(shop, pipeline))
            b.execute("UPDATE parts SET quantity = 3 WHERE id = 100")
            two.commit()
            a.execute("UPDATE /*+ PARALLEL(parts 3) */ parts SET quantity = quantity + id")
            opened.append(caught_up(shop, pipeline))
            one.rollback()
            b.execute(PARALLEL)
            b.execute("DELETE /*+ PARALLEL(parts 2) */ FROM parts WHERE id < 5")
            two.commit()
            opened.append(caught_up(shop, pipeline))
        verified = steps.verify_tables(pipeline, None, source=shop.params, spark="no Spark").tables

    assert opened == [[20], [5], [21], []]
    assert [(t.source_rows, t.delta_rows, t.differing_cells) for t in verified] == [(16, 16, 0)]


def caught_up(shop: Shop, pipeline: Any, spark: Any = "no Spark", tables: int = 1) -> list[int]:
    """Catch up, and return the rows of each open transaction; parallel servers count with their coordinator."""
    shop.switch_logs()
    steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)
    assert [table.error for table in steps.read_status(pipeline).tables] == [None] * tables
    return [transaction.rows for transaction in steps.list_transactions(pipeline).open]


# Each reading of what is not known, or differs by release, in how LogMiner writes values and statements.
READINGS: dict[str, dict[str, Any]] = {
    "a timestamp without a fraction has nine zeros": {
        "whole_seconds": "zeros",
        "national_text": "unistr",
    },
    "it has the point alone": {
        "whole_seconds": "point",
        "local_zone_call": "TO_TIMESTAMP_ITZ",
        "null_updates": "all",
        "young_columns": "null",
    },
    "it has neither": {
        "whole_seconds": "none",
        "local_zone_call": "TO_TIMESTAMP_LTZ",
        "blank_in_insert": True,
        "young_columns": "null",
        "null_updates": "all",
    },
}
PRECISIONS = range(10)
MOMENTS = {
    **{f"T{p}": f"TIMESTAMP({p})" for p in PRECISIONS},
    "S9": "TIMESTAMP(9)",
    "Z0": "TIMESTAMP(0) WITH TIME ZONE",
    "Z6": "TIMESTAMP(6) WITH TIME ZONE",
    "L3": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "L6": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "D0": "INTERVAL DAY(3) TO SECOND(0)",
    "D6": "INTERVAL DAY(4) TO SECOND(6)",
    "Y": "INTERVAL YEAR(4) TO MONTH",
    "DAY": "DATE",
    "N": "NVARCHAR2(40)",
}
RULES = {**{f"T{p}": "truncate" for p in (7, 8, 9)}, "S9": "string"}
WHOLE, PART = "'2026-02-01 00:00:00", "'2026-02-01 23:59:59.123456"


def moments(key: int, text: str, national: str) -> str:
    """Return an INSERT with the same moment in each type."""
    zoned, span = f"TIMESTAMP {text} +08:00'", f"INTERVAL '+01{text[11:]}' DAY TO SECOND"
    values = {name: zoned if name[0] in "ZL" else span if name[0] == "D" else f"TIMESTAMP {text}'" for name in MOMENTS}
    values |= {"Y": "INTERVAL '12-03' YEAR TO MONTH", "DAY": "DATE '2026-02-01'", "N": f"N'{national}'"}
    return f"INSERT INTO moments (id, {', '.join(values)}) VALUES ({key}, {', '.join(values.values())})"


@pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS)
def test_tables_stay_live_and_equal_however_values_are_written(tmp_path: Path, reading: dict[str, Any]) -> None:
    with PlainLake().in_place_of_spark(), standin(archive_lag_target=0, **reading) as oracle:
        assert compared(Shop(oracle, tmp_path), "no Spark") == EQUAL


@pytest.mark.spark
def test_tables_in_delta_stay_live_and_equal_where_a_timestamp_has_the_point_alone(tmp_path: Path, spark: Any) -> None:
    with standin(archive_lag_target=0, **READINGS["it has the point alone"]) as oracle:
        assert compared(Shop(oracle, tmp_path), spark) == EQUAL


EQUAL = [("SHOP.MOMENTS", 4, 4, 0), ("SHOP.EMPTY_TABLE", 4, 4, 0)]


def compared(shop: Shop, spark: Any) -> list[tuple[str, int, int, int]]:
    """Change two tables in two windows, and return what verify finds."""
    columns = ", ".join(f"{name} {type_}" for name, type_ in MOMENTS.items())
    shop.run_sql(
        f"CREATE TABLE moments (id NUMBER(9) PRIMARY KEY, {columns})",
        "ALTER TABLE moments ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "CREATE TABLE empty_table (id NUMBER(9) PRIMARY KEY, a VARCHAR2(20), b VARCHAR2(20), c NUMBER(9))",
        "ALTER TABLE empty_table ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        moments(1, WHOLE, "plain"),
        moments(2, PART, "ü and \\2603"),
        "INSERT INTO empty_table (id) VALUES (1)",
        "INSERT INTO empty_table (id) VALUES (2)",
    )
    pipeline = shop.pipeline(tables=[{"table": "SHOP.MOMENTS", "columns": RULES}, "SHOP.EMPTY_TABLE"])
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    shop.run_sql(
        moments(3, WHOLE, "ASCII ''in quotes'' with \\2603 and C:\\temp"),
        moments(4, PART, "ünï"),
        moments(5, WHOLE, "to be deleted"),
        *(f"UPDATE moments SET {name} = (SELECT {name} FROM moments WHERE id = 4) WHERE id IN (1, 3)" for name in MOMENTS),
        *(f"UPDATE moments SET {name} = NULL WHERE id = 4" for name in MOMENTS),
        f"UPDATE moments SET T6 = TIMESTAMP {WHOLE}', N = N'again' WHERE id IN (2, 4)",
        "DELETE FROM moments WHERE id = 5",
        # What changes nothing: its key is no new one.
        "UPDATE empty_table SET a = NULL WHERE id = 1",
        "UPDATE empty_table SET a = NULL, b = NULL",
        "ALTER TABLE empty_table ADD (extra VARCHAR2(50))",
        "ALTER TABLE empty_table ADD (score NUMBER(9) DEFAULT 0)",
        "UPDATE empty_table SET b = NULL",  # nor do columns that are younger than the row become NULL
        "UPDATE empty_table SET c = 7 WHERE id = 1",
        "INSERT INTO empty_table (id, extra) VALUES (3, 'x')",
    )
    caught_up(shop, pipeline, spark, tables=2)
    shop.run_sql(
        "ALTER TABLE empty_table DROP COLUMN extra",
        "UPDATE empty_table SET a = NULL",
        "INSERT INTO empty_table (id, score) VALUES (5, NULL)",
        "UPDATE empty_table SET a = NULL, b = NULL WHERE id IN (2, 5)",
        "DELETE FROM empty_table WHERE id = 1",
        "INSERT INTO empty_table VALUES (4, 'a', NULL, 1, NULL)",
    )
    caught_up(shop, pipeline, spark, tables=2)
    verified = steps.verify_tables(pipeline, None, source=shop.params, spark=spark).tables
    return [(t.table, t.source_rows, t.delta_rows, t.differing_cells) for t in verified]
