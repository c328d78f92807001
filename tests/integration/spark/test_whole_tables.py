"""In Delta, rows that a DDL removed or filled without redo change in one commit with all changes up to the window's end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.apply.delta.log import read_log
from tests.fixtures.shop import Shop, open_shop
from tests.integration.test_pipeline import caught_up
from tests.references.delta_table import read_delta
from tests.references.source_comparison import compare_with_source
from tests.support.killed import killed_at

pytestmark = pytest.mark.spark

PARTITIONS = (
    "PARTITION BY RANGE (day) (PARTITION old VALUES LESS THAN (10), PARTITION middle VALUES LESS THAN (20), "
    "PARTITION new VALUES LESS THAN (30))"
)
DAYS = (5, 6, 15, 16, 25, 26)
CREATED = (
    f"CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, what VARCHAR2(20), day NUMBER(3)) {PARTITIONS}",
    "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
    f"CREATE TABLE marks (what VARCHAR2(20), day NUMBER(3)) {PARTITIONS}",
    "ALTER TABLE marks ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    "CREATE TABLE notes (id NUMBER(9) PRIMARY KEY, text CLOB, day NUMBER(3))",
    "ALTER TABLE notes ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
    "CREATE SEQUENCE numbers START WITH 100",
    *(f"INSERT INTO parts VALUES ({n}, 'first', {n})" for n in DAYS),
    *(f"INSERT INTO marks VALUES ('first', {n})" for n in DAYS),
    *(f"INSERT INTO notes VALUES ({n}, 'first', {n})" for n in DAYS),
)
CHANGED = (
    "UPDATE parts SET what = 'before' WHERE id = 6",
    "ALTER TABLE parts DROP PARTITION old",
    "UPDATE parts SET what = 'never seen' WHERE id = 15",
    "ALTER TABLE parts ADD (number_ NUMBER(9) DEFAULT numbers.NEXTVAL, seen DATE DEFAULT SYSDATE NOT NULL)",
    "UPDATE parts SET what = 'seen', number_ = 7 WHERE id = 25",
    "ALTER TABLE parts TRUNCATE PARTITION middle",
    "INSERT INTO parts (id, what, day) VALUES (15, 'again', 15)",
    "UPDATE parts SET what = 'last' WHERE id = 26",
    "ALTER TABLE marks TRUNCATE PARTITION old",
    "INSERT INTO marks VALUES ('again', 5)",
    "UPDATE marks SET what = 'later' WHERE day = 25",
    "ALTER TABLE notes ADD (number_ NUMBER GENERATED ALWAYS AS IDENTITY)",
    "UPDATE notes SET text = 'later' WHERE id = 5",
    "DELETE FROM notes WHERE id = 6",
    "INSERT INTO notes (id, text, day) VALUES (7, 'new', 7)",
)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with open_shop(tmp_path, ddl_age=60) as opened:
        opened.run_sql(*CREATED)
        yield opened


def test_one_commit_has_what_the_ddl_changed_also_after_kills(shop: Shop, spark: Any) -> None:
    marked = {"table": "SHOP.PARTS", "deletes": "mark", "metadata_columns": ["_commit_scn", "_op"]}
    pipeline = shop.pipeline(
        tables=[marked, {"table": "SHOP.MARKS", "key": "rowid"}, {"table": "SHOP.NOTES", "large_objects": "reread"}],
        on_ddl={"drop_partition": "follow", "computed_default": "follow"},
    )
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    shop.run_sql(*CHANGED)
    for point in ("evolve", "merge"):
        with killed_at(point):
            caught_up(shop, pipeline, spark)
    caught_up(shop, pipeline, spark)

    assert differing(shop, pipeline) == {}
    states = by_position(f"{pipeline.lake}/shop/parts")
    assert len(states) == 3, "the snapshot, the changes before the DDL, and those from it to the window's end"
    first, before, after = states
    assert first == {(n, "first") for n in DAYS}
    assert before == first - {(6, "first")} | {(6, "before")}
    assert after == {(15, "again"), (25, "seen"), (26, "last")}

    shop.run_sql("UPDATE parts SET what = 'end'", "UPDATE notes SET day = 1", "DELETE FROM marks WHERE day = 26")
    caught_up(shop, pipeline, spark)
    assert differing(shop, pipeline) == {}


def test_changes_of_transactions_that_were_open_at_the_ddl(tmp_path: Path, spark: Any) -> None:
    """ADD of a column need not wait for them. An UPDATE keeps the value that was read; that of a later row nobody has read."""
    with open_shop(tmp_path, ddl_age=60, nonblocking_ddl=True) as shop:
        for table in ("changed", "inserted"):
            shop.run_sql(
                f"CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, what VARCHAR2(20))",
                f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
                f"INSERT INTO {table} VALUES (1, 'first')",
            )
        pipeline = shop.pipeline(tables=["SHOP.CHANGED", "SHOP.INSERTED"], on_ddl={"computed_default": "follow"})
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
            cursor.execute("UPDATE changed SET what = 'open'")
            cursor.execute("INSERT INTO inserted VALUES (2, 'open')")
            shop.run_sql(*(f"ALTER TABLE {table} ADD seen DATE DEFAULT SYSDATE" for table in ("changed", "inserted")))
            caught_up(shop, pipeline, spark)
            assert differing(shop, pipeline) == {}
            connection.commit()
        caught_up(shop, pipeline, spark)

        held = {t.table: t.error for t in steps.read_status(pipeline).tables if t.error}
        assert list(held) == ["SHOP.INSERTED"]
        assert "a row is older than the DDL that added SEEN" in str(held["SHOP.INSERTED"])
        assert differing(shop, pipeline) == {}


def differing(shop: Shop, pipeline: Any) -> dict[str, Any]:
    """Return the tables that differ from the source, without rows that are marked as deleted."""
    return {t.table: t for t in compare_with_source(pipeline, shop.params).tables if not t.equal}


def by_position(path: str) -> list[set[tuple[int, str]]]:
    """Return the rows that each position of the table shows, in all Delta versions that have it."""
    log = read_log(path)
    assert log is not None
    found: list[set[tuple[int, str]]] = []
    for version in range(log.version + 1):
        shown = [row for row in read_delta(path, version).to_pylist() if not row.get("_deleted")]
        rows = {(int(row["ID"]), row["WHAT"]) for row in shown}
        if rows not in found:
            found.append(rows)
    return found
