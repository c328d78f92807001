"""What happens inside Spark's jobs while a transaction is open that may have made a change of unknown transaction: a table that
is read again, and a history that is made again. tests/integration/test_unknown_transactions.py has the cases without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.context import Run
from redolake.errors import NotReadableAsOf, SnapshotTooEarly
from redolake.mine import mining
from redolake.values.redo import NO_XID
from redolake.values.table import TableId
from tests.fixtures.shop import Shop, open_shop
from tests.integration.test_pipeline import caught_up
from tests.integration.test_unknown_transactions import open_transaction
from tests.integration.test_vanished_partitions import created, held, rows_of_source
from tests.references.delta_table import delta_rows

PLAIN = TableId("SHOP", "PLAIN")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with open_shop(tmp_path) as opened:
        yield opened


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """LogMiner does not show the transaction of changes with the text 'first'."""
    landed_rows = mining.landed_rows

    def without_xid(*asked: Any) -> pa.RecordBatch:
        batch = landed_rows(*asked)
        is_first = pc.match_substring(batch["sql_redo"], "'first'").fill_null(False)
        for name in ("xid", "pxid"):
            values = pc.if_else(is_first, NO_XID, batch[name])
            batch = batch.set_column(batch.schema.get_field_index(name), name, values)
        return batch

    monkeypatch.setattr(mining, "landed_rows", without_xid)


def rows(pipeline: Pipeline) -> dict[int, tuple[Any, ...]]:
    return {int(row["ID"]): (str(row["K"]), row["A"]) for row in delta_rows(pipeline.target(PLAIN))}


def replaced(shop: Shop, pipeline: Pipeline, spark: Any) -> None:
    steps.take_snapshot(pipeline, [str(PLAIN)], replace=True, source=shop.params, spark=spark)


def test_no_table_is_read_again_nor_its_history_made_while_that_transaction_is_open(
    spark: Any, shop: Shop, forgotten: None
) -> None:
    shop.run_sql(*created("plain"), "INSERT INTO plain VALUES (1, 1, 'old')")
    pipeline = shop.pipeline(tables=[str(PLAIN)], history="changes")
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    caught_up(shop, pipeline, spark)
    with open_transaction(shop) as connection:
        shop.switch_logs()
        shop.run_sql("INSERT INTO plain VALUES (10, 10, 'switched')")
        begun = steps.begin_snapshot(Run(pipeline, shop.params), [str(PLAIN)], replace=True)
        steps.read_snapshot_table(Run(pipeline, shop.params), begun.scn, str(PLAIN))
        load = steps.prepare_snapshot_load(pipeline, {str(PLAIN): begun.scn}, replace=True)
        steps.run_spark_job(Run(pipeline, spark=spark), load)
        steps.record_snapshot_load(pipeline, load)
        shop.run_sql("INSERT INTO plain VALUES (11, 11, 'beyond')")  # windows go beyond the snapshot's SCN
        caught_up(shop, pipeline, spark)
        assert "belongs to no transaction" in held(pipeline)[str(PLAIN)], "the load was before the change was seen"
        with pytest.raises(SnapshotTooEarly, match="a snapshot lacks what is open"):
            replaced(shop, pipeline, spark)
        connection.commit()
    assert rows(pipeline) == {1: ("1", "old"), 10: ("10", "switched")}
    shop.run_sql("INSERT INTO plain VALUES (5, 5, 'later')")
    replaced(shop, pipeline, spark)
    shop.run_sql("INSERT INTO plain VALUES (6, 6, 'after')")
    caught_up(shop, pipeline, spark)
    assert held(pipeline) == {}
    assert rows(pipeline) == rows_of_source(shop, "plain")
    history = pipeline.history_target(PLAIN)
    before = delta_rows(history)

    with pytest.raises(NotReadableAsOf, match="belongs to no transaction"):
        steps.rebuild_history(Run(pipeline, spark=spark, execute=True, by="dba", reason="a test"), str(PLAIN), str(begun.scn))
    assert delta_rows(history) == before, "nothing was joined"
    assert rows(pipeline) == rows_of_source(shop, "plain")
