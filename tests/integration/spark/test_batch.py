"""Complete batches: landed Parquet in, Delta tables and a manifest out."""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fsspec.implementations.local import LocalFileSystem
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from redolake.apply import key_range
from redolake.apply.delta import merge
from redolake.apply.delta import table as delta_table
from redolake.errors import InvariantBroken, LandingConflict, LeaseHeld
from redolake.job.batch import run_batch
from redolake.job.snapshot import run_snapshot
from redolake.records.batches.manifest import BatchResult
from redolake.records.codec import decode, encode
from redolake.values.table import TableId
from redolake.values.target_options import TargetOptions
from tests.generated.hunts import EXAMPLES
from tests.generated.redo_history import History
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import (
    change,
    committed,
    control,
    delete,
    insert,
    move,
    of_table,
    partial,
    update,
    with_sql,
)
from tests.integration.spark.specs import (
    ID,
    V,
    W,
    batch_spec,
    contents,
    created,
    loaded,
    snapshot_spec,
    task,
    version,
    with_destination,
)
from tests.integration.spark.table_with_ddl import ddl_rows, with_ddl
from tests.integration.spark.work import work_done
from tests.references.delta_table import delta_rows, latest_version, position_of
from tests.support.killed import killed_at

pytestmark = pytest.mark.spark

PHASES = [Phase.explicit, *([Phase.generate] if EXAMPLES else [])]


@settings(max_examples=EXAMPLES or 1, phases=PHASES)
@given(
    seed=st.integers(0, 10**9),
    edge=st.integers(1015, 1080),
    at=st.integers(1000, 1060),
    key_only=st.booleans(),
    ranged=st.booleans(),
)
@example(seed=11, edge=1040, at=1020, key_only=True, ranged=True)
def test_each_batch_brings_the_table_to_its_end_and_a_repeat_changes_nothing(
    spark, tmp_path_factory: pytest.TempPathFactory, seed: int, edge: int, at: int, key_only: bool, ranged: bool
) -> None:
    """A random history as redo SQL, snapshotted at `at`, with logging of ALL columns or of the key alone; `ranged` as MERGE
    treats a large table."""
    tmp_path = tmp_path_factory.mktemp("batches")
    with pytest.MonkeyPatch.context() as patch:
        if ranged:
            patch.setattr(key_range, "LARGE_BYTES", 0)
        play_history(spark, tmp_path, seed, edge, at, key_only)


def play_history(spark: Any, tmp_path: Path, seed: int, edge: int, at: int, key_only: bool) -> None:
    history = History(seed, steps=90)
    cut = enumerate(history.cut([edge]))
    windows = [land(tmp_path / str(n), start, end, with_sql(rows, key_only)) for n, (start, end, rows) in cut]
    mine = task(tmp_path, TableId("SHOP", "T100"))
    run_snapshot(
        spark, snapshot_spec(tmp_path, mine, at, [{"ID": key, "V": value} for key, value in history.truth(at).items()])
    )
    carried: tuple[str, ...] = ()

    for window in windows:
        spec = batch_spec(tmp_path, [window], [mine], carry_in=carried)
        result = run_batch(spark, spec)

        assert [table.error for table in result.tables] == [None]
        assert contents(mine) == history.truth(max(at, window.end - 1))
        assert result.tables[0].complete_to == max(at, window.end - 1)
        assert result.tables[0].balance.difference == 0
        assert result == decode(BatchResult, Path(spec.manifest).read_bytes(), spec.manifest)
        carried = result.carry_files

    assert run_batch(spark, spec) == result
    Path(spec.manifest).unlink()
    again = run_batch(spark, spec)
    assert again.tables[0].delta_version == result.tables[0].delta_version
    assert counts_of(again) == counts_of(result)  # what the first attempt did
    Path(spec.manifest).write_text(encode(replace(result, end=result.end + 1)))
    with pytest.raises(LandingConflict, match="another batch's manifest"):
        run_batch(spark, spec)


def counts_of(result: BatchResult) -> tuple[Any, ...]:
    (table,) = result.tables
    return (
        table.balance.applied,
        table.balance.difference,
        table.inserted,
        table.updated,
        table.deleted,
        table.first_commit_at,
        table.last_commit_at,
    )


