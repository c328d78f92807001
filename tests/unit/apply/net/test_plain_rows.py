"""Where this process alone computes a net change, it is the one that Spark computes; all else is left to Spark."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from redolake.apply.net.missing_columns import Missing, fill_known, with_missing
from redolake.apply.net.net_change import by_key, events, net_change
from redolake.apply.net.plain_rows import NetRows, net_rows
from redolake.values.redo import Operation
from tests.unit.apply.net.histories import COLUMNS, KEY, Change, Transaction, changes, decoded, delete, insert, move
from tests.unit.apply.net.test_filled_columns import IN_PLACE, MOVED, STAYS
from tests.unit.apply.net.test_net_change import CONTRADICTIONS, HISTORIES

OUTSIDE = (3, 4)
SCHEMA = pa.schema(
    {
        **dict.fromkeys(("commit_scn", "commit_thread", "window_start", "slice", "ordinal", "operation_code"), pa.int64()),
        **dict.fromkeys(("commit_rs_id", "row_id"), pa.string()),
        **dict.fromkeys(("missing", "assigned"), pa.list_(pa.int32())),
        **{f"{side}{i}": pa.int32() if i in KEY else pa.string() for side in "on" for i in (*KEY, *OUTSIDE)},
    }
)


def batch_of(case: int, transactions: Sequence[Transaction], **every: Any) -> pa.RecordBatch:
    """Return the changes as decode.changes returns them."""
    rows = [
        decoded(case, commit, place, change)
        for commit, transaction in enumerate(transactions, 1)
        for place, change in enumerate(transaction)
    ]
    named = [
        {
            **row,
            "missing": row.get("absent"),
            **{f"o{i}": row.get(f"b{i}") for i in KEY},
            **{f"n{i}": row.get(f"a{i}") for i in (*KEY, *OUTSIDE)},
            **every,
        }
        for row in rows
    ]
    return pa.RecordBatch.from_pylist(named, SCHEMA)


def computed(case: int, transactions: Sequence[Transaction]) -> NetRows | None:
    return net_rows(batch_of(case, transactions), (*KEY, *OUTSIDE), KEY, (), ("commit_scn",))


def shown(found: NetRows) -> dict[int, tuple[str, Any, Any]]:
    """Return the op and both values by key; a value that the target keeps is STAYS."""

    def value(row: dict[str, Any], i: int) -> Any:
        return STAYS if row.get(f"u{i}") else row[f"a{i}"]

    return {row["k2"]: (row["op"], value(row, 3), value(row, 4)) for row in found.rows.to_pylist()}


ANSWERED = {
    *("a row comes", "a row changes", "a row goes", "a row comes and changes", "a row comes and goes", "the same ROWID again"),
    "several keys of one transaction",
}


def test_a_history_in_which_a_key_keeps_its_row_is_computed_here_and_no_other() -> None:
    found = {name: computed(case, transactions) for case, (name, (transactions, _)) in enumerate(HISTORIES.items())}

    assert {name for name, one in found.items() if one is not None} == ANSWERED
    for name in ANSWERED:
        one, (_, expected) = found[name], HISTORIES[name]
        assert one is not None
        values = {key: (op, None if op == "D" else name) for key, (op, name, _) in shown(one).items()}
        assert values == {key: (op, value) for key, (op, value, _) in expected.items()}, name
    one = found["a row comes and changes"]
    assert one is not None
    assert one.rows["commit_scn"].to_pylist() == [2]


CONTRADICTORY = {name: transactions for name, (transactions, (what, _)) in CONTRADICTIONS.items() if "two" in what}


@pytest.mark.parametrize("name", CONTRADICTORY)
def test_what_no_primary_key_allows_is_left_to_spark(name: str) -> None:
    assert computed(0, CONTRADICTORY[name]) is None


def test_a_value_that_the_redo_lacks_is_that_of_an_earlier_change_or_the_targets() -> None:
    found = {name: computed(0, history.transactions) for name, history in IN_PLACE.items()}

    assert {name for name, one in found.items() if one is None} == {
        "another row had the key", "the row is deleted", "the row is deleted, before its key comes again"
    }  # fmt: skip
    for name, one in found.items():
        expected = IN_PLACE[name].expected[1]
        if one is None or isinstance(expected, str):  # the target lacks the row, which MERGE finds
            continue
        op, *values = shown(one)[1]
        assert (op, tuple(values) if op == "U" else None) == ("U" if expected else "D", expected), name


def test_a_key_that_changes_is_left_to_spark() -> None:
    moved = {name for name, one in MOVED.items() if computed(0, one.transactions) is not None}

    assert moved == {"in place"}


@pytest.mark.parametrize(
    "every",
    [{"commit_rs_id": None}, {"operation_code": Operation.DDL}, {"n2": None}, {"o2": None, "n2": None}],
)
def test_what_has_no_order_or_no_key_is_left_to_spark(every: dict[str, Any]) -> None:
    assert net_rows(batch_of(0, [[insert(1, "a")]], **every), (*KEY, *OUTSIDE), KEY, ()) is None


def test_null_may_stand_for_a_default_that_the_redo_does_not_contain() -> None:
    """But where it was set."""
    update = [[move(1, 1, None, a4="more")]]

    unset = net_rows(batch_of(0, update), (*KEY, *OUTSIDE), KEY, (3, 4))
    given = net_rows(batch_of(0, update, o4="more"), (*KEY, *OUTSIDE), KEY, (3, 4))
    assigned = net_rows(batch_of(0, update, assigned=[3], o4="more"), (*KEY, *OUTSIDE), KEY, (3, 4))

    assert [one and (one.missing, shown(one)[1]) for one in (unset, given, assigned)] == [
        ((3, 4), ("U", STAYS, STAYS)), ((3,), ("U", STAYS, "more")), ((), ("U", None, "more"))
    ]  # fmt: skip


def any_change(chance: random.Random) -> Change:
    """Return a change of one of two keys by one of two rows: most often of its own."""
    key = chance.randint(1, 2)
    row = "AB"[key - 1] if chance.random() < 0.9 else "BA"[key - 1]
    absent = {"absent": [i for i in OUTSIDE if chance.random() < 0.4] or None}
    after = key if chance.random() < 0.95 else 3 - key
    values = (f"n{chance.randint(1, 99)}", f"m{chance.randint(1, 99)}")
    given = tuple(None if i in (absent["absent"] or ()) else value for i, value in zip(OUTSIDE, values, strict=True))
    return chance.choice(
        (
            insert(key, values[0], row, a4=values[1]),
            delete(key, row),
            move(key, after, given[0], row, a4=given[1], **absent),
        )
    )


def test_any_history_that_is_computed_here_is_as_spark_computes_it(spark: Any) -> None:
    chance = random.Random(48)
    histories = [
        [[any_change(chance) for _ in range(chance.randint(1, 2))] for _ in range(chance.randint(1, 3))] for _ in range(400)
    ]
    frame = changes(spark, histories).drop("touched")
    missing = Missing(COLUMNS[2:])
    rows = net_change(fill_known(by_key(events(with_missing(frame, missing), KEY), KEY), missing, KEY), KEY).collect()
    by_spark: dict[int, dict[int, Any]] = {case: {} for case in range(len(histories))}
    for row in rows:
        values = tuple(STAYS if row[f"u{i}"] else row[f"a{i}"] for i in OUTSIDE)
        by_spark[row["k1"]][row["k2"]] = (row["finding"], row["op"], *(values if row["op"] == "U" else ()))

    answered = 0
    for case, transactions in enumerate(histories):
        found = computed(case, transactions)
        if found is None:
            continue
        answered += 1
        here = {key: (None, op, *(values if op == "U" else ())) for key, (op, *values) in shown(found).items()}
        assert here == by_spark[case], transactions
    assert 150 < answered < 350
