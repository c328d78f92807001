"""A table's history from the source to the lake: DDL, key-only logging, masks, a second table without one, repair, verify."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from unittest import mock

import duckdb
import pytest

from pipelines import steps
from pipelines.config import Pipeline
from pipelines.steps.views import history_of
from pipelines.values.history_sql import as_of_sql
from pipelines.values.table import TableId
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.references.delta_table import read_delta
from tests.support.killed import Killed

pytestmark = pytest.mark.spark

NOTES = TableId.parse("SHOP.NOTES")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with standin(threads=2, log_bytes=64 * 1024, archive_lag_target=0) as oracle:
        shop = Shop(oracle, tmp_path_factory.mktemp("history"))
        shop.run_sql(
            "CREATE TABLE notes (id NUMBER(9) PRIMARY KEY, text VARCHAR2(20), secret VARCHAR2(20), gone NUMBER(9))",
            "ALTER TABLE notes ADD SUPPLEMENTAL LOG DATA (PRIMARY KEY) COLUMNS",
            *(f"INSERT INTO notes VALUES ({n}, 'first', 'clear', 1)" for n in (1, 2, 3)),
        )
        yield shop


def scn_of(shop: Shop) -> int:
    with shop.oracle.connect("SYSTEM") as connection, connection.cursor() as cursor:
        return int(cursor.execute("SELECT current_scn FROM v$database").fetchone()[0])


def at(pipeline: Pipeline, scn: int, *columns: str) -> list[tuple[Any, ...]]:
    """Return the rows that the history says there were at an SCN, by the query that users get."""
    path = str(pipeline.history_target(NOTES))
    one = history_of(NOTES, path)
    assert one is not None
    with duckdb.connect() as connection:
        connection.register("history", read_delta(path))
        sql = as_of_sql("history", one.columns, one.key, lambda name: f'"{name}"', scn)
        rows = connection.execute(f"SELECT {', '.join(columns)} FROM ({sql}) ORDER BY id").fetchall()
    return [tuple(int(v) if isinstance(v, float) else v for v in row) for row in rows]


def run_with_ends(pipeline: Pipeline, shop: Shop, spark: Any, ended: set[str]) -> None:
    """Run the pipeline, where each write of a history ends the process the first time."""

    def end(point: str) -> None:
        if point.startswith("history") and point not in ended:
            ended.add(point)
            raise Killed(point)

    before = None
    while before != len(ended):
        before = len(ended)
        with suppress(Killed), mock.patch("pipelines.host.crash.point", end):
            steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)


def test_a_history_follows_ddl_truncate_and_repair_and_verify_compares_it(shop: Shop, spark: Any) -> None:
    settings = {"table": str(NOTES), "history": "scd2", "mask": {"SECRET": "redact"}, "on_ddl": {"truncate": "follow"}}
    pipeline, seen, ended = shop.pipeline(tables=[settings]), list[int](), set[str]()

    def step(*statements: str) -> None:
        shop.run_sql(*statements)
        seen.append(scn_of(shop))
        shop.switch_logs()
        run_with_ends(pipeline, shop, spark, ended)
        steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)
        (compared,) = steps.verify_tables(pipeline, source=shop.params, spark=spark).tables
        assert compared.equal, compared
        assert str(compared).endswith("its history says the same"), compared

    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    step("UPDATE notes SET text = 'second', secret = 'never in the lake' WHERE id = 1", "DELETE FROM notes WHERE id = 2")
    added = "ALTER TABLE notes ADD (more VARCHAR2(10) DEFAULT 'given' NOT NULL)"
    step(added, "UPDATE notes SET text = 'third' WHERE id = 1", "ALTER TABLE notes ADD (last NUMBER(3))")
    step(
        "ALTER TABLE notes RENAME COLUMN text TO words", "ALTER TABLE notes DROP COLUMN gone", "DELETE FROM notes WHERE id = 3"
    )
    step("TRUNCATE TABLE notes", "INSERT INTO notes VALUES (4, 'new', 'clear', 'x', 0)")

    assert ended == {"history created", "history", "history's columns"}
    assert at(pipeline, seen[0], "id", "words") == [(1, "second"), (3, "first")]
    assert at(pipeline, seen[1], "id", "words", "gone", "more") == [(1, "third", 1, "given"), (3, "first", 1, "given")]
    assert at(pipeline, seen[2], "id", "words", "more") == [(1, "third", "given")]
    assert at(pipeline, seen[3], "id", "words", "more") == [(4, "new", "x")]
    history = read_delta(str(pipeline.history_target(NOTES)))
    assert not {"clear", "never in the lake"} & set(history.column("SECRET").to_pylist())
    notes = [row["_note"] for row in history.to_pylist() if row["_op"] == "begin"]
    assert notes == ["the history begins", *["a DDL changed all rows without redo"] * 2]
    assert "SHOP" in {row["_user"] for row in history.to_pylist()}

    spark.sql(f"UPDATE delta.`{pipeline.target(NOTES)}` SET words = 'by hand'")
    assert not steps.verify_tables(pipeline, source=shop.params, spark=spark).equal
    steps.repair_table(pipeline, str(NOTES), reason="changed by hand", source=shop.params, spark=spark)
    (waiting,) = steps.verify_tables(pipeline, source=shop.params, spark=spark).tables
    assert waiting.history is not None
    assert (waiting.equal, waiting.history.waits) == (True, "rows were repaired")
    step("UPDATE notes SET more = 'y' WHERE id = 4")
    assert at(pipeline, seen[4], "id", "words", "more") == [(4, "new", "y")]


def test_verify_finds_a_row_that_somebody_took_out_of_a_history(shop: Shop, spark: Any) -> None:
    pipeline = shop.pipeline(tables=[{"table": str(NOTES), "history": "scd2", "mask": {"SECRET": "redact"}}])
    spark.sql(f"DELETE FROM delta.`{pipeline.history_target(NOTES)}` WHERE id = 4 AND _image = 'after'")

    (compared,) = steps.verify_tables(pipeline, source=shop.params, spark=spark).tables

    assert not compared.equal
    assert "its HISTORY DIFFERS from the table: 1 rows missing, 0 extra" in str(compared)
