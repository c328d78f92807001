"""The rows of a history: each change with the row before and after it, also of a row whose changes show two ROW_IDs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import functions as F

from redolake.apply.landed.keys import is_moved
from redolake.apply.net.history_rows import MOVED, changed_rows
from redolake.apply.net.net_change import by_key, events
from tests.unit.apply.net.histories import COLUMNS, KEY, Transaction, changes, delete, insert, move, target, update

Rows = Mapping[int, str]
# The target's rows, the transactions, and the rows after each of them.
LIVES: dict[str, tuple[Rows, Sequence[Transaction], Sequence[Rows]]] = {
    "a row changes and goes": ({1: "o"}, [[update(1, "b"), delete(1)]], [{}]),
    "two rows swap their keys": ({1: "o", 2: "p"}, [[move(1, 2, "a", "A"), move(2, 1, "b", "B")]], [{1: "b", 2: "a"}]),
    "keys are shifted twice in a transaction": (
        {1: "o", 2: "p"},
        [[move(1, 2, "o", "A"), move(2, 3, "p", "B"), move(2, 3, "o", "A"), move(3, 4, "p", "B")]],
        [{3: "o", 4: "p"}],
    ),
    "a row comes before the old one leaves": ({1: "o"}, [[insert(1, "b", "B"), delete(1, "A")], [update(1, "c", "B")]],
        [{1: "b"}, {1: "c"}]),
    "a row with two ROW_IDs changes and goes": ({1: "o"}, [[update(1, "b", "A"), delete(1, "B")]], [{}]),
    "and goes in a later transaction": ({1: "o"}, [[update(1, "b", "A")], [delete(1, "B")]], [{1: "b"}, {}]),
    "and another comes": ({1: "o"}, [[update(1, "b", "A"), delete(1, "B"), insert(1, "c", "C")]], [{1: "c"}]),
    "and another comes in one of them": ({1: "o"}, [[update(1, "b", "A"), delete(1, "B")], [insert(1, "c", "B")]],
        [{}, {1: "c"}]),
    "comes and goes": ({}, [[insert(1, "b", "A"), delete(1, "B")]], [{}]),
    "comes, and goes in a later transaction": ({}, [[insert(1, "b", "A"), update(1, "c", "A")], [delete(1, "B")]],
        [{1: "c"}, {}]),
    "comes, changes under a third and goes": ({}, [[insert(1, "a", "A"), update(1, "b", "B"), delete(1, "C")]], [{}]),
    "after the old one has gone": ({1: "o"}, [[delete(1, "A"), insert(1, "b", "B"), delete(1, "C")]], [{}]),
    "after the old one has gone before": ({1: "o"}, [[delete(1, "A")], [insert(1, "b", "B"), delete(1, "C")]], [{}, {}]),
    "twice": ({}, [[insert(1, "a", "A"), delete(1, "B"), insert(1, "b", "C"), delete(1, "D")]], [{}]),
    "gets another key and goes": ({}, [[insert(1, "a", "A"), move(1, 2, "b", "B"), delete(2, "A")]], [{}]),
    "gets another key and the old one back": ({}, [[insert(1, "a", "A"), move(1, 2, "b", "B"), move(2, 1, "c", "A")]],
        [{1: "c"}]),
    "keys are shifted, and the one that gives way shows two ROW_IDs": (
        {1: "o"}, [[insert(2, "a", "A")], [move(1, 2, "o", "X"), move(2, 3, "a", "B")]], [{1: "o", 2: "a"}, {2: "o", 3: "a"}],
    ),
    "in one transaction": ({1: "o"}, [[insert(2, "a", "A"), move(1, 2, "o", "X"), move(2, 3, "a", "B")]], [{2: "o", 3: "a"}]),
    "and it changes before": (
        {1: "o", 2: "p"}, [[update(2, "q", "A"), move(1, 2, "o", "X"), delete(2, "B")]], [{2: "o"}],
    ),
    "a row leaves a key under the ROW_ID under which it had left it before": (
        {2: "o"}, [[move(2, 3, "a", "B")], [move(3, 2, "b", "A"), delete(2, "B")]], [{3: "a"}, {}],
    ),
    "one of two rows that have swapped their keys goes under its other ROW_ID": (
        {1: "o", 2: "p"}, [[move(2, 1, "q", "C"), move(1, 2, "n", "A")], [delete(1, "B")]], [{1: "q", 2: "n"}, {2: "n"}],
    ),
    "and one before which another gave way": (
        {2: "o"}, [[insert(1, "a", "D"), move(1, 2, "b", "E"), move(2, 3, "c", "A")], [delete(2, "D")]],
        [{2: "b", 3: "c"}, {3: "c"}],
    ),
}  # fmt: skip


def check_befores(images: Sequence[Any], before: str | None) -> None:
    """Check that each image before a change is of a row that is at the key; while keys are shifted, two are."""
    there = [before] if before is not None else []
    for image in images:
        if image["_image"] == "before":
            there.remove(image["a3"])
        else:
            there.append(image["a3"])
    assert len(there) <= 1


@pytest.mark.parametrize("asks_target", [True, False])
def test_each_change_follows_from_the_rows_before_it(spark: Any, asks_target: bool) -> None:
    decoded = changes(spark, [transactions for _, transactions, _ in LIVES.values()]).withColumns(
        {MOVED: is_moved(KEY), **{name: F.lit(None).cast("string") for name in ("commit_at", "xid", "username")}}
    )
    there = target(spark, [{key: (value, None) for key, value in rows.items()} for rows, _, _ in LIVES.values()])
    happened = by_key(events(decoded.drop("touched"), KEY), KEY)
    columns = {column.id: column for column in COLUMNS}

    rows = changed_rows(happened, there, columns, KEY, (), 9, asks_target=asks_target).collect()

    images = sorted(rows, key=lambda row: (row["_commit_scn"], row["_seq"]))
    for case, (name, (before, _, after)) in enumerate(LIVES.items()):
        for key in (1, 2, 3, 4):
            mine = [image for image in images if (image["a1"], image["a2"]) == (case, key)]
            check_befores(mine, before.get(key))
            for commit, expected in enumerate(after, 1):
                last = [None if i["_image"] == "before" else i["a3"] for i in mine if i["_commit_scn"] <= commit]
                # Where the target may lack rows, the second one is taken for two rows that swap their keys.
                if asks_target or (name, key) != ("gets another key and the old one back", 2):
                    assert [before.get(key), *last][-1] == expected.get(key), (name, key, commit)
