"""What becomes of each change row: its disposition, the problems that stop its table, and the row account."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redolake.assemble import assembled
from redolake.assemble.assembled import AssembledBatch, assemble_batch
from redolake.assemble.attribution import CapturedTable
from redolake.assemble.carry import list_open, rows_to_carry
from redolake.errors import InvariantBroken, RedoNotUnderstood
from redolake.records.batches.carry import OpenTransaction
from redolake.records.batches.spec import LandedWindow, NameInRedo
from redolake.values.delivery import RereadRows, RereadValues
from redolake.values.logminer import NO_ROWID
from redolake.values.scn import ScnRange
from redolake.values.table import TableId
from tests.integration.spark.assembling import T, assembled_cases, assembled_rows, carried_over, dispositions
from tests.integration.spark.landing import AT, COORDINATOR, a_row, land, server_row

pytestmark = pytest.mark.spark


def of_t(ordinal: int, scn: int, code: int, **more: Any) -> dict[str, Any]:
    return a_row(ordinal, scn, code, seg_owner="SHOP", table_name="T", object_id=7, **more)


def test_a_large_open_transaction_is_one_row_in_the_search_for_its_start(spark, tmp_path: Path) -> None:
    found = assembled_rows(spark, tmp_path, [a_row(0, 19, 6), *(a_row(n, 20, 1) for n in range(1, 5))])

    carried = rows_to_carry(found.changes, found.rows)

    assert carried.count() == 5
    plan = carried._jdf.queryExecution().optimizedPlan().toString()
    assert "Aggregate [con_id" in plan[plan.index("Join LeftSemi") :]


def test_open_transactions_are_listed_with_their_start_over_windows(spark, tmp_path: Path) -> None:
    """Two transactions have one xid in two containers. For one, the START was read; later rows lack its user."""
    one, other = {"xid": "1.2.3", "thread": 2}, {"xid": "1.2.3", "con_id": 4, "username": "UNKNOWN"}
    hour = AT.replace(minute=0)
    first = [
        a_row(0, 19, 6, **one, at=hour.replace(hour=1), username="SHOP"),
        a_row(1, 20, 1, **one, at=hour.replace(hour=2), username="SHOP", sql_redo="é1"),
        a_row(2, 21, 1, at=hour, xid="7.7.7", username="OTHER"),
    ]
    second = [
        a_row(0, 130, 3, **one, at=hour.replace(hour=5), username="UNKNOWN", sql_redo="é23"),
        a_row(1, 140, 1, **other, at=hour.replace(hour=6), sql_redo=None),
        a_row(2, 141, 7, xid="7.7.7"),
    ]

    carry = carried_over(assembled_rows(spark, tmp_path, first), tmp_path / "carry")
    again = carried_over(assembled_rows(spark, tmp_path, second, 100, 200, carry), tmp_path / "again")

    assert list_open(spark.read.parquet(*again)) == (
        OpenTransaction(3, "1.2.3", 2, 19, "2026-01-02 01:00:05", 2, 7, "SHOP"),
        OpenTransaction(4, "1.2.3", 1, 140, "2026-01-02 06:00:05", 1, 0, None),
    )


def test_a_commit_that_a_resetlogs_may_have_undone_stops_its_table(spark, tmp_path: Path) -> None:
    change = a_row(0, 20, 1)
    cases = {"commits": [a_row(1, 99, 7)], "rolls back": [a_row(1, 99, 36)], "before": [a_row(1, 98, 7)], "open": []}

    found = assembled_cases(spark, tmp_path, {name: [change, *rows] for name, rows in cases.items()}, doubtful_scn=99)

    problem = found["commits"].problem
    assert problem is not None
    assert problem.scn == 99
    assert "a transaction commits at SCN 99, the last before a RESETLOGS" in problem.what
    rest = {"rolls back": "rolled_back", "before": "applied", "open": "carried_out"}
    assert {name: (found[name].dispositions, found[name].problem) for name in rest} == {
        name: ({0: what}, None) for name, what in rest.items()
    }


def test_an_unsupported_row_stops_its_table_at_the_commit_only(spark, tmp_path: Path) -> None:
    """A snapshot that is older than its commit does not settle it."""
    unsupported = of_t(0, 20, 255)
    opened = assembled_rows(spark, tmp_path, [unsupported])

    ends = {7: "applied", 36: "rolled_back"}
    carry = carried_over(opened, tmp_path / "carry")
    closed = {
        code: assembled_rows(spark, tmp_path / str(code), [a_row(0, 120, code)], 100, 200, carry, position=50) for code in ends
    }

    assert (dispositions(opened), opened.accounting.problems) == ({("1.2.3", 0): "carried_out"}, {})
    assert {code: set(dispositions(found).values()) for code, found in closed.items()} == {c: {e} for c, e in ends.items()}
    assert {code: len(found.accounting.problems) for code, found in closed.items()} == {7: 1, 36: 0}
    assert closed[7].accounting.problems[0, 0].scn == 120
    assert {code: found.accounting.scns for code, found in closed.items()} == {7: {(0, 0): (20, 20)}, 36: {}}


def test_undo_rows_and_reused_xids_get_the_right_dispositions(spark, tmp_path: Path) -> None:
    """Each situation is a transaction on a row of its own, with the expected dispositions."""
    situations: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
        "undo before its change, after an update that stays (19.13)": (
            [a_row(0, 20, 3), a_row(1, 21, 3, rollback=True, rs_id="same"), a_row(2, 21, 3, rs_id="same"), a_row(3, 22, 7)],
            ["applied", "undone", "undone"],
        ),
        "the undo of another row first": (
            [a_row(0, 20, 2, rollback=True, rs_id="same"), a_row(1, 20, 1, rs_id="same"), a_row(2, 22, 7)],
            ["undone", "undone"],
        ),
        "the ROWID reused after its insert was undone": (
            [a_row(0, 20, 1), a_row(1, 21, 2, rollback=True), a_row(2, 22, 1), a_row(3, 23, 7)],
            ["undone", "undone", "applied"],
        ),
        "many constraint violations, then a valid insert": (
            [
                *(a_row(n, 20 + n, 2 if n % 2 else 1, rollback=n % 2 == 1) for n in range(40)),
                a_row(40, 70, 1),
                a_row(41, 71, 7),
            ],
            ["undone"] * 40 + ["applied"],
        ),
        "insert, update, key change, delete, insert again, back to a savepoint": (
            [
                *(a_row(n, 20 + n, code) for n, code in enumerate((1, 3, 3, 2, 1))),
                *(a_row(5 + n, 30 + n, code, rollback=True) for n, code in enumerate((2, 1, 3))),
                a_row(8, 40, 7),
            ],
            ["applied", "applied", "undone", "undone", "undone", "undone", "undone", "undone"],
        ),
        "everything undone, then committed": (
            [a_row(0, 20, 3), a_row(1, 21, 3, rollback=True), a_row(2, 22, 7)],
            ["undone", "undone"],
        ),
        "a rollback without sequence": (
            [a_row(0, 20, 1), a_row(1, 21, 2, rollback=True, xid="unknown"), a_row(2, 22, 36, xid="unknown")],
            ["rolled_back", "rolled_back"],
        ),
        "the rollback of a transaction that another thread recovers": (
            [a_row(0, 20, 1), a_row(1, 60, 2, rollback=True, thread=2), a_row(2, 61, 36, thread=2)],
            ["rolled_back", "rolled_back"],
        ),
        "a START without transaction": ([a_row(0, 19, 6, xid="0.0.0"), a_row(1, 20, 1), a_row(2, 21, 7)], ["applied"]),
        "no START at all, and an end on thread 0": ([a_row(0, 20, 1), a_row(1, 21, 7, thread=0)], ["applied"]),
    }
    rows, expected = [], {}
    for n, (mine, what) in enumerate(situations.values()):
        xids = {"1.2.3": f"1.{n}.3", "unknown": f"1.{n}.4294967295", "0.0.0": "0.0.0"}
        rows += [{**row, "slice": n, "xid": xids[row["xid"]], "row_id": f"R{n}"} for row in mine]
        expected |= {(n, row["ordinal"]): w for row, w in zip((r for r in mine if r["operation_code"] < 5), what, strict=True)}
    # One undo slot, reused several times: the same xid in another container, the next sequences in this one.
    slot = [
        a_row(0, 20, 1, xid="5.5.1"), a_row(1, 21, 1, xid="5.5.1", con_id=4), a_row(2, 22, 36, xid="5.5.1", con_id=4),
        a_row(3, 23, 7, xid="5.5.1"), a_row(4, 24, 1, xid="5.5.2"), a_row(5, 25, 2, xid="5.5.4294967295", rollback=True),
        a_row(6, 26, 36, xid="5.5.4294967295"), a_row(7, 27, 1, xid="5.5.3"), a_row(8, 28, 7, xid="5.5.3"),
    ]  # fmt: skip
    rows += [{**row, "slice": 99, "row_id": f"S{row['con_id']}"} for row in slot]
    expected |= {(99, 0): "applied", (99, 1): "rolled_back", (99, 4): "rolled_back", (99, 5): "rolled_back", (99, 7): "applied"}

    found = assembled_rows(spark, tmp_path, rows)

    assert {(row["slice"], row["ordinal"]): row["disposition"] for row in found.changes.collect()} == expected
    assert not found.accounting.problems
    assert found.accounting.balance(0, found.input_counts).difference == 0


LATE = "a change at SCN 22 comes after the end of its transaction 1.2.3"
PROBLEMS = {
    "without undo rows or parallel DML": [
        ([of_t(0, 20, 255, info=" no such type "), a_row(1, 21, 7)], "(UNSUPPORTED), transaction 1.2.3 SCN 20 (no such type)"),
        ([of_t(0, 20, 10), a_row(1, 21, 7)], "a change of a large object is not captured: operation 10 LOB_WRITE"),
        ([of_t(0, 20, 99, operation="ODD"), a_row(1, 21, 7)], "operation 99 ODD is not understood"),
        ([of_t(0, 20, 1, operation="DELETE"), a_row(1, 21, 7)], "operation 1 DELETE is not understood"),
        ([a_row(0, 20, 1, xid="0.0.0")], "belongs to no transaction"),
        ([a_row(0, 20, 1, object_id=8), a_row(1, 21, 7)], "belongs to object {object}, an OBJECT_ID the table never had"),
        ([a_row(0, 20, 1, xid="0.0.0"), a_row(1, 21, 7, xid="0.0.0")], "belongs to no transaction"),
        ([a_row(0, 20, 1), a_row(1, 21, 7), a_row(2, 22, 1)], LATE),
        ([a_row(0, 20, 1), a_row(1, 21, 36), a_row(2, 22, 1)], LATE),
        (
            [a_row(0, 20, 1, xid="4.4.4"), a_row(1, 21, 7, xid="4.4.4", con_id=None)],
            "the end of transaction 4.4.4 at SCN 21 has no container",
        ),
    ],
    "with undo rows": [
        ([a_row(0, 20, 2, rollback=True), a_row(1, 21, 7)], "an undo row finds no change to undo"),
        ([a_row(0, 20, 2, rollback=True), a_row(1, 20, 1), a_row(2, 21, 7)], "an undo row finds no change to undo"),
        ([a_row(0, 20, 1), a_row(1, 20, 3, rollback=True), a_row(2, 21, 7)], "does not match the change before it"),
    ],
    "with unknown transactions": [
        ([a_row(0, 20, 1, xid="1.2.4294967295", rollback=True)], "belongs to no known transaction"),
        # The coordinator's commit does not decide such a row: its server may have been rolled back.
        ([server_row(0, 20, 1, "1.2.4294967295"), a_row(1, 21, 7, xid=COORDINATOR)], "belongs to no known transaction"),
        ([server_row(0, 20, 1, "0.0.0"), a_row(1, 21, 7, xid=COORDINATOR)], "belongs to no transaction"),
    ],
}


@pytest.mark.parametrize(("open_since", "stops"), [(None, False), (15, True), (20, True), (21, False)])
def test_a_change_without_a_transaction_below_the_snapshot_stops_unless_it_is_older_than_what_was_open(
    spark, tmp_path: Path, open_since: int | None, stops: bool
) -> None:
    rows = [of_t(0, 20, 1, xid="0.0.0"), of_t(1, 30, 1, xid="5.5.5"), of_t(2, 31, 7, xid="5.5.5"), of_t(3, 60, 1, xid="6.6.6")]
    window, table = land(tmp_path / "w", 10, 100, rows), replace(T, position=50, open_since=open_since)

    found = assemble_batch(spark, ScnRange(10, 100), [window], [], [table], "FREEPDB1")

    assert [problem.scn for problem in found.accounting.problems.values()] == ([51] if stops else [])
    assert found.accounting.without_transaction == {0: 20}
    expected = {"applied": 1, "before_position": 1} if stops else {"before_position": 2}
    assert Counter(dispositions(found).values()) == {**expected, "carried_out": 1}


@pytest.mark.parametrize(("open_since", "stops"), [(None, False), (20, True), (21, False)])
def test_a_change_whose_transaction_ends_without_a_container_below_the_snapshot_stops_unless_it_is_older_than_what_was_open(
    spark, tmp_path: Path, open_since: int | None, stops: bool
) -> None:
    """The end may be of another container's transaction: then the change was open at the snapshot, and is not carried over."""
    rows = [of_t(0, 20, 1, xid="4.4.4"), of_t(1, 21, 7, xid="4.4.4", con_id=None)]
    window, table = land(tmp_path / "w", 10, 60, rows), replace(T, position=50, open_since=open_since)

    found = assemble_batch(spark, ScnRange(10, 60), [window], [], [table], "FREEPDB1")

    assert [problem.scn for problem in found.accounting.problems.values()] == ([51] if stops else [])
    assert list(dispositions(found).values()) == ["applied" if stops else "before_position"]
    assert found.accounting.without_transaction == {0: 20}


