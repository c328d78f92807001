"""Rows of dropped transactions are found, also without the transaction's own xid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redolake.assemble.assembled import AssembledBatch, assemble_batch
from redolake.assemble.attribution import CapturedTable
from redolake.records.batches.manifest import CARRIED_IN
from redolake.records.batches.spec import DroppedXid
from redolake.values.scn import ScnRange
from redolake.values.table import TableId
from tests.integration.spark.landing import a_row, land

pytestmark = pytest.mark.spark


def batch(spark: Any, folder: Path, dropped: DroppedXid, *rows: dict[str, Any]) -> tuple[AssembledBatch, dict[int, str]]:
    window = land(folder / "w", 100, 200, rows)
    table = CapturedTable(0, TableId("SHOP", "T"), (7,), position=-1, stop_scn=200)
    found = assemble_batch(spark, ScnRange(100, 200), [window], [], [table], "FREEPDB1", [dropped])
    accounts = found.accounting.accounts([window], found.input_counts)
    assert not any(account.difference for account in accounts.values())
    assert accounts[window.name].dropped == found.accounting.balance(0, found.input_counts).dropped
    assert accounts[CARRIED_IN].dropped == 0
    return found, {row["ordinal"]: row["disposition"] for row in found.changes.collect()}


def test_undo_without_sequence_belongs_to_a_dropped_transaction_that_has_no_rows_left(spark: Any, tmp_path: Path) -> None:
    unknown = "1.2.4294967295"
    found, dispositions = batch(
        spark, tmp_path, DroppedXid(3, "1.2.3", 50),
        a_row(0, 110, 2, xid=unknown, rollback=True), a_row(1, 111, 36, xid=unknown),
        a_row(2, 120, 1, xid="4.5.6"), a_row(3, 121, 7, xid="4.5.6"),
    )  # fmt: skip

    assert dispositions == {0: "dropped", 2: "applied"}
    assert not found.accounting.problems
    assert [(met.rows, met.end_scn, met.committed) for met in found.dropped] == [({"SHOP.T": 1}, 111, False)]


def test_a_parallel_server_is_dropped_with_its_coordinator_also_without_pxid(spark: Any, tmp_path: Path) -> None:
    found, dispositions = batch(
        spark, tmp_path, DroppedXid(3, "9.9.9", 50, servers=("5.5.5",)),
        a_row(0, 110, 1, xid="5.5.5"), a_row(1, 111, 1, xid="6.6.6", pxid="9.9.9"), a_row(2, 112, 1, xid="9.9.9", pxid="9.9.9"),
        a_row(3, 120, 7, xid="5.5.5"), a_row(4, 120, 7, xid="6.6.6"), a_row(5, 120, 7, xid="9.9.9"),
    )  # fmt: skip

    assert dispositions == {0: "dropped", 1: "dropped", 2: "dropped"}
    assert not found.accounting.problems
    assert [(met.rows, met.end_scn, met.committed) for met in found.dropped] == [({"SHOP.T": 3}, 120, True)]


def test_an_earlier_transaction_with_the_same_xid_is_applied(spark: Any, tmp_path: Path) -> None:
    found, dispositions = batch(
        spark, tmp_path, DroppedXid(3, "1.2.3", 150), a_row(0, 110, 1, xid="1.2.3"), a_row(1, 120, 7, xid="1.2.3"),
        a_row(2, 160, 1, xid="1.2.3", con_id=4, con_name="OTHER"),
    )  # fmt: skip

    assert dispositions == {0: "applied"}
    assert [(met.rows, met.end_scn) for met in found.dropped] == [({}, None)]
