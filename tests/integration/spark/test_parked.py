"""A large open transaction is carried over once; later batches list its files and read them only where it may end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from redolake.assemble import parked
from redolake.errors import LandingDamaged
from redolake.job.batch import run_batch
from redolake.records.batches.manifest import CARRIED_IN, BatchResult
from redolake.records.batches.spec import TableTask
from redolake.steps.apply.transactions import read_carried
from redolake.values.table import TableId
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import change, committed, control
from tests.integration.spark.specs import batch_spec, contents, loaded, task

pytestmark = pytest.mark.spark

LARGE, SMALL, TAKEN_BACK = "9.1.1", "9.2.2", "9.3.3"


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


def rows_of(result: BatchResult) -> dict[str, int]:
    return {t.xid: t.rows for t in result.open_transactions}


UNCLEAR = (
    control(1, 120, 36, "9.1.4294967295"),  # the end of a transaction that LogMiner does not know
    change(1, 120, 1, insert(300), "P1", xid="8.8.8", pxid="8.7.7"),  # parallel DML
    control(1, 120, 7, LARGE) | {"con_id": None, "con_name": None},
)


def test_a_large_open_transaction_is_neither_read_nor_written_again_until_it_may_end(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parked, "PARK_FROM_ROWS", 3)
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine, rows=[{"ID": 1, "V": "v"}])
    batches = Batches(spark, tmp_path, mine)
    large = [change(n, 20, 1, insert(100 + n), f"L{n}", xid=LARGE) for n in range(4)]
    taken_back = [change(n, 20, 1, insert(150 + n), f"T{n}", xid=TAKEN_BACK) for n in range(5, 9)]
    small = [change(10, 21, 1, insert(200), "S1", xid=SMALL)]
    first = batches.apply([control(20, 19, 6, LARGE), *large, *taken_back, *small, *committed(30, 25, (1, insert(2)))])
    assert [dict(kept.tables) for kept in first.parked] == [{"SHOP.T": 4}] * 2
    assert rows_of(first) == {LARGE: 4, TAKEN_BACK: 4, SMALL: 1}

    # They are read where the transaction may end ...
    files = [file for kept in first.parked for file in kept.files]
    for row in UNCLEAR:
        with away(files), pytest.raises(LandingDamaged, match="the file is gone"):
            batches.apply([row])
    # ... and where other tables are captured: its own was taken out of the pipeline, so the rows end, as without parking.
    other = replace(batches, folder=tmp_path / "other", table=task(tmp_path, TableId("SHOP", "OTHER"), 101))
    loaded(spark, tmp_path, other.table, 105)
    without = other.apply([])
    assert (without.parked, without.carried, without.open_transactions) == ((), (), ())

    more = [change(1, 120, 1, insert(104), "L4", xid=LARGE), change(2, 121, 2, insert(103), "L3", xid=LARGE, rollback=True)]
    with away(files):
        second = batches.apply([*more, control(3, 122, 7, SMALL), *committed(30, 125, (1, insert(3)))])
    assert second.parked == first.parked
    assert rows_of(second) == {LARGE: 6, TAKEN_BACK: 4}
    assert second.open_transactions[0].start_scn == 19
    assert (second.accounts[CARRIED_IN].carried_in, second.tables[0].balance.carried_out) == (9, 10)
    assert read_carried(second.carried, 3, LARGE, second.digests).rows.total() == 6
    assert contents(batches.table).keys() == {1, 2, 3, 200}

    third = batches.apply([control(1, 220, 7, LARGE), control(2, 221, 36, TAKEN_BACK)])
    assert (third.parked, third.carried, third.open_transactions) == ((), (), ())
    assert contents(batches.table).keys() == {1, 2, 3, 200, 100, 101, 102, 104}
