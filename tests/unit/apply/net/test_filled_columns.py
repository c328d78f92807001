"""Columns that the redo of an UPDATE does not contain: filled in from earlier changes of the row, else from the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from redolake.apply.net.missing_columns import (
    MOST_KEYS_TO_BROADCAST,
    NOTHING_MISSING,
    Missing,
    fill_known,
    fill_moved,
    missing_of,
    not_in_target,
    probe_missing,
    with_missing,
)
from redolake.apply.net.net_change import by_key, events, net_change
from tests.unit.apply.net.histories import COLUMNS, KEY, Change, Transaction, changes, delete, insert, move, target, update

NAME, MORE = 3, 4
STAYS = "as in the target"
LACKS = "the redo of an UPDATE does not contain NAME, MORE, and the row is not in the target"


@dataclass(frozen=True)
class History:
    """Changes of one key or two; by key, the values after them, or what was found. `there` are the target's rows."""

    transactions: Sequence[Transaction]
    expected: dict[int, tuple[str | None, str | None] | str | None]
    there: dict[int, tuple[str | None, str | None]] = field(default_factory=lambda: {1: ("old", "old more")})


def without_name(before: int, after: int, more: str | None = "more", row: str = "A") -> Change:
    return move(before, after, None, row, a4=more, absent=[NAME])


def without_both(before: int, after: int, row: str = "A") -> Change:
    return move(before, after, None, row, absent=[NAME, MORE])


IN_PLACE = {
    "the target has it": History([[without_name(1, 1)]], {1: (STAYS, "more")}),
    "an INSERT has it": History([[insert(1, "a", a4="b"), without_name(1, 1)]], {1: ("a", "more")}, {}),
    "an INSERT has NULL": History([[insert(1, None, a4="b"), without_name(1, 1, None)]], {1: (None, None)}, {}),
    "an earlier UPDATE has it": History([[update(1, "b")], [without_name(1, 1)]], {1: ("b", "more")}),
    "the last of several UPDATEs": History([[update(1, "b"), update(1, "c")], [without_both(1, 1)]], {1: ("c", None)}),
    "the transaction before, whatever the place": History(
        [[update(1, "b", at=9)], [{**without_name(1, 1), "at": 1}]], {1: ("b", "more")}
    ),
    "through an UPDATE without it": History(
        [[update(1, "b"), without_name(1, 1), without_both(1, 1)]], {1: ("b", "more")}
    ),
    "a later UPDATE has it": History([[without_both(1, 1), update(1, "b", a4="c")]], {1: ("b", "c")}),
    "one of both": History([[without_name(1, 1), without_both(1, 1)]], {1: (STAYS, "more")}),
    "another row had the key": History(
        [[delete(1, "A"), insert(1, "b", "B"), without_name(1, 1, row="B")]], {1: ("b", "more")}
    ),
    "the ROWID had another row": History(
        [[update(1, "b"), delete(1), insert(1, "c", a4="d"), without_both(1, 1)]], {1: ("c", "d")}
    ),
    "gone at the end": History([[without_name(1, 1), delete(1)]], {1: None}),
    "the row is deleted": History([[delete(1)], [without_name(1, 1)]], {1: LACKS}),
    "the row is deleted, before its key comes again": History(
        [[delete(1), without_name(1, 1), update(1, "b", a4="c")]], {1: LACKS}
    ),
    "the target lacks the row": History([[without_name(1, 1)]], {1: LACKS}, {}),
    "the target lacks the row of both columns": History([[without_both(1, 1)]], {1: LACKS}, {2: ("other", "other")}),
}  # fmt: skip
MOVED = {
    "the target has it": History([[without_name(1, 2)]], {1: None, 2: ("old", "more")}),
    "the target has NULL": History([[without_both(1, 2)]], {1: None, 2: (None, "old more")}, {1: (None, "old more")}),
    "twice": History([[without_both(1, 2)], [without_name(2, 3)]], {1: None, 2: None, 3: ("old", "more")}),
    "first in place": History([[without_both(1, 1), without_name(1, 2)]], {1: None, 2: ("old", "more")}),
    "there and back": History([[without_name(1, 2), without_name(2, 1)]], {1: (STAYS, "more"), 2: None}),
    "there and back, by another row's key": History(
        [[without_both(1, 2, "A"), without_both(2, 1, "B")]],
        {1: ("second", "row"), 2: ("first", None)},
        {1: ("first", None), 2: ("second", "row")},
    ),
    "an earlier UPDATE has it": History([[update(1, "b")], [without_name(1, 2)]], {1: None, 2: ("b", "more")}),
    "an INSERT has it": History([[insert(1, "b", a4="c")], [without_both(1, 2)]], {1: None, 2: ("b", "c")}, {}),
    "not in the target": History([[without_name(1, 2)]], {1: None, 2: LACKS}, {2: ("other", "row")}),
    "known before": History([[update(1, "b", a4="c"), move(1, 2, "d", a4="e")]], {1: None, 2: ("d", "e")}, {}),
    "in place": History([[without_name(1, 1)]], {1: (STAYS, "more")}),
    "the ROWID had another row": History(
        [[without_both(1, 2), delete(2), insert(3, "c", a4="d"), without_both(3, 4)]],
        {1: None, 2: None, 3: None, 4: ("c", "d")},
    ),
    "deleted, and the ROWID moves": History([[delete(1)], [without_name(1, 2)]], {1: None, 2: LACKS}),
}  # fmt: skip


