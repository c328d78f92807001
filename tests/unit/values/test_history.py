"""When a history begins an epoch, and which tables can have one."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from redolake.values.delivery import Appended, Assembled, Delivery, NullableKey, Plain, RereadRows, RereadValues
from redolake.values.history import HistoryKind, Reached, begins_at, taken_names, why_begins, why_no_history
from redolake.values.history_sql import OF_CHANGE, versions_sql

LOAD = "/load/1-a"


@pytest.mark.parametrize(
    ("history", "table", "why"),
    [
        (None, Reached(LOAD, 5), "the history begins"),
        (Reached(LOAD, 5), Reached(LOAD, 5), None),
        (Reached(LOAD, 9), Reached(LOAD, 5), None),  # a process has ended before MERGE
        (Reached(LOAD, 5), Reached(LOAD, 9), "changes up to SCN 9 were applied without the history"),
        (Reached(LOAD, 5), Reached("/load/2-b", 3), "the table was loaded again"),
        (
            Reached(LOAD, 5),
            Reached("/load/2-b", 9),
            "the table was loaded again; commits from SCN 6 to 9, if any, are in no epoch",
        ),
        (Reached(LOAD, 9), Reached(LOAD, 9, {"/repair": 1}), "rows were repaired"),
        (Reached(LOAD, 9, {"/repair": 1}), Reached(LOAD, 9, {"/repair": 1}), None),
        (Reached(LOAD, 9, {"/ddl": 3}), Reached(LOAD, 9, {"/ddl": 8}), "a DDL changed all rows without redo"),
        (Reached(LOAD, 9), Reached(LOAD, 9, {"/other": 8}), "rows were changed by other"),
    ],
)
def test_a_history_begins_again_where_it_would_have_a_hole(history: Reached | None, table: Reached, why: str | None) -> None:
    assert why_begins(history, table) == why


@pytest.mark.parametrize(
    ("history", "table", "scn"),
    [
        (None, Reached(LOAD, 5), 5),
        (Reached("/load/0-a", 9), Reached(LOAD, 5), 5),
        (Reached(LOAD, 5), Reached(LOAD, 5, {"/ddl": 17}), 17),
        (Reached(LOAD, 5), Reached(LOAD, 5, {"/repair": 1}), 19),  # by then, rows of a closed gap are there too
        (Reached(LOAD, 5, {"/repair": 1}), Reached(LOAD, 7, {"/repair": 1}), 7),
        (Reached("/load/0-a", 9), Reached(LOAD, 5, {"/repair": 1}), 19),
        (None, Reached(LOAD, 25, {"/repair": 1}), 25),  # a part of the range is applied
    ],
)
def test_an_epoch_begins_at_the_scn_that_its_rows_are_of(history: Reached | None, table: Reached, scn: int) -> None:
    """Commits from SCN 20 on are not applied yet."""
    assert begins_at(history, table, 20) == scn


@pytest.mark.parametrize(
    ("kind", "delivery", "possible"),
    [
        ("none", RereadRows(), True),
        ("changes", Plain(), True),
        ("scd2", Plain(), True),
        ("changes", Appended(), True),
        ("scd2", Appended(), False),
        *(("changes", one, False) for one in (NullableKey(), RereadRows(), RereadValues((1,)), Assembled((1,)))),
    ],
)
def test_only_what_is_known_at_each_change_has_a_history(kind: HistoryKind, delivery: Delivery, possible: bool) -> None:
    assert (why_no_history(kind, [Plain(), delivery]) is None) == possible


def test_a_column_with_a_name_of_ours_is_found_in_any_case() -> None:
    assert taken_names(["ID", "_OP", "_epoch"]) == ["_OP", "_epoch"]


def test_versions_follow_deletes_new_keys_and_what_became_known_late() -> None:
    """A row is deleted and comes back, another gets a new key; then a gap is closed, whose row is there from then on."""
    names = ("_op", "_image", "_commit_scn", "_commit_time", "_seq", "_epoch", "ID", "V", *OF_CHANGE[1:])
    images = [
        ("begin", None, 5, None, None, 1, None, None),
        *(("load", "after", 5, None, None, 1, n, f"v{n}") for n in (1, 2)),
        ("delete", "before", 10, "08:10", 0, 1, 1, "v1"),
        ("update", "before", 10, "08:10", 0, 1, 2, "v2"),
        ("update", "after", 10, "08:10", 0, 1, 20, "v2"),
        ("insert", "after", 12, "08:12", 0, 1, 1, "back"),
        ("begin", None, 20, None, None, 2, None, None),  # SCN 7 to 8 were a gap, in which row 3 was inserted
        *(("load", "after", 20, None, None, 2, n, v) for n, v in ((1, "back"), (3, "late"), (20, "v2"))),
        ("update", "before", 25, "08:25", 0, 2, 3, "late"),
        ("update", "after", 25, "08:25", 0, 2, 3, "last"),
    ]
    rows = [dict(zip(names, (*image, "1.2.3", "ANN", 1), strict=True)) for image in images]
    with duckdb.connect() as connection:
        connection.register("history", pa.Table.from_pylist(rows))
        sql = versions_sql("history", ("ID", "V"), ("ID",), lambda name: f'"{name}"')
        shown = "id, v, valid_from_scn, valid_to_scn, valid_from, valid_to, is_current"
        found = connection.execute(f"SELECT {shown} FROM ({sql}) ORDER BY id, valid_from_scn").fetchall()

    assert found == [
        (1, "v1", 5, 10, None, "08:10", False),
        (1, "back", 12, 20, "08:12", None, False),
        (1, "back", 20, None, None, None, True),
        (2, "v2", 5, 10, None, "08:10", False),
        (3, "late", 20, 25, None, "08:25", False),
        (3, "last", 25, None, "08:25", None, True),
        (20, "v2", 10, 20, "08:10", None, False),
        (20, "v2", 20, None, None, None, True),
    ]
