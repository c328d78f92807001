"""Names from a dictionary in the redo: the whole pipeline with a plain fold in place of Spark, and two redo threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest

from redolake import steps
from redolake.context import Run
from redolake.errors import NoDictionaryInRedo
from redolake.steps.run import capture
from redolake.window.dictionary import BUILD
from tests.fixtures.shop import Shop
from tests.integration.test_pipeline import caught_up, differences, parts_pipeline
from tests.references.plain_lake import PlainLake
from tests.support.doctor import run_doctor

SWAP = (
    'ALTER TABLE parts RENAME COLUMN place TO "Between"',
    "ALTER TABLE parts RENAME COLUMN quantity TO place",
    'ALTER TABLE parts RENAME COLUMN "Between" TO quantity',
)


@pytest.fixture
def no_spark() -> Iterator[str]:
    with PlainLake(replays=True).in_place_of_spark():
        yield "no Spark"


def pipeline_with_dictionary(shop: Shop) -> Any:
    pipeline = parts_pipeline(shop)
    source = pipeline.source.model_copy(update={"dictionary": "redo"})
    return pipeline.model_copy(update={"source": source})


def build(shop: Shop) -> None:
    shop.run_sql(BUILD, *["ALTER SYSTEM ARCHIVE LOG CURRENT"] * 2, user="SYS")


def landed_inserts(shop: Shop) -> list[str]:
    """Return the column lists of the landed INSERTs."""
    files = sorted((shop.folder / "landing").rglob("*.parquet"))
    rows = [row for file in files if "sql_redo" in pq.read_schema(file).names for row in pq.read_table(file).to_pylist()]
    inserts = [row["sql_redo"] for row in rows if row["operation_code"] == 1]
    return [text[text.index("(") : text.index(")") + 1] for text in inserts]


def test_redo_mined_late_has_the_names_of_its_time(shop: Shop, no_spark: str) -> None:
    pipeline = pipeline_with_dictionary(shop)
    build(shop)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    shop.run_sql("INSERT INTO parts (id, place, quantity) VALUES (1, 'W1', 1)")
    shop.run_sql(*SWAP)
    shop.run_sql("INSERT INTO parts (id, place, quantity) VALUES (2, 2, 'W2')")
    caught_up(shop, pipeline, no_spark)

    assert landed_inserts(shop) == ['("ID","PLACE","QUANTITY")', '("ID","QUANTITY","PLACE")']
    for key in (3, 4):  # the second is mined with a later dictionary, in a log that begins after one of the other redo thread
        build(shop)
        shop.run_sql(f"INSERT INTO parts (id, place, quantity) VALUES ({key}, 2, 'W2')")
        caught_up(shop, pipeline, no_spark)
    assert differences(shop, pipeline) == {}


def test_a_first_snapshot_waits_for_a_dictionary(shop: Shop, no_spark: str) -> None:
    pipeline = pipeline_with_dictionary(shop)

    with pytest.raises(NoDictionaryInRedo, match="contains a complete dictionary") as refused:
        steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)

    assert BUILD in refused.value.cure
    assert [f.what for f in run_doctor(pipeline, shop.params) if f.severity == "error"] == [refused.value.what]


def test_a_log_that_is_missing_since_the_dictionary_stops_the_plan(shop: Shop, no_spark: str) -> None:
    pipeline = pipeline_with_dictionary(shop)
    build(shop)
    steps.take_snapshot(pipeline, source=shop.params, spark=no_spark)
    caught_up(shop, pipeline, no_spark)
    shop.run_sql("INSERT INTO parts (id, place, quantity) VALUES (1, 'W1', 1)")
    shop.switch_logs()
    gone = max(copy.sequence for copy in shop.oracle.database.state.archived if copy.thread == 2) - 2
    shop.oracle.faults.purge_logs(2, gone, gone)

    with pytest.raises(NoDictionaryInRedo, match=f"sequence {gone} is not available"):
        capture(Run(pipeline, shop.params))

    build(shop)
    with pytest.raises(NoDictionaryInRedo):
        capture(Run(pipeline, shop.params))  # a later dictionary does not serve earlier redo
    online = pipeline.model_copy(update={"source": pipeline.source.model_copy(update={"dictionary": "online"})})
    assert capture(Run(online, shop.params)).plan.outcome == "window"


def test_the_runway_counts_from_the_dictionary(shop: Shop, no_spark: str) -> None:
    pipeline = pipeline_with_dictionary(shop)
    online = pipeline.model_copy(update={"source": pipeline.source.model_copy(update={"dictionary": "online"})})
    steps.take_snapshot(online, source=shop.params, spark=no_spark)
    before = steps.measure_runway(pipeline, source=shop.params)
    assert (before.needed_by, [f.subject for f in before.findings][:1]) == ("position", ["dictionary in the redo"])
    build(shop)
    for key in range(3):
        shop.run_sql(f"INSERT INTO parts (id, place, quantity) VALUES ({key}, 'W', 1)")
        caught_up(shop, online, no_spark)

    with_dictionary, without = (steps.measure_runway(p, source=shop.params) for p in (pipeline, online))

    assert (with_dictionary.needed_by, without.needed_by) == ("dictionary", "position")
    assert with_dictionary.threads[0].needed is not None
    assert without.threads[0].needed is not None
    assert with_dictionary.threads[0].needed.sequence < without.threads[0].needed.sequence
    assert (with_dictionary.unread_bytes, with_dictionary.state) == (without.unread_bytes, "enough")

    gone = with_dictionary.threads[0].needed.sequence + 1
    shop.oracle.faults.purge_logs(1, gone, gone)
    lost = steps.measure_runway(pipeline, source=shop.params)
    assert lost.state == "lost"
    assert steps.measure_runway(online, source=shop.params).lost is None
    assert lost.lost is not None
    assert "`dictionary: online`" in lost.lost["cure"]
