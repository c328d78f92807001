"""`redolake mend TABLE --execute` takes three different ways, in real Delta, and the table equals the source after each."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from pyspark.sql import functions as F

from redolake import steps
from redolake.cockpit.health import ways_of
from redolake.context import Run
from redolake.errors import RedolakeError
from redolake.operations.declared import Verdict
from redolake.operations.mend import mend
from tests.fixtures.shop import Shop
from tests.integration.test_backfill_ranges import write_as_ours
from tests.states.losing_pipeline import LosingPipeline

pytestmark = pytest.mark.spark

NAME = "SHOP.PARTS"


def mended(losing: LosingPipeline, command: str) -> None:
    """Mend the table by what `mend` says without --execute; a comparison then finds it equal, and nothing is left to do."""
    _, ways = steps.look_up_ways(losing.pipeline, NAME)
    assert [way.command for way in ways] == [command]

    def run(*, execute: bool) -> Run:
        return Run(losing.pipeline, losing.shop.params, losing.spark, execute=execute, by="ann", reason="a test")

    said = mend.act(run(execute=False), NAME)
    assert any(line.lstrip().startswith(f"{command}: `redolake {command}") for line in said.lines), said.lines
    done = mend.act(run(execute=True), NAME)
    assert done.verdict is not Verdict.DIFFERS, done.lines
    losing.catch_up()
    assert steps.verify_tables(losing.pipeline, source=losing.shop.params, spark=losing.spark).equal
    line, left = steps.look_up_ways(losing.pipeline, NAME)
    assert (ways_of(line), left) == ((), ())
    with Run(losing.pipeline) as opened:
        assert opened.ledger.decisions()[-1].who == "ann"


def test_a_gap_is_closed_by_mend(shop: Shop, spark: Any) -> None:
    losing = LosingPipeline(shop, spark)
    losing.lose_redo()
    losing.recover_by("gap", reason="the tapes are gone")
    losing.catch_up()
    losing.shop.oracle.faults.restore_logs(folder=str(losing.shop.folder / "restored"))
    mended(losing, "close-gap")


def test_rows_are_repaired_and_a_held_table_is_read_again_by_mend(shop: Shop, spark: Any) -> None:
    losing = LosingPipeline(shop, spark)
    target = losing.pipeline.target(losing.pipeline.tables[0].id)
    rows = spark.read.format("delta").load(target)
    write_as_ours(losing.pipeline, spark, NAME, rows.filter("ID <> 2").withColumn("QUANTITY", F.lit(-1)))
    assert not steps.verify_tables(losing.pipeline, source=shop.params, spark=spark).equal
    mended(losing, "repair")

    losing.change("ALTER TABLE parts NOLOGGING", "UPDATE parts SET quantity = 7 WHERE id = 3")
    with suppress(RedolakeError):
        losing.catch_up()
    assert [table.state for table in losing.status().tables] == ["held"]
    mended(losing, "snapshot")