LONG_AGO, JUST_NOW = "2001-01-01 00:00:00", "2026-01-02 03:00:00"
LATER_IN_SLOT = {  # what else the batch has in the undo slot of the open 4.4.4, and whether that shows that it has ended
    "a later one that has committed": ([of_t(1, 30, 7, xid="4.4.5")], LONG_AGO, True),
    "a later one that was rolled back": ([of_t(1, 30, 36, xid="4.4.9")], LONG_AGO, True),
    "two later ones, the higher sequence last": ([of_t(1, 30, 7, xid="4.4.5"), of_t(2, 50, 7, xid="4.4.6")], LONG_AGO, True),
    "two later ones, the higher sequence first": ([of_t(1, 30, 7, xid="4.4.6"), of_t(2, 50, 7, xid="4.4.5")], LONG_AGO, True),
    "one before its change, one after it": ([of_t(1, 19, 7, xid="4.4.9"), of_t(2, 30, 7, xid="4.4.5")], LONG_AGO, True),
    "one whose sequence has more digits": ([of_t(1, 30, 7, xid="4.4.10")], LONG_AGO, True),
    "no time is known": ([of_t(1, 30, 7, xid="4.4.5")], None, True),
    "it has been open for a moment": ([of_t(1, 30, 7, xid="4.4.5")], JUST_NOW, False),
    "an earlier one": ([of_t(1, 30, 7, xid="4.4.3")], LONG_AGO, False),
    "another slot": ([of_t(1, 30, 7, xid="4.44.5"), of_t(2, 30, 7, xid="4.5.4")], LONG_AGO, False),
    "a later one before its change": ([of_t(1, 19, 7, xid="4.4.5")], LONG_AGO, False),
    "another container": ([of_t(1, 30, 7, xid="4.4.5", con_id=9)], LONG_AGO, False),
    "no container": ([of_t(1, 30, 7, xid="4.4.5", con_id=None)], LONG_AGO, False),
    "its own, with an unknown sequence": ([of_t(1, 30, 36, xid="4.4.4294967295")], LONG_AGO, False),
}


