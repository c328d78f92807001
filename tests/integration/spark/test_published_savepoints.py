"""Transactions that were published of 26ai, with large objects and a savepoint: a table equals the source, or it is held."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from tests.fixtures.shop import open_shop
from tests.integration.test_pipeline import caught_up, differences
from tests.published.large_objects import CASES, LONG

pytestmark = pytest.mark.spark

AS_PUBLISHED: dict[str, Any] = {"lob_rows": "statement", "xml_rows": "documents"}
# DBMS_LOB.WRITE: all rows have the ROWID, so no row shows that the INTERNAL row after them is the end of a statement.
HELD = {"15 and 26 write"}


def test_a_savepoint_that_takes_large_objects_back_leaves_no_wrong_row(tmp_path: Path, spark: Any) -> None:
    cases = {name: case for name, case in CASES.items() if LONG not in case[0]}
    with open_shop(tmp_path, **AS_PUBLISHED) as shop:
        tables = {name: f"SHOP.T{name.partition(' ')[0]}" for name in cases}
        for name, (columns, *_) in cases.items():
            shop.run_sql(
                f"CREATE TABLE {tables[name]} (id NUMBER(9) PRIMARY KEY, {', '.join(columns)})",
                f"ALTER TABLE {tables[name]} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
            )
        pipeline = shop.pipeline(tables=list(tables.values()), large_objects="reread", unsupported_columns="reread")
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        for name, (_, before, after, _) in cases.items():
            statements = [*before, "SAVEPOINT s", *after, "ROLLBACK TO SAVEPOINT s"]
            with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement.replace(" t ", f" {tables[name]} "))
                connection.commit()
        caught_up(shop, pipeline, spark)

        held = {one.table for one in steps.read_status(pipeline).tables if one.state != "live"}
        assert held == {tables[name] for name in HELD}
        assert {name: found for name, t in tables.items() if t not in held and (found := differences(shop, pipeline, t))} == {}
