"""Find an open transaction by its xid, and measure its age."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from redolake.errors import Terminal
from redolake.records.batches.carry import OpenTransaction
from redolake.records.drops import DroppedTransaction
from redolake.steps.apply.transactions import age, find_open

XID = "3.12.4567"
LONG = OpenTransaction(3, XID, 1, 150, "2026-01-02 03:04:05", 2, 90, "SHOP")
# Open since SCN 150, dropped at the end of the batch [100, 200).
DROP = DroppedTransaction(LONG, 1, 200, "forgotten session", "ada", "2026-01-02T04:00:00+00:00", {"SHOP.T": 2})


def test_an_open_transaction_is_found_by_xid_and_container() -> None:
    other = replace(LONG, con_id=4)

    assert find_open([LONG, other], [], XID, 4) == other
    assert find_open([LONG], [], XID, None) == LONG
    assert find_open([LONG, other], [DROP], XID, None) == other, "the first one is dropped already"
    reused = replace(LONG, start_scn=900)
    assert find_open([reused], [DROP], XID, 3) == reused, "another transaction with the same xid"


@pytest.mark.parametrize(
    ("listed", "dropped", "con_id", "message"),
    [
        ([], [], None, f"no transaction {XID} is open"),
        ([LONG], [], 4, f"no transaction {XID} is open"),
        ([LONG], [DROP], 3, "was dropped by ada at 2026-01-02T04:00:00+00:00: forgotten session"),
        ([LONG, replace(LONG, con_id=4)], [], None, "open in several containers: 3, 4"),
    ],
)
def test_an_xid_must_name_exactly_one_open_transaction(
    listed: list[OpenTransaction], dropped: list[DroppedTransaction], con_id: int | None, message: str
) -> None:
    with pytest.raises(Terminal, match=re.escape(message)):
        find_open(listed, dropped, XID, con_id)


def test_age_is_measured_to_the_newest_redo_read() -> None:
    assert age("2026-01-02 03:04:05", "2026-01-02 04:04:06") == 3601
    assert age(None, "2026-01-02 04:04:06") is None
