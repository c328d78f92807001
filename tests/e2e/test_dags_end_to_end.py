"""The DAGs as Airflow runs them, against the stand-in: what committed in Oracle is in the tables, and nothing else.

The shop, on two redo threads, with transactions that span windows. A plain fold stands in for Spark. With Spark, on a Connect
server and by spark-submit: tests/e2e/test_two_hosts.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.context import Run
from redolake.reconcile.dropped_transactions import OpenTransactionReport
from redolake.reconcile.ledger import chain_of_batches
from redolake.records.batches.manifest import BatchResult
from redolake.steps.proof.verify import Verification
from redolake.steps.shared.status import WindowReport
from redolake.values.redo import CHANGES, Operation
from tests.fixtures.airflow import configure, run_dag
from tests.fixtures.shop import TABLES, Shop, open_shop
from tests.references.plain_lake import PlainLake
from tests.references.source_comparison import compare_with_source

pytestmark = pytest.mark.airflow

FIRST = 990_000_000_001  # customers that the workload does not touch
SET_KEY = re.compile(r'set .*"ID" = .* where', re.IGNORECASE | re.DOTALL)


NOTHING_COMPARED = Verification(equal=False, tables=(), declared_gaps=(), dropped=())


@dataclass(slots=True)
class Replication:
    """A replication of the shop, as shown by the landing, the batches and `redolake verify` afterwards."""

    snapshot_scn: int = 0
    windows: list[WindowReport] = field(default_factory=list)
    batches: list[BatchResult] = field(default_factory=list)
    open_after_batch: list[tuple[OpenTransactionReport, ...]] = field(default_factory=list)
    redo: list[dict[str, Any]] = field(default_factory=list)
    halfway: Verification = NOTHING_COMPARED
    verified: Verification = NOTHING_COMPARED

    @property
    def carried(self) -> set[str]:
        """Return the transactions open at the end of the first batch."""
        return {transaction.xid for transaction in self.open_after_batch[0]}

    def changes(self) -> list[dict[str, Any]]:
        """Return the changes of transactions that committed after the snapshot."""
        committed = {r["xid"] for r in self.redo if r["operation_code"] == Operation.COMMIT and r["scn"] > self.snapshot_scn}
        return [row for row in self.redo if row["operation_code"] in CHANGES and row["xid"] in committed]


@pytest.fixture(scope="module")
def replication(tmp_path_factory: pytest.TempPathFactory, airflow_db: None) -> Iterator[Replication]:
    with pytest.MonkeyPatch.context() as patch, open_shop(tmp_path_factory.mktemp("replication")) as shop:
        pipeline = configure(shop, patch, TABLES, {"mode": "connect"}, "spark-connect://127.0.0.1:1")
        with PlainLake().in_place_of_spark():
            yield replicate(shop, pipeline)


def replicate(shop: Shop, pipeline: Pipeline) -> Replication:
    """Keep two transactions open over two batches, one on each redo thread, while the workload goes on."""
    replication = Replication()
    shop.work(40)
    shop.run_sql(*(f"INSERT INTO customers (id, name) VALUES ({FIRST + n}, 'early {n}')" for n in range(4)))
    run_part(pipeline, "snapshot", last="record")
    one, two = (shop.oracle.connect("SHOP", instance_name=instance) for instance in shop.instances)
    with one, two:
        execute(
            one,
            f"INSERT INTO customers (id, name) VALUES ({FIRST + 10}, 'long')",
            f"UPDATE customers SET id = {2 * FIRST + 1} - id WHERE id IN ({FIRST}, {FIRST + 1})",  # the two swap their keys
        )
        execute(two, f"UPDATE customers SET id = {FIRST + 20}, name = 'moved' WHERE id = {FIRST + 2}")
        another_batch(shop, pipeline, replication, seed=2)
        execute(
            one,
            "SAVEPOINT doubt",
            f"UPDATE customers SET name = 'never' WHERE id = {FIRST + 10}",
            f"DELETE FROM customers WHERE id = {FIRST}",
            "ROLLBACK TO SAVEPOINT doubt",
            f"UPDATE customers SET notes = 'it''s said' WHERE id = {FIRST + 10}",
        )
        execute(
            two, f"DELETE FROM customers WHERE id = {FIRST + 3}", f"UPDATE customers SET credit = 1 WHERE id = {FIRST + 20}"
        )
        another_batch(shop, pipeline, replication, seed=3)
        replication.halfway = compare_with_source(pipeline, tables=["SHOP.CUSTOMERS"])
        one.commit()
        two.commit()
    another_batch(shop, pipeline, replication, seed=4)
    replication.windows = steps.list_windows(pipeline, 1000)
    replication.redo = landed_redo(shop)
    with Run(pipeline) as context:
        replication.batches = chain_of_batches(context)
        (replication.snapshot_scn,) = {int(table.snapshot_scn or 0) for table in context.ledger.tables()}
    replication.verified = steps.verify_tables(pipeline)
    return replication


def another_batch(shop: Shop, pipeline: Pipeline, replication: Replication, seed: int) -> None:
    shop.work(40, seed=seed)
    shop.switch_logs()
    run_part(pipeline, "capture", last="land")
    run_part(pipeline, "apply", last="record")
    replication.open_after_batch.append(steps.list_transactions(pipeline).open)


def run_part(pipeline: Pipeline, part: str, last: str) -> None:
    """Run the DAG, and check that it had work to do."""
    state, tasks = run_dag(pipeline, part)
    assert (state, tasks[last]) == ("success", "success"), tasks


def execute(connection: Any, *statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def landed_redo(shop: Shop) -> list[dict[str, Any]]:
    columns = ["thread", "xid", "scn", "operation_code", "table_name", "rollback", "sql_redo"]
    files = sorted((shop.folder / "landing" / "e2e" / "windows").glob("*/redo-*.parquet"))
    return list(pa.concat_tables([pq.read_table(file, columns=columns) for file in files]).to_pylist())


def test_every_window_had_logs_of_both_redo_threads(replication: Replication) -> None:
    assert [window.threads for window in replication.windows] == [2, 2, 2]


def test_transactions_of_both_threads_were_carried_over_two_batches_and_then_applied(replication: Replication) -> None:
    first, second, third = replication.open_after_batch

    assert [{t.thread for t in carried} for carried in (first, second)] == [{1, 2}, {1, 2}]
    assert [t.xid for t in first] == [t.xid for t in second]
    assert [t.rows for t in first] < [t.rows for t in second]
    assert third == ()
    carried_rows = [sum(t.balance.carried_in for t in batch.tables) for batch in replication.batches]
    assert carried_rows == [0, sum(t.rows for t in first), sum(t.rows for t in second)]


def test_rows_of_an_open_transaction_are_in_no_table_before_it_commits(replication: Replication) -> None:
    (customers,) = replication.halfway.tables

    assert replication.halfway.equal
    assert customers.source_rows > 0


def test_savepoint_rollbacks_were_among_the_landed_rows_and_cancelled(replication: Replication) -> None:
    undone = [row for row in replication.changes() if row["rollback"]]

    assert {row["xid"] for row in undone} & replication.carried
    assert {row["xid"] for row in undone} - replication.carried
    assert sum(t.balance.undone for batch in replication.batches for t in batch.tables) == 2 * len(undone)


def test_changed_keys_were_among_the_landed_rows_of_both_threads(replication: Replication) -> None:
    moved = [row for row in replication.changes() if row["table_name"] == "CUSTOMERS" and SET_KEY.search(row["sql_redo"] or "")]

    assert {row["thread"] for row in moved if row["xid"] in replication.carried} == {1, 2}
    assert {row["xid"] for row in moved} - replication.carried


def test_every_cell_of_every_table_equals_the_source(replication: Replication) -> None:
    found = {t.table: t for t in replication.verified.tables}

    assert set(found) == {
        "SHOP.CUSTOMERS",
        "SHOP.EDGE_VALUES",
        "SHOP.ORDERS",
        "SHOP.ORDER_LINES",
        "SHOP.PAYMENTS",
        "SHOP.STOCK",
    }
    assert {name: (t.missing_rows, t.extra_rows, t.differing_cells) for name, t in found.items()} == {
        name: (0, 0, 0) for name in found
    }
    assert all(t.source_rows == t.delta_rows > 0 for t in found.values())
    assert {t.scn for t in found.values()} == {replication.windows[-1].last_scn}
