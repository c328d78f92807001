"""The small tables of a batch are prepared in groups that this process and the executors can hold."""

from __future__ import annotations

from redolake.apply.small_tables import MOST_CHANGES, MOST_TABLES, MOST_TOGETHER, groups_of, is_few


def test_a_group_has_few_tables_and_few_changes() -> None:
    half = MOST_TOGETHER // 2

    assert list(groups_of(dict.fromkeys(range(MOST_TABLES + 1), 1))) == [tuple(range(MOST_TABLES)), (MOST_TABLES,)]
    assert list(groups_of({1: half, 2: half, 3: half, 4: MOST_TOGETHER, 5: 1})) == [(1, 2), (3,), (4,), (5,)]
    assert list(groups_of({})) == []


def test_the_more_tables_spark_prepares_at_a_time_the_fewer_changes_are_few() -> None:
    assert [is_few(changes, side_by_side) for changes, side_by_side in ((MOST_CHANGES, 2), (MOST_CHANGES, 4), (6_000, 8))] == [
        True, False, True
    ]  # fmt: skip
