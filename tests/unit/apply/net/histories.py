"""Small histories of decoded changes, for tests that bring many of them to Spark in one frame.

The key of the table are the columns 1 and 2: the first is the number of the history, so that none meets another. Columns 3 and
4 are values; a change says those before it only where its row is known by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from redolake.apply.spark.quoting import quote
from redolake.apply.target import TargetColumn

KEY = (1, 2)
COLUMNS = tuple(
    TargetColumn(number, name, type_)
    for number, (name, type_) in enumerate([("HISTORY", "int"), ("I`D", "int"), ("NAME", "string"), ("MORE", "string")], 1)
)
SCHEMA = (
    "commit_scn bigint, commit_thread int, commit_rs_id string, window_start bigint, slice int, ordinal bigint, scn bigint, "
    "operation_code int, row_id string, b1 int, b2 int, a1 int, a2 int, a3 string, a4 string, w3 string, w4 string, "
    "absent array<int>, touched boolean, finding struct<commit_scn: bigint, scn: bigint, code: string, what: string>"
)
Change = Mapping[str, Any]
Transaction = Sequence[Change]  # in the order of their commits
INSERT, DELETE, UPDATE = 1, 2, 3


def insert(key: int | None, value: str | None, row: str = "A", **more: Any) -> Change:
    return {"operation_code": INSERT, "a2": key, "a3": value, "row": row, **more}


def update(key: int | None, value: str | None, row: str = "A", **more: Any) -> Change:
    return move(key, key, value, row, **more)


def move(before: int | None, key: int | None, value: str | None, row: str = "A", **more: Any) -> Change:
    """Return an UPDATE of the key."""
    return {"operation_code": UPDATE, "b2": before, "a2": key, "a3": value, "row": row, **more}


def delete(key: int | None, row: str = "A", **more: Any) -> Change:
    return {"operation_code": DELETE, "b2": key, "row": row, **more}


def changes(spark: Any, histories: Sequence[Sequence[Transaction]]) -> Any:
    """Return the changes of all histories. A change may say its place in the redo: `at`."""
    rows = [
        decoded(case, commit, place, change)
        for case, transactions in enumerate(histories)
        for commit, transaction in enumerate(transactions, 1)
        for place, change in enumerate(transaction)
    ]
    return spark.createDataFrame(rows, SCHEMA)


def target(spark: Any, rows: Sequence[Mapping[int, Sequence[str | None]]]) -> Any:
    """Return the target's rows of all histories: their values by key."""
    columns = ", ".join(f"{quote(column.name)} {column.type}" for column in COLUMNS)
    return spark.createDataFrame([(case, key, *row) for case, mine in enumerate(rows) for key, row in mine.items()], columns)


def decoded(case: int, commit: int, place: int, change: Change) -> dict[str, Any]:
    at, code, what = change.get("at", 10 * commit + place), change["operation_code"], change.get("finding")
    return {
        "commit_scn": commit, "commit_thread": 1, "commit_rs_id": "rs", "window_start": 0, "slice": case, "ordinal": at,
        "scn": commit, "touched": False, **{name: value for name, value in change.items() if name not in ("at", "row")},
        "row_id": f"{case}{change['row']}",
        "b1": None if code == INSERT else case,
        "a1": None if code == DELETE else case,
        "finding": what and (commit, commit, "RedoNotUnderstood", what),
    }  # fmt: skip
