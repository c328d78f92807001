"""OpenLogReplicator without a connection to Oracle: what goes on, what stops, what is said, and what proves it afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from redolake import steps
from redolake.cockpit.overview import read_overview
from redolake.config import Pipeline
from redolake.context import Run, ledger_url
from redolake.errors import ConfigurationError, StreamLost
from redolake.records.readers import unproved_scn
from tests.fixtures.shop import Shop, open_shop
from tests.integration.test_olr import SPARK, Streamed, two_tables
from tests.integration.test_pipeline import TWO_TABLES, differences
from tests.references.plain_lake import PlainLake
from tests.support.doctor import run_doctor
from tests.support.killed import killed_at
from tests.support.short_pauses import short_pauses


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with short_pauses(), PlainLake().in_place_of_spark(), open_shop(tmp_path, threads=1, scns_per_second=50) as opened:
        yield opened


def alone(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline as it is without `connection` in its file."""
    return pipeline.model_copy(update={"source": pipeline.source.model_copy(update={"connection": None})})


def run_alone(streamed: Streamed, pipeline: Pipeline) -> Any:
    return steps.run_pipeline(alone(pipeline), until_caught_up=True, spark=SPARK)


def run_on_thread(shop: Shop, thread: int, statement: str) -> None:
    instance = shop.oracle.database.state.threads[thread].instance
    with shop.oracle.connect("SHOP", instance_name=instance) as connection:
        connection.cursor().execute(statement)
        connection.commit()


def unproved(pipeline: Pipeline) -> list[int | None]:
    with Run(pipeline) as context:
        return [unproved_scn(window) for window in context.landing.windows.after()]


def test_windows_land_without_a_connection_each_says_so_and_the_next_run_with_one_proves_them(shop: Shop) -> None:
    streamed, pipeline = two_tables(shop)
    for seed in (2, 3):
        shop.work(10, seed=seed)
        run_alone(streamed, pipeline)
    assert differences(shop, pipeline) == {}
    since = unproved(pipeline)[-1]
    found, page = steps.read_status(alone(pipeline)), read_overview(pipeline, ledger_url(pipeline), datetime.now(UTC))
    assert unproved(pipeline)[0] is None
    assert unproved(pipeline)[-2:] == [since, since]
    assert since is not None
    assert (found.unproved_since_scn, page.unproved_since) == (since, since)
    assert "not proved by the database since SCN" in " ".join(page.health.more)

    shop.work(5, seed=4)
    streamed.run(pipeline)
    assert unproved(pipeline)[-1] is None
    assert steps.read_status(pipeline).unproved_since_scn is None
    assert differences(shop, pipeline) == {}


def test_a_redo_thread_that_wrote_meanwhile_is_a_loss_once_the_database_is_asked(shop: Shop) -> None:
    streamed, pipeline = two_tables(shop)
    shop.work(5, seed=2)
    run_alone(streamed, pipeline)
    shop.oracle.faults.add_thread(2)
    run_on_thread(shop, 2, "INSERT INTO customers (id, name) VALUES (900002, 'second')")
    shop.oracle.faults.close_thread(2)
    shop.run_sql("INSERT INTO customers (id, name) VALUES (900001, 'first')")
    run_alone(streamed, pipeline)
    mined = shop.pipeline(tables=TWO_TABLES)
    for reader in (pipeline, mined):  # whoever asks the database next
        with pytest.raises(StreamLost, match="redo thread 2 has had redo since SCN") as lost:
            streamed.run(reader)
        assert "redolake recover snapshot" in lost.value.cure
        assert steps.read_status(reader).lost is not None
    for _ in range(2):  # as recover asks for: the last log before the loss must have ended
        shop.switch_logs()
    steps.recover_redo_loss(mined, "snapshot", source=shop.params, spark=SPARK)
    shop.run_sql("UPDATE customers SET name = 'both' WHERE id > 900000")
    shop.switch_logs()
    streamed.run(mined)
    assert differences(shop, mined) == {}


