"""Changes that name no transaction (LogMiner shows XIDSQN 4294967295, or 0.0.0) while one is open that may have made them, in a
table that is read again meanwhile. Without Spark and Delta."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.config.keep import KeepSettings
from redolake.config.limits import BatchLimits, WindowLimits
from redolake.context import Run
from redolake.errors import NotReadableAsOf, SnapshotTooEarly
from redolake.source import open_source, read_current_scn
from tests.fixtures.shop import Shop, open_shop
from tests.integration.test_pipeline import caught_up
from tests.integration.test_vanished_partitions import created, held, rows, rows_of_source
from tests.references import plain_lake
from tests.references.plain_lake import PlainLake

NO_SPARK = "no Spark"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with open_shop(tmp_path) as opened:
        yield opened


@pytest.fixture(params=["0.0.0", "7.7.4294967295"])
def unknown(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """LogMiner does not show the transaction of changes with the text 'first'."""
    raw_redo = plain_lake.raw_redo

    def forgotten(part: pa.Table, *asked: Any) -> Iterator[Any]:
        for row in raw_redo(part, *asked):
            yield {**row, "xid": request.param, "pxid": request.param} if "'first'" in str(row["sql_redo"]) else row

    monkeypatch.setattr(plain_lake, "raw_redo", forgotten)
    return str(request.param)


def loaded(shop: Shop) -> Pipeline:
    shop.run_sql(*created("plain"), "INSERT INTO plain VALUES (1, 1, 'old')")
    pipeline = shop.pipeline(tables=["SHOP.PLAIN"], history="changes")
    steps.take_snapshot(pipeline, source=shop.params, spark=NO_SPARK)
    caught_up(shop, pipeline, NO_SPARK)
    return pipeline


@contextmanager
def open_transaction(shop: Shop) -> Iterator[Any]:
    """Open a transaction with two changes, of which the first will name none."""
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO plain VALUES (3, 3, 'first')")
        cursor.execute("INSERT INTO plain VALUES (4, 4, 'second')")
        yield connection


def current_scn(shop: Shop) -> int:
    with open_source(shop.params) as source:
        return int(read_current_scn(source))


def replaced(shop: Shop, pipeline: Pipeline) -> None:
    steps.take_snapshot(pipeline, ["SHOP.PLAIN"], replace=True, source=shop.params, spark=NO_SPARK)


@contextmanager
def loading(shop: Shop, pipeline: Pipeline) -> Iterator[int]:
    """Begin a new snapshot and read it, and load it at the end. Yield its SCN. A window before it is not landed yet."""
    shop.switch_logs()
    shop.run_sql("INSERT INTO plain VALUES (10, 10, 'switched')")
    begun = steps.begin_snapshot(Run(pipeline, shop.params), ["SHOP.PLAIN"], replace=True)
    steps.read_snapshot_table(Run(pipeline, shop.params), begun.scn, "SHOP.PLAIN")
    yield begun.scn
    load = steps.prepare_snapshot_load(pipeline, {"SHOP.PLAIN": begun.scn}, replace=True)
    steps.run_spark_job(Run(pipeline, spark=NO_SPARK), load)
    steps.record_snapshot_load(pipeline, load)


def check_healed(shop: Shop, pipeline: Pipeline, lake: PlainLake) -> None:
    """Read the table again, now that the transactions of that time have ended."""
    shop.run_sql("INSERT INTO plain VALUES (5, 5, 'later')")
    replaced(shop, pipeline)
    shop.run_sql("INSERT INTO plain VALUES (6, 6, 'after')")
    caught_up(shop, pipeline, NO_SPARK)
    assert held(pipeline) == {}
    assert rows(lake, pipeline, "plain") == rows_of_source(shop, "plain")


def test_a_table_is_not_read_again_while_a_transaction_is_open_that_may_have_made_an_applied_change(
    shop: Shop, lake: PlainLake, unknown: str
) -> None:
    pipeline = loaded(shop)
    with open_transaction(shop) as connection:
        caught_up(shop, pipeline, NO_SPARK)
        assert "belongs to no transaction" in held(pipeline)["SHOP.PLAIN"]
        with pytest.raises(SnapshotTooEarly, match="a snapshot lacks what is open"):
            replaced(shop, pipeline)
        connection.commit()
    check_healed(shop, pipeline, lake)


def test_such_a_change_that_is_applied_after_the_snapshot_holds_the_table(shop: Shop, lake: PlainLake, unknown: str) -> None:
    pipeline = loaded(shop)
    with open_transaction(shop) as connection:
        replaced(shop, pipeline)
        connection.commit()
    caught_up(shop, pipeline, NO_SPARK)
    assert "belongs to no transaction" in held(pipeline)["SHOP.PLAIN"]
    assert rows(lake, pipeline, "plain") == {1: ("1", "old")}
    check_healed(shop, pipeline, lake)


def test_such_a_change_that_is_applied_between_the_snapshot_and_its_load_holds_the_table(
    shop: Shop, lake: PlainLake, unknown: str
) -> None:
    pipeline = loaded(shop)
    with open_transaction(shop) as connection:
        with loading(shop, pipeline):
            steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=NO_SPARK)
        connection.commit()
    caught_up(shop, pipeline, NO_SPARK)
    assert "not known whether the transaction" in held(pipeline)["SHOP.PLAIN"]
    check_healed(shop, pipeline, lake)


def test_such_a_change_of_a_transaction_that_ended_before_the_snapshot_is_in_it(
    shop: Shop, lake: PlainLake, unknown: str
) -> None:
    pipeline = loaded(shop)
    with open_transaction(shop) as connection:
        connection.commit()
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO plain VALUES (7, 7, 'open')")
        replaced(shop, pipeline)
        connection.commit()
    caught_up(shop, pipeline, NO_SPARK)
    assert held(pipeline) == {}
    assert rows(lake, pipeline, "plain") == rows_of_source(shop, "plain")


@pytest.mark.parametrize("is_applied_before", [False, True])
def test_no_copy_or_history_is_made_from_a_snapshot_that_may_lack_such_a_change(
    shop: Shop, lake: PlainLake, unknown: str, monkeypatch: pytest.MonkeyPatch, is_applied_before: bool
) -> None:
    """The table has been read again since; the copy begins with the older contents."""
    pipeline = loaded(shop)
    with open_transaction(shop) as connection:
        with loading(shop, pipeline) as scn:
            if is_applied_before:
                steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=NO_SPARK)
        connection.commit()
    for key in (8, 9):
        shop.run_sql(f"INSERT INTO plain VALUES ({key}, {key}, 'meanwhile')")
    at = str(current_scn(shop))
    check_healed(shop, pipeline, lake)
    what = "not known whether the transaction" if is_applied_before else "belongs to no transaction"
    with pytest.raises(NotReadableAsOf, match=what):
        steps.copy_tables(pipeline, scn, at, execute=True, spark=NO_SPARK)
    if is_applied_before:  # otherwise it is seen in the job that makes the history
        with pytest.raises(NotReadableAsOf, match=what):
            steps.rebuild_history(pipeline, "SHOP.PLAIN", str(scn))


def nothing(shop: Shop, pipeline: Pipeline) -> None:
    """Go on at once."""


def prune(_: Shop, pipeline: Pipeline) -> None:
    keep = KeepSettings(landing="0s", ledger="0s", snapshots="0s")  # type: ignore[arg-type]
    report = steps.prune_pipeline(pipeline.model_copy(update={"keep": keep}), execute=True, by="dba", reason="a test")
    assert "windows" in {kind.kind for kind in report.kinds}, report


def lose_ledger(_: Shop, pipeline: Pipeline) -> None:
    Path(pipeline.ledger_url.removeprefix("sqlite:///")).unlink()


@pytest.mark.parametrize("meanwhile", [nothing, prune, lose_ledger])
def test_such_a_change_in_a_batch_that_ends_before_the_snapshot_is_not_forgotten(
    shop: Shop, lake: PlainLake, unknown: str, meanwhile: Callable[[Shop, Pipeline], None]
) -> None:
    pipeline = loaded(shop).model_copy(update={"window": WindowLimits(max_bytes=1), "batch": BatchLimits(max_rows=1)})
    with shop.oracle.connect("SHOP") as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO plain VALUES (3, 3, 'first')")  # nothing that is carried over
        for key in (11, 12, 13):
            shop.switch_logs()
            shop.run_sql(f"INSERT INTO plain VALUES ({key}, {key}, 'switched')")
        replaced(shop, pipeline)
        steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=NO_SPARK)
        assert held(pipeline) == {}, "up to the snapshot's SCN it is complete"
        assert rows(lake, pipeline, "plain") == rows_of_source(shop, "plain")
        meanwhile(shop, pipeline)
        with pytest.raises(SnapshotTooEarly, match="a snapshot lacks what is open"):
            replaced(shop, pipeline)
        connection.commit()
    caught_up(shop, pipeline, NO_SPARK)
    assert "not known whether the transaction" in held(pipeline)["SHOP.PLAIN"]
    check_healed(shop, pipeline, lake)
