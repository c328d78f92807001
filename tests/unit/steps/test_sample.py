"""A sample is a random share of the buckets, which one statement can list."""

from __future__ import annotations

import pytest

from redolake.source.buckets import MOST_BUCKETS
from redolake.steps.proof.compare_table import choose_buckets
from redolake.values.canonical import HashPlan


@pytest.mark.parametrize(
    ("digits", "share", "chosen", "of"), [(2, 0.25, 64, 256), (3, 0.01, 41, 4096), (4, 0.5, 128, 256), (4, 0.00001, 1, 65536)]
)
def test_so_many_different_buckets_are_chosen(digits: int, share: float, chosen: int, of: int) -> None:
    plan, names = choose_buckets(HashPlan(((1, "number"),), ((1, "number"),), (), digits), share)

    assert (len(set(names)), plan.buckets) == (chosen, of)
    assert len(names) <= MOST_BUCKETS
    assert all(len(name) == plan.digits and 0 <= int(name, 16) < of for name in names)


def test_each_time_others_are_chosen() -> None:
    plan = HashPlan(((1, "number"),), ((1, "number"),), (), 4)

    assert choose_buckets(plan, 0.01)[1] != choose_buckets(plan, 0.01)[1]