def test_ddl_stops_before_anything_of_it_lands_and_a_run_with_a_connection_goes_on(shop: Shop) -> None:
    streamed, pipeline = two_tables(shop)
    shop.work(3, seed=2)
    run_alone(streamed, pipeline)
    landed = steps.list_windows(pipeline)
    shop.run_sql("INSERT INTO customers (id, name) VALUES (900001, 'before')")
    shop.run_sql("ALTER TABLE customers ADD (points NUMBER(9) DEFAULT 7)", "UPDATE customers SET points = 8 WHERE id = 900001")
    stopped = r"DDL at SCN \d+ may concern SHOP.CUSTOMERS.*Nothing of this window"
    for _ in range(2):
        with pytest.raises(ConfigurationError, match=stopped) as said:
            run_alone(streamed, pipeline)
        assert "name a `connection`" in said.value.findings[0].cure
    assert steps.list_windows(pipeline) == landed
    streamed.run(pipeline)
    shop.run_sql("INSERT INTO customers (id, name, points) VALUES (900002, 'after', 9)")
    assert run_alone(streamed, pipeline).windows
    assert differences(shop, pipeline) == {}


def test_what_needs_the_database_names_the_connection_and_changes_nothing(shop: Shop) -> None:
    streamed, pipeline = two_tables(shop)
    without = alone(pipeline)
    for step in (
        lambda: steps.take_snapshot(without, ["SHOP.CUSTOMERS"], replace=True, spark=SPARK),
        lambda: steps.verify_tables(without, spark=SPARK),
        lambda: steps.measure_runway(without),
    ):
        with pytest.raises(ConfigurationError, match="needs the database"):
            step()
    streamed.server.forget()
    shop.work(3, seed=2)
    with pytest.raises(ConfigurationError, match="has lost its checkpoint files"):
        run_alone(streamed, pipeline)
    streamed.run(pipeline)
    run_alone(streamed, pipeline)
    assert differences(shop, pipeline) == {}


def test_the_first_window_needs_a_connection_and_doctor_says_it_before(shop: Shop) -> None:
    streamed, pipeline = two_tables(shop)
    fresh = streamed.pipeline("fresh", tables=TWO_TABLES, lake=str(shop.folder / "fresh"))
    assert [f.severity for f in run_doctor(alone(fresh)) if f.subject == "fresh.source.connection"] == ["error"]
    with pytest.raises(ConfigurationError, match="needs the database"):
        run_alone(streamed, fresh)
    steps.take_snapshot(fresh, source=shop.params, spark=SPARK)
    with pytest.raises(ConfigurationError, match="the first window needs it"):
        run_alone(streamed, fresh)
    assert [f.severity for f in run_doctor(alone(pipeline)) if f.subject == "shop.source.connection"] == ["warning"]


def test_a_table_added_without_a_connection_waits_for_one_and_the_others_go_on(shop: Shop) -> None:
    streamed, _ = two_tables(shop)
    wider = streamed.pipeline(tables=[*TWO_TABLES, "SHOP.ORDERS"])
    shop.work(5, seed=2)
    said: list[str] = []
    steps.run_pipeline(alone(wider), until_caught_up=True, spark=SPARK, report=lambda text: said.append(str(text)))
    assert any("SHOP.ORDERS: no contents yet; a snapshot needs `connection`" in text for text in said)
    shop.work(5, seed=3)
    streamed.run(wider)
    streamed.run(wider)
    assert differences(shop, wider) == {}


def test_a_kill_after_any_write_without_a_connection_leaves_no_window_or_a_whole_one(shop: Shop) -> None:
    streamed, pipeline = two_tables(shop)
    shop.work(3, seed=2)
    passed: list[str] = []
    with mock.patch("redolake.host.crash.point", passed.append):
        steps.receive_next_window(alone(pipeline))
    points = [name for name in dict.fromkeys(passed) if not name.startswith("part of")]
    assert {"ledger.plan_window", "write_slice", "publish", "finish"} <= {name.partition(" ")[0] for name in points}
    for seed, point in enumerate(points, 3):
        shop.work(3, seed=seed)
        with killed_at(point):
            steps.receive_next_window(alone(pipeline))
    run_alone(streamed, pipeline)
    streamed.run(pipeline)
    assert differences(shop, pipeline) == {}
