"""Large objects are read again when a window lands, so that the lake equals the source, whatever the redo shows of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.context import Run
from redolake.errors import LandingUnwritable
from redolake.land.windows import Windows
from redolake.steps.run import capture
from standin.serve import standin
from tests.fixtures.shop import Shop
from tests.generated.lob_life import LobLife
from tests.integration.test_pipeline import caught_up, differences
from tests.references.plain_lake import PlainLake
from tests.support.killed import killed_at
from tests.tables.papers import APPEND_TO_OPEN, BIG, FIRST_ROWS, PARTLY_ROLLED_BACK, change, changes

TABLE = (
    "CREATE TABLE papers (id NUMBER(9) PRIMARY KEY, name VARCHAR2(20), body CLOB, scan BLOB)",
    "ALTER TABLE papers ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
)


@pytest.fixture
def shop(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shop]:
    with standin(log_bytes=64 * 1024, archive_lag_target=0, **getattr(request, "param", {})) as oracle:
        made = Shop(oracle, tmp_path)
        made.run_sql(*TABLE)
        change(made, FIRST_ROWS)
        yield made


@pytest.fixture
def no_spark() -> Iterator[str]:
    with PlainLake().in_place_of_spark():
        yield "no Spark"


def papers(shop: Shop, **settings: Any) -> Any:
    return shop.pipeline(tables=["SHOP.PAPERS"], large_objects="reread", **settings)


CHANGES = changes()
READINGS: dict[str, dict[str, Any]] = {
    "23ai": {},
    "placeholder ROWIDs": {"lob_rows_without_rowid": True, "null_lobs": "null"},
    "locators with text": {"lob_locators_have_text": True},
    "one ROWID, locators with text": {"lob_rows": "statement", "lob_locators_have_text": True},
    "as published of 26ai": {"lob_rows": "statement"},
}


@pytest.mark.parametrize("shop", READINGS.values(), indirect=True, ids=READINGS)
def test_changed_rows_have_the_values_of_the_source(shop: Shop, no_spark: str) -> None:
    pipeline = papers(shop)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    assert differences(shop, pipeline) == {}
    change(shop, CHANGES)
    change(shop, [("UPDATE papers SET body = :1 WHERE id = 1", ("rolled back",))], end="rollback")
    change(shop, PARTLY_ROLLED_BACK)
    caught_up(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}


@pytest.mark.parametrize("shop", READINGS.values(), indirect=True, ids=READINGS)
def test_a_generated_life_of_large_objects_equals_the_source_after_each_window(shop: Shop, no_spark: str) -> None:
    pipeline = papers(shop)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    life = LobLife(shop, seed=1)
    # A transaction over all windows but the last.
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO papers VALUES (99, 'open', :1, NULL)", (BIG,))
        for _ in range(3):
            life.play(12)
            cursor.execute(APPEND_TO_OPEN)
            caught_up(shop, pipeline, no_spark)
            assert differences(shop, pipeline) == {}
        connection.commit()
    caught_up(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}
    assert life.calls > 3


def test_one_of_two_large_objects_can_be_left_out(shop: Shop, no_spark: str) -> None:
    pipeline = shop.pipeline(tables=[{"table": "SHOP.PAPERS", "exclude_columns": ["SCAN"]}], large_objects="reread")
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    change(shop, CHANGES)
    caught_up(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}


def test_rows_of_an_open_transaction_are_read_when_it_has_committed(shop: Shop, no_spark: str) -> None:
    pipeline = papers(shop)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("UPDATE papers SET body = :1 WHERE id = 1", (BIG,))
        cursor.execute("INSERT INTO papers VALUES (20, 'open', :1, NULL)", (BIG,))
        for n in range(2):  # the changes are landed long before the commit
            change(shop, [(f"UPDATE papers SET body = 'other {n}' WHERE id = 2", ())])
            caught_up(shop, pipeline, no_spark)
        connection.commit()
    caught_up(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}
    with Run(pipeline) as context:
        landed = context.landing.windows.after()
    assert [m.reread_later is not None for m in landed][-3:] == [True, True, False]


def test_damaged_rows_that_wait_for_their_transaction_are_found_in_the_redo_once_more(shop: Shop, no_spark: str) -> None:
    pipeline = papers(shop)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("UPDATE papers SET body = :1 WHERE id = 1", (BIG,))
        change(shop, [("UPDATE papers SET body = 'other' WHERE id = 2", ())])
        caught_up(shop, pipeline, no_spark)
        cursor.execute("INSERT INTO papers VALUES (20, 'open', :1, NULL)", (BIG,))
        change(shop, [("UPDATE papers SET body = 'another' WHERE id = 2", ())])
        caught_up(shop, pipeline, no_spark)
        connection.commit()
    waiting = sorted(Path(pipeline.landing).glob("*/windows/*/later-*.parquet"))
    for file in waiting:
        file.write_bytes(file.read_bytes()[:-1])
    caught_up(shop, pipeline, no_spark)

    assert len(waiting) == 2
    assert differences(shop, pipeline) == {}


def test_objects_that_undo_no_longer_shows_are_read_later_and_made_right_by_the_next_window(shop: Shop, no_spark: str) -> None:
    pipeline = papers(shop)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    change(shop, CHANGES[:2])
    shop.switch_logs()
    change(shop, [("UPDATE papers SET body = 'later' WHERE id = 1", ()), ("DELETE FROM papers WHERE id = 2", ())])
    shop.oracle.faults.fail_statements(1555, '\n  FROM "SHOP"."PAPERS" AS OF SCN', 1)
    assert capture(Run(pipeline, shop.params)).plan.outcome == "window"
    with Run(pipeline) as context:
        (read,) = context.landing.windows.after()[-1].reread
    assert read.late
    assert read.rows == 6  # of seven: one is deleted by then
    assert [one.scn for window in steps.read_status(pipeline).windows for one in window.reread] == [read.scn]
    caught_up(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}


def test_a_landing_killed_after_the_objects_were_read_lands_again(shop: Shop, no_spark: str) -> None:
    pipeline = papers(shop)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    change(shop, CHANGES)
    shop.switch_logs()
    with killed_at("reread"):
        capture(Run(pipeline, shop.params))
    caught_up(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}


def test_an_outage_while_objects_are_read_repeats_the_landing_and_holds_nothing(shop: Shop, no_spark: str) -> None:
    pipeline = papers(shop)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    change(shop, CHANGES)
    shop.oracle.faults.fail_statements(12850, '\n  FROM "SHOP"."PAPERS" AS OF SCN', 1)
    caught_up(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}


def test_a_landing_that_is_full_while_objects_are_read_again_holds_nothing(
    shop: Shop, no_spark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = papers(shop)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    change(shop, CHANGES)

    def full(*_: object, **__: object) -> None:
        raise LandingUnwritable("the landing cannot be used: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Windows, "write_reread", full)
        with pytest.raises(LandingUnwritable):
            caught_up(shop, pipeline, no_spark)
    caught_up(shop, pipeline, no_spark)

    assert differences(shop, pipeline) == {}


def test_an_empty_object_is_empty_in_the_lake_and_not_null(shop: Shop) -> None:
    """To Oracle EMPTY_CLOB() IS NOT NULL, and the driver returns both as None."""
    shop.run_sql("INSERT INTO papers (id, name, body, scan) VALUES (100, 'loaded', EMPTY_CLOB(), EMPTY_BLOB())")
    pipeline, lake = papers(shop), PlainLake()
    with lake.in_place_of_spark():
        steps.take_snapshot(pipeline, source=shop.params, spark="no Spark")
        shop.run_sql(
            "INSERT INTO papers (id, name, body, scan) VALUES (101, 'mined', EMPTY_CLOB(), EMPTY_BLOB())",
            "INSERT INTO papers (id, name, body, scan) VALUES (102, 'null', NULL, NULL)",
        )
        caught_up(shop, pipeline, "no Spark")

    (table,) = lake.tables.values()
    assert {name: values for _, name, *values in table.rows.values() if name in ("loaded", "mined", "null")} == {
        "loaded": ["", b""],
        "mined": ["", b""],
        "null": [None, None],
    }
