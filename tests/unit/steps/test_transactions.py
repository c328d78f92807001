"""Which drops a batch is told of, what becomes of a dropped transaction, and which one a person means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from pipelines.assemble.dropped import TransactionEnd, xid_uses
from pipelines.errors import Terminal
from pipelines.ledger import TableEntry
from pipelines.reconcile.dropped_transactions import drops_in_effect, outcome_of
from pipelines.records.batch_result import BatchResult, DroppedRows
from pipelines.records.batch_spec import DroppedXid
from pipelines.records.codec import decode, encode
from pipelines.records.declared_gap import DeclaredGap
from pipelines.records.dropped_transaction import DroppedTransaction
from pipelines.records.open_transaction import OpenTransaction
from pipelines.redo import Position
from pipelines.scn import ChainPosition, Scn
from pipelines.steps.transactions import age, find_open
from pipelines.table import TableId

XID = "3.12.4567"
LONG = OpenTransaction(3, XID, 1, 150, "2026-01-02 03:04:05", 2, 90, "SHOP")
# Open since SCN 150, dropped at the end of the batch [100, 200).
DROP = DroppedTransaction(LONG, 1, 200, "forgotten session", "ada", "2026-01-02T04:00:00+00:00", {"SHOP.T": 2})
ORDERED = DroppedXid(3, XID, 150)


def batch(start: int, end: int, dropped: Sequence[DroppedRows] = (), resetlogs_id: int = 1) -> BatchResult:
    return BatchResult("p", resetlogs_id, start, end, "t", (), (), (), (), dropped=tuple(dropped))


def met(end: int | None = None, committed: bool | None = None, **rows: int) -> DroppedRows:
    named = {f"SHOP.{table}": count for table, count in rows.items()}
    return DroppedRows(3, XID, 150, named, end, committed)


def a_break(start: int, end: int, to_resetlogs_id: int = 1) -> DeclaredGap:
    edges = Position(7, 1, Scn(start)), Position(7, to_resetlogs_id, Scn(end))
    return DeclaredGap("gap", *edges, reason="lost", by="ada", at="x", lost="y", tables={"SHOP.T": 90})


@pytest.mark.parametrize(
    ("before", "start", "end", "told"),
    [
        pytest.param(batch(100, 200), 200, 300, True, id="the first batch behind the drop"),
        pytest.param(batch(200, 300, [met()]), 300, 400, True, id="it has not ended yet"),
        pytest.param(batch(200, 300, [met(250, True)]), 300, 400, False, id="it has ended: the xid is another's now"),
        pytest.param(batch(300, 400), 400, 500, False, id="it has ended long before"),
        pytest.param(batch(50, 100), 100, 400, True, id="a table catches up from before it began"),
        pytest.param(None, 100, 400, True, id="a table catches up from the first window on"),
        pytest.param(None, 300, 400, False, id="a range behind the drop of which nothing before is known"),
        pytest.param(batch(50, 100), 100, 150, False, id="a range that ends before it began"),
        pytest.param(batch(180, 200), 200, 300, True, id="it began before the batch before"),
    ],
)
def test_a_batch_is_told_of_a_drop_until_the_transaction_has_ended(
    before: BatchResult | None, start: int, end: int, told: bool
) -> None:
    assert drops_in_effect([DROP], [], before, ChainPosition(1, start), end) == ((ORDERED,) if told else ())


def test_a_dropped_transaction_lives_on_behind_a_gap_and_not_behind_a_resetlogs() -> None:
    before = batch(100, 200)

    assert drops_in_effect([DROP], [a_break(200, 300)], before, ChainPosition(1, 300), 400) == (ORDERED,)
    assert drops_in_effect([DROP], [a_break(200, 120, to_resetlogs_id=2)], before, ChainPosition(2, 120), 400) == ()
    assert drops_in_effect([DROP], [a_break(50, 60, to_resetlogs_id=2)], before, ChainPosition(1, 200), 400) == (ORDERED,), (
        "one from before it"
    )


def test_an_xid_that_comes_again_is_another_transaction() -> None:
    """SCN 100 ── commit of the one before ── 150 start, the dropped one ── 250 its rollback ── the next of that xid"""
    ends = [
        TransactionEnd(3, XID, 120, True),
        TransactionEnd(3, XID, 250, False),
        TransactionEnd(3, XID, 300, True),
        TransactionEnd(4, XID, 200, True),
    ]

    (use,) = xid_uses([ORDERED], ends)

    assert (use.after, use.end) == (120, TransactionEnd(3, XID, 250, False))
    assert xid_uses([ORDERED], ends[:1])[0].end is None


@pytest.mark.parametrize(
    ("told", "breaks", "state", "rows", "lacking"),
    [
        ([], [], "open", {"SHOP.T": 2}, []),
        ([met(T=2)], [], "open", {"SHOP.T": 2}, []),
        ([met(T=2), met(250, True, T=1, U=4)], [], "committed", {"SHOP.T": 3, "SHOP.U": 4}, ["SHOP.T"]),
        ([met(T=2), met(250, False, T=2)], [], "rolled back", {"SHOP.T": 4}, []),
        ([met(T=2)], [a_break(300, 400)], "unknown", {"SHOP.T": 2}, ["SHOP.T"]),
        ([met(250, True, T=2)], [a_break(300, 400)], "committed", {"SHOP.T": 2}, ["SHOP.T"]),
        ([met(T=2)], [a_break(100, 140)], "open", {"SHOP.T": 2}, []),
    ],
)
def test_the_outcome_of_a_dropped_transaction_and_the_tables_that_lack_it(
    told: list[DroppedRows], breaks: list[DeclaredGap], state: str, rows: dict[str, int], lacking: list[str]
) -> None:
    """Table T is of a snapshot from before it, U of one from behind its end, V has no row of it."""
    entries = [
        TableEntry(TableId("SHOP", name), "live", Scn(1), snapshot_scn=scn)
        for name, scn in (("T", Scn(90)), ("U", Scn(260)), ("V", Scn(90)))
    ]

    outcome = outcome_of(DROP, told, breaks)

    assert (outcome.state, outcome.rows, list(outcome.lacking(entries))) == (state, rows, lacking)


def test_only_a_snapshot_from_behind_its_commit_has_what_it_did() -> None:
    outcome = outcome_of(DROP, [met(250, True, T=2)], [])
    table = TableEntry(TableId("SHOP", "T"), "live", Scn(1), snapshot_scn=Scn(249))

    assert outcome.lacking([table]) == ("SHOP.T",), "taken after the drop, before the commit"
    assert outcome.lacking([replace(table, snapshot_scn=Scn(250))]) == ()


def test_one_open_transaction_is_meant() -> None:
    other = replace(LONG, con_id=4)

    assert find_open([LONG, other], [], XID, 4) == other
    assert find_open([LONG], [], XID, None) == LONG
    assert find_open([LONG, other], [DROP], XID, None) == other, "the first one is dropped already"
    again = replace(LONG, start_scn=900)
    assert find_open([again], [DROP], XID, 3) == again, "the slot has wrapped"


@pytest.mark.parametrize(
    ("listed", "dropped", "con_id", "said"),
    [
        ([], [], None, f"no transaction {XID} is open"),
        ([LONG], [], 4, f"no transaction {XID} is open"),
        ([LONG], [DROP], 3, "was dropped by ada at 2026-01-02T04:00:00+00:00: forgotten session"),
        ([LONG, replace(LONG, con_id=4)], [], None, "open in several containers: 3, 4"),
    ],
)
def test_what_is_not_open_or_not_the_only_one_is_refused(
    listed: list[OpenTransaction], dropped: list[DroppedTransaction], con_id: int | None, said: str
) -> None:
    with pytest.raises(Terminal, match=re.escape(said)):
        find_open(listed, dropped, XID, con_id)


def test_a_drop_survives_json() -> None:
    drop = replace(DROP, servers=("1.2.3", "4.5.6"))

    assert decode(DroppedTransaction, encode(drop), "file") == drop


def test_age_ends_with_the_newest_redo_read() -> None:
    assert age("2026-01-02 03:04:05", "2026-01-02 04:04:06") == 3601
    assert age(None, "2026-01-02 04:04:06") is None
