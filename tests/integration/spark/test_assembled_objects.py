"""Lives of rows whose large objects are assembled: which INSERT begins one, and which may be a row that Oracle has moved."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from pipelines.apply.objects.assembling import assemble
from pipelines.apply.target import TargetColumn
from pipelines.values.logminer import NO_ROWID

pytestmark = pytest.mark.spark

KEY, BODY = 1, 2
ORDER = "commit_scn bigint, commit_thread int, commit_rs_id string, window_start bigint, slice int, ordinal int"
PIECES = "piece_kind string, piece_column int, piece_at bigint, piece_amount bigint, piece_counts string, piece_text string"
SCHEMA = (
    f"{ORDER}, commit_at timestamp_ntz, xid string, row_id string, operation_code int, b1 int, a1 int, a2 string, "
    f"absent array<int>, {PIECES}, piece_octets binary"
)
INSERT, DELETE, UPDATE = 1, 2, 3


def change(
    at: tuple[int, int], row_id: str, code: int, before: int | None, after: int | None, body: str | None
) -> tuple[Any, ...]:
    scn, ordinal = at
    is_set = body is not None or code != UPDATE
    order = (scn, 1, "rs", 0, 0, ordinal, datetime(2026, 1, 1), f"1.1.{scn}")
    return (*order, row_id, code, before, after, body, None if is_set else [BODY], *[None] * 7)


def write(at: tuple[int, int], row_id: str, key: int, offset: int, text: str) -> tuple[Any, ...]:
    return (*change(at, row_id, UPDATE, key, key, None)[:-7], "write", BODY, offset, len(text), None, text, None)


def test_an_empty_object_of_a_row_that_replaces_one_must_be_filled_by_its_transaction(spark: Any) -> None:
    rows = [
        *(change((10, 2 * key), f"OLD{key}", DELETE, key, None, None) for key in (1, 2, 3)),
        *(change((10, 2 * key + 1), f"NEW{key}", INSERT, None, key, "") for key in (1, 2, 3)),
        write((10, 9), "NEW2", 2, 1, "filled"),
        write((11, 1), "NEW3", 3, 1, "too late"),
        change((12, 1), NO_ROWID, INSERT, None, 4, ""),  # replaces none
        write((13, 1), "ROW5", 5, 3, "-"),
        change((14, 1), "ROW5", UPDATE, 5, 50, None),
        write((15, 1), "ROW6", 6, 1, "-"),  # is not in the target
        change((16, 1), "ROW7", UPDATE, 7, 7, None),  # of another column
    ]
    target = spark.createDataFrame([(5, "abcd"), (7, "kept")], "ID int, BODY string")
    key, body = TargetColumn(KEY, "ID", "int"), TargetColumn(BODY, "BODY", "string")
    found = {
        row["k1"]: row["why"] or row["v2"]
        for row in assemble(
            spark.createDataFrame(rows, SCHEMA), target, (key,), (body,), len(rows), (), bytes.decode, lambda frame: frame
        ).collect()
    }

    moved = "BODY: a row was deleted and inserted again in one transaction with an empty value, as when Oracle moves it"
    absent = "BODY: the value from before is needed, and the row is not in the target"
    assert found == {1: moved, 2: "filled", 3: moved, 4: "", 50: "ab-d", 6: absent}