def test_keys_may_be_swapped_chained_and_reused(spark, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """And the log says what became of them, as the log of Airflow's task does in connect mode."""
    caplog.set_level(logging.INFO, logger="redolake")
    mine = task(tmp_path)
    start = [{"ID": n, "V": f"v{n}"} for n in range(1, 9)]
    loaded(spark, tmp_path, mine, rows=start)
    rows = [
        *committed(0, 20, (3, move(1, 2, "v1"), "R1"), (3, move(2, 1, "v2"), "R2")),
        *committed(10, 22, (3, move(3, 4, "v3"), "R3"), (3, move(4, 9, "v4"), "R4")),
        *committed(20, 24, (2, delete(5, "v5"), "R5"), (1, insert(5, "same place"), "R5")),
        *committed(30, 26, (2, delete(6, "v6"), "R6"), (1, insert(6, "moved"), "R60")),
        *committed(40, 28, (1, insert(70, "gone"), "R70"), (2, delete(70, "gone"), "R70")),
        *committed(50, 30, (3, move(7, 70, "v7"), "R7"), (2, delete(70, "v7"), "R7")),
    ]

    result = run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, rows)], [mine]))

    assert contents(mine) == {1: "v2", 2: "v1", 4: "v3", 9: "v4", 5: "same place", 6: "moved", 8: "v8"}
    assert (result.tables[0].inserted, result.tables[0].updated, result.tables[0].deleted) == (1, 5, 2)
    assert result.tables[0].balance.applied == 12
    logged = "\n".join(caplog.messages)
    assert "assembled 12 change rows of 1 window(s)" in logged
    assert "SHOP.T: applied to SCN 99, +1 ~5 -2" in logged


def test_only_a_larger_table_gets_deletion_vectors(spark, tmp_path: Path) -> None:
    """A deletion vector keeps the file; the files of a small table are rewritten and stay few."""
    random, redo = Random(1), []
    tables = {TableId("SHOP", "SMALL"): (201, 9, 0), TableId("SHOP", "LARGE"): (202, 15_000, 1)}  # the marked rows of each
    tasks = [task(tmp_path, table, object_id) for table, (object_id, _, _) in tables.items()]
    expected = []
    for number, (mine, (object_id, rows, _)) in enumerate(zip(tasks, tables.values(), strict=True)):
        there = {n: random.randbytes(45).hex() for n in range(1, rows + 1)}
        loaded(spark, tmp_path, mine, rows=[{"ID": key, "V": value} for key, value in there.items()])
        changes = (2, delete(1, there.pop(1))), (3, update(2, there[2], "new")), (1, insert(rows + 1, "more"))
        redo += of_table(committed(10 * number, 20, *changes), mine.table.name, object_id)
        expected.append({**there, 2: "new", rows + 1: "more"})

    run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, redo)], tasks))

    for mine, rows, (_, _, marked) in zip(tasks, expected, tables.values(), strict=True):
        read = spark.read.format("delta").load(mine.destination.target).collect()
        assert {int(row["ID"]): row["V"] for row in read} == rows
        last = Path(mine.destination.target, "_delta_log", f"{latest_version(mine.destination.target):020d}.json").read_text()
        assert sum("deletionVector" in json.loads(line).get("add", {}) for line in last.splitlines()) == marked


def test_a_partial_update_writes_only_what_it_sets(spark, tmp_path: Path) -> None:
    """With supplemental logging of the primary key alone an absent column is unknown, not NULL."""
    mine = task(tmp_path, versions=(version(columns=(ID, V, W)),))
    created(spark, mine)
    values = ", ".join(f"({n}, 'v{n}', 'w{n}', 5)" for n in range(1, 12))
    spark.sql(f"INSERT INTO delta.`{mine.destination.target}` VALUES {values}")
    full_insert = """insert into "SHOP"."T"("ID","V","W") values ('{}','{}','{}');"""
    gone = """delete from "SHOP"."T" where "ID" = '{}' and "V" = '{}' and "W" = '{}';"""
    v, w, to_null = """"V" = 'x'""", """"W" = 'y'""", """"V" = NULL"""
    rows = [
        *committed(0, 20, (3, partial(1, v, V="v1"), "R1")),
        *committed(10, 22, (3, partial(2, v, V="v2"), "R2"), (3, partial(2, w, W="w2"), "R2")),
        *committed(20, 24, (3, partial(3, to_null, V="v3"), "R3")),
        *committed(30, 26, (3, partial(4, """"ID" = '5'"""), "R4"), (3, partial(5, """"ID" = '4'"""), "R5")),
        *committed(40, 28, (3, partial(4, v, V="v5"), "R5")),
        *committed(
            50, 30, (3, partial(6, """"ID" = '60'"""), "R6"), (3, partial(60, """"ID" = '61', "W" = 'y'""", W="w6"), "R6")
        ),
        *committed(60, 32, (2, gone.format(7, "v7", "w7"), "R7"), (1, full_insert.format(7, "new", "n"), "R7")),
        *committed(70, 34, (3, partial(7, v, V="new"), "R7")),
        *committed(80, 36, (2, gone.format(8, "v8", "w8"), "R8"), (1, full_insert.format(8, "v8", "w8"), "R80")),
        *committed(90, 38, (3, partial(8, w, W="w8"), "R80")),
        *committed(100, 40, (3, partial(9, v, V="v9"), "R9"), (2, gone.format(9, "x", "w9"), "R9")),
        *committed(110, 42, (1, full_insert.format(20, "a", "b"), "R20"), (3, partial(20, """"ID" = '21'"""), "R20")),
        *committed(120, 44, (3, partial(10, w, W="w10"), "R10")),
    ]
    undone = [
        change(130, 46, 3, partial(11, v, V="v11"), "R11", xid="8.8.8"),
        change(131, 46, 3, partial(11, w, W="w11"), "R11", xid="8.8.8"),
        change(132, 47, 3, """update "SHOP"."T" set "W" = 'w11';""", "R11", xid="8.8.8", rollback=True),
        control(133, 48, 7, "8.8.8"),
    ]

    result = run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, [*rows, *undone])], [mine]))

    assert result.tables[0].error is None
    found = {int(row["ID"]): (row["V"], row["W"]) for row in delta_rows(mine.destination.target)}
    assert found == {
        1: ("x", "w1"), 2: ("x", "y"), 3: (None, "w3"), 5: ("v4", "w4"), 4: ("x", "w5"), 61: ("v6", "y"), 7: ("x", "n"),
        8: ("v8", "y"), 21: ("a", "b"), 10: ("v10", "y"), 11: ("x", "w11"),
    }  # fmt: skip


