"""The reference itself, against a model of the database that wrote the redo."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redolake.values.logminer import NO_ROWID
from redolake.values.redo import Operation
from tests.generated.redo_history import History
from tests.references.assemble_reference import DisposedRow, assemble, dispose_committed, fold, resolve_unknown


def images(change: DisposedRow) -> tuple[Any, Any, Any, Any]:
    body = json.loads(change.row["sql_redo"])
    before, after = body.get("o"), body.get("n")
    return (change.row, before and int(before["1"]), after and int(after["1"]), after and after["2"])


def test_the_histories_contain_every_situation() -> None:
    histories = [History(seed).rows for seed in range(60)]
    rows = [row for history in histories for row in history]
    undo = [(row["rs_id"], row["number"]) for row in rows if row["rollback"]]
    commits = [
        Counter(row["scn"] for row in history if row["operation_code"] == 7 and not row["pxid"]) for history in histories
    ]

    assert {row["operation_code"] for row in rows if row["pxid"]} == {1, 2, 3, 6, 7, 36}
    assert any(row["xid"].endswith(".4294967295") for row in rows)
    assert any(rs_id != f"0x{number:06x}.00000001.0010" for rs_id, number in undo), "no undo row before its change"
    assert any(a["scn"] > b["scn"] for history in histories for a, b in itertools.pairwise(history)), "no late row"
    assert any(count > 1 for counted in commits for count in counted.values()), "no commits at one SCN"
    assert any(map(changed_on_two_threads, histories)), "no row changed on a second thread after a parallel statement failed"


def changed_on_two_threads(rows: list[dict[str, Any]]) -> bool:
    changes = [(row["thread"], row["pxid"] or row["xid"], row["row_id"]) for row in rows if row["operation_code"] in (1, 2, 3)]
    return len({change[1:] for change in changes}) < len(set(changes))


@settings(max_examples=100)
@given(seed=st.integers(0, 10**9))
def test_inserts_without_a_rowid_are_undone_by_the_same_rows(seed: int) -> None:
    history = History(seed)
    rows = [row for _, _, mine in history.cut([history.end]) for row in mine]
    shown = [{**row, "row_id": NO_ROWID} if is_insert(row) else row for row in rows]

    def disposed(given: list[dict[str, Any]]) -> list[tuple[int, str]]:
        return [(change.row["number"], change.disposition) for change in assemble(given)]

    assert disposed(shown) == disposed(rows)


def is_insert(row: dict[str, Any]) -> bool:
    return row["operation_code"] == Operation.INSERT and not row["rollback"]


@settings(max_examples=1000)
@given(seed=st.integers(0, 10**9), steps=st.integers(1, 90), data=st.data())
def test_any_cut_into_windows_and_batches_gives_the_table_as_of_their_end(seed: int, steps: int, data: st.DataObject) -> None:
    history = History(seed, steps)
    windows = history.cut(history.random_edges())
    sizes = [data.draw(st.integers(1, 3)) for _ in windows]
    table: dict[Any, Any] = {}
    carried: list[Any] = []
    dispositions: dict[int, str] = {}
    at = 0
    for size in sizes:
        batch, at = windows[at : at + size], at + size
        if not batch:
            break
        rows = [*carried, *(row for _, _, mine in batch for row in mine)]
        disposed = assemble(rows)
        end = batch[-1][1] - 1
        net = fold(images(change) for change in disposed if change.disposition == "applied")
        table = {key: value for key, value in {**table, **net}.items() if value is not None}
        dispositions |= {change.row["number"]: change.disposition for change in disposed}
        carried = [change.row for change in disposed if change.disposition == "carried_out"]

        assert not [change for change in disposed if change.problem]
        assert table == history.truth(end)
        assert dispositions == history.dispositions(end)
        assert len(disposed) == sum(row["operation_code"] in (1, 2, 3) for row in rows)
        again = assemble(rows, position=end)  # the same batch again, when its table is already complete
        assert {change.disposition for change in again} <= {"before_position", "rolled_back", "carried_out"}
        assert [change.row for change in again if change.disposition == "carried_out"] == carried


@settings(max_examples=150)
@given(seed=st.integers(0, 10**9), data=st.data())
def test_a_snapshot_at_any_scn_loses_no_change(seed: int, data: st.DataObject) -> None:
    """Transactions and coordinators of parallel servers may be open: only commits above the snapshot are applied."""
    history = History(seed)
    at = data.draw(st.integers(1000, history.end - 1))
    cut = data.draw(st.integers(1001, max(1001, history.end - 1)))
    table: dict[Any, Any] = dict(history.truth(at))
    carried: list[Any] = []
    for _, _, rows in history.cut([cut]):
        disposed = assemble([*carried, *rows], position=at)
        net = fold(images(change) for change in disposed if change.disposition == "applied")
        table = {key: value for key, value in {**table, **net}.items() if value is not None}
        carried = [change.row for change in disposed if change.disposition == "carried_out"]

    assert table == history.truth(history.end)


@pytest.mark.parametrize(
    ("name", "codes", "undone", "problems"),
    [
        ("an insert that failed", [(1, False), (2, True)], {0, 1}, set()),
        ("an update and its undo under another update", [(3, False), (3, False), (3, True)], {1, 2}, set()),
        ("the same change again after its undo", [(3, False), (3, True), (3, False)], {0, 1}, set()),
        ("insert, delete, both undone", [(1, False), (2, False), (1, True), (2, True)], {0, 1, 2, 3}, set()),
        ("an undo of nothing", [(2, True)], {0}, {0}),
        ("an undo that does not fit", [(1, False), (3, True)], {0, 1}, {1}),
        ("a storm at one ROWID", [(1, False), (2, True)] * 50, set(range(100)), set()),
        ("a savepoint storm", [(3, False)] * 50 + [(3, True)] * 49, set(range(1, 99)), set()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_undo_rows_cancel_the_newest_change_of_their_row(
    name: str, codes: list[tuple[int, bool]], undone: set[int], problems: set[int]
) -> None:
    rows = [undoable(n, code, undo) for n, (code, undo) in enumerate(codes)]

    disposed = dispose_committed(rows, (10, 1, "x"))

    assert {i for i, change in enumerate(disposed) if change.disposition == "undone"} == undone
    assert {i for i, change in enumerate(disposed) if change.problem} == problems


def undoable(address: int, code: int, undo: bool) -> dict[str, Any]:
    where = {"object_id": 1, "row_id": "AAA", "thread": 1, "rs_id": str(address), "ssn": 0}
    return {"operation_code": code, "rollback": undo, **where}


def test_an_undo_row_before_its_change_is_found_by_its_address() -> None:
    """19.13: without the address, the undo row would cancel the update before it, which must stay."""
    stays, undo, undone = undoable(1, 3, False), undoable(2, 3, True), undoable(2, 3, False)

    disposed = dispose_committed([stays, undo, undone], (10, 1, "x"))

    assert [change.disposition for change in disposed] == ["applied", "undone", "undone"]
    assert not any(change.problem for change in disposed)


@pytest.mark.parametrize("end", [7, 36])
def test_a_change_after_the_end_of_its_transaction_is_a_problem(end: int) -> None:
    """The undo slot has wrapped, and the next transaction of that xid is open."""
    row = {"con_id": 3, "xid": "1.0.7", "object_id": 1, "thread": 1, "rs_id": "x", "ssn": 0, "window_start": 1, "slice": 0}
    change = {**row, "operation_code": 1, "rollback": False, "row_id": "AAA"}
    rows = [
        {**change, "scn": 10, "ordinal": 0},
        {**row, "operation_code": end, "scn": 12, "ordinal": 1},
        {**change, "scn": 14, "ordinal": 2},
    ]

    disposed = assemble(rows)

    assert {change.row["scn"]: change.problem for change in disposed} == {10: False, 14: True}


def test_a_rollback_without_sequence_ends_the_transaction_that_held_its_slot() -> None:
    rows = [
        {"con_id": 3, "xid": "1.0.7", "scn": 10, "operation_code": 6},
        {"con_id": 3, "xid": "1.0.7", "scn": 12, "operation_code": 7},
        {"con_id": 3, "xid": "1.0.8", "scn": 13, "operation_code": 6},
        {"con_id": 3, "xid": "1.0.4294967295", "scn": 15, "operation_code": 36},
        {"con_id": 4, "xid": "1.0.4294967295", "scn": 15, "operation_code": 36},
    ]

    assert [row["xid"] for row in resolve_unknown(rows)] == ["1.0.7", "1.0.7", "1.0.8", "1.0.8", "1.0.4294967295"]
