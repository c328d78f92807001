"""The small tables of a batch are prepared in groups that this process and the executors can hold."""

from __future__ import annotations

from redolake.apply.small_tables import MOST_TABLES, MOST_TOGETHER, groups_of


def test_a_group_has_few_tables_and_few_changes() -> None:
    half = MOST_TOGETHER // 2

    assert list(groups_of(dict.fromkeys(range(MOST_TABLES + 1), 1))) == [tuple(range(MOST_TABLES)), (MOST_TABLES,)]
    assert list(groups_of({1: half, 2: half, 3: half, 4: MOST_TOGETHER, 5: 1})) == [(1, 2), (3,), (4,), (5,)]
    assert list(groups_of({})) == []