def test_a_writer_that_lost_its_lease_commits_nothing_more(spark, tmp_path: Path) -> None:
    first, second = task(tmp_path), task(tmp_path, TableId("SHOP", "LATER"), 300)
    created(spark, first, second)
    rows = committed(900, 20, (1, insert(2, "b"))) + of_table(committed(901, 30, (1, insert(3, "c"))), "LATER", 300)
    batch = batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, rows)], [first, second], parallel_tables=1)

    def may_commit() -> None:
        if position_of(first.destination.target, first.destination.app_id) is not None:
            raise LeaseHeld("somebody else works on the tables")

    with pytest.raises(LeaseHeld):
        run_batch(spark, batch, may_commit=may_commit)

    assert (contents(first), contents(second)) == ({2: "b"}, {})
    assert not Path(batch.manifest).exists()


def test_an_unreadable_landed_file_stops_the_batch_also_when_spark_ignores_corrupt_files(spark, tmp_path: Path) -> None:
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine)
    window = land(tmp_path / "w", 10, 100, committed(0, 20, (1, insert(1, "a"))))
    Path(window.files[0]).write_bytes(b"PAR1 damaged")
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    try:
        with pytest.raises(Exception, match=r"redo-x-0000\.parquet"):
            run_batch(spark, batch_spec(tmp_path, [window], [mine]))
    finally:
        spark.conf.unset("spark.sql.files.ignoreCorruptFiles")
    assert position_of(mine.destination.target, mine.destination.app_id) == 5


def test_a_batch_without_changes_commits_nothing(spark, tmp_path: Path) -> None:
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine)

    result = run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, [control(0, 20, 7)])], [mine]))

    assert (result.tables[0].state, result.tables[0].complete_to, result.tables[0].delta_version) == ("applied", 99, 1)


# --- Reads of the Delta log ---------------------------------------------------------------------------------------------


def test_the_delta_log_is_listed_before_and_after_each_commit_and_a_table_without_changes_costs_no_job(
    spark, tmp_path: Path, monkeypatch
) -> None:
    """The log is listed before and after the changes are assembled; then after each commit, and before a commit of changes and
    the first one of a range's DDL, lest another writer has made the same ones: the others begin with what was
    read. Small batches cost what their jobs cost: the table
    without changes runs none, and more than these are a step back."""
    ddl, merged, quiet = (
        with_ddl(tmp_path),
        task(tmp_path, TableId("SHOP", "U"), 200),
        task(tmp_path, TableId("SHOP", "Q"), 300),
    )
    for each in (ddl, merged, quiet):
        loaded(spark, tmp_path, each)
    rows = [*ddl_rows(), *of_table(committed(80, 20, (1, insert(2, "b"))), "U", 200)]
    listed: list[str] = []
    ls = LocalFileSystem.ls

    def counting_ls(self: LocalFileSystem, path: str, *args: Any, **more: Any) -> Any:
        listed.append(path)
        return ls(self, path, *args, **more)

    monkeypatch.setattr(LocalFileSystem, "ls", counting_ls)
    before = work_done(spark)
    result = run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, rows)], [ddl, merged, quiet]))
    work = work_done(spark).since(before)

    assert [(t.error, t.delta_version) for t in result.tables] == [(None, 12), (None, 2), (None, 1)]
    assert [listed.count(f"{t.target}/_delta_log") for t in (ddl.destination, merged.destination, quiet.destination)] == [
        18,
        4,
        2,
    ]
    assert work.jobs <= 44
    assert work.stages <= 93
    assert work.shuffled <= 150_000


