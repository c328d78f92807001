"""When a history begins an epoch, and which tables can have one."""

from __future__ import annotations

import pytest

from pipelines.values.delivery import Appended, Assembled, Delivery, NullableKey, Plain, RereadRows, RereadValues
from pipelines.values.history import HistoryKind, Reached, begins_at, taken_names, why_begins, why_no_history

LOAD = "/load/1-a"


@pytest.mark.parametrize(
    ("history", "table", "why"),
    [
        (None, Reached(LOAD, 5), "the history begins"),
        (Reached(LOAD, 5), Reached(LOAD, 5), None),
        (Reached(LOAD, 9), Reached(LOAD, 5), None),  # a process has ended before MERGE
        (Reached(LOAD, 5), Reached(LOAD, 9), "changes up to SCN 9 were applied without the history"),
        (Reached(LOAD, 5), Reached("/load/2-b", 3), "the table was loaded again"),
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
