"""A table's first contents, its position, and the comparison with the source."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake.apply.delta.commit import session_with_tag
from redolake.apply.delta.log import read_log
from redolake.apply.delta.table import DeltaTable
from redolake.apply.target import Tag
from redolake.apply.verify.comparison import CompareTask, Difference
from redolake.errors import InvariantBroken, TableSetBack, VersionRemoved
from redolake.job.batch import run_batch
from redolake.job.comparison import compare_tables
from redolake.job.snapshot import run_snapshot
from redolake.records.batches.spec import TableTask
from redolake.records.codec import decode
from redolake.records.loads import SnapshotResult, SnapshotSpec, SnapshotTask
from redolake.values.mapping import Computed, RowFilter, TableMapping, source_value
from redolake.values.table import Column, OracleType, TableId
from redolake.values.target_options import TargetOptions
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import committed, delete, insert, partial, update
from tests.integration.spark.specs import (
    ID,
    batch_spec,
    contents,
    loaded,
    snapshot_spec,
    task,
    version,
    with_course,
    with_destination,
)
from tests.references.delta_table import delta_rows, latest_version, position_of, read_delta
from tests.support.killed import killed_at

pytestmark = pytest.mark.spark

ROWS = [{"ID": 1, "V": "a"}, {"ID": 2, "V": None}]


def test_a_snapshot_is_loaded_once_and_never_over_newer_contents(spark, tmp_path: Path) -> None:
    mine = task(tmp_path)
    first = snapshot_spec(tmp_path, mine, 50, ROWS)

    loaded = run_snapshot(spark, first).tables[0]
    again = run_snapshot(spark, first)
    newer = run_snapshot(spark, snapshot_spec(tmp_path, mine, 60, ROWS[:1])).tables[0]
    older = run_snapshot(spark, first).tables[0]
    replaced = run_snapshot(spark, replace(first, replace=True)).tables[0]

    assert (loaded.state, loaded.loaded, loaded.rows) == ("applied", True, 2)
    assert (again.tables[0].state, again.tables[0].loaded) == ("applied", False)
    assert (newer.loaded, newer.rows, newer.delta_version) == (True, 1, 2)
    assert (older.state, older.error["code"]) == ("held", "LandingConflict")
    assert (replaced.loaded, position_of(mine.destination.target, mine.destination.app_id)) == (True, 50)
    assert contents(mine) == {1: "a", 2: None}
    assert contents_at(spark, mine, 2) == {1: "a"}  # what readers saw until then stays in the table's history
    assert {i: c.name for i, c in DeltaTable(spark, mine.destination.target, mine.destination.app_id).columns.items()} == {
        1: "ID",
        2: "V",
    }
    assert decode(SnapshotResult, Path(first.manifest).read_bytes(), first.manifest).tables[0].loaded


def contents_at(spark: Any, task: TableTask, version: int) -> dict[int, str]:
    rows = spark.read.format("delta").option("versionAsOf", version).load(task.destination.target).collect()
    return {int(row["ID"]): row["V"] for row in rows}


def test_a_load_behind_the_tables_position_is_one_commit_and_batches_continue_it(spark, tmp_path: Path) -> None:
    """Readers find a table at any moment; a repeat of the load, also after a kill, commits nothing more."""
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine, 50, ROWS)
    window = land(tmp_path / "w", 10, 100, committed(0, 80, (3, update(1, "a", "b"))))
    behind = replace(snapshot_spec(tmp_path, mine, 60, [*ROWS, {"ID": 3, "V": "c"}]), replace=True)

    run_batch(spark, batch_spec(tmp_path, [window], [mine]))
    before, passed = latest_version(mine.destination.target), position_of(mine.destination.target, mine.destination.app_id)
    loads = [run_snapshot(spark, behind).tables[0] for _ in range(2)]
    last = latest_version(mine.destination.target)
    again = land(tmp_path / "w2", 10, 110, committed(0, 105, (3, update(2, None, "d"))))
    run_batch(spark, batch_spec(tmp_path / "2", [again], [mine]))

    assert passed == 99
    assert [(load.loaded, load.error) for load in loads] == [(True, None), (False, None)]
    assert last == before + 1
    assert [contents_at(spark, mine, version) for version in (before, last)] == [
        {1: "b", 2: None},
        {1: "a", 2: None, 3: "c"},
    ]
    assert (contents(mine), position_of(mine.destination.target, mine.destination.app_id)) == ({1: "a", 2: "d", 3: "c"}, 109)


def test_a_table_that_has_got_its_first_timestamp_since_is_loaded_again(spark, tmp_path: Path) -> None:
    """Delta does not enable the feature of the type with a write of a table that exists."""
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine, 50, ROWS)
    dated = with_course(mine, versions=(version(columns=(ID, Column(2, "V", OracleType("DATE"), 2))),))
    again = replace(snapshot_spec(tmp_path, dated, 60, [{"ID": 1, "V": "2026-01-02 03:04:05"}]), replace=True)

    with killed_at("feature"):
        run_snapshot(spark, again)
    assert contents(mine) == {1: "a", 2: None}
    assert run_snapshot(spark, again).tables[0].error is None
    assert {row["ID"]: str(row["V"]) for row in delta_rows(mine.destination.target)} == {1: "2026-01-02 03:04:05"}


def test_a_damaged_log_is_put_aside_and_loaded_by_a_repeat_of_a_load_that_was_killed(spark, tmp_path: Path) -> None:
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine, 50, ROWS)
    Path(mine.destination.target, "_delta_log", f"{0:020}.json").write_text("{")
    again = snapshot_spec(tmp_path, mine, 60, ROWS[:1])

    refused = run_snapshot(spark, again).tables[0]
    with killed_at("snapshot's log put aside"):
        run_snapshot(spark, replace(again, replace=True))
    replaced = run_snapshot(spark, replace(again, replace=True)).tables[0]

    assert (refused.error or {})["code"] == "LakeDamaged"
    assert (replaced.loaded, contents(mine), position_of(mine.destination.target, mine.destination.app_id)) == (
        True,
        {1: "a"},
        60,
    )


def test_a_loaded_table_says_whose_it_is_and_nobody_else_replaces_it(spark, tmp_path: Path) -> None:
    mine = task(tmp_path)
    first = replace(snapshot_spec(tmp_path, mine, 50, ROWS), origin="1-2-3")
    run_snapshot(spark, first)
    log = read_log(mine.destination.target)
    assert log is not None
    assert {key: value for key, value in log.properties().items() if key.startswith("redolake.")} == {
        "redolake.pipeline": "p",
        "redolake.table": "SHOP.T",
        "redolake.origin": "1-2-3",
        "redolake.objectId": "100",
    }

    others = {
        "SHOP.T of pipeline p": replace(
            snapshot_spec(tmp_path, with_destination(mine, app_id='p/SHOP."t"/1'), 60), replace=True
        ),
        "another pipeline p, whose landing began at 1-2-3": replace(snapshot_spec(tmp_path, mine, 60), origin="9-9-9"),
    }
    for what, spec in others.items():
        held = run_snapshot(spark, spec).tables[0]
        assert (held.error or {})["code"] == "FolderTaken"
        assert what in (held.error or {})["what"]
    again = version(object_id=101, scn=60)  # created again in Oracle
    renewed = replace(first, tables=(replace(first.tables[0], version=again, scn=60),))
    assert run_snapshot(spark, renewed).tables[0].error is None
    assert contents(mine) == {1: "a", 2: None}


def test_a_snapshot_with_fewer_rows_than_were_read_is_refused(spark, tmp_path: Path) -> None:
    spec = snapshot_spec(tmp_path, task(tmp_path), 50, ROWS)
    spec = replace(spec, tables=(replace(spec.tables[0], rows=3),))

    assert run_snapshot(spark, spec).tables[0].error["code"] == "InvariantBroken"


def test_a_number_read_as_text_is_never_rounded(spark, tmp_path: Path) -> None:
    """Those that fit stand in one table; each other one in a table of its own, which alone is refused."""
    fitting, others = ["1.25", "-.5", "1.250", "1E-1"], ["1.255", "1E-3", "1E+40"]
    number = Column(2, "N", OracleType("NUMBER"), 2)
    loads = []
    for n, texts in enumerate([fitting, *([text] for text in others)]):
        mine = task(tmp_path, TableId("SHOP", f"T{n}"), 100 + n)
        table = replace(mine.course.versions[0], columns=(ID, number))
        file = tmp_path / f"numbers{n}.parquet"
        pq.write_table(pa.table({"ID": pa.array(range(len(texts)), pa.decimal128(10, 0)), "N": texts}), file)
        load = SnapshotTask(
            mine.table,
            mine.destination.target,
            mine.destination.app_id,
            table,
            (str(file),),
            rows=len(texts),
            rules={2: 2},
            scn=50,
        )
        loads.append(load)
    spec = SnapshotSpec("p", 50, "token", tuple(loads), str(tmp_path / "manifest.json"))

    loaded, *refused = run_snapshot(spark, spec).tables

    assert (loaded.error, loaded.rows) == (None, 4)
    assert [str(row["N"]) for row in delta_rows(loads[0].target)] == ["1.25", "-0.50", "1.25", "0.10"]
    assert [table.error["code"] for table in refused] == ["ValueDoesNotFit"] * 3


def test_a_comparison_counts_differing_rows_and_cells_and_samples_them(spark, tmp_path: Path) -> None:
    mine = task(tmp_path)
    run_snapshot(spark, snapshot_spec(tmp_path, mine, 50, [*ROWS, {"ID": 3, "V": "c"}, {"ID": 4, "V": None}]))
    there = snapshot_spec(tmp_path, mine, 60, [*ROWS, {"ID": 3, "V": "C"}, {"ID": 5, "V": "e"}]).tables[0].files
    compared = CompareTask(mine.table, mine.destination.target, mine.course.versions[0], there, 60, delta_version=0)

    (found,) = compare_tables(spark, [compared])

    assert (found.source_rows, found.delta_rows, found.missing_rows, found.extra_rows, found.differing_cells) == (4, 4, 1, 1, 1)
    assert found.samples == (
        Difference("3", "V", "C", "c"),
        Difference("4", "*", None, "row"),
        Difference("5", "*", "row", None),
    )
    with pytest.raises(InvariantBroken, match="commit of SCN 50"):
        compare_tables(spark, [replace(compared, complete_to=49)])
    with pytest.raises(TableSetBack, match="was at version 3"):
        compare_tables(spark, [replace(compared, delta_version=3)])


def test_a_version_whose_files_vacuum_removed_is_said_to_be_gone(spark, tmp_path: Path) -> None:
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine, 50, ROWS)
    newer = snapshot_spec(tmp_path, mine, 60, ROWS[:1])
    run_snapshot(spark, newer)
    for commit in (Path(mine.destination.target) / "_delta_log").glob("*.json"):
        os.utime(commit, (1, 1))  # decades old: that alone does not make a version unreadable
    compared = CompareTask(
        mine.table, mine.destination.target, mine.course.versions[0], newer.tables[0].files, 60, delta_version=0
    )

    (found,) = compare_tables(spark, [compared])
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    spark.sql(f"VACUUM delta.`{mine.destination.target}` RETAIN 0 HOURS")
    spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")

    assert (found.delta_version, found.delta_rows, found.extra_rows) == (0, 2, 1)
    with pytest.raises(VersionRemoved, match="files of version 0"):
        compare_tables(spark, [compared])
    assert compare_tables(spark, [replace(compared, delta_version=1)])[0].equal


def test_the_position_is_read_from_commits_and_from_checkpoints(spark, tmp_path: Path) -> None:
    mine = task(tmp_path)
    first = snapshot_spec(tmp_path, mine, 50, ROWS)
    often = TargetOptions(properties=(("delta.checkpointInterval", "3"),))
    run_snapshot(spark, replace(first, tables=(replace(first.tables[0], options=often),)))
    seen: list[Any] = []
    for scn in range(60, 65):
        log = read_log(mine.destination.target)
        assert log is not None
        app = log.current_id(mine.destination.app_id) if scn % 2 == 0 else "another"
        with session_with_tag(spark, Tag(app, scn, {})) as session:
            session.sql(f"UPDATE delta.`{mine.destination.target}` SET V = '{scn}' WHERE ID = 1")
        seen.append(
            (position_of(mine.destination.target, mine.destination.app_id), position_of(mine.destination.target, "another"))
        )
    folder = Path(mine.destination.target) / "_delta_log"
    checkpoint = max(int(file.name[:20]) for file in folder.glob("*.checkpoint*.parquet"))
    for file in folder.glob("*.json"):  # as log retention does
        if int(file.name[:20]) < checkpoint:
            file.unlink()

    assert seen == [(60, None), (60, 61), (62, 61), (62, 63), (64, 63)]
    assert (position_of(mine.destination.target, mine.destination.app_id), position_of(mine.destination.target, "another")) == (
        64,
        63,
    )
    assert checkpoint == latest_version(mine.destination.target) == 6
    assert (position_of(str(tmp_path / "nowhere"), "p"), latest_version(str(tmp_path))) == (None, None)


def chunked_spec(folder: Path, mine: TableTask, older: list[dict[str, Any]], newer: list[dict[str, Any]]) -> SnapshotSpec:
    """Return a load of one chunk AS OF SCN 50, and one AS OF SCN 60."""
    first, second = (snapshot_spec(folder, mine, scn, rows) for scn, rows in ((50, older), (60, newer)))
    (file,), (later,) = first.tables[0].files, second.tables[0].files
    merged = replace(first.tables[0], files=(file, later), rows=len(older) + len(newer), scns={later: 60})
    return replace(first, tables=(merged,))


def test_chunks_of_two_scns_become_one_table_with_the_redo_between_them(spark, tmp_path: Path) -> None:
    """Row 3 moved by DELETE and INSERT into a chunk that was read later, so both have it; row 4 went the other way, so that
    none has it; row 5 was deleted, and row 2 changed, after the older chunk was read."""
    mine = task(tmp_path, settles_at=60)
    older = [{"ID": 1, "V": "a"}, {"ID": 2, "V": "b"}, {"ID": 3, "V": "c"}, {"ID": 5, "V": "e"}]
    newer = [{"ID": 3, "V": "C"}, {"ID": 6, "V": "f"}]
    redo = [
        *committed(10, 52, (2, delete(3, "c"), "old"), (1, insert(3, "C"), "new")),
        *committed(20, 54, (2, delete(4, "d"), "far"), (1, insert(4, "D"), "near")),
        *committed(30, 56, (2, delete(5, "e")), (3, update(2, "b", "B"))),
    ]

    loaded = run_snapshot(spark, chunked_spec(tmp_path, mine, older, newer)).tables[0]
    at_load = contents(mine)
    done = run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, redo)], [mine])).tables[0]
    commits = {row["ID"]: row["_commit_scn"] for row in read_delta(mine.destination.target).to_pylist()}

    assert (loaded.error, loaded.rows, done.error) == (None, 6, None)
    assert at_load == {1: "a", 2: "b", 3: "C", 5: "e", 6: "f"}
    assert contents(mine) == {1: "a", 2: "B", 3: "C", 4: "D", 6: "f"}
    assert (commits[1], commits[6]) == (50, 60)


def test_chunks_of_two_scns_are_mapped_and_filtered_row_by_row_and_so_is_the_redo(spark, tmp_path: Path) -> None:
    """The key has another name. Row 3 moved into a later chunk, where the filter leaves it out: what the older chunk had of it
    goes by its redo. Row 2 leaves the filter, row 8 comes into it, row 4 was in no chunk."""
    where = RowFilter(f"`{source_value(2)}` <> 'out'", (2,), "v <> 'out'")
    upper = Computed(2, "V", "string", "expression", (2,), f"upper(`{source_value(2)}`)", "upper(v)")
    mapped = replace(version(), mapping=TableMapping(names=((1, "NUMBER_OF_IT"),), computed=(upper,), where=where))
    mine = task(tmp_path, versions=(mapped,), settles_at=60)
    older = [{"ID": n, "V": v} for n, v in ((1, "a"), (2, "b"), (3, "c"), (8, "out"))]
    newer = [{"ID": n, "V": v} for n, v in ((3, "out"), (6, "f"), (7, "g"))]
    redo = [
        *committed(10, 52, (2, delete(3, "c"), "old"), (1, insert(3, "out"), "new")),
        *committed(20, 54, (2, delete(4, "d"), "far"), (1, insert(4, "D"), "near")),
        *committed(30, 56, (3, update(2, "b", "out")), (3, update(8, "out", "back"), "eight"), (1, insert(7, "g"), "seven")),
    ]
    loaded = run_snapshot(spark, chunked_spec(tmp_path, mine, older, newer)).tables[0]
    done = run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, redo)], [mine])).tables[0]

    assert (loaded.error, done.error) == (None, None)
    rows = {row["NUMBER_OF_IT"]: row["V"] for row in read_delta(mine.destination.target).to_pylist()}
    assert rows == {1: "A", 4: "D", 6: "F", 7: "G", 8: "BACK"}


def test_a_row_that_moved_between_chunks_and_keeps_values_holds_the_table(spark, tmp_path: Path) -> None:
    """With logging of the key alone, the values of key 7 were those of the row at key 1 before another row took that key. No
    commit may end before the highest SCN either."""
    mine = task(tmp_path, settles_at=60)
    redo = [
        *committed(10, 52, (3, partial(1, "\"ID\" = '7'"), "moved")),
        *committed(20, 54, (1, insert(1, "another"), "new")),
    ]
    run_snapshot(spark, chunked_spec(tmp_path, mine, [{"ID": 2, "V": "b"}], [{"ID": 1, "V": "another"}]))

    moved = run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, redo)], [mine])).tables[0]
    early = run_batch(spark, batch_spec(tmp_path / "2", [land(tmp_path / "w2", 10, 57, redo)], [mine])).tables[0]

    assert [(done.state, (done.error or {})["code"]) for done in (moved, early)] == [
        ("held", "ChunksNeedOneScn"),
        ("held", "InvariantBroken"),
    ]
    assert contents(mine) == {1: "another", 2: "b"}