def filled(spark: Any, histories: dict[str, History], count: int = 1) -> tuple[Missing, dict[str, dict[int, Any]]]:
    """Return what is missing and, by history and key, the values of the net change."""
    frame = changes(spark, [history.transactions for history in histories.values()]).drop("touched")
    rows = target(spark, [history.there for history in histories.values()])
    missing = missing_of(COLUMNS[2:], probe_missing(frame, KEY).answer())
    happened = fill_known(by_key(events(with_missing(frame, missing), KEY), KEY), missing, KEY)
    if missing.keys_change:
        happened = fill_moved(happened, rows, missing, COLUMNS[:2], count)
    net = net_change(happened, KEY).cache()
    lacking = {(row["k1"], row["k2"]): row for row in not_in_target(net, rows, missing, COLUMNS[:2]).collect()}
    found: dict[str, dict[int, Any]] = {name: {} for name in histories}
    rows_of_net = net.collect()
    assert sum(row["changes"] for row in rows_of_net) == sum(len(t) for one in histories.values() for t in one.transactions)
    for row in rows_of_net:
        found[list(histories)[row["k1"]]][row["k2"]] = shown(lacking.get((row["k1"], row["k2"]), row))
    net.unpersist()
    return missing, found


def shown(row: Any) -> Any:
    if row["finding"]:
        assert row["finding"]["code"] == "RedoNotUnderstood"
        assert row["finding"]["commit_scn"] == row["finding"]["scn"] >= 1
        return row["finding"]["what"]
    return None if row["op"] == "D" else tuple(STAYS if row[f"u{i}"] else row[f"a{i}"] for i in (NAME, MORE))


@pytest.mark.parametrize(("histories", "keys_change"), [(IN_PLACE, False), (MOVED, True)], ids=["in place", "moved"])
def test_a_column_that_the_redo_lacks_has_the_value_before(
    spark: Any, histories: dict[str, History], keys_change: bool
) -> None:
    missing, found = filled(spark, histories)

    assert missing == Missing(COLUMNS[2:], keys_change)
    assert found == {name: history.expected for name, history in histories.items()}


def test_a_finding_from_before_stays(spark: Any) -> None:
    known = {
        "known": History([[delete(1), {**without_name(1, 1), "finding": "what"}]], {}),
        "other": History([[without_both(1, 1)]], {}),
    }
    moved = {"moved": History([[{**without_name(1, 2), "finding": "what"}]], {}, {2: ("no", "row")})}

    assert filled(spark, known)[1]["known"] == {1: "what"}
    assert filled(spark, {**moved, "other": History([[without_both(1, 1)]], {})})[1]["moved"][2] == "what"


def test_only_missing_columns_are_looked_for(spark: Any) -> None:
    histories = [[[insert(1, "a", absent=[])], [update(1, "b"), without_name(1, 1)]]]
    frame = changes(spark, histories)

    missing = missing_of(COLUMNS[2:], probe_missing(frame, KEY).answer())

    assert missing == Missing((COLUMNS[2],))
    assert [row["u3"] for row in with_missing(frame, missing).orderBy("commit_scn", "ordinal").collect()] == [
        False,
        False,
        True,
    ]
    assert set(frame.columns) - set(with_missing(frame, missing).columns) == {"absent"}
    assert set(frame.columns) - set(with_missing(frame, NOTHING_MISSING).columns) == {"absent"}
    assert missing_of(COLUMNS[2:], probe_missing(changes(spark, [[[insert(1, "a")]]]), KEY).answer()) == NOTHING_MISSING


@pytest.mark.parametrize(("count", "is_sent"), [(MOST_KEYS_TO_BROADCAST, True), (MOST_KEYS_TO_BROADCAST + 1, False)])
def test_few_keys_are_sent_to_every_worker_and_many_are_shuffled(spark: Any, count: int, is_sent: bool) -> None:
    missing = Missing(COLUMNS[2:], keys_change=True)
    frame = with_missing(changes(spark, [[[without_both(1, 2)]]]), missing)
    happened = fill_known(events(frame, KEY), missing, KEY)

    plan = fill_moved(happened, target(spark, [{1: ("a", "b")}]), missing, COLUMNS[:2], count)

    assert ("strategy=broadcast" in plan._jdf.queryExecution().analyzed().toString()) == is_sent


def test_columns_of_rows_whose_keys_stay_are_filled_in_without_a_shuffle_of_their_own(spark: Any) -> None:
    missing = Missing(COLUMNS[2:], keys_change=False)
    happened = by_key(events(with_missing(changes(spark, [[[without_both(1, 1)]]]), missing), KEY), KEY)

    plan = net_change(fill_known(happened, missing, KEY), KEY)._jdf.queryExecution().executedPlan().toString()

    assert plan.count("Exchange hashpartitioning") == 1
