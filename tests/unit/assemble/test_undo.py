"""Which changes a transaction's own undo rows cancel, and which undo rows are not understood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import functions as F

from redolake.assemble.undo import match_statements, match_undo, stop_taken_back
from redolake.values.logminer import NO_ROWID, Mined

INSERT, DELETE, UPDATE, WRITE = 1, 2, 3, 10
INVERSE = {INSERT: DELETE, DELETE: INSERT, UPDATE: UPDATE}
SCHEMA = (
    "table_number int, con_id int, xid string, object_id int, row_id string, thread int, rs_id string, ssn int, "
    "window_start bigint, slice int, ordinal int, scn bigint, operation_code int, rollback boolean, problem string, "
    "undone boolean, sets_plain boolean, left_out boolean, sql_redo string"
)
NOTHING = "an undo row finds no change to undo"
OTHER = "an undo row does not match the change before it"
DOUBTFUL = "an undo row may undo an UPDATE of large objects, of which LogMiner does not show which rows belong to it"
Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """The rows of a transaction, which of them are undone (1), and by place the problems that were found."""

    rows: Sequence[Row]
    undone: str
    problems: dict[int, str] = field(default_factory=dict)


def change(code: int, row: str | None = "R", **more: Any) -> Row:
    return {"operation_code": code, "row_id": row, "rollback": False, **more}


def insert(row: str | None = "R", **more: Any) -> Row:
    return change(INSERT, row, **more)


def delete(row: str | None = "R", **more: Any) -> Row:
    return change(DELETE, row, **more)


def update(row: str | None = "R", **more: Any) -> Row:
    return change(UPDATE, row, **more)


def piece(row: str | None = NO_ROWID) -> Row:
    """Return a change of a large object, which is left out."""
    return change(WRITE, row, left_out=True)


def end(row: str = "A") -> Row:
    """Return the INTERNAL row with which a statement ends."""
    return change(int(Mined.INTERNAL), row, left_out=True)


def undo(row: Row, **more: Any) -> Row:
    return {**row, "operation_code": INVERSE[row["operation_code"]], "rollback": True, **more}


def inverted(row: Row, address: str = "same", **more: Any) -> list[Row]:
    """Return the undo row of a change, and after it the change: both have one address."""
    return [undo({**row, **more}, rs_id=address), {**row, "rs_id": address}]


BOTH: dict[str, Case] = {
    "nothing undone": Case([insert(), update()], "00"),
    "an INSERT": Case([insert(), undo(insert())], "11"),
    "an UPDATE": Case([update(), undo(update())], "11"),
    "a DELETE": Case([delete(), undo(delete())], "11"),
    "the last of two": Case([update(), update(), undo(update())], "011"),
    "the first of two": Case([update(), undo(update()), update()], "110"),
    "nested": Case([insert(), update(), delete(), undo(delete()), undo(update()), undo(insert())], "111111"),
    "two in a row, twice": Case([*[update(), undo(update())] * 2, update()], "11110"),
    "of another row in between": Case([update("A"), update("B"), undo(update("A"))], "101"),
    "inverted": Case(inverted(update()), "11"),
    "inverted, after one that stays": Case([update(), *inverted(update())], "011"),
    "inverted, before one that stays": Case([*inverted(insert()), insert()], "110"),
    "inverted inside others": Case([insert(), *inverted(update()), undo(insert())], "1111"),
    "inverted, of two rows": Case([*inverted(update("A"), "a"), *inverted(update("B"), "b"), update("A")], "11110"),
    "a pair in its order at one address": Case([update(rs_id="same"), undo(update(), rs_id="same")], "11"),
    "two changes at one address": Case([update(rs_id="same"), update(rs_id="same")], "00"),
    "in another redo thread": Case(
        [undo(update(), rs_id="same"), update(rs_id="same", thread=2)], "10", {0: NOTHING}
    ),
    "in another container": Case([update(), undo(update(), con_id=4)], "01", {1: NOTHING}),
    "in another object": Case([update(), undo(update(), object_id=8)], "01", {1: NOTHING}),
    "in another table": Case([update(), undo(update(), table_number=1)], "01", {1: NOTHING}),
    "in another row": Case([update(), undo(update("S"))], "01", {1: NOTHING}),
    "in another transaction": Case([update(), undo(update(), xid="9.9.9")], "01", {1: NOTHING}),
    "nothing to undo": Case([undo(update())], "1", {0: NOTHING}),
    "more than there is": Case([update(), undo(update()), undo(update())], "111", {2: NOTHING}),
    "twice with one change in between": Case([undo(update()), update(), undo(update())], "111", {0: NOTHING, 2: NOTHING}),
    "before its change": Case([undo(update()), update()], "10", {0: NOTHING}),
    "without a ROWID": Case([undo(update(None))], "1", {0: NOTHING}),
    "of another operation": Case([insert(), undo(update())], "11", {1: OTHER}),
    "of an INSERT, after an UPDATE": Case([update(), undo(insert())], "11", {1: OTHER}),
    "of the same operation": Case([insert(), undo(delete())], "11", {1: OTHER}),
    "of another operation at one address": Case(
        [undo(update(), rs_id="same"), insert(rs_id="same")], "10", {0: NOTHING}
    ),
    "three at one address": Case(
        [undo(update(), rs_id="same"), update(rs_id="same"), update(rs_id="same")], "100", {0: NOTHING}
    ),
    "two undo rows at one address": Case(
        [undo(update(), rs_id="same"), undo(update(), rs_id="same")], "11", {0: NOTHING, 1: NOTHING}
    ),
    "a problem that is known already": Case([undo(update(), problem="known")], "1", {0: "known"}),
}  # fmt: skip
N = NO_ROWID
SETS = """update "SHOP"."T" set "BODY" = {} where "ID" = '1';"""
EMPTIED = SETS.format("EMPTY_CLOB()")
STATEMENTS: dict[str, Case] = {
    # As measured on 26ai: only the last row of a statement has the ROWID, and one undo row takes all of them back.
    "an INSERT with a large object": Case([insert(N), piece(), update("A"), undo(insert("A"))], "1111"),
    "the second of two": Case(
        [insert(N), piece(), update("A"), insert(N), piece(), update("B"), undo(insert("B"))], "0001111"
    ),
    "both": Case([insert(N), update("A"), insert(N), update("B"), undo(insert("B")), undo(insert("A"))], "111111"),
    "an UPDATE after the INSERT": Case([insert(N), update("A"), update("A"), undo(update("A"))], "0011"),
    "a plain UPDATE after the INSERT": Case(
        [insert(N), piece(), update("A", sets_plain=True), undo(update("A"))], "0011"
    ),
    "a plain INSERT": Case([insert("A"), undo(insert("A")), insert("B")], "110"),
    "a plain INSERT with pieces": Case([insert("A"), piece("A"), undo(insert("A"))], "111"),
    "a plain INSERT, the pieces of another row": Case([insert("A"), undo(insert("A")), piece("B")], "110"),
    "inverted": Case(inverted(insert(N), row_id="Z"), "11"),
    "two inverted": Case([*inverted(insert(N), "a", row_id="Z"), *inverted(insert(N), "b", row_id="Y")], "1111"),
    "inverted, of another row": Case(inverted(insert("B"), row_id="A"), "10", {0: NOTHING}),
    "inverted inside a statement": Case([insert(N), *inverted(insert(N), row_id="Z"), undo(insert("A"))], "1111"),
    "one after the other": Case([*[insert(N), piece(), update("A"), undo(insert("A"))] * 2], "11111111"),
    "inverted, and its pieces": Case([*inverted(insert("A")), piece("A")], "111"),
    "inverted, its ROWID again, and pieces": Case([*inverted(insert("A")), insert("A"), piece("A")], "1100"),
    "inverted, its ROWID again and undone, and pieces": Case(
        [*inverted(insert("A")), insert("A"), undo(insert("A")), piece("A")], "11110"
    ),
    "inverted, changed, and pieces": Case([*inverted(insert("A")), update("A"), undo(update("A")), piece("A")], "11111"),
    "undone, and pieces": Case([insert("A"), undo(insert("A")), piece("A")], "110"),
    "pieces, then an undone INSERT": Case([piece("A"), insert("A"), undo(insert("A"))], "011"),
    "inverted, and what follows": Case([*inverted(insert(N), row_id="A"), update("A")], "110"),
    "the ROWID again": Case([insert(N), update("A"), undo(insert("A")), insert(N), piece(), update("A")], "111000"),
    "a DELETE with pieces": Case([delete("A"), piece("A"), undo(delete("A"))], "101"),
    "of another table at the same time": Case(
        [insert(N), insert(N, table_number=1), update("A"), update("B", table_number=1), undo(insert("A"))], "10101"
    ),
    "of another container": Case([insert(N), insert(N, con_id=4), update("A"), undo(insert("A"))], "1011"),
    "of another transaction": Case([insert(N), insert(N, xid="8.8.8"), undo(insert("A"))], "101"),
    "a row of another table inside": Case([insert(N), update(N, table_number=1), update("A"), undo(insert("A"))], "1011"),
    "a row of the table, with a ROWID, inside": Case([insert(N), update("Z"), update("A"), undo(insert("A"))], "1011"),
    "an undo row of an INSERT that is not there": Case([undo(insert("A"))], "1", {0: NOTHING}),
    "an undo row of an INSERT of another row": Case([insert("B"), undo(insert("A"))], "01", {1: NOTHING}),
    "an UPDATE before the pieces": Case([update("A"), piece(), undo(update("A"))], "101", {2: DOUBTFUL}),
    "an UPDATE without ROWID in between": Case([update("A"), update(N), undo(update("A"))], "101", {2: DOUBTFUL}),
    "an UPDATE without ROWID right before": Case([update(N), update("A"), undo(update("A"))], "011", {2: DOUBTFUL}),
    "one right before a plain UPDATE": Case(
        [update(N), update("A", sets_plain=True), undo(update("A"))], "011"
    ),
    "one long before": Case([update(N), update("B"), update("A"), undo(update("A"))], "0011"),
    "an UPDATE with a ROWID before": Case([piece("A"), update("A"), undo(update("A"))], "011"),
    "pieces in place": Case([update("A"), piece("A"), undo(update("A"))], "101", {2: DOUBTFUL}),
    "pieces, and no UPDATE": Case([piece("A"), undo(update("A"))], "01", {1: NOTHING}),
    "pieces of another table": Case([update("A"), change(WRITE, N, left_out=True, table_number=1), undo(update("A"))], "101"),
    "many pieces of another table": Case(
        [update("A"), *[change(WRITE, N, left_out=True, table_number=1)] * 2, undo(update("A"))], "1001"
    ),
    "many pieces of another container": Case(
        [update("A"), *[change(WRITE, N, left_out=True, con_id=4)] * 2, undo(update("A"))], "1001"
    ),
    "an UPDATE without ROWID alone": Case([update(N), undo(update(N))], "11"),
    "pieces after it": Case([update("A"), undo(update("A")), piece()], "110"),
    "pieces of an INSERT that is undone": Case(
        [update("A"), insert(N), piece(), update("B"), undo(insert("B")), undo(update("A"))], "111111"
    ),
    "a DELETE's undo": Case([delete("A"), piece(), undo(delete("A"))], "101"),
    "an UPDATE that ends with an INTERNAL row": Case([update("A"), piece(), end(), undo(update("A"))], "0111"),
    "one between others": Case(
        [update("A"), update(N), piece(), end(), update("A"), undo(update("A")), undo(update("A"))], "0111111"
    ),
    "DBMS_LOB.TRIM": Case([update("A"), change(9, "A", left_out=True), piece(), end(), undo(update("A"))], "00111"),
    "the second of two, the first with an INTERNAL row": Case([update(N), end(), update("A"), undo(update("A"))], "0011"),
    "the second of two, both with an INTERNAL row": Case(
        [update(N), end("A"), update(N), end("B"), undo(update("B"))], "00111"
    ),
    "an UPDATE with an INTERNAL row, after an INSERT": Case(
        [insert(N), insert("A"), update(N), end("B"), undo(update("B"))], "00111"
    ),
    "one after an undo row of another kind": Case(
        [update(N), {**end("A"), "rollback": True}, update(N), end("B"), undo(update("B"))], "00111"
    ),
    "a DELETE's undo, and an UPDATE with an INTERNAL row": Case([update(N), end(), undo(delete("A"))], "111", {2: OTHER}),
    "an INSERT that ends with an INTERNAL row": Case([insert(N), piece(), end(), undo(insert("A"))], "1111"),
    "after one that only empties objects": Case(
        [update(N, sql_redo=EMPTIED), piece(), update("A"), undo(update("A"))], "0011"
    ),
    "after one that sets an object": Case(
        [update(N, sql_redo=SETS.format("NULL")), update("A"), undo(update("A"))], "011", {2: DOUBTFUL}
    ),
    "an INTERNAL row after one with a ROWID": Case([update("A"), piece("A"), end(), undo(update("A"))], "1001", {3: DOUBTFUL}),
    "an INTERNAL row that comes first": Case([end(), undo(update("A"))], "01", {1: NOTHING}),
    "an INTERNAL row that ends nothing": Case([update("A"), end(), piece(), undo(update("A"))], "1001", {3: DOUBTFUL}),
    "the INTERNAL row of an INSERT, and an UPDATE's undo": Case(
        [insert(N), piece(), end(), undo(update("A"))], "0001", {3: NOTHING}
    ),
    "the INTERNAL row of another table": Case(
        [update("A"), piece(), {**end(), "table_number": 1}, undo(update("A"))], "1001", {3: DOUBTFUL}
    ),
    "known already": Case([update("A"), piece(), undo(update("A"), problem="known")], "101", {2: "known"}),
}  # fmt: skip


def frame(spark: Any, cases: Sequence[Case]) -> Any:
    rows = [
        {
            "table_number": 0, "con_id": 3, "xid": f"1.{number}.1", "object_id": 7, "thread": 1, "rs_id": f"{place}", "ssn": 0,
            "window_start": 0, "ordinal": place, "scn": 100 + place, "problem": None, "undone": False, "sets_plain": False,
            "left_out": False, "sql_redo": None, **row, "slice": number,
        }
        for number, case in enumerate(cases)
        for place, row in enumerate(case.rows)
    ]  # fmt: skip
    return spark.createDataFrame(rows, SCHEMA)


def check(matched: Any, cases: dict[str, Case]) -> None:
    found: dict[str, dict[int, Any]] = {name: {} for name in cases}
    for row in matched.collect():
        found[list(cases)[row["slice"]]][row["ordinal"]] = row
    for number, (name, case) in enumerate(cases.items()):
        rows = [found[name][place] for place in range(len(case.rows))]
        assert len(found[name]) == len(case.rows)
        assert "".join(str(int(row["undone"])) for row in rows) == case.undone, name
        assert [row["operation_code"] for row in rows] == [row["operation_code"] for row in case.rows], name
        xids = [row.get("xid", f"1.{number}.1") for row in case.rows]
        expected = {
            place: what
            if what == "known"
            else f"{what}, transaction {xids[place]} ROWID {case.rows[place]['row_id'] or 'none'} SCN {100 + place}"
            for place, what in case.problems.items()
        }
        assert {place: row["problem"] for place, row in enumerate(rows) if row["problem"]} == expected, name


def test_an_undo_row_cancels_the_change_before_it_of_its_row(spark: Any) -> None:
    cases = frame(spark, list(BOTH.values()))

    matched = match_undo(cases)

    assert matched.columns == cases.columns
    check(matched, BOTH)


def test_of_a_table_with_large_objects_plain_changes_are_undone_alike(spark: Any) -> None:
    matched = match_statements(frame(spark, list(BOTH.values())), F.col("left_out"), F.lit(False))

    check(matched, BOTH)


def test_an_undo_row_cancels_all_rows_of_a_statement_that_writes_large_objects(spark: Any) -> None:
    cases = frame(spark, list(STATEMENTS.values()))

    matched = match_statements(cases, F.col("left_out"), F.lit(False))

    assert set(matched.columns) == set(cases.columns) - {"sets_plain"}
    check(matched, STATEMENTS)


def test_of_a_table_whose_objects_are_assembled_an_emptied_one_is_in_doubt_too(spark: Any) -> None:
    cases = {"emptied": Case([update(N, sql_redo=EMPTIED), update("A"), undo(update("A"))], "011", {2: DOUBTFUL})}

    check(match_statements(frame(spark, list(cases.values())), F.col("left_out"), F.lit(True)), cases)


def test_an_undone_insert_gets_the_rowid_of_its_undo_row(spark: Any) -> None:
    named = {
        "an INSERT with a large object": ["A"], "inverted": ["Z"], "two inverted": ["Z", "Y"],
        "the second of two": [NO_ROWID, "B"], "inverted inside a statement": ["A", "Z"], "inverted, of another row": ["B"],
    }  # fmt: skip

    cases = frame(spark, [STATEMENTS[name] for name in named])
    rows = match_statements(cases, F.col("left_out"), F.lit(False)).collect()

    inserts = sorted((row["slice"], row["ordinal"], row["row_id"]) for row in rows if row["operation_code"] == INSERT)
    assert {name: [row_id for case, _, row_id in inserts if case == n] for n, name in enumerate(named)} == named


TAKEN_BACK = (
    "a part of the transaction is rolled back after a change of a large object, and LogMiner may not show whether that "
    "change is undone (`large_objects: reread` does not need to know)"
)


def test_a_change_of_a_large_object_before_an_undo_row_of_its_transaction_is_a_problem(spark: Any) -> None:
    cases = {
        "before": Case([piece("A"), update("B"), undo(update("B"))], "000", {0: TAKEN_BACK}),
        "after": Case([update("B"), undo(update("B")), piece("A")], "000"),
        "undone": Case([{**piece("A"), "undone": True}, undo(update("B"))], "10"),
        "of another table": Case([piece("A"), undo(update("B"), table_number=1)], "00", {0: TAKEN_BACK}),
        "of another container": Case([piece("A"), undo(update("B"), con_id=4)], "00"),
        "of another transaction": Case([piece("A"), undo(update("B"), xid="9.9.9")], "00"),
        "known already": Case([{**piece("A"), "problem": "known"}, undo(update("B"))], "00", {0: "known"}),
        "no large object": Case([update("A"), undo(update("B"))], "00"),
        "and no undo row": Case([piece("A"), update("B")], "00"),
    }

    check(stop_taken_back(frame(spark, list(cases.values())), F.col("left_out")), cases)
