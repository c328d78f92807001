"""Rows with a NULL in their key: how many equal ones come or go, and what MERGE gets for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyspark.sql import functions as F

from redolake.apply.delivery.nullable_key import of_whole_rows
from redolake.apply.net.net_change import events
from redolake.values.target_options import TargetOptions
from tests.unit.apply.net.histories import COLUMNS, KEY, Transaction, changes, delete, insert, move, target, update

INSERTED, GONE, EQUAL = "U", "D", "N"
LACKS = "a row with a NULL in its key was changed or deleted, and the target has no row that equals it in all columns"
SEVERAL = "a row with a NULL in its key was deleted, and the target has several equal ones, of which `deletes: mark` marks all"


@dataclass(frozen=True)
class History:
    """Changes; the net changes as (op, value, changes); and how many rows of the target have the value "a"."""

    transactions: Sequence[Transaction]
    expected: Sequence[tuple[str, str | None, int]]
    equal: int = 0
    finding: str | None = None
    also: Sequence[tuple[int | None, str | None]] = field(default_factory=tuple)  # more rows of the target


HISTORIES = {
    "a row comes": History([[insert(None, "a")]], [(EQUAL, "a", 1), (INSERTED, "a", 0)]),
    "a row comes to an equal one": History([[insert(None, "a")]], [(EQUAL, "a", 1), (INSERTED, "a", 0)], 1),
    "two rows come": History([[insert(None, "a"), insert(None, "a", "B")]], [(EQUAL, "a", 2), *[(INSERTED, "a", 0)] * 2]),
    "a row goes": History([[delete(None, w3="a")]], [(GONE, "a", 1)], 1),
    "one of three goes": History([[delete(None, w3="a")]], [(GONE, "a", 1), *[(INSERTED, "a", 0)] * 2], 3),
    "one of two goes": History([[delete(None, w3="a")]], [(GONE, "a", 1), (INSERTED, "a", 0)], 2),
    "two of two go": History([[delete(None, w3="a"), delete(None, "B", w3="a")]], [(GONE, "a", 2)], 2),
    "a row changes": History(
        [[update(None, "b", w3="a")]], [(GONE, "a", 0), (EQUAL, "b", 1), (INSERTED, "b", 0)], 1
    ),
    "a row changes to what it was": History([[update(None, "a", w3="a")]], [(EQUAL, "a", 1)], 1),
    "there and back": History(
        [[update(None, "b", w3="a")], [update(None, "a", w3="b")]], [(EQUAL, "a", 1), (EQUAL, "b", 1)], 1
    ),
    "comes and goes": History([[insert(None, "a"), delete(None, w3="a")]], [(EQUAL, "a", 2)]),
    "of NULLs": History([[delete(None, w3=None)]], [(GONE, None, 1)], also=[(None, None)]),
    "gets a key": History([[move(None, 1, "a", w3="a")]], [(GONE, "a", 0)], 1),
    "loses its key": History([[move(1, None, "a", w3="a")]], [(EQUAL, "a", 1), (INSERTED, "a", 0)]),
    "not in the target": History([[delete(None, w3="a")]], [(GONE, "a", 1)], finding=LACKS),
    "in the target with a key": History([[delete(None, w3="a")]], [(GONE, "a", 1)], finding=LACKS, also=[(7, "a")]),
    "not so many": History([[delete(None, w3="a"), delete(None, "B", w3="a")]], [(GONE, "a", 2)], 1, LACKS),
    "not understood": History([[delete(None, w3="a", finding="what")]], [(GONE, "a", 1)], 0, "what"),
}  # fmt: skip


def netted(spark: Any, histories: Sequence[History], options: TargetOptions) -> list[list[Any]]:
    """Return the net changes of the rows with a NULL in their key, by history."""
    happened = events(changes(spark, [one.transactions for one in histories]), KEY, nulls=True).filter("k2 IS NULL")
    rows = [[(None, "a")] * one.equal + list(one.also) for one in histories]
    there = target(spark, [{}]).unionByName(
        spark.createDataFrame([(case, *row, None) for case, mine in enumerate(rows) for row in mine], target(spark, []).schema)
    )
    net = of_whole_rows(happened, there, {c.id: c for c in COLUMNS}, KEY, options, ["row_id"])
    found: list[list[Any]] = [[] for _ in histories]
    for row in net.collect():
        found[row["k1"]].append(row)
    return found


def test_rows_come_and_go_by_their_number(spark: Any) -> None:
    found = netted(spark, list(HISTORIES.values()), TargetOptions())

    for (name, history), rows in zip(HISTORIES.items(), found, strict=True):
        assert sorted((row["op"], row["a3"], row["changes"]) for row in rows) == sorted(history.expected), name
        assert {(row["k2"], row["a2"], row["is_whole"]) for row in rows} == {(None, None, True)}
        assert {row["finding"] and row["finding"]["what"] for row in rows} == {history.finding}, name
        assert {row["a1"] for row in rows} == {rows[0]["k1"]}


def test_the_last_change_of_equal_rows_is_shown_with_them(spark: Any) -> None:
    history = History([[insert(None, "a", "A")], [insert(None, "a", "B", at=1)]], [])

    (rows,) = netted(spark, [history], TargetOptions())

    assert {(row["commit_scn"], row["ordinal"], row["scn"], row["operation_code"], row["row_id"]) for row in rows} == {
        (2, 1, 2, 1, "0B")
    }
    assert "copies" not in rows[0].asDict()
    (lacking,) = netted(spark, [HISTORIES["not in the target"]], TargetOptions())
    assert lacking[0]["finding"] == (1, 1, "RedoNotUnderstood", LACKS)


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("a row goes", None),
        ("one of three goes", SEVERAL),
        ("one of two goes", SEVERAL),
        ("a row comes to an equal one", None),
        ("a row changes to what it was", None),
    ],
)
def test_equal_rows_are_not_marked_as_deleted_one_by_one(spark: Any, name: str, finding: str | None) -> None:
    (rows,) = netted(spark, [HISTORIES[name]], TargetOptions(deletes="mark"))

    assert {row["finding"] and row["finding"]["what"] for row in rows} == {finding}


def test_values_that_are_null_by_rule_are_counted_with_the_change_that_brings_them(spark: Any) -> None:
    transactions = [[insert(None, "a"), insert(None, "a", "B")], [update(None, "b", w3="a")]]
    frame = changes(spark, [transactions]).withColumn("nulled", F.expr("pow(2, commit_scn)").cast("int"))
    happened = events(frame, KEY, nulls=True)
    columns = {column.id: column for column in COLUMNS}

    found = of_whole_rows(happened, target(spark, [{}]), columns, KEY, TargetOptions(), ["touched"], counts_nulls=True)

    assert sorted((row["a3"], row["op"], row["nulled"]) for row in found.collect()) == [
        ("a", EQUAL, 2 + 2), ("a", INSERTED, 0), ("b", EQUAL, 4), ("b", INSERTED, 0),
    ]  # fmt: skip
