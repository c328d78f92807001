"""What `redolake stats` counts of the batches that were applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from redolake.context import Run
from redolake.errors import ConfigurationError
from redolake.ledger.batch_stats import clock_difference, table_stats
from redolake.reconcile.ledger import reconcile_ledger
from redolake.records.batches.manifest import RowAccount, TableResult
from redolake.records.codec import to_body
from redolake.records.shown_facts import SourceFact
from redolake.steps.shown.stats import read_stats
from tests.unit.reconcile.pipeline_on_disk import ORDERS, PipelineOnDisk


def done(end: int, at: str, ddl: Mapping[str, int] | None = None, **account: int) -> TableResult:
    counts: Any = {"inserted": 2, "updated": 1, "deleted": 0}
    result = TableResult(ORDERS, "applied", end, **counts, balance=RowAccount(**account), ddl=ddl or {}, seconds=1.5)
    return replace(result, first_commit_at=f"2026-05-01T{at}:00", last_commit_at=f"2026-05-01T{at}:30")


@pytest.fixture
def two_batches(on_disk: PipelineOnDisk, context: Run) -> PipelineOnDisk:
    on_disk.batch(on_disk.window(200, 300), done=done(299, "10:00", landed=5, applied=4, rolled_back=1))
    on_disk.batch(on_disk.window(300, 400), done=done(399, "11:00", {"add": 1}, landed=3, applied=3))
    reconcile_ledger(context)
    context.ledger.record_facts({("source", ""): to_body(SourceFact(3600.0))})
    return on_disk


def test_the_changes_of_all_batches_add_up_by_table(two_batches: PipelineOnDisk) -> None:
    (table,) = read_stats(two_batches.pipeline, 24).tables

    assert (table.table, table.batches) == ("SHOP.ORDERS", 2)
    assert (table.total.inserted, table.total.updated, table.total.deleted) == (4, 2, 0)
    assert table.total.rows == {"landed": 8, "applied": 7, "rolled_back": 1}
    assert table.total.ddl == {"add": 1}
    assert table.total.seconds == 3.0


def test_commit_times_are_in_utc_whatever_zone_the_database_host_is_in(two_batches: PipelineOnDisk) -> None:
    found = read_stats(two_batches.pipeline, 24).total

    assert found.first_commit_at == datetime(2026, 5, 1, 9, 0, tzinfo=UTC)
    assert found.last_commit_at == datetime(2026, 5, 1, 10, 0, 30, tzinfo=UTC)


def test_each_batch_has_its_own_counts_oldest_first_also_one_that_read_no_changes(two_batches: PipelineOnDisk) -> None:
    found = read_stats(two_batches.pipeline, 24).batches

    assert [(one.from_scn, one.to_scn, one.windows) for one in found] == [(100, 200, 1), (200, 300, 1), (300, 400, 1)]
    assert [one.total.inserted for one in found] == [0, 2, 2]


def test_a_batch_of_an_older_redolake_has_its_row_account_only(two_batches: PipelineOnDisk, context: Run) -> None:
    newest, *_ = context.ledger.batches()
    body = {name: part for name, part in (newest.result or {}).items() if name != "changes"}

    (found,) = table_stats(replace(newest, result=body), timedelta(0), set()).values()

    assert (found.rows, found.inserted, found.first_commit_at) == ({"landed": 3, "applied": 3}, 0, None)


def test_a_table_that_the_pipeline_does_not_have_is_an_error(two_batches: PipelineOnDisk) -> None:
    with pytest.raises(ConfigurationError, match=r"SHOP\.ORDER: is no table of the pipeline"):
        read_stats(two_batches.pipeline, 24, ["SHOP.ORDER"])


@pytest.mark.parametrize(
    ("ahead", "seconds"),
    [(0.0, 0), (0.6, 0), (-1.4, 0), (3600.9, 3600), (20_698.8, 20_700), (-12_600.2, -12_600), (47.4, 47), (3671.0, 3671)],
)
def test_a_slow_answer_moves_no_time_and_a_clock_that_is_wrong_does(ahead: float, seconds: int) -> None:
    assert clock_difference(ahead) == timedelta(seconds=seconds)
