"""Which batches are known to have no changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from redolake.records.batches.carry import ParkedRows
from redolake.records.batches.spec import Redo
from tests.unit.records.samples import BATCH, DROPPED, OPEN

(TASK,) = BATCH.tables
UNCHANGED = replace(TASK, course=replace(TASK.course, ddl=()))
QUIET = replace(BATCH, redo=Redo(BATCH.redo.windows, rows=7, change_rows=0), tables=(UNCHANGED,))


def test_a_batch_of_others_transactions_is_quiet() -> None:
    assert QUIET.is_quiet


@pytest.mark.parametrize(
    "more",
    [
        {"change_rows": 1},
        {"change_rows": None},
        {"carry_in": ("x",)},
        {"open_in": (OPEN,)},
        {"parked": (ParkedRows(OPEN, {}, ("x",)),)},
        {"dropped": (DROPPED,)},
    ],
    ids=lambda more: str(*more),
)
def test_one_with_changes_or_with_transactions_of_before_is_not(more: dict[str, Any]) -> None:
    assert not replace(QUIET, redo=replace(QUIET.redo, **more)).is_quiet


def test_one_that_lists_changes_or_follows_a_ddl_is_not() -> None:
    reshaped = replace(UNCHANGED, destination=replace(UNCHANGED.destination, reshape=TASK.course.ddl))
    others = [{"changes": "delta"}, {"tables": (TASK,)}, {"tables": (UNCHANGED, reshaped)}]
    assert [one for one in others if replace(QUIET, **one).is_quiet] == []
