"""Dropped transactions: the drops that apply to a batch, their outcomes, and the tables that lack their changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from redolake.assemble.dropped import TransactionEnd, xid_uses
from redolake.ledger import TableEntry
from redolake.reconcile.dropped_transactions import drops_in_effect, outcome_of
from redolake.records.batches.carry import OpenTransaction
from redolake.records.batches.manifest import BatchResult, DroppedRows
from redolake.records.batches.spec import DroppedXid
from redolake.records.codec import decode, encode
from redolake.records.drops import DroppedTransaction
from redolake.records.gaps import DeclaredGap
from redolake.values.redo import Position
from redolake.values.scn import ChainPosition, Scn
from redolake.values.table import TableId

XID = "3.12.4567"
LONG = OpenTransaction(3, XID, 1, 150, "2026-01-02 03:04:05", 2, 90, "SHOP")
# Open since SCN 150, dropped at the end of the batch [100, 200).
DROP = DroppedTransaction(LONG, 1, 200, "forgotten session", "ada", "2026-01-02T04:00:00+00:00", {"SHOP.T": 2})
DROPPED_XID = DroppedXid(3, XID, 150)


def batch(start: int, end: int, dropped: Sequence[DroppedRows] = (), resetlogs_id: int = 1) -> BatchResult:
    return BatchResult("p", resetlogs_id, start, end, "t", (), (), (), (), dropped=tuple(dropped))


def dropped_rows(end: int | None = None, committed: bool | None = None, **rows: int) -> DroppedRows:
    """Return the rows of the transaction that a batch dropped, by table of SHOP, and its end if the batch has read it."""
    counts = {f"SHOP.{table}": count for table, count in rows.items()}
    return DroppedRows(3, XID, 150, counts, end, committed)


def declared_gap(start: int, end: int, to_resetlogs_id: int = 1) -> DeclaredGap:
    start_and_end = Position(7, 1, Scn(start)), Position(7, to_resetlogs_id, Scn(end))
    return DeclaredGap("gap", *start_and_end, reason="lost", by="ada", at="x", lost="y", tables={"SHOP.T": 90})


@pytest.mark.parametrize(
    ("before", "start", "end", "in_effect"),
    [
        pytest.param(batch(100, 200), 200, 300, True, id="the first batch after the drop"),
        pytest.param(batch(200, 300, [dropped_rows()]), 300, 400, True, id="the transaction has not ended yet"),
        pytest.param(
            batch(200, 300, [dropped_rows(250, True)]),
            300,
            400,
            False,
            id="the transaction has ended, so the xid belongs to another",
        ),
        pytest.param(batch(300, 400), 400, 500, False, id="the transaction ended in an older batch"),
        pytest.param(batch(50, 100), 100, 400, True, id="a catch-up from before its start"),
        pytest.param(None, 100, 400, True, id="a catch-up from the first window"),
        pytest.param(None, 300, 400, False, id="a range after the drop, without an earlier batch"),
        pytest.param(batch(50, 100), 100, 150, False, id="a range that ends before its start"),
        pytest.param(batch(180, 200), 200, 300, True, id="it started before the previous batch"),
    ],
)
def test_a_drop_is_in_effect_until_the_transaction_ends(
    before: BatchResult | None, start: int, end: int, in_effect: bool
) -> None:
    assert drops_in_effect([DROP], [], before, ChainPosition(1, start), end) == ((DROPPED_XID,) if in_effect else ())


def test_a_drop_is_in_effect_after_a_gap_but_not_after_a_resetlogs() -> None:
    before = batch(100, 200)

    assert drops_in_effect([DROP], [declared_gap(200, 300)], before, ChainPosition(1, 300), 400) == (DROPPED_XID,)
    assert drops_in_effect([DROP], [declared_gap(200, 120, to_resetlogs_id=2)], before, ChainPosition(2, 120), 400) == ()
    assert drops_in_effect([DROP], [declared_gap(50, 60, to_resetlogs_id=2)], before, ChainPosition(1, 200), 400) == (
        DROPPED_XID,
    ), "this RESETLOGS came before the transaction"


def test_a_reused_xid_is_another_transaction() -> None:
    """SCN 120 another's commit ── 150 start of the dropped transaction ── 250 its rollback ── 300 the next one's commit."""
    ends = [
        TransactionEnd(3, XID, 120, True),
        TransactionEnd(3, XID, 250, False),
        TransactionEnd(3, XID, 300, True),
        TransactionEnd(4, XID, 200, True),
    ]

    (use,) = xid_uses([DROPPED_XID], ends)

    assert (use.after, use.end) == (120, TransactionEnd(3, XID, 250, False))
    assert xid_uses([DROPPED_XID], ends[:1])[0].end is None


@pytest.mark.parametrize(
    ("counted", "gaps", "state", "rows", "lacking"),
    [
        ([], [], "open", {"SHOP.T": 2}, []),
        ([dropped_rows(T=2)], [], "open", {"SHOP.T": 2}, []),
        ([dropped_rows(T=2), dropped_rows(250, True, T=1, U=4)], [], "committed", {"SHOP.T": 3, "SHOP.U": 4}, ["SHOP.T"]),
        ([dropped_rows(T=2), dropped_rows(250, False, T=2)], [], "rolled back", {"SHOP.T": 4}, []),
        ([dropped_rows(T=2)], [declared_gap(300, 400)], "unknown", {"SHOP.T": 2}, ["SHOP.T"]),
        ([dropped_rows(250, True, T=2)], [declared_gap(300, 400)], "committed", {"SHOP.T": 2}, ["SHOP.T"]),
        ([dropped_rows(T=2)], [declared_gap(100, 140)], "open", {"SHOP.T": 2}, []),
    ],
)
def test_a_dropped_transaction_has_an_outcome_and_tables_that_lack_it(
    counted: list[DroppedRows], gaps: list[DeclaredGap], state: str, rows: dict[str, int], lacking: list[str]
) -> None:
    """T's snapshot is from before the transaction, U's from after its end; V has none of its rows."""
    entries = [
        TableEntry(TableId("SHOP", name), "live", Scn(1), snapshot_scn=scn)
        for name, scn in (("T", Scn(90)), ("U", Scn(260)), ("V", Scn(90)))
    ]

    outcome = outcome_of(DROP, counted, gaps)

    assert (outcome.state, outcome.rows, list(outcome.lacking_tables(entries))) == (state, rows, lacking)


def test_only_a_snapshot_after_the_commit_contains_a_dropped_transaction() -> None:
    outcome = outcome_of(DROP, [dropped_rows(250, True, T=2)], [])
    table = TableEntry(TableId("SHOP", "T"), "live", Scn(1), snapshot_scn=Scn(249))

    assert outcome.lacking_tables([table]) == ("SHOP.T",), "taken after the drop, before the commit"
    assert outcome.lacking_tables([replace(table, snapshot_scn=Scn(250))]) == ()


def test_a_dropped_transaction_survives_json() -> None:
    drop = replace(DROP, servers=("1.2.3", "4.5.6"))

    assert decode(DroppedTransaction, encode(drop), "file") == drop
