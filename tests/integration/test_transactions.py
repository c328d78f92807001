"""Open transactions and dropping one of them, from the stand-in's redo into Delta."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.context import Run
from redolake.errors import Terminal
from redolake.reconcile.dropped_transactions import DropReport, OpenTransactionReport
from tests.fixtures.shop import Shop
from tests.references.delta_table import delta_rows
from tests.references.source_comparison import compare_with_source
from tests.states.lost_ledger import lose_ledger

pytestmark = pytest.mark.spark


class OpenTransactions:
    """Two loaded tables, and two transactions that stay open over a batch: one to drop and one to keep."""

    def __init__(self, shop: Shop, spark: Any) -> None:
        self.shop, self.spark = shop, spark
        for table in ("parts", "bins"):
            shop.run_sql(
                f"CREATE TABLE {table} (id NUMBER(9) PRIMARY KEY, quantity NUMBER(9))",
                f"ALTER TABLE {table} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
                f"INSERT INTO {table} (id, quantity) VALUES (1, 1)",
                f"INSERT INTO {table} (id, quantity) VALUES (2, 2)",
            )
        self.pipeline = shop.pipeline(tables=["SHOP.PARTS", "SHOP.BINS"])
        steps.take_snapshot(self.pipeline, source=shop.params, spark=spark)
        self.unwanted = self.open_session(
            "INSERT INTO parts (id, quantity) VALUES (10, 10)", "UPDATE parts SET quantity = 100 WHERE id = 1"
        )
        self.wanted = self.open_session("INSERT INTO parts (id, quantity) VALUES (20, 20)")
        self.catch_up()
        self.listed = {transaction.rows: transaction for transaction in self.open()}

    def open_session(self, *statements: str) -> Any:
        opened = self.shop.oracle.connect("SHOP")
        self.execute(opened, *statements)
        return opened

    def execute(self, session: Any, *statements: str) -> None:
        for statement in statements:
            session.cursor().execute(statement)

    def catch_up(self) -> None:
        self.shop.switch_logs()
        steps.run_pipeline(self.pipeline, until_caught_up=True, source=self.shop.params, spark=self.spark)

    def open(self) -> list[OpenTransactionReport]:
        return list(steps.list_transactions(self.pipeline).open)

    def drop(self, xid: str, con_id: int | None = None) -> DropReport:
        return steps.drop_transaction(self.pipeline, xid, con_id, reason="a forgotten session", by="test")

    def dropped(self) -> list[DropReport]:
        return list(steps.read_status(self.pipeline).dropped)

    def delta(self, table: str) -> dict[int, int]:
        rows = delta_rows(f"{self.shop.folder}/lake/shop/{table}")
        return {int(row["ID"]): int(row["QUANTITY"]) for row in rows}

    def contents(self) -> tuple[dict[int, int], dict[int, int]]:
        return self.delta("parts"), self.delta("bins")

    def lose_ledger(self) -> None:
        lose_ledger(self.shop.folder / "landing")

    def last_manifest(self) -> Path:
        return max((self.shop.folder / "landing" / "shop" / "batches").glob("*/manifest.json"))

    def reuse_xid(self, xid: str, con_id: int) -> None:
        """Give this xid to the next transaction of the container, as if the sequence of its slot had wrapped."""
        segment, slot, sequence = map(int, xid.split("."))
        allocator = self.shop.oracle.database.transactions._xids
        allocator._free[con_id].remove((segment, slot))
        allocator._free[con_id].appendleft((segment, slot))
        allocator._sequence[con_id, segment, slot] = sequence - 1


@pytest.fixture
def transactions(shop: Shop, spark: Any) -> OpenTransactions:
    return OpenTransactions(shop, spark)


def test_a_dropped_transaction_is_never_applied_and_all_others_are(transactions: OpenTransactions) -> None:
    unwanted, wanted = transactions.listed[2], transactions.listed[1]
    assert unwanted.username == "SHOP"
    assert unwanted.bytes > 0
    assert unwanted.age_seconds is not None
    xid, con_id = unwanted.xid, unwanted.con_id
    for no_such, container in ((f"{xid}0", None), (xid, con_id + 1)):
        with pytest.raises(Terminal, match="is open at the end of the last batch"):
            transactions.drop(no_such, container)
    with pytest.raises(Terminal, match="needs a reason"):
        steps.drop_transaction(transactions.pipeline, xid, reason=" ", by="test")
    with pytest.raises(Terminal, match="is now another one"):
        steps.drop_transaction(transactions.pipeline, xid, reason="seen before", by="test", start_scn=unwanted.start_scn - 1)
    assert steps.look_up_transaction(transactions.pipeline, xid).tables == {"SHOP.PARTS": 2}

    transactions.drop(xid)
    with pytest.raises(Terminal, match=r"was dropped by test at .*: a forgotten session"):
        transactions.drop(xid)
    assert [t.xid for t in transactions.open()] == [wanted.xid]
    transactions.execute(transactions.unwanted, "INSERT INTO bins (id, quantity) VALUES (11, 11)")
    transactions.execute(transactions.wanted, "UPDATE parts SET quantity = 200 WHERE id = 2")
    transactions.catch_up()
    (report,) = transactions.dropped()
    assert (report.state, report.tables, report.lacking) == ("open", {"SHOP.BINS": 1, "SHOP.PARTS": 2}, ())
    assert [t.rows for t in transactions.open()] == [2]

    transactions.lose_ledger()
    transactions.execute(transactions.unwanted, "UPDATE bins SET quantity = 22 WHERE id = 2")
    transactions.unwanted.commit()
    transactions.wanted.commit()
    transactions.catch_up()
    expected = {1: 1, 2: 200, 20: 20}, {1: 1, 2: 2}
    assert transactions.contents() == expected
    (report,) = transactions.dropped()
    assert (report.state, report.by, report.reason) == ("committed", "test", "a forgotten session")
    assert (report.tables, report.lacking) == ({"SHOP.BINS": 2, "SHOP.PARTS": 2}, ("SHOP.BINS", "SHOP.PARTS"))
    windows = steps.list_windows(transactions.pipeline)
    assert sum((w.account or {}).get("dropped", 0) for w in windows) == 2, "its other two rows were carried in"
    assert sum((w.account or {}).get("carried_out", 0) for w in windows) == 4, "three in the first batch, one in the second"
    with Run(transactions.pipeline) as context:
        (decision,) = context.ledger.decisions("drop transaction")
        assert (decision.who, decision.body["transaction"]["xid"]) == ("test", xid)
    compared = compare_with_source(transactions.pipeline, transactions.shop.params)
    assert compared.equal is False
    assert compared.dropped == (report,)

    # Without the batch's manifest and the ledger, as after a kill, the batch runs again with the same result.
    manifest = transactions.last_manifest()
    first = json.loads(manifest.read_text())
    manifest.unlink()
    transactions.lose_ledger()
    with pytest.raises(Terminal, match="applied in part"):
        transactions.drop(wanted.xid)
    spec = steps.prepare_batch(transactions.pipeline).batch
    steps.run_spark_job(Run(transactions.pipeline, spark=transactions.spark), spec)
    steps.record_batch(transactions.pipeline, spec)
    assert json.loads(manifest.read_text())["dropped"] == first["dropped"]
    assert (transactions.contents(), transactions.dropped()) == (expected, [report])

    transactions.reuse_xid(xid, con_id)
    reused = transactions.open_session("INSERT INTO parts (id, quantity) VALUES (30, 30)")
    transactions.catch_up()
    assert [t.xid for t in transactions.open()] == [xid]
    reused.commit()
    transactions.catch_up()
    assert transactions.delta("parts") == {**expected[0], 30: 30}, "another transaction of the same xid"

    steps.take_snapshot(
        transactions.pipeline, ["SHOP.PARTS"], replace=True, source=transactions.shop.params, spark=transactions.spark
    )
    assert [report.lacking for report in transactions.dropped()] == [("SHOP.BINS",)]
    steps.take_snapshot(
        transactions.pipeline, ["SHOP.BINS"], replace=True, source=transactions.shop.params, spark=transactions.spark
    )
    assert transactions.dropped() == []
    assert steps.list_transactions(transactions.pipeline).dropped[0].state == "committed", "the record remains"
    transactions.catch_up()
    assert compare_with_source(transactions.pipeline, transactions.shop.params).equal


def test_a_dropped_transaction_that_rolls_back_is_missing_from_no_table(transactions: OpenTransactions) -> None:
    transactions.drop(transactions.listed[2].xid)
    transactions.unwanted.rollback()
    transactions.wanted.commit()
    transactions.catch_up()

    assert transactions.dropped() == []
    assert [(t.state, t.lacking) for t in steps.list_transactions(transactions.pipeline).dropped] == [("rolled back", ())]
    assert compare_with_source(transactions.pipeline, transactions.shop.params).equal
