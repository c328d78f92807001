"""What a task is mapped over is grouped: no table and no slice is left out, and no more groups than Airflow starts."""

from __future__ import annotations

import pytest

from redolake.airflow.groups import group_evenly, group_label


@pytest.mark.parametrize("items", range(12))
@pytest.mark.parametrize("most", [1, 2, 3, 1024])
def test_every_item_is_in_one_group_in_its_order(items: int, most: int) -> None:
    groups = group_evenly(range(items), most)

    assert [item for group in groups for item in group] == list(range(items))
    assert len(groups) == min(items, most)
    sizes = {len(group) for group in groups}
    assert not sizes or max(sizes) - min(sizes) <= 1


def test_a_group_is_named_after_its_first_item() -> None:
    assert group_label(["SHOP.A"]) == "SHOP.A"
    assert group_label(["SHOP.A", "SHOP.B", "SHOP.C"]) == "SHOP.A and 2 more"
