"""Redo in the forms of all releases, from the stand-in through LogMiner and landing to a plain fold.

Spark disposes of such rows as the fold does: tests/integration/test_histories.py and tests/integration/spark/test_assemble.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipelines import steps
from standin.serve import standin
from tests.fix_shop import Shop
from tests.plain_lake import PlainLake

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


def caught_up(shop: Shop, pipeline: Any) -> list[int]:
    """Catch up, and return the rows of each open transaction; parallel servers count with their coordinator."""
    shop.switch_logs()
    steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark="no Spark")
    assert [table.error for table in steps.read_status(pipeline).tables] == [None]
    return [transaction.rows for transaction in steps.list_transactions(pipeline).open]
