"""The net change of each key: which change of a key wins, and what a chain of changes becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import functions as F

from redolake.apply.net.net_change import ENTERED, LEFT, by_key, events, net_change, without_filtered
from tests.unit.apply.net.histories import KEY, Transaction, changes, delete, insert, move, update

GONE = ("D", None)
HISTORIES: dict[str, tuple[Sequence[Transaction], dict[int | None, Any]]] = {
    # By key: the op, the value after it, and the number of changes.
    "a row comes": ([[insert(1, "a")]], {1: ("U", "a", 1)}),
    "a row changes": ([[update(1, "b")]], {1: ("U", "b", 1)}),
    "a row goes": ([[delete(1)]], {1: (*GONE, 1)}),
    "a row comes and changes": ([[insert(1, "a"), update(1, "b")], [update(1, "c")]], {1: ("U", "c", 3)}),
    "a row comes and goes": ([[insert(1, "a")], [delete(1)]], {1: (*GONE, 2)}),
    "a row comes after another has gone": ([[delete(1, "A")], [insert(1, "b", "B")]], {1: ("U", "b", 2)}),
    "a row goes, and another comes and goes": ([[delete(1, "A"), insert(1, "b", "B"), delete(1, "B")]], {1: (*GONE, 3)}),
    "the same ROWID again": ([[delete(1)], [insert(1, "b")]], {1: ("U", "b", 2)}),
    "another key": ([[move(1, 2, "a")]], {1: (*GONE, 0), 2: ("U", "a", 1)}),
    "another key and back": ([[move(1, 2, "a"), move(2, 1, "b")]], {1: ("U", "b", 1), 2: (*GONE, 1)}),
    "another key, then gone": ([[move(1, 2, "a")], [delete(2)]], {1: (*GONE, 0), 2: (*GONE, 2)}),
    "two rows swap their keys": (
        [[move(1, 2, "a", "A"), move(2, 1, "b", "B")]],
        {1: ("U", "b", 1), 2: ("R", "a", 1)},
    ),
    "a row enters a key before another leaves it": (
        [[move(1, 2, "a", "A"), move(2, 3, "b", "B")]],
        {1: (*GONE, 0), 2: ("R", "a", 1), 3: ("U", "b", 1)},
    ),
    "a row enters a key in the transaction in which another is deleted there": (
        [[insert(1, "b", "B"), delete(1, "A")]],
        {1: ("R", "b", 2)},
    ),
    "a row that came in the batch enters a key before another leaves it": (
        [[insert(2, "b", "B")], [move(1, 2, "a", "A"), move(2, 3, "b", "B")]],
        {1: (*GONE, 0), 2: ("U", "a", 2), 3: ("U", "b", 1)},
    ),
    "the later commit wins, whatever the place": (
        [[delete(1, at=9)], [insert(1, "b", "B", at=1)]],
        {1: ("U", "b", 2)},
    ),
    "a row with two ROW_IDs comes, and goes in a later transaction": (
        [[insert(1, "b", "B")], [delete(1, "A")]],
        {1: (*GONE, 2)},
    ),
    "a row goes, and one with two ROW_IDs comes and goes": (
        [[delete(1, "A"), insert(1, "b", "B"), delete(1, "C")]],
        {1: (*GONE, 3)},
    ),
    "a row with two ROW_IDs comes, changes and goes": (
        [[insert(1, "a", "A"), update(1, "b", "A"), delete(1, "B")]],
        {1: ("R", "b", 3)},
    ),
    "a row with two ROW_IDs comes and goes, and another comes": (
        [[insert(1, "a", "A"), delete(1, "B")], [insert(1, "c", "C")]],
        {1: ("U", "c", 3)},
    ),
    "a row with two ROW_IDs comes, gets another key and goes": (
        [[insert(1, "a", "A"), move(1, 2, "b", "B"), delete(2, "A")]],
        {1: ("R", "a", 1), 2: ("R", "b", 2)},
    ),
    "a row with two ROW_IDs changes and goes": ([[update(1, "b", "A"), delete(1, "B")]], {1: (*GONE, 2)}),
    "a row with two ROW_IDs goes in a later transaction": (
        [[update(1, "b", "A")], [delete(1, "B")]],
        {1: (*GONE, 2)},
    ),
    "a row with two ROW_IDs goes, and another comes": (
        [[update(1, "b", "A"), delete(1, "B"), insert(1, "c", "C")]],
        {1: ("U", "c", 3)},
    ),
    "a row with two ROW_IDs goes, and another comes in one of them": (
        [[update(1, "b", "A"), delete(1, "B")], [insert(1, "c", "B")]],
        {1: ("U", "c", 3)},
    ),
    "several keys of one transaction": ([[insert(1, "a"), insert(2, "b", "B"), delete(3, "C")]],
        {1: ("U", "a", 1), 2: ("U", "b", 1), 3: (*GONE, 1)}),
}  # fmt: skip
CONTRADICTIONS: dict[str, tuple[Sequence[Transaction], tuple[str, set[int]]]] = {
    # What was found, and the commits that it names.
    "two rows at a key": ([[insert(1, "a", "A")], [insert(1, "b", "B")]], ("two rows have the key {case}, 1", {1, 2})),
    "one of two is the later": (
        [[insert(1, "a", "A"), insert(1, "b", "B"), update(1, "c", "A")]],
        ("two rows have the key {case}, 1", {1}),
    ),
    "a row with two ROW_IDs changes twice": (
        [[update(1, "b", "A"), update(1, "c", "B")]],
        ("changes of one row, which has the key {case}, 1, show two ROW_IDs", {1}),
    ),
    "a row with two ROW_IDs changes and gets another key": (
        [[update(1, "b", "A"), move(1, 2, "c", "B")]],
        ("changes of one row, which has the key {case}, 1, show two ROW_IDs", {1}),
    ),
    "a change that was not understood, before others of its row": (
        [[insert(1, "a", finding="what was found"), update(1, "b")]],
        ("what was found", {1}),
    ),
    "a change that was not understood, of a row that has gone before another": (
        [[delete(1, "A", finding="what was found"), insert(1, "b", "B")]],
        ("what was found", {1}),
    ),
    "the first of two that were not understood": (
        [[insert(1, "a", finding="first")], [update(1, "b", finding="second")]],
        ("first", {1}),
    ),
    "one that was not understood where two rows are at a key": (
        [[insert(1, "a", "A", finding="what was found"), insert(1, "b", "B")]],
        ("what was found", {1}),
    ),
}  # fmt: skip


def netted(spark: Any, histories: Mapping[str, tuple[Sequence[Transaction], Any]], **how: Any) -> dict[str, list[Any]]:
    """Return the net changes of each history, by one Spark job."""
    objects = how.get("objects", False)
    frame = changes(spark, [transactions for transactions, _ in histories.values()])
    happened = by_key(events(frame if objects else frame.drop("touched"), KEY, objects), KEY)
    found: dict[str, list[Any]] = {name: [] for name in histories}
    for row in net_change(happened, KEY, **how).collect():
        found[list(histories)[row["k1"]]].append(row)
    return found


def test_the_net_change_of_a_key_is_its_last_row_and_counts_each_change_once(spark: Any) -> None:
    found = netted(spark, HISTORIES)

    for name, (transactions, expected) in HISTORIES.items():
        rows = {row["k2"]: (row["op"], row["a3"] if row["op"] != "D" else None, row["changes"]) for row in found[name]}
        assert rows == expected, name
        assert len(found[name]) == len(expected)
        assert sum(row["changes"] for row in found[name]) == sum(map(len, transactions))
        assert not any(row["finding"] for row in found[name])
    assert [row["commit_scn"] for row in found["a row comes and changes"]] == [2]
    assert set(found["a row comes"][0].asDict()) == {
        "k1", "k2", "a1", "a2", "a3", "a4", "w3", "w4", "op", "changes", "finding", "row_id", "scn", "operation_code", "absent",
        "commit_scn", "commit_thread", "commit_rs_id", "window_start", "slice", "ordinal",
    }  # fmt: skip


def test_what_no_primary_key_allows_is_a_finding_of_the_key(spark: Any) -> None:
    found = netted(spark, CONTRADICTIONS)

    for case, (name, (_, (what, scns))) in enumerate(CONTRADICTIONS.items()):
        assert {(row["k2"], row["finding"]) for row in found[name] if row["k2"] == 1} == {
            (1, (scn, scn, "RedoNotUnderstood", what.format(case=case))) for scn in scns
        }, name


def test_where_rows_vanish_without_redo_the_last_of_several_at_a_key_counts(spark: Any) -> None:
    histories: dict[str, Any] = {
        "two rows": ([[insert(1, "b", "B")], [insert(1, "a", "A")]], ("U", "a", 2)),
        "the one that came first changes": ([[insert(1, "a", "A")], [insert(1, "b", "B"), update(1, "c", "A")]], ("U", "c", 3)),
        "one with two ROW_IDs goes": ([[insert(1, "b", "B")], [delete(1, "A")]], ("D", None, 2)),
        "all gone": ([[insert(1, "b", "B")], [delete(1, "B")], [delete(1, "A")]], ("D", None, 3)),
        "the later commit, whatever the place": ([[insert(1, "b", "B", at=9)], [insert(1, "a", "A", at=1)]], ("U", "a", 2)),
    }

    found = netted(spark, histories, rows_vanish=True)

    for name, (_, expected) in histories.items():
        ((op, value, count, finding),) = [(row["op"], row["a3"], row["changes"], row["finding"]) for row in found[name]]
        assert ((op, value if op == "U" else None, count), finding) == (expected, None), name
        assert "last_there" not in found[name][0].asDict()


def test_where_rows_vanish_a_change_that_was_not_understood_stays_a_finding(spark: Any) -> None:
    found = netted(spark, {"one": ([[insert(1, "a", "A", finding="what"), insert(1, "b", "B")]], None)}, rows_vanish=True)

    (row,) = found["one"]
    assert row["finding"]["what"] == "what"


def test_a_row_whose_key_or_objects_changed_has_touched_objects(spark: Any) -> None:
    histories: dict[str, Any] = {
        "another column changes": ([[update(1, "b")]], {1: False}),
        "an object changes first": ([[update(1, "b", touched=True), update(1, "c")]], {1: True}),
        "an object changes last": ([[update(1, "b"), update(1, "c", touched=True)]], {1: True}),
        "the key changes": ([[move(1, 2, "a")]], {1: True, 2: True}),
        "the key changes and then another column": ([[move(1, 2, "a"), update(2, "b")]], {1: True, 2: True}),
        "a row goes": ([[delete(1)]], {1: False}),
        "a row comes": ([[insert(1, "a")]], {1: False}),
    }

    found = netted(spark, histories, objects=True)

    assert {name: {row["k2"]: row["touched"] for row in rows} for name, rows in found.items()} == {
        name: expected for name, (_, expected) in histories.items()
    }


def test_a_row_with_a_null_in_its_key_leaves_as_it_was_and_enters_as_it_is(spark: Any) -> None:
    frame = changes(spark, [[[update(None, "b")]], [[update(1, "b")]], [[insert(None, "a")]], [[delete(None)]]]).drop("touched")

    found = [(row["k1"], row["k2"], row["event"], row["weight"]) for row in events(frame, KEY, nulls=True).collect()]
    plainly = [(row["k1"], row["event"]) for row in events(frame, KEY).collect()]

    assert sorted(found, key=str) == [
        (0, None, 0, 0), (0, None, 1, 1), (1, 1, 1, 1), (2, None, 1, 1), (3, None, 0, 1),
    ]  # fmt: skip
    assert sorted(plainly) == [(0, 1), (1, 1), (2, 1), (3, 0)]


@pytest.mark.parametrize("name", ["b1", "b2"])
def test_events_no_longer_have_the_key_before(spark: Any, name: str) -> None:
    assert name not in events(changes(spark, [[[insert(1, "a")]]]), KEY).columns


@pytest.mark.parametrize("counts_nulls", [False, True])
def test_a_row_that_the_filter_leaves_out_leaves_the_key_that_it_enters(spark: Any, counts_nulls: bool) -> None:
    happened = [(ENTERED, True, 1), (ENTERED, False, 2), (LEFT, True, 3), (LEFT, False, 4)]
    frame = spark.createDataFrame(happened, "event int, passes boolean, nulled int")

    found = without_filtered(frame, counts_nulls=counts_nulls) if counts_nulls else without_filtered(frame)

    assert found.columns == ["event", "nulled"]
    nulled = (1, 0, 3, 4) if counts_nulls else (1, 2, 3, 4)
    assert [tuple(row) for row in found.collect()] == list(zip((ENTERED, LEFT, LEFT, LEFT), nulled, strict=True))


def test_values_that_are_null_by_rule_are_counted_once_for_each_change(spark: Any) -> None:
    transactions = [[insert(1, "a")], [update(1, "b"), move(1, 2, "c")], [insert(1, "d", "D")]]
    frame = changes(spark, [transactions]).withColumn("nulled", F.expr("pow(2, commit_scn)").cast("int"))

    found = net_change(by_key(events(frame.drop("touched"), KEY), KEY), KEY, counts_nulls=True)

    assert {row["k2"]: (row["changes"], row["nulled"]) for row in found.collect()} == {1: (3, 2 + 4 + 8), 2: (1, 4)}
    assert "nulled" in found.columns
