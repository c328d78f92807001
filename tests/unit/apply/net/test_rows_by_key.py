"""Spark gives each change of an index-organized table the row that it is of, where UPDATEs change keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redolake.apply.net.index_rows import with_rows
from tests.unit.apply.net.histories import COLUMNS, Transaction, changes, delete, insert, move, target, update

ALONE = "alone"  # the row's own name stays, for no UPDATE changes its key
HISTORIES: dict[str, tuple[Sequence[Transaction], Sequence[int], Sequence[Any]]] = {
    # The changes, the keys of the target, and of each change its row, or what contradicts it.
    "no key changes": ([[update(1, "a"), delete(2)]], [1, 2], [ALONE, ALONE]),
    "a chain": ([[move(1, 2, "a"), move(2, 3, "b")]], [1], ["first", "first"]),
    "a shift": ([[move(1, 2, "a"), move(2, 3, "b")]], [1, 2], ["first", "second"]),
    "later changes at the key": ([[move(1, 2, "a")], [update(2, "b")], [delete(2)]], [1], ["first", "first", "first"]),
    "changes at other keys": ([[move(1, 2, "a"), update(3, "b")]], [1, 3], ["first", ALONE]),
    "after an INSERT": ([[insert(1, "a"), move(1, 2, "b")], [insert(1, "c")]], [], ["first", "first", "second"]),
    "by the commits, whatever the places": ([[move(1, 2, "a", at=9)], [delete(2, at=1)]], [1], ["first", "first"]),
    "a key that two rows enter": (
        [[move(1, 2, "a"), move(2, 3, "b")], [move(4, 2, "c")]], [1, 4], ["first", "first", "second"]),
    "contradicting": ([[move(1, 2, "a"), move(1, 3, "b")]], [1], ["first", "a change of the row with key {key}, which no row"]),
    "contradicting, with a finding": ([[move(1, 2, "a"), move(1, 3, "b", finding="what")]], [1], ["first", "what"]),
    "two at a key": (
        [[move(1, 2, "a"), update(2, "b")]], [1, 2], ["first", "a change of one of two rows with key"]),
}  # fmt: skip


def test_changes_of_one_row_get_one_name_through_all_its_keys(spark: Any) -> None:
    frame = changes(spark, [transactions for transactions, *_ in HISTORIES.values()])
    rows = target(spark, [{key: ("name", "more") for key in there} for _, there, _ in HISTORIES.values()])

    found = with_rows(frame, rows, COLUMNS[:2])

    assert found.columns == frame.columns
    changed = sorted(found.collect(), key=lambda row: (row["commit_scn"], row["slice"], row["ordinal"]))
    for case, (name, (transactions, _, expected)) in enumerate(HISTORIES.items()):
        mine = [row for row in changed if case in (row["a1"], row["b1"])]
        assert len(mine) == sum(map(len, transactions)) == len(expected)
        names: dict[str, str] = {}
        for row, what in zip(mine, expected, strict=True):
            if row["finding"]:
                assert row["finding"]["what"].startswith(what.format(key=f'{{"k1":{case},"k2":1}}')), name
                assert row["finding"][:3] == (row["commit_scn"], row["scn"], "RedoNotUnderstood")
            elif what == ALONE:
                assert row["row_id"] == f"{case}A", name
            else:
                assert names.setdefault(what, row["row_id"]) == row["row_id"] != f"{case}A", name
        assert len(set(names.values())) == len(names)


def test_a_table_without_rows_and_changes_of_keys_is_left_as_it_is(spark: Any) -> None:
    frame = changes(spark, [[[insert(1, "a"), update(1, "b")]]])

    found = with_rows(frame, target(spark, []), COLUMNS[:2])

    assert [row["row_id"] for row in found.collect()] == ["0A", "0A"]
