"""Recovery where Delta decides: its tables know up to which SCN, and of which incarnation, they are complete."""

from __future__ import annotations

from typing import Any

import pytest

from pipelines import steps
from tests.fixtures.shop import Shop
from tests.states.losing_pipeline import LosingPipeline, check_new_incarnation

pytestmark = pytest.mark.spark


@pytest.fixture
def losing(shop: Shop, spark: Any) -> LosingPipeline:
    return LosingPipeline(shop, spark)


def test_capture_continues_in_the_new_incarnation_after_a_declared_gap(losing: LosingPipeline) -> None:
    check_new_incarnation(losing, "gap")


def test_windows_from_before_a_resetlogs_do_not_change_a_table_snapshotted_after_it(losing: LosingPipeline) -> None:
    losing.change("UPDATE parts SET quantity = 100 WHERE id = 1")
    losing.shop.switch_logs()
    losing.land()
    losing.shop.oracle.faults.reset_logs()
    losing.change("UPDATE parts SET quantity = 300 WHERE id = 1")
    losing.shop.switch_logs()
    losing.land()
    steps.take_snapshot(losing.pipeline, ["SHOP.PARTS"], replace=True, source=losing.shop.params, spark=losing.spark)

    losing.catch_up()

    assert losing.rows()[1] == 300
    assert losing.is_equal()
