"""The definition itself, against a model of the database that wrote the redo."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.assemble.reference import Fate, assemble, fates_of, fold, resolve_unknown
from tests.redo_history import History


def images(fate: Fate) -> tuple[Any, Any, Any, Any]:
    body = json.loads(fate.row["sql_redo"])
    before, after = body.get("o"), body.get("n")
    return (fate.row, before and int(before["1"]), after and int(after["1"]), after and after["2"])


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9), data=st.data())
def test_any_cut_into_windows_and_batches_gives_the_table_as_of_their_end(seed: int, data: st.DataObject) -> None:
    history = History(seed)
    windows = history.cut(history.random_edges())
    sizes = [data.draw(st.integers(1, 3)) for _ in windows]
    table: dict[Any, Any] = {}
    carried: list[Any] = []
    at = 0
    for size in sizes:
        batch, at = windows[at : at + size], at + size
        if not batch:
            break
        fates = assemble([*carried, *(row for _, _, rows in batch for row in rows)])
        assert not [fate for fate in fates if fate.problem]
        net = fold(images(fate) for fate in fates if fate.disposition == "applied")
        table = {key: value for key, value in {**table, **net}.items() if value is not None}
        assert table == history.truth(batch[-1][1] - 1)
        carried = [fate.row for fate in fates if fate.disposition == "carried_out"]


@pytest.mark.parametrize(
    ("name", "codes", "undone", "problems"),
    [
        ("an insert that failed", [(1, False), (2, True)], {0, 1}, set()),
        ("an update and its undo under another update", [(3, False), (3, False), (3, True)], {1, 2}, set()),
        ("the same change again after its undo", [(3, False), (3, True), (3, False)], {0, 1}, set()),
        ("insert, delete, both undone", [(1, False), (2, False), (1, True), (2, True)], {0, 1, 2, 3}, set()),
        ("an undo of nothing", [(2, True)], {0}, {0}),
        ("an undo that does not fit", [(1, False), (3, True)], {0, 1}, {1}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_undo_rows_cancel_the_newest_change_of_their_row(
    name: str, codes: list[tuple[int, bool]], undone: set[int], problems: set[int]
) -> None:
    rows = [{"operation_code": code, "rollback": undo, "object_id": 1, "row_id": "AAA"} for code, undo in codes]

    fates = fates_of(rows, (10, 1, "x"))

    assert {i for i, fate in enumerate(fates) if fate.disposition == "undone"} == undone
    assert {i for i, fate in enumerate(fates) if fate.problem} == problems


def test_a_rollback_without_sequence_ends_the_transaction_that_held_its_slot() -> None:
    rows = [
        {"con_id": 3, "xid": "1.0.7", "scn": 10, "operation_code": 6},
        {"con_id": 3, "xid": "1.0.7", "scn": 12, "operation_code": 7},
        {"con_id": 3, "xid": "1.0.8", "scn": 13, "operation_code": 6},
        {"con_id": 3, "xid": "1.0.4294967295", "scn": 15, "operation_code": 36},
        {"con_id": 4, "xid": "1.0.4294967295", "scn": 15, "operation_code": 36},
    ]

    assert [row["xid"] for row in resolve_unknown(rows)] == ["1.0.7", "1.0.7", "1.0.8", "1.0.8", "1.0.4294967295"]
