"""`redolake mend TABLE --execute` takes three different ways, in real Delta, and the table equals the source after each."""

from __future__ import annotations

from typing import Any

import pytest

from redolake import steps
from redolake.cockpit.health import ways_of
from redolake.context import Run
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


def test_each_way_makes_the_table_equal(shop: Shop, spark: Any) -> None:
    losing = LosingPipeline(shop, spark)
    losing.lose_redo()
    losing.recover_by("gap", reason="the tapes are gone")
    losing.catch_up()
    losing.shop.oracle.faults.restore_logs(folder=str(losing.shop.folder / "restored"))
    mended(losing, "close-gap")

    rows = losing.spark.read.format("delta").load(losing.pipeline.target(losing.pipeline.tables[0].id))
    write_as_ours(losing.pipeline, losing.spark, NAME, rows.filter("id <> 2").selectExpr("id", "place", "-1 AS quantity"))
    assert not steps.verify_tables(losing.pipeline, source=losing.shop.params, spark=losing.spark).equal
    mended(losing, "repair")

    losing.spark.sql(f"DELETE FROM delta.`{losing.pipeline.target(losing.pipeline.tables[0].id)}` WHERE id = 1")
    losing.change("UPDATE parts SET quantity = 7 WHERE id = 3")  # a foreign write holds the table
    with pytest.raises(Exception, match="is held"):
        losing.catch_up()
    mended(losing, "snapshot")
