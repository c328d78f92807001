"""A large open transaction is carried over once; later batches list its files and read them only where it may end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.assemble import parked
from pipelines.job.batch import run_batch
from pipelines.job.snapshot import run_snapshot
from pipelines.records.batch_result import CARRIED_IN, BatchResult
from pipelines.records.batch_spec import TableTask
from pipelines.steps.transactions import read_carried
from pipelines.table import TableId
from tests.integration.spark.landing import land
from tests.integration.spark.specs import batch_spec, change, committed, contents, control, snapshot_spec, task

pytestmark = pytest.mark.spark

LARGE, SMALL = "9.1.1", "9.2.2"


def insert(key: int) -> str:
    return f"""insert into "SHOP"."T"("ID","V") values ('{key}','v');"""


@dataclass(slots=True)
class Batches:
    """Batches of one window each, each with what the one before carried over."""

    spark: Any
    folder: Path
    table: TableTask
    last: BatchResult | None = None

    def apply(self, rows: Sequence[dict[str, Any]], **more: Any) -> BatchResult:
        start = 10 if self.last is None else self.last.end
        window = land(self.folder / f"w{start}", start, start + 100, rows)
        before = {} if self.last is None else {"carry_in": self.last.carry_files, "parked": self.last.parked}
        result = run_batch(self.spark, batch_spec(self.folder, [window], [self.table], **before, **more))
        assert [(t.error, t.balance.difference) for t in result.tables] == [(None, 0)]
        assert [a.difference for a in result.accounts.values()] == [0, 0]
        self.last = result
        return result


@contextmanager
def away(files: Sequence[str]) -> Iterator[None]:
    """Take files away, so that whoever reads them fails."""
    for file in files:
        Path(file).rename(f"{file}.away")
    try:
        yield
    finally:
        for file in files:
            Path(f"{file}.away").rename(file)


@pytest.fixture
def batches(spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Batches:
    monkeypatch.setattr(parked, "PARK_FROM_ROWS", 3)
    mine = task(tmp_path)
    run_snapshot(spark, snapshot_spec(tmp_path, mine, 5, [{"ID": 1, "V": "v"}]))
    found = Batches(spark, tmp_path, mine)
    large = [change(n, 20, 1, insert(100 + n), f"L{n}", xid=LARGE) for n in range(4)]
    small = [change(10, 21, 1, insert(200), "S1", xid=SMALL)]
    found.apply([control(20, 19, 6, LARGE), *large, *small, *committed(30, 25, (1, insert(2)))])
    return found


def rows_of(result: BatchResult) -> dict[str, int]:
    return {t.xid: t.rows for t in result.open_transactions}


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_large_open_transaction_is_neither_read_nor_written_again_until_it_ends(batches: Batches, end: str) -> None:
    first = batches.last
    assert first is not None
    (kept,) = first.parked
    assert (dict(kept.tables), rows_of(first)) == ({"SHOP.T": 4}, {LARGE: 4, SMALL: 1})

    more = [change(1, 120, 1, insert(104), "L4", xid=LARGE), change(2, 121, 2, insert(103), "L3", xid=LARGE, rollback=True)]
    with away(kept.files):
        second = batches.apply([*more, control(3, 122, 7, SMALL), *committed(30, 125, (1, insert(3)))])
    assert second.parked == first.parked
    assert rows_of(second) == {LARGE: 6}
    assert second.open_transactions[0].start_scn == 19
    assert (second.accounts[CARRIED_IN].carried_in, second.tables[0].balance.carried_out) == (5, 6)
    assert read_carried(second.carried, 3, LARGE).rows.total() == 6
    assert contents(batches.table).keys() == {1, 2, 3, 200}

    third = batches.apply([control(1, 220, 7 if end == "commit" else 36, LARGE)])
    assert (third.parked, third.carried, third.open_transactions) == ((), (), ())
    assert contents(batches.table).keys() == {1, 2, 3, 200} | ({100, 101, 102, 104} if end == "commit" else set())


def test_parked_rows_are_read_where_their_transaction_may_end(batches: Batches) -> None:
    assert batches.last is not None
    (kept,) = batches.last.parked
    unclear = (
        control(1, 120, 36, "9.1.4294967295"),  # the end of a transaction that LogMiner does not know
        change(1, 120, 1, insert(300), "P1", xid="8.8.8", pxid="8.7.7"),  # parallel DML
        control(1, 120, 7, LARGE) | {"con_id": None, "con_name": None},
    )
    for row in unclear:
        with away(kept.files), pytest.raises(Exception, match=r"(?i)does not exist|not found|no such file"):
            batches.apply([row])


def test_parked_rows_are_read_where_other_tables_are_captured(batches: Batches) -> None:
    """Its table was taken out of the pipeline: the rows end there, as they do without parking."""
    batches.table = task(batches.folder, table=TableId("SHOP", "OTHER"), object_id=101)
    run_snapshot(batches.spark, snapshot_spec(batches.folder, batches.table, 105, []))
    result = batches.apply([])

    assert (result.parked, result.carried, result.open_transactions) == ((), (), ())
