"""Tables without a primary key: keyed by ROWID, and append-only; from landed Parquet to Delta and its comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from redolake.apply import table as apply_table
from redolake.apply.delta.commit import options_of
from redolake.apply.delta.table import DeltaTable
from redolake.apply.target import Tag
from redolake.apply.verify.comparison import CompareTask, Comparison
from redolake.errors import Transient
from redolake.job.batch import run_batch
from redolake.job.comparison import compare_tables
from redolake.job.snapshot import run_snapshot
from redolake.records.batches.spec import BatchSpec, ColumnChange, TableTask
from redolake.records.loads import SnapshotSpec
from redolake.values.table import ROWID_COLUMN, Column, IgnoredColumn, OracleType, TableId, TableVersion
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import committed, delete, insert, of_table, update
from tests.integration.spark.specs import ID, V, batch_spec, snapshot_spec, task, version
from tests.references.delta_table import delta_rows, latest_version, position_of
from tests.support.killed import killed_at

pytestmark = pytest.mark.spark

BY_ROWID = replace(version(), key=(ROWID_COLUMN,), key_kind="rowid")
APPEND = replace(version(), key=(), key_kind="append")
NO_ROWID = "A" * 18


def place(number: int, segment: str = "AAAABk") -> str:
    """Return a ROWID; the default segment is that of DATA_OBJECT_ID 100."""
    return f"{segment}AAMAAACD{number:04d}"


def loaded(folder: Path, mine: TableTask, rows: Sequence[Mapping[str, Any]], scn: int = 5) -> SnapshotSpec:
    """Return a snapshot spec whose rows have a ROWID column."""
    spec = snapshot_spec(folder, mine, scn)
    (one,) = spec.tables
    fields = [("ID", pa.decimal128(10, 0)), ("V", pa.string()), ("_rowid", pa.string())]
    pq.write_table(pa.Table.from_pylist(list(rows), pa.schema(fields)), one.files[0])
    return replace(spec, tables=(replace(one, rows=len(rows)),))


def there(mine: TableTask, *names: str) -> Counter[tuple[Any, ...]]:
    rows = delta_rows(mine.destination.target)
    return Counter(tuple(int(r[n]) if n == "ID" else r[n] for n in names) for r in rows)


def compared(spark: Any, folder: Path, mine: TableTask, rows: Sequence[Mapping[str, Any]], scn: int) -> Comparison:
    files = loaded(folder, mine, rows, scn).tables[0].files
    newest = latest_version(mine.destination.target)
    assert newest is not None
    (found,) = compare_tables(
        spark, [CompareTask(mine.table, mine.destination.target, mine.course.versions[-1], files, scn, newest)]
    )
    return found


def batch(folder: Path, mine: TableTask, rows: Sequence[Mapping[str, Any]], start: int = 10, end: int = 100) -> BatchSpec:
    return batch_spec(folder, [land(folder / f"w{start}", start, end, rows)], [mine])


def test_rowids_distinguish_equal_rows_and_may_be_reused(spark, tmp_path: Path) -> None:
    mine = task(tmp_path, versions=(BY_ROWID,))
    start = [{"ID": n // 2, "V": "same", "_rowid": place(n)} for n in range(2, 14)]  # each row twice
    assert run_snapshot(spark, loaded(tmp_path, mine, start)).tables[0].error is None
    rows = [
        *committed(0, 20, (2, delete(1, "same"), place(2))),
        *committed(10, 22, (3, update(2, "same", "other"), place(5))),
        # deleted and another row in its place: in one transaction, in two, and gone again
        *committed(20, 24, (2, delete(3, "same"), place(6)), (1, insert(30, "new"), place(6))),
        *committed(30, 26, (2, delete(4, "same"), place(8))),
        *committed(40, 28, (1, insert(40, "new"), place(8)), (3, update(40, "new", "newer"), place(8))),
        *committed(50, 30, (2, delete(5, "same"), place(10)), (1, insert(50, "x"), place(10)), (2, delete(50, "x"), place(10))),
        # row movement: the same row at another place
        *committed(60, 32, (2, delete(6, "same"), place(12)), (1, insert(6, "same"), place(99))),
    ]

    result = run_batch(spark, batch(tmp_path, mine, rows))

    expected = [r for r in start if r["_rowid"] not in (place(2), place(5), place(6), place(8), place(10), place(12))] + [
        {"ID": 2, "V": "other", "_rowid": place(5)},
        {"ID": 30, "V": "new", "_rowid": place(6)},
        {"ID": 40, "V": "newer", "_rowid": place(8)},
        {"ID": 6, "V": "same", "_rowid": place(99)},
    ]
    assert result.tables[0].error is None
    assert there(mine, "_rowid", "ID", "V") == Counter((r["_rowid"], r["ID"], r["V"]) for r in expected)
    assert result.tables[0].balance.applied == 12
    assert compared(spark, tmp_path, mine, expected, 99).equal

    wrong = [*expected[1:], {"ID": 7, "V": "same", "_rowid": place(98)}]
    found = compared(spark, tmp_path, mine, wrong, 99)
    assert (found.missing_rows, found.extra_rows, found.differing_cells) == (1, 1, 0)
    assert {s.key for s in found.samples} == {place(98), str(expected[0]["_rowid"])}


def several(folder: Path, version: TableVersion, number: int) -> list[TableTask]:
    """Return tasks of several tables with that version."""
    names = [TableId("SHOP", f"T{n}") for n in range(number)]
    return [
        task(folder, name, 100 + n, versions=(replace(version, table=name, object_id=100 + n),)) for n, name in enumerate(names)
    ]


def load_all(spark: Any, folder: Path, tasks: Sequence[TableTask], rows: Sequence[Mapping[str, Any]]) -> None:
    specs = [loaded(folder, mine, rows) for mine in tasks]
    run_snapshot(spark, replace(specs[0], tables=tuple(spec.tables[0] for spec in specs)))


def test_a_row_without_a_valid_rowid_holds_a_table_keyed_by_rowid(spark, tmp_path: Path) -> None:
    changes = {
        "an insert": ((1, insert(1, "a"), NO_ROWID), "RedoNotUnderstood"),
        "a delete": ((2, delete(1, "a"), NO_ROWID), "RedoNotUnderstood"),
        "in another segment": ((3, update(1, "a", "b"), place(7, "AAAABl")), "SchemaConflict"),
    }
    tasks = several(tmp_path, BY_ROWID, len(changes))
    load_all(spark, tmp_path, tasks, [])
    rows = [
        row
        for n, (change, _) in enumerate(changes.values())
        for row in of_table(committed(10 * n, 20, change), f"T{n}", 100 + n)
    ]

    done = run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, rows)], tasks)).tables

    assert [(table.state, table.error["code"]) for table in done] == [("held", code) for _, code in changes.values()]
    assert all("ROWID" in table.error["what"] for table in done)


def test_appends_keep_one_row_per_insert_also_after_a_repeat(spark, tmp_path: Path) -> None:
    shelf = Column(3, "SHELF", OracleType("VARCHAR2", length=9), 3)
    wider = replace(APPEND, columns=(ID, V, shelf), from_scn=40, next_column_id=4)
    mine = task(tmp_path, versions=(APPEND, wider), ddl=(ColumnChange(40, "add_column", shelf, "top"),))
    run_snapshot(spark, loaded(tmp_path, mine, [{"ID": 1, "V": "a"}, {"ID": 1, "V": "a"}]))
    rows = [
        *committed(0, 20, (1, insert(1, "a")), (1, insert(1, "a"), NO_ROWID), (1, insert(2, "b"))),
        *committed(10, 50, (1, """insert into "SHOP"."T"("ID","V","SHELF") values ('2','b','low');""")),
    ]
    spec = batch(tmp_path, mine, rows)
    with killed_at("merge#2"):
        run_batch(spark, spec)
    half = there(mine, "ID", "V")

    done = run_batch(spark, spec).tables[0]
    Path(spec.manifest).unlink()
    run_batch(spark, spec)

    expected = Counter({(1, "a", "top"): 4, (2, "b", "top"): 1, (2, "b", "low"): 1})
    assert half.total() == 6
    assert (done.error, done.balance.applied) == (None, 4)
    assert there(mine, "ID", "V", "SHELF") == expected
    assert position_of(mine.destination.target, mine.destination.app_id) == 99


def test_the_update_of_objects_that_follows_an_insert_is_no_change_of_an_append_only_table(spark, tmp_path: Path) -> None:
    """As on 26ai: LogMiner shows an INSERT, and then an UPDATE with the objects that are stored in the row."""
    body = IgnoredColumn(3, "excluded", "BODY", "CLOB")
    mine = task(tmp_path, versions=(replace(APPEND, ignored=(body,)),))
    run_snapshot(spark, loaded(tmp_path, mine, []))
    inserted = """insert into "SHOP"."T"("ID","V","BODY") values ('1','a',EMPTY_CLOB());"""
    completed = """update "SHOP"."T" set "BODY" = 'text' where "ID" = '1' and "V" = 'a';"""
    rows = committed(0, 20, (1, inserted, NO_ROWID), (3, completed, "R1"))

    done = run_batch(spark, batch(tmp_path, mine, rows)).tables[0]

    assert (done.error, done.inserted, done.balance.applied) == (None, 1, 2)
    assert there(mine, "ID", "V") == Counter({(1, "a"): 1})


def test_append_only_tables_are_compared_by_how_often_each_row_occurs(spark, tmp_path: Path) -> None:
    mine = task(tmp_path, versions=(APPEND,))
    rows = [{"ID": 1, "V": "a"}, {"ID": 1, "V": "a"}, {"ID": 2, "V": None}]
    run_snapshot(spark, loaded(tmp_path, mine, rows))

    assert compared(spark, tmp_path, mine, rows, 60).equal
    found = compared(spark, tmp_path, mine, [rows[0], rows[2], rows[2], {"ID": 3, "V": "c"}], 60)
    assert (found.source_rows, found.delta_rows, found.missing_rows, found.extra_rows) == (4, 3, 2, 1)
    assert [(s.key, s.source, s.delta) for s in found.samples] == [
        ("1, a", "1 rows", "2 rows"),
        ("2, NULL", "2 rows", "1 rows"),
        ("3, c", "1 rows", "0 rows"),
    ]


@pytest.mark.usefixtures("merged_by_spark")
@pytest.mark.parametrize("is_seen", [True, False], ids=["before the commit", "at the same moment"])
def test_a_commit_of_a_killed_batch_is_never_appended_twice_without_an_error(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_seen: bool
) -> None:
    """A Connect server goes on with the append of a client that was killed, while the next batch has more windows."""
    mine = task(tmp_path, versions=(APPEND,))
    run_snapshot(spark, loaded(tmp_path, mine, []))
    early = land(tmp_path / "w10", 10, 50, committed(0, 20, (1, insert(1, "a"), "R1")))
    late = land(tmp_path / "w50", 50, 100, committed(10, 60, (1, insert(2, "b"), "R2")))
    take = apply_table.take_alone

    def prepared_while_the_other_commits(plan: Any) -> Any:
        found = take(plan)
        tag = Tag(DeltaTable(spark, mine.destination.target, mine.destination.app_id).app_id, 49, {})
        types = spark.read.format("delta").load(mine.destination.target).schema
        rows = spark.sql("SELECT '1' AS ID, 'a' AS V, 20 AS _commit_scn").select(
            *(F.col(f.name).cast(f.dataType) for f in types)
        )
        rows.write.format("delta").mode("append").options(**options_of(tag)).save(mine.destination.target)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(apply_table, "take_alone", prepared_while_the_other_commits)
        if is_seen:
            with pytest.raises(Transient, match="another writer"):
                run_batch(spark, batch_spec(tmp_path, [early, late], [mine]))
        else:
            patched.setattr(DeltaTable, "see_others", lambda _: None)
            done = run_batch(spark, batch_spec(tmp_path, [early, late], [mine])).tables[0]
            assert (done.state, done.error["code"]) == ("held", "InvariantBroken"), done.error
            assert "up to SCN 49" in done.error["what"]
            return

    again = run_batch(spark, batch_spec(tmp_path, [early, late], [mine])).tables[0]
    assert (again.error, again.inserted) == (None, 1)
    assert there(mine, "ID", "V") == Counter({(1, "a"): 1, (2, "b"): 1})


def test_an_update_or_delete_holds_an_append_only_table(spark, tmp_path: Path) -> None:
    changes = {"UPDATE": (3, update(1, "a", "b"), "R1"), "DELETE": (2, delete(1, "a"), "R1")}
    tasks = several(tmp_path, APPEND, len(changes))
    load_all(spark, tmp_path, tasks, [{"ID": 1, "V": "a"}])
    undone = [(1, insert(9, "z"), "R9"), (2, delete(9, "z"), "R9")]
    first: list[dict[str, Any]] = []
    second: list[dict[str, Any]] = []
    for n, change in enumerate(changes.values()):
        failed = [{**row, "rollback": row["operation_code"] == 2} for row in committed(100 * n, 20, *undone)]
        first += of_table([*failed, *committed(100 * n + 5, 22, (1, insert(2, "b")))], f"T{n}", 100 + n)
        second += of_table(committed(100 * n + 10, 120, (1, insert(3, "c")), change), f"T{n}", 100 + n)

    good = run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w1", 10, 100, first)], tasks)).tables
    held = run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w2", 100, 200, second)], tasks)).tables

    assert [(table.state, table.inserted) for table in good] == [("applied", 1)] * 2
    assert [(table.state, table.error["code"], table.complete_to) for table in held] == [("held", "KeyNeeded", 99)] * 2
    for operation, mine, table in zip(changes, tasks, held, strict=True):
        assert operation in table.error["what"]
        assert "key: rowid" in table.error["cure"]
        assert there(mine, "ID") == Counter({(1,): 1, (2,): 1})