@pytest.mark.parametrize("case", LATER_IN_SLOT)
@pytest.mark.parametrize("position", [-1, 40])
def test_a_change_whose_undo_slot_a_later_transaction_has_had_is_not_carried_for_ever(
    spark, tmp_path: Path, case: str, position: int
) -> None:
    """Its transaction has ended, before the change or unseen: the table stops there, or has been read again since."""
    more, first_at, is_shown = LATER_IN_SLOT[case]
    ended = [of_t(3, 31, 1, xid="4.4.4"), of_t(4, 32, 7, xid="4.4.4")] if case == "an earlier one" else []
    window = land(tmp_path / "w", 10, 100, [of_t(0, 20, 1, xid="4.4.4"), *more, *ended])
    opened = [OpenTransaction(3, "4.4.4", 1, 5, first_at, 1, 1, None)]
    table = replace(T, position=position)

    found = assemble_batch(spark, ScnRange(10, 100), [window], [], [table], "FREEPDB1", open_in=opened)

    if case in ("an earlier one", "its own, with an unknown sequence"):
        assert "carried_out" not in dispositions(found).values()
        assert not found.accounting.problems
    elif not is_shown:
        assert list(dispositions(found).values()) == ["carried_out"]
    elif position == 40:
        assert (list(dispositions(found).values()), found.accounting.problems) == (["before_position"], {})
    else:
        (problem,) = found.accounting.problems.values()
        assert problem.scn == 20, "it may have been committed at any SCN since"
        assert "ended at SCN 30" in problem.what
        assert "no end of transaction 4.4.4 was shown after its change at SCN 20" in problem.what
    assert found.accounting.balance(0, found.input_counts).difference == 0


