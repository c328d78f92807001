"""A key of a unique index with columns that may be NULL: rows with a NULL there are known by all their columns."""

from __future__ import annotations

from typing import Any

import pytest

from redolake import steps
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import caught_up

pytestmark = pytest.mark.spark

FIRST = (
    "INSERT INTO marks VALUES (1, 'a', 'keyed', 1.5)",
    "INSERT INTO marks VALUES (2, NULL, 'half a key', 2)",
    *["INSERT INTO marks VALUES (NULL, NULL, 'equal', NULL)"] * 4,
    "INSERT INTO marks VALUES (NULL, NULL, NULL, NULL)",
    "INSERT INTO marks VALUES (3, 'c', 'loses its key', 3)",
    "INSERT INTO marks VALUES (NULL, NULL, 'gets a key', 4)",
)
CHANGES = (
    (
        "UPDATE marks SET note = 'other' WHERE ROWID = (SELECT MIN(ROWID) FROM marks WHERE note = 'equal')",
        "DELETE FROM marks WHERE ROWID = (SELECT MIN(ROWID) FROM marks WHERE note = 'equal')",
        "UPDATE marks SET n = NULL, c = NULL WHERE n = 3",
        "UPDATE marks SET n = 4, c = 'd' WHERE note = 'gets a key'",
        "UPDATE marks SET amount = 2.25 WHERE n = 2",
        "INSERT INTO marks VALUES (NULL, NULL, 'come', 1)",
        "INSERT INTO marks VALUES (NULL, NULL, 'come', 1)",
        "INSERT INTO marks VALUES (NULL, NULL, 'come and gone', 1)",
        "DELETE FROM marks WHERE note = 'come and gone'",
        "SAVEPOINT here",
        "DELETE FROM marks WHERE n IS NULL",
        "ROLLBACK TO SAVEPOINT here",
    ),
    (
        "DELETE FROM marks WHERE note IS NULL",
        "UPDATE marks SET note = 'equal' WHERE note = 'come'",
        "UPDATE marks SET n = 5 WHERE n = 2",
        "UPDATE marks SET n = NULL, c = NULL, note = 'keyed no more' WHERE n = 1",
        "INSERT INTO marks VALUES (1, 'a', 'another', 9)",
    ),
)


def prepare(shop: Shop) -> None:
    shop.run_sql(
        "CREATE TABLE marks (n NUMBER(9), c VARCHAR2(5), note VARCHAR2(20), amount NUMBER(9,2), UNIQUE (n, c))",
        "ALTER TABLE marks ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        *FIRST,
    )


MARKS: dict[str, Any] = {"table": "SHOP.MARKS", "key": ["N", "C"]}
FLAGS: dict[str, Any] = {"table": "SHOP.FLAGS", "key": ["N"], "unsupported_columns": "reread"}


def test_rows_with_a_null_in_their_key_follow_the_source_and_hold_a_table_where_they_are_read_again(
    shop: Shop, spark: Any
) -> None:
    prepare(shop)
    shop.run_sql(
        "CREATE TABLE flags (n NUMBER(9) CONSTRAINT flags_uk UNIQUE, is_on BOOLEAN)",
        "ALTER TABLE flags ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO flags VALUES (1, TRUE)",
        *["INSERT INTO flags VALUES (NULL, TRUE)"] * 2,
    )
    pipeline = shop.pipeline(tables=[MARKS, FLAGS])
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    shop.run_sql("UPDATE flags SET is_on = FALSE WHERE n IS NULL")
    for changes in CHANGES:
        shop.run_sql(*changes)
        caught_up(shop, pipeline, spark)

        found = steps.verify_tables(pipeline, ["SHOP.MARKS"], source=shop.params, spark=spark)
        (verified,) = found.tables
        assert (verified.missing_rows, verified.extra_rows, verified.differing_cells) == (0, 0, 0), found.samples
        assert verified.source_rows == verified.delta_rows > 8
    errors = {table.table: table.error for table in steps.read_status(pipeline).tables}
    assert errors["SHOP.MARKS"] is None
    assert "a changed row has a NULL in its key" in str(errors["SHOP.FLAGS"])


def test_equal_rows_are_not_marked_as_deleted_one_by_one(shop: Shop, spark: Any) -> None:
    prepare(shop)
    pipeline = shop.pipeline(tables=[MARKS], deletes="mark")
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    shop.run_sql("DELETE FROM marks WHERE note IS NULL", "DELETE FROM marks WHERE note = 'half a key'")
    caught_up(shop, pipeline, spark)
    (marked,) = steps.verify_tables(pipeline, source=shop.params, spark=spark).tables
    shop.run_sql("DELETE FROM marks WHERE ROWID = (SELECT MIN(ROWID) FROM marks WHERE note = 'equal')")
    caught_up(shop, pipeline, spark)

    assert marked.equal
    (table,) = steps.read_status(pipeline).tables
    assert "the target has several equal ones, of which `deletes: mark` marks all" in str(table.error)