def test_a_batch_leaves_no_rows_in_the_executors(spark, tmp_path: Path) -> None:
    """Java would free them only some batches later; by then others have been written to disk for them."""

    def kept() -> set[int]:
        return {n for n, rdd in spark.sparkContext._jsc.getPersistentRDDs().items() if not str(rdd.name()).startswith("Delta ")}

    mine, other = task(tmp_path), task(tmp_path, TableId("SHOP", "U"), 200)
    for each in (mine, other):
        loaded(spark, tmp_path, each)
    rows = [*committed(0, 20, (1, insert(1, "a"))), *of_table(committed(50, 30, (1, insert(2, "b"))), "U", 200)]
    window, before = land(tmp_path / "w", 10, 100, rows), kept()

    run_batch(spark, batch_spec(tmp_path, [window], [mine, other]))

    assert (contents(mine), contents(other)) == ({1: "a"}, {2: "b"})
    assert kept() <= before


def test_two_tables_are_merged_side_by_side_each_at_its_own_position(spark, tmp_path: Path, monkeypatch) -> None:
    """Each merge waits, within the session that names its position to Delta, for the other one to get there."""
    mine, other = task(tmp_path), task(tmp_path, TableId("SHOP", "U"), 200)
    for each in (mine, other):
        loaded(spark, tmp_path, each)
    rows = [*committed(0, 20, (1, insert(1, "a"))), *of_table(committed(50, 30, (1, insert(2, "b"))), "U", 200)]
    both_there, merge_sql = threading.Barrier(2), merge.merge_sql

    def waiting(*args: Any, **more: Any) -> str:
        both_there.wait(timeout=120)
        return merge_sql(*args, **more)

    monkeypatch.setattr(merge, "merge_sql", waiting)
    result = run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, rows)], [mine, other]))

    assert [(t.table.name, t.error, t.inserted) for t in result.tables] == [("T", None, 1), ("U", None, 1)]
    assert (contents(mine), contents(other)) == ({1: "a"}, {2: "b"})
    assert [position_of(t.destination.target, t.destination.app_id) for t in (mine, other)] == [99, 99]


# --- Killed ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("merged_by_spark")
def test_a_batch_that_is_killed_after_each_write_is_finished_by_a_repeat(spark, tmp_path: Path, monkeypatch) -> None:
    """Also after the ALTER TABLEs before a MERGE, for a changed property and for deletion vectors: a repeat finds them done."""
    monkeypatch.setattr(delta_table, "REWRITTEN_BYTES", 0)  # as in a large table
    mine, other = task(tmp_path), task(tmp_path, TableId("SHOP", "U"), 200)
    for each in (mine, other):
        loaded(spark, tmp_path, each, rows=[{"ID": 1, "V": "old"}])
    rows = [
        *committed(0, 20, (3, update(1, "old", "new"), "R1")),
        *of_table(committed(50, 20, (1, insert(2, "b"))), "U", 200),
        change(60, 30, 1, insert(5, "open"), xid="7.7.7"),
    ]
    kept_longer = with_destination(
        mine, options=TargetOptions(properties=(("delta.logRetentionDuration", "interval 60 days"),))
    )
    spec = batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, rows)], [kept_longer, other], parallel_tables=1)

    for point in ("carry-over", "settings", "feature", "merge", "merge", "before manifest"):
        with killed_at(point):
            run_batch(spark, spec)
    result = run_batch(spark, spec)

    assert [(t.state, t.complete_to, t.delta_version) for t in result.tables] == [("applied", 99, 4), ("applied", 99, 3)]
    assert (contents(mine), contents(other)) == ({1: "new"}, {1: "old", 2: "b"})
    assert [(t.xid, t.rows, t.start_scn, t.thread) for t in result.open_transactions] == [("7.7.7", 1, 30, 1)]
    assert all(Path(file).exists() for file in result.carry_files)


@pytest.mark.parametrize(
    ("twice", "message"),
    [
        (slice(None), "redo rows occur twice"),
        (slice(-1, None), "change rows do not add up, -1: landed 1, carried_in 0, applied 2"),
    ],
    ids=["a landed row", "an end of a transaction"],
)
def test_a_duplicate_redo_row_stops_the_batch_before_any_merge(spark, tmp_path: Path, twice: slice, message: str) -> None:
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine)
    rows = committed(0, 20, (1, insert(1, "a")))
    again = [{**row, "ordinal": row["ordinal"] + (7 if twice.start else 0)} for row in rows[twice]]

    with pytest.raises(InvariantBroken, match=message):
        run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, [*rows, *again])], [mine]))

    assert latest_version(mine.destination.target) == 1