def test_many_changes_are_kept_only_for_several_readers(spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one reader they are computed again for it: kept, they are as large as all redo SQL of the batch."""
    monkeypatch.setattr(assembled, "MANY_CHANGES", 3)
    rows = [of_t(0, 20, 1), of_t(1, 21, 3), a_row(2, 22, 7), of_t(3, 30, 1, xid="5.5.5"), a_row(4, 31, 36, xid="5.5.5")]
    one = land(tmp_path / "one", 10, 100, rows)
    opened = land(tmp_path / "open", 10, 100, [*rows, of_t(5, 40, 1, xid="6.6.6")])
    few = land(tmp_path / "few", 10, 100, rows[:3])
    ranges = replace(T, ddl_scns=(35,))

    def assembled_from(window: LandedWindow, table: CapturedTable = T) -> AssembledBatch:
        return assemble_batch(spark, ScnRange(10, 100), [window], [], [table], "FREEPDB1")

    read_again, carried, undisturbed, small = map(assembled_from, (one, opened, one, few), (T, T, ranges, T))

    plans = [
        batch.changes._jdf.queryExecution().optimizedPlan().toString() for batch in (read_again, carried, undisturbed, small)
    ]
    assert ["parquet" in plan for plan in plans] == [True, False, True, False]
    assert dispositions(read_again) == dispositions(undisturbed)
    assert Counter(dispositions(read_again).values()) == {"applied": 2, "rolled_back": 1}
    assert Counter(dispositions(carried).values()) == {"applied": 2, "rolled_back": 1, "carried_out": 1}


def test_changes_of_large_objects_that_are_left_out_are_counted_and_not_applied(spark, tmp_path: Path) -> None:
    rows = [of_t(0, 20, 9, operation="INTERNAL"), of_t(1, 20, 10, status=2), of_t(2, 20, 3), of_t(3, 22, 10), a_row(4, 21, 7)]
    rows += [of_t(5, 30, 10, xid="7.7.7"), of_t(6, 31, 3, xid="7.7.7"), of_t(7, 32, 3, xid="7.7.7", rollback=True)]
    rows += [a_row(8, 33, 7, xid="7.7.7")]
    without = {"xid": "8.8.8", "row_id": NO_ROWID}  # INSERTs of which the second and, undone before it, the third are undone
    rows += [of_t(9, 40, 1, **without), of_t(10, 41, 1, **without), of_t(11, 42, 2, xid="8.8.8", row_id="R2", rollback=True)]
    inverted = {"rs_id": "at one address"}
    rows += [of_t(12, 43, 2, xid="8.8.8", row_id="R3", rollback=True, **inverted), of_t(13, 43, 1, **without, **inverted)]
    rows += [of_t(14, 44, 3, xid="8.8.8", row_id="R1"), a_row(15, 45, 7, xid="8.8.8")]
    window = land(tmp_path / "w", 10, 100, rows)

    found = assemble_batch(spark, ScnRange(10, 100), [window], [], [replace(T, no_large_objects=True)], "FREEPDB1")

    assert Counter(dispositions(found).values()) == {"applied": 3, "left_out": 4, "undone": 6}
    assert found.accounting.problems == {}
    assert found.accounting.balance(0, found.input_counts).difference == 0


def test_rows_of_one_redo_record_are_told_apart_by_their_rowid(spark, tmp_path: Path) -> None:
    """A DELETE of many rows is one record, whose rows share RS_ID and SSN (Free 23ai: redpanda-data/connect #4826)."""
    array = [of_t(n, 20, 2, row_id=f"R{n}", rs_id="one record") for n in range(3)]
    taken_back = [of_t(3 + n, 21, 2, row_id=f"R{3 + n}", rs_id="another", xid="7.7.7") for n in range(3)]
    taken_back += [of_t(6 + n, 22, 1, row_id=f"R{5 - n}", rs_id="its undo", xid="7.7.7", rollback=True) for n in range(3)]
    rows = [*array, *taken_back, a_row(9, 30, 7), a_row(10, 31, 7, xid="7.7.7")]

    found = assemble_batch(spark, ScnRange(10, 100), [land(tmp_path / "w", 10, 100, rows)], [], [T], "FREEPDB1")

    assert Counter(dispositions(found).values()) == {"applied": 3, "undone": 6}
    assert found.accounting.problems == {}


def test_undo_rows_undo_whole_statements_that_write_large_objects(spark, tmp_path: Path) -> None:
    """As measured on 26ai: only the last row of a statement has the ROWID, and one undo row takes all of them back."""

    def update_of(column: str = "BODY", value: str = "NULL") -> str:
        return f'update "SHOP"."T" set "{column}" = {value} where "ID" = \'1\';'

    def statement(at: int, xid: str, *rows: Any) -> list[Any]:
        made = [
            of_t(n, n, code, xid=xid, row_id=row or NO_ROWID, rollback=undo, sql_redo=update_of(*column))
            for n, (code, row, undo, *column) in enumerate(rows, at)
        ]
        return [*made, a_row(at + len(made), at + len(made), 7, xid=xid)]

    insert, update, piece = (1, None, False), (3, None, False), (10, None, False)
    emptied, end = (3, None, False, "BODY", "EMPTY_CLOB()"), (0, "R1", False)
    cases = {
        # two INSERTs, each with an object in the row and one outside: the second is undone
        "1.1.1": [insert, piece, (3, "R1", False), insert, piece, (3, "R2", False), (2, "R2", True)],
        "1.1.2": [insert, (3, "R1", False), (3, "R1", False), (3, "R1", True)],
        "1.1.3": [insert, piece, (3, "R1", False, "NAME"), (3, "R1", True)],  # the UPDATE is no part of the INSERT
        # the INTERNAL row is the undone statement's change, and the UPDATE before it remains
        "1.1.4": [(3, "R1", False), piece, end, (3, "R1", True)],
        "1.1.5": [(3, "R1", False), update, piece, end, (3, "R1", False), (3, "R1", True), (3, "R1", True)],
        "1.1.6": [(3, "R1", False), (9, "R1", False), (11, None, False), end, (3, "R1", True)],  # DBMS_LOB.TRIM
        "1.1.7": [update, end, (3, "R1", False), (3, "R1", True)],  # of two statements, the second
        "1.1.8": [insert, piece, end, (2, "R1", True)],
        "1.1.9": [emptied, piece, (3, "R1", False), (3, "R1", True)],  # whose are the rows before? They only empty an object
    }
    stopped = {
        "2.1.1": [(3, "R1", False), piece, (3, "R1", True)],  # the UPDATE before the pieces remains
        "2.1.2": [(3, "R1", False), update, (3, "R1", True)],
        "2.1.3": [update, (3, "R1", False), (3, "R1", True)],  # one statement, or two of which the second is undone
        "2.1.4": [(3, "R1", False), (10, "R1", False), (3, "R1", True)],  # DBMS_LOB.WRITE
        "2.1.5": [(3, "R1", False), (10, "R1", False), end, (3, "R1", True)],
        "2.1.6": [(3, "R1", False), end, piece, (3, "R1", True)],  # an INTERNAL row that ends nothing
        "2.1.7": [insert, piece, end, (3, "R1", True)],  # the undo of an INSERT is no UPDATE
    }
    with_objects = replace(T, stop_scn=500, delivery=RereadValues((3,)), plain_columns=("ID", "NAME"))
    numbered = enumerate({**cases, **stopped}.items(), 1)
    rows = [row for n, (xid, mine) in numbered for row in statement(20 * n, xid, *mine)]
    window = land(tmp_path / "w", 10, 500, rows)

    found = assemble_batch(spark, ScnRange(10, 500), [window], [], [with_objects], "FREEPDB1")

    changes = {row["ordinal"]: row for row in found.changes.collect()}
    undone = {xid: [changes[20 * n + i]["undone"] for i in range(len(mine))] for n, (xid, mine) in enumerate(cases.items(), 1)}
    assert undone == {
        "1.1.1": [False] * 3 + [True] * 4,
        "1.1.2": [False, False, True, True],
        "1.1.3": [False, False, True, True],
        "1.1.4": [False, True, True, True],
        "1.1.5": [False, True, True, True, True, True, True],
        "1.1.6": [False, False, True, True, True],
        "1.1.7": [False, False, True, True],
        "1.1.8": [True] * 4,
        "1.1.9": [False, False, True, True],
    }
    problems = {row["xid"]: row["problem"] for row in changes.values() if row["problem"]}
    doubtful = {xid for xid, what in problems.items() if "may undo an UPDATE of large objects" in what}
    assert {row["problem"] for row in changes.values() if row["operation_code"] == 0} == {None}
    assert doubtful == set(stopped) - {"2.1.7"}
    assert "an undo row finds no change to undo" in problems["2.1.7"]


def test_undone_changes_of_a_table_whose_rows_are_read_again_are_no_problem(spark, tmp_path: Path) -> None:
    rows = [of_t(0, 20, 3), of_t(1, 21, 255), of_t(2, 22, 3, rollback=True), a_row(3, 23, 7)]
    window = land(tmp_path / "w", 10, 100, rows)

    found = assemble_batch(spark, ScnRange(10, 100), [window], [], [replace(T, delivery=RereadRows())], "FREEPDB1")

    assert found.accounting.problems == {}
    assert set(dispositions(found).values()) == {"applied"}


@pytest.mark.parametrize("rows", PROBLEMS)
def test_a_change_that_cannot_be_assembled_is_a_problem_of_its_table(spark, tmp_path: Path, rows: str) -> None:
    found = assembled_cases(spark, tmp_path, {f"{n}": mine for n, (mine, _) in enumerate(PROBLEMS[rows])})

    for n, (case, (_, message)) in enumerate(zip(found.values(), PROBLEMS[rows], strict=True)):
        assert case.problem is not None, message
        assert message.format(object=10 * n + 8) in case.problem.what
        assert case.difference == 0


def test_tables_that_swapped_names_keep_their_changes(spark, tmp_path: Path) -> None:
    """Redo from before the RENAMEs is mined after them: the dictionary has each table under the other's name."""
    swapped = [a_row(0, 20, 1, table_name="U"), a_row(1, 20, 1, object_id=8, row_id="B"), a_row(2, 21, 7)]
    window, other = (
        land(tmp_path / "w", 10, 100, swapped),
        CapturedTable(1, TableId("SHOP", "U"), (8,), position=-1, stop_scn=100),
    )

    found = assemble_batch(spark, ScnRange(10, 100), [window], [], [T, other], "FREEPDB1")

    assert {row["ordinal"]: row["table_number"] for row in found.changes.collect()} == {0: 0, 1: 1}
    assert not found.accounting.problems


@pytest.mark.parametrize(("scn", "foreign"), [(60, 1), (20, 0)])
def test_a_name_that_a_table_has_lost_is_no_longer_its(spark, tmp_path: Path, scn: int, foreign: int) -> None:
    """Another table may have the old name from the RENAME at SCN 50 on; a row before it with that name is not explained."""
    names = (NameInRedo(TableId("SHOP", "T"), 50), NameInRedo(TableId("SHOP", "NEW")))
    renamed = CapturedTable(0, T.id, T.object_ids, position=-1, stop_scn=100, names=names)
    own, other = a_row(0, 20, 1, table_name="NEW", object_id=7), a_row(1, scn, 1, table_name="T", object_id=9, row_id="B")
    window = land(tmp_path / "w", 10, 100, [own, other, a_row(2, 61, 7)])

    found = assemble_batch(spark, ScnRange(10, 100), [window], [], [renamed], "FREEPDB1")

    assert found.input_counts.foreign == foreign
    assert bool(found.accounting.problems) == (not foreign)


def test_an_unresolved_row_belongs_to_the_table_with_its_object_id(spark, tmp_path: Path) -> None:
    unresolved = {"seg_owner": "UNKNOWN", "table_name": "OBJ# 7"}
    rows = [
        a_row(0, 20, 1, **unresolved),
        a_row(1, 20, 1, seg_owner="UNKNOWN", table_name="OBJ# 8", object_id=8),
        a_row(2, 20, 1, con_name="OTHERPDB"),
        a_row(3, 21, 7),
    ]

    found = assembled_rows(spark, tmp_path, rows)

    assert found.accounting.count(0, "applied") == 1
    assert found.input_counts.foreign == 2


def test_a_row_that_occurs_twice_stops_the_batch(spark, tmp_path: Path) -> None:
    with pytest.raises(InvariantBroken, match="1 of 3 redo rows occur twice"):
        assembled_rows(spark, tmp_path, [a_row(0, 20, 1), a_row(0, 20, 1), a_row(1, 21, 7)])


def test_a_transaction_that_ends_twice_unbalances_the_account(spark, tmp_path: Path) -> None:
    found = assembled_rows(spark, tmp_path, [a_row(0, 20, 1), a_row(1, 21, 7), a_row(2, 22, 7)])

    assert found.accounting.balance(0, found.input_counts).difference == -1


def test_a_row_outside_every_window_stops_the_batch(spark, tmp_path: Path) -> None:
    with pytest.raises(InvariantBroken, match="outside every window"):
        assembled_rows(spark, tmp_path, [a_row(0, 100, 1)])


def test_a_change_of_a_nameless_object_stops_the_batch(spark, tmp_path: Path) -> None:
    with pytest.raises(RedoNotUnderstood, match="neither the name nor the number"):
        assembled_rows(spark, tmp_path, [a_row(0, 20, 1, table_name=None, object_id=None, seg_owner=None)])
