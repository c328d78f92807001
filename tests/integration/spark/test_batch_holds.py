"""Batches that hold a table: a change that is not understood, a hold of the ledger, a table that is missing or set back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from redolake.apply import snapshot, table
from redolake.apply.delta.log import read_log
from redolake.errors import Transient
from redolake.job.batch import run_batch
from redolake.job.snapshot import run_snapshot
from redolake.records.batches.manifest import RowAccount
from redolake.records.batches.spec import HoldAt
from redolake.records.loads import SnapshotLoaded
from redolake.values.table import TableId
from redolake.values.terms import RowCounts
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import committed, delete, insert, of_table, update
from tests.integration.spark.specs import batch_spec, contents, created, loaded, snapshot_spec, task
from tests.references.delta_table import position_of

pytestmark = pytest.mark.spark

MOVED = """update "SHOP"."T" set "ID" = '2' where "ID" = '1';"""
NOT_UNDERSTOOD = {
    "A": (committed(0, 20, (1, insert(1, "a"), "R1"), (1, insert(1, "b"), "R2")), "two rows have the key 1"),
    "C": (
        committed(200, 20, (1, "merge into nothing", "R1")),
        "the redo cannot be decoded: not understood: merge into nothing (ROWID R1): merge into nothing",
    ),
    "K": (committed(880, 20, (1, "x" * 501, "R1")), f"(ROWID R1): {'x' * 500} ..."),
    "D": (committed(300, 20, (1, insert(1, "a").replace("'1'", "NULL"), "R1")), "a key column is NULL"),
    "E": (
        committed(400, 20, (3, MOVED, "R1")),
        "the redo of an UPDATE does not contain V, and the row is not in the target",
    ),
    "F": (committed(500, 20, (1, insert(1, "a").replace('"V"', '"W"'), "R1")), "the redo names unknown columns: W"),
    "H": (
        committed(700, 20, (3, """update "SHOP"."T" set "V" = 'b' where "V" = 'a';""", "R1")),
        "the redo does not contain the key, so supplemental logging was off: ID",
    ),
    "I": (
        committed(800, 20, (3, update(1, "a", "b"), "A" * 18)),
        "the redo does not contain the ROWID of the row",
    ),
    "J": (
        [*committed(840, 20, (1, insert(1, "a"), "R1"), (2, delete(1, "a"), "R1")), *committed(850, 30, (3, MOVED, "R1"))],
        "the redo of an UPDATE does not contain V, and the row is not in the target",
    ),
    "G": (committed(600, 20, (2, delete(1, "a"), "R1"), rollback=True), "an undo row finds no change to undo"),
}


def test_a_change_that_is_not_understood_holds_its_table_and_no_other(spark, tmp_path: Path) -> None:
    stopped = [task(tmp_path, TableId("SHOP", name), 201 + n) for n, name in enumerate(NOT_UNDERSTOOD)]
    fine = task(tmp_path, TableId("SHOP", "T"), 300)
    created(spark, *stopped, fine)
    rows = [row for n, (name, (mine, _)) in enumerate(NOT_UNDERSTOOD.items()) for row in of_table(mine, name, 201 + n)]
    rows += committed(900, 20, (1, insert(2, "b")), object_id=300)

    windows = [land(tmp_path / "w", 10, 100, rows)]
    result = run_batch(spark, batch_spec(tmp_path, windows, [*stopped, fine], show_row_data=True))

    for held, (_, message) in zip(result.tables, NOT_UNDERSTOOD.values(), strict=False):
        assert message in held.error["what"]
        assert (held.state, held.complete_to, held.balance.applied, held.delta_version) == ("held", 9, 0, 0)
        assert held.balance.difference == 0
    assert (result.tables[-1].state, result.tables[-1].complete_to) == ("applied", 99)
    assert contents(fine) == {2: "b"}
    log = read_log(fine.destination.target)  # of an older release: it says whose it is since its first change
    assert log is not None
    assert (log.properties()["redolake.pipeline"], log.properties()["redolake.table"]) == ("p", "SHOP.T")
    (window,) = result.windows
    changes = sum(row["operation_code"] != 7 for row in rows)
    assert result.accounts[window] == RowAccount(landed=changes, applied=1, undone=1, held=changes - 2)


def test_a_held_table_is_applied_up_to_its_hold_and_continues_there(spark, tmp_path: Path) -> None:
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine)
    rows = [*committed(0, 20, (1, insert(1, "a"))), *committed(10, 40, (1, insert(2, "b")))]
    window = land(tmp_path / "w", 10, 100, rows)
    error = {"code": "SchemaConflict", "what": "TRUNCATE", "where": {}, "cure": "snapshot"}

    held = run_batch(spark, batch_spec(tmp_path / "1", [window], [replace(mine, hold=HoldAt(30, error))])).tables[0]

    assert (held.state, held.complete_to, held.error) == ("held", 29, error)
    assert (held.balance.applied, held.balance.held) == (1, 1)
    assert contents(mine) == {1: "a"}
    later = run_batch(spark, batch_spec(tmp_path / "2", [window], [replace(mine, hold=HoldAt(10, error))])).tables[0]
    assert (later.state, later.complete_to) == ("held", 29)
    resumed = run_batch(spark, batch_spec(tmp_path / "3", [window], [mine])).tables[0]
    assert (resumed.state, resumed.complete_to) == ("applied", 99)
    assert contents(mine) == {1: "a", 2: "b"}


def test_a_table_restored_to_an_older_version_is_held(spark, tmp_path: Path) -> None:
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine, rows=[{"ID": 9, "V": "first"}])
    window = land(tmp_path / "w", 10, 100, committed(0, 20, (1, insert(1, "a"))))
    run_batch(spark, batch_spec(tmp_path / "1", [window], [mine]))
    spark.sql(f"OPTIMIZE delta.`{mine.destination.target}`").collect()  # moves the rows of both files to one
    next_window = land(tmp_path / "x", 100, 200, committed(0, 120, (1, insert(2, "b"))))
    assert run_batch(spark, batch_spec(tmp_path / "2", [next_window], [mine])).tables[0].error is None
    spark.sql(f"RESTORE TABLE delta.`{mine.destination.target}` TO VERSION AS OF 0").collect()
    assert position_of(mine.destination.target, mine.destination.app_id) == 199

    later = land(tmp_path / "y", 200, 300, committed(0, 220, (1, insert(3, "c"))))
    result = run_batch(spark, batch_spec(tmp_path / "3", [later], [mine])).tables[0]

    assert (result.state, result.error["code"]) == ("held", "TableSetBack")
    assert contents(mine) == {9: "first"}


def test_a_table_without_contents_is_held(spark, tmp_path: Path) -> None:
    mine = task(tmp_path)
    rows = committed(0, 20, (1, insert(1, "a")))

    result = run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, rows)], [mine]))

    assert (result.tables[0].state, result.tables[0].complete_to) == ("held", None)
    assert "missing" in result.tables[0].error["what"]


class Unexplained(PySparkException):
    """A failure of which nothing says whose fault it is."""


Unexplained.__module__ = PySparkException.__module__
MISTAKE = "org.apache.spark.SparkException: [INTERNAL_ERROR] The Spark SQL phase planning failed. SQLSTATE: XX000"


@pytest.mark.parametrize(("fails", "error"), [(1, None), (2, "Unexplained")])
def test_what_nothing_explains_is_tried_again_before_it_holds(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: int, error: str | None
) -> None:
    mine, merge, tries = task(tmp_path), table.merge_net_change, []

    def merge_or_fail(*given: object) -> RowCounts:
        tries.append(given)
        if len(tries) <= fails:
            raise Unexplained(MISTAKE)
        return merge(*given)

    loaded(spark, tmp_path, mine, rows=[{"ID": 1, "V": "a"}])
    window = land(tmp_path / "w", 10, 100, committed(0, 20, (3, update(1, "a", "b"), "R1")))
    monkeypatch.setattr(table, "merge_net_change", merge_or_fail)

    result = run_batch(spark, batch_spec(tmp_path, [window], [mine]))

    (done,) = result.tables
    assert (done.state, done.balance.difference) == ("applied" if error is None else "held", 0)
    assert (done.error or {}).get("code") == error
    assert contents(mine) == {1: "b" if error is None else "a"}
    assert len(tries) == 2
    if error is None:
        assert result.accounts[result.windows[0]] == RowAccount(landed=1, applied=1)


def test_a_load_that_nothing_explains_is_tried_again(spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, load_once, tries = task(tmp_path), snapshot.load_once, []

    def load_or_fail(*given: object) -> SnapshotLoaded:
        tries.append(given)
        if len(tries) == 1:
            raise Unexplained(MISTAKE)
        return load_once(*given)

    monkeypatch.setattr(snapshot, "load_once", load_or_fail)

    (load,) = run_snapshot(spark, snapshot_spec(tmp_path, mine, 5, [{"ID": 1, "V": "a"}])).tables

    assert load.error is None
    assert contents(mine) == {1: "a"}
    assert len(tries) == 2


def test_what_was_committed_before_nothing_explains_a_failure_is_counted_once(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, merge = task(tmp_path), table.merge_net_change

    def merge_and_fail(*given: object) -> RowCounts:
        merge(*given)
        raise Unexplained(MISTAKE)

    loaded(spark, tmp_path, mine, rows=[{"ID": 1, "V": "a"}])
    window = land(tmp_path / "w", 10, 100, committed(0, 20, (3, update(1, "a", "b"), "R1")))
    spec = batch_spec(tmp_path, [window], [mine])
    monkeypatch.setattr(table, "merge_net_change", merge_and_fail)
    with pytest.raises(Transient):
        run_batch(spark, spec)
    monkeypatch.undo()

    result = run_batch(spark, spec)

    assert (result.tables[0].state, contents(mine)) == ("applied", {1: "b"})
    assert result.accounts[result.windows[0]] == RowAccount(landed=1, applied=1)
