"""Which columns the redo of a batch lacks, by the answer to the look at its changes."""

from __future__ import annotations

from typing import Any, cast

from redolake.apply.net.missing_columns import NOTHING_MISSING, Missing, missing_of
from redolake.apply.target import KeyRange, TargetColumn, key_range

A, B = TargetColumn(2, "A", "string"), TargetColumn(3, "B", "int")


def seen(**answer: object) -> Any:
    return cast("Any", answer)


def test_only_columns_that_some_update_lacks_are_missing() -> None:
    assert missing_of([A, B], seen(ids=[3, 9], moved=False)) == Missing((B,), keys_change=False)
    assert missing_of([A, B], seen(ids=[], moved=None)) == NOTHING_MISSING


def test_an_update_of_a_key_is_known_also_where_no_column_is_missing() -> None:
    assert missing_of([A], seen(ids=[], moved=True)) == Missing((), keys_change=True)


def test_the_range_of_keys_is_that_of_the_look_and_none_without_keys() -> None:
    assert key_range(B, seen(low=-3, high=12)) == KeyRange(B, -3, 12)
    assert key_range(B, seen(low=None, high=None)) is None
    assert key_range(None, seen()) is None
