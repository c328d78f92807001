"""Any history of concurrent sessions, cut into windows and batches, killed and repeated, ends as Oracle shows the tables."""

from __future__ import annotations

import logging
import tempfile
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, note

from pipelines import steps
from pipelines.steps.running import capture
from tests.fix_shop import Shop
from tests.gathered_histories import Played, damaged, differing, rearranged
from tests.histories import TABLES, Apply, Capture, History, Players, examples, histories, opened, play
from tests.reference_copy import IDS, Killed, Reference

LOG = logging.getLogger(__name__)


@pytest.fixture(scope="module")
def played() -> list[Played]:
    """Histories, each of which the definition has folded to what Oracle shows, after every batch and in the end."""
    told: Counter[str] = Counter()
    kept: list[Played] = []

    @examples(6)
    @given(history=histories(Reference.KILLED))
    def check(history: History) -> None:
        with opened(history.source) as players:
            copy = Reference(players)
            try:
                play(history, players, copy)
                for table in IDS:
                    assert copy.tables[table].rows == players.rows(table.name)
                    assert not copy.tables[table].carried
            finally:
                copy.close()
        told.update(copy.told)
        kept.append(Played(copy.raw, copy.begun))

    check()
    assert all(told[fate] for fate in ("applied", "undone", "rolled_back", "carried_out", "before_position")), told
    LOG.info("change rows by what became of them: %s", dict(told))
    return kept


def test_any_history_is_folded_to_what_oracle_shows(played: list[Played]) -> None:
    assert played


@pytest.mark.spark
def test_spark_gives_every_row_of_a_history_the_fate_of_the_definition(
    spark: Any, tmp_path: Path, played: list[Played]
) -> None:
    """Also where undo rows come in another order; and of damaged redo, whether it is found not to be understood."""
    others = [other(one, seed) for other in (rearranged, damaged) for seed, one in enumerate(played)]

    assert differing(spark, tmp_path, [*played, *others]) == []


class Delta:
    """The pipeline itself: the steps that the DAGs name, Spark, and Delta tables."""

    CAPTURE_KILLED = ("plan", "slice", "chain")
    APPLY_KILLED = ("order", "carry-over", "merge", "table", "before manifest", "manifest")

    def __init__(self, players: Players, folder: Path, spark: Any) -> None:
        self.players, self.shop, self.spark = players, Shop(players.oracle, folder), spark
        self.source = self.shop.params
        self.pipeline = self.configured(2**30, 2**30)

    def configured(self, max_bytes: int, slice_bytes: int) -> Any:
        keyless = self.players.keyless
        tables = [{"table": f"SHOP.{name}", "key": "rowid" if name in keyless else "primary"} for name in TABLES]
        return self.shop.pipeline(tables=tables, window={"max_bytes": max_bytes, "slice_bytes": slice_bytes}, mining_tasks=1)

    def begin(self) -> None:
        steps.snapshot(self.pipeline, source=self.source, spark=self.spark)
        note(f"contents AS OF {self.complete_to()}")

    def complete_to(self) -> int:
        """The SCN that both tables are complete to; neither may have been held."""
        told = steps.status(self.pipeline)["tables"]
        assert [table["error"] for table in told] == [None, None]
        (scn,) = {int(table["complete_to"]) for table in told}
        return scn

    def capture(self, step: Capture) -> None:
        pipeline = self.configured(step.max_bytes, step.slice_bytes)
        if step.killed:
            with suppress(Killed):
                self.capture_killed(pipeline, step.killed)
        while (found := capture(pipeline, self.source))["outcome"] == "window":
            note(found["reason"])
            if step.again:
                assert steps.remine(pipeline, found["window"], source=self.source)["equal"]
            if not step.all:
                break

    def capture_killed(self, pipeline: Any, killed: str) -> None:
        planned = steps.plan(pipeline, self.source)
        if killed == "plan" or planned["outcome"] != "window":
            return
        slices = planned["slices"][: 1 if killed == "slice" else None]
        records = [steps.mine(pipeline, self.source, planned["window"], number) for number in slices]
        if killed == "chain":
            with mock.patch("pipelines.land.landing.point", partial(kill_at, "land.chain")):
                steps.land(pipeline, planned["window"], records)

    def apply(self, step: Apply) -> None:
        if step.killed:
            with suppress(Killed), mock.patch("pipelines.crash.point", partial(kill_at, step.killed)):
                order = steps.prepare_apply(self.pipeline)
                if step.killed != "order" and order["batch"]:
                    steps.run_spark(self.pipeline, order["batch"], self.spark)
        order = steps.prepare_apply(self.pipeline)
        if order["batch"]:
            note(f"batch of commits in [{order['start']}, {order['end']})")
            for _ in range(2 if step.again else 1):
                steps.run_spark(self.pipeline, order["batch"], self.spark)
                steps.record_apply(self.pipeline, order["batch"])
        self.compare()

    def compare(self) -> None:
        scn = self.complete_to()
        for table in IDS:
            frame = self.spark.read.format("delta").load(self.pipeline.target(table))
            rows = [(int(row.ID), row.PLACE, int(row.QUANTITY)) for row in frame.collect()]
            assert Counter(rows) == Counter(self.players.rows(table.name, scn).values())


def kill_at(killed: str, name: str) -> None:
    if name == killed:
        raise Killed


@pytest.mark.spark
def test_any_history_ends_in_delta_as_oracle_shows_it(spark: Any) -> None:
    @examples(1)
    @given(history=histories(Delta.CAPTURE_KILLED, Delta.APPLY_KILLED, rounds=2, partial=True))
    def check(history: History) -> None:
        with tempfile.TemporaryDirectory() as folder, opened(history.source) as players:
            copy = Delta(players, Path(folder), spark)
            play(history, players, copy)
            verified = steps.verify(copy.pipeline, source=copy.source, spark=spark)
            assert verified["equal"], verified

    check()
