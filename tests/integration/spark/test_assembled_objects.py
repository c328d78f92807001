"""Lives of rows whose large objects are assembled: which INSERT begins one, and which may be a row that Oracle has moved."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from redolake.apply.objects.assembling import assemble, of_rows
from redolake.apply.objects.large_objects import count_changes
from redolake.apply.target import TargetColumn
from redolake.values.logminer import NO_ROWID

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


PIECE = (
    f"{ORDER}, con_id int, xid string, row_id string, operation_code int, b1 int, scn bigint, "
    "finding struct<commit_scn bigint, scn bigint, code string, what string>, "
    "piece_kind string, piece_column int, piece_at bigint, piece_amount bigint"
)


def test_a_write_without_a_select_belongs_to_the_locator_before_it_only_where_it_continues(spark: Any) -> None:
    """Published of a BasicFile with DISABLE STORAGE IN ROW (redpanda-data/connect #4430, #4574): its writes name no row, and
    come before the rows of their statement, without a locator. Taken for those of another's locator, they would change it."""

    def piece(xid: str, at: int, kind: str, column: int | None = None, offset: int | None = None) -> tuple[Any, ...]:
        row = (None, None, NO_ROWID) if column is None else (None, None, "R1")
        return (at, 1, "rs", 0, 0, at, 3, xid, row[2], 10, 1 if column else None, at, None, kind, column, offset, 5)

    rows = [
        *(piece("1.1.1", n, *one) for n, one in enumerate([("locator", BODY), ("write", None, 1), ("write", None, 6)])),
        *(piece("1.1.2", n, *one) for n, one in enumerate([("write", None, 1), ("locator", BODY), ("write", None, 1)])),
        *(
            piece("1.1.3", n, *one)
            for n, one in enumerate([("locator", BODY), ("write", None, 1), ("write", None, 6), ("write", None, 1)])
        ),
        *(
            piece("1.1.4", n, *one)
            for n, one in enumerate([("locator", BODY), ("trim", None, 0), ("write", None, 1), ("write", None, 6)])
        ),
    ]

    found = of_rows(spark.createDataFrame(rows, PIECE), (KEY,)).select("xid", "ordinal", "piece_column", "finding").collect()

    assert {(row["xid"], row["ordinal"]) for row in found if row["finding"]} == {("1.1.2", 0), ("1.1.3", 3)}
    assert {row["piece_column"] for row in found if not row["finding"]} == {BODY}


def test_a_write_that_names_no_row_and_continues_none_is_stray_where_objects_are_read_again(spark: Any) -> None:
    """Its row would not be read again, because the UPDATE beside it does not name the object. Nor may one follow
    texts that name their row themselves, wherever it writes."""
    locator = 'DECLARE \n loc_c CLOB; \nBEGIN\n select "BODY" into loc_c from "S"."T" where "ID" = \'1\' for update;\n'

    def write(offset: int, text: str = "hello", begin: str = "") -> str:
        return f"{begin} buf_c := '{text}';\n  dbms_lob.write(loc_c, {len(text)}, {offset}, buf_c);\n"

    texts = [
        (9, locator), (10, write(1)), (10, write(6)), (10, write(1)),  # the last one is stray
        (9, locator), (10, write(1)), (11, " dbms_lob.trim(loc_c, 5);"),
        (10, write(1, begin=locator)), (10, write(1, begin=locator)),  # each with its row
        (10, write(6)), (10, write(11, "dbms_lob.write(loc_c, 5, 1, buf_c);")),  # stray: all texts of that object name its row
    ]  # fmt: skip
    order = "commit_scn bigint, commit_thread int, commit_rs_id string, window_start bigint, slice int, ordinal int"
    rows = [(1, 1, "rs", 0, 0, n, 3, "1.1.1", NO_ROWID, code, text) for n, (code, text) in enumerate(texts)]
    frame = spark.createDataFrame(rows, f"{order}, con_id int, xid string, row_id string, operation_code int, sql_redo string")

    assert count_changes(frame) == (len(texts), 3)
