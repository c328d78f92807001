"""How a table is written in the lake: names, Redolake's columns, deletes, properties, clustering and partitions by setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake.apply.delta.log import read_log
from redolake.apply.verify.comparison import CompareTask
from redolake.job.batch import run_batch
from redolake.job.comparison import compare_tables
from redolake.job.snapshot import run_snapshot
from redolake.records.batches.spec import ColumnChange, TableTask
from redolake.values.table import Column, OracleType, TableId
from redolake.values.target_options import TargetOptions
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import committed, delete, insert, move, of_table, update
from tests.integration.spark.specs import ID, V, batch_spec, snapshot_spec, task, version, with_course, with_destination
from tests.references.delta_table import latest_version

pytestmark = pytest.mark.spark

N = Column(3, "N", OracleType("NUMBER", precision=5, scale=1), 3)
ALL = TargetOptions(
    column_names="lower",
    metadata_columns=("_commit_scn", "_commit_time", "_op", "_xid", "_redo_thread"),
    deletes="mark",
    properties=(("delta.enableChangeDataFeed", "true"), ("delta.logRetentionDuration", "interval 60 days")),
    cluster_by=("ID",),
)
NONE = TargetOptions(metadata_columns=(), partition_by=("V",))
COMMENTS: dict[str, Any] = {"comment": "all of it", "comments": ((2, "it's ${HOME}"),)}
AT = datetime(2026, 1, 2, 3, 4, 5)


def load(spark: Any, folder: Path, mine: TableTask, scn: int, rows: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    spec = snapshot_spec(folder, mine, scn, rows, **more)
    (loaded,) = run_snapshot(
        spark, replace(spec, tables=(replace(spec.tables[0], options=mine.destination.options, **COMMENTS),))
    ).tables
    return {"error": loaded.error}


def rows_of(spark: Any, mine: TableTask) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, spark.read.format("delta").load(mine.destination.target).collect()))


def two(folder: Path) -> list[TableTask]:
    """T1 with every option, T2 without a column of ours; N is added with a default at SCN 40."""
    found = []
    for number, options in enumerate((ALL, NONE)):
        table = TableId("SHOP", f"T{number}")
        versions = (version(table, object_id=100 + number), version(table, 40, (ID, V, N), 100 + number))
        added = (ColumnChange(40, "add_column", N, "7.5"),)
        found.append(task(folder, table, 100 + number, versions=versions, ddl=added, options=options))
    return found


def test_names_own_columns_deletes_properties_and_layout_are_as_declared(spark: Any, tmp_path: Path) -> None:
    tasks = two(tmp_path)
    start = [{"ID": n, "V": f"v{n}"} for n in range(1, 6)]
    for mine in tasks:
        assert load(spark, tmp_path, mine, 5, start) == {"error": None}
    changes = [
        *committed(0, 20, (1, insert(6, "new"), "R6"), (3, update(2, "v2", "b"), "R2"), (2, delete(3, "v3"), "R3")),
        *committed(10, 50, (3, move(4, 7, "v4").replace(" where", ", \"N\" = '1' where"), "R4")),
        *committed(20, 60, (1, """insert into "SHOP"."T"("ID","V","N") values ('3','again','2');""", "R30")),
    ]
    rows = [
        {**row, "ordinal": row["ordinal"] + 100 * n, "xid": f"{row['xid']}{n}", "at": AT}
        for n in range(2)
        for row in of_table(changes, f"T{n}", 100 + n)
    ]

    results = run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, rows)], tasks)).tables

    assert [result.error for result in results] == [None, None]
    with_all, without = tasks
    assert spark.read.format("delta").load(with_all.destination.target).columns == ["id", "v", "n", *ALL.own_columns]
    assert [tuple(map(str, row)) for row in rows_of(spark, with_all)] == [
        ("1", "v1", "7.5", "5", "None", "load", "None", "None", "False"),
        ("2", "b", "7.5", "21", str(AT), "update", "1.2.00", "1", "False"),
        ("3", "again", "2.0", "61", str(AT), "insert", "1.2.200", "1", "False"),
        ("4", "v4", "7.5", "51", str(AT), "delete", "1.2.100", "1", "True"),
        ("5", "v5", "7.5", "5", "None", "load", "None", "None", "False"),
        ("6", "new", "7.5", "21", str(AT), "insert", "1.2.00", "1", "False"),
        ("7", "v4", "1.0", "51", str(AT), "update", "1.2.100", "1", "False"),
    ]
    truth = [(1, "v1", "7.5"), (2, "b", "7.5"), (3, "again", "2.0"), (5, "v5", "7.5"), (6, "new", "7.5"), (7, "v4", "1.0")]
    assert [(int(row[0]), row[1], str(row[2])) for row in rows_of(spark, without)] == truth
    log = read_log(with_all.destination.target)
    assert log is not None
    assert log.properties()["delta.logRetentionDuration"] == "interval 60 days"
    feed = (
        spark.read.format("delta")
        .option("readChangeFeed", "true")
        .option("startingVersion", 0)
        .load(with_all.destination.target)
    )
    assert feed.filter("_change_type = 'update_postimage' AND id = 4 AND _deleted").count() == 1
    assert log.description() == "all of it"
    assert spark.read.format("delta").load(with_all.destination.target).schema["v"].metadata["comment"] == "it's ${HOME}"
    detail = spark.sql(f"DESCRIBE DETAIL delta.`{with_all.destination.target}`").collect()[0]
    assert detail["clusteringColumns"] == ["id"]
    assert read_log(without.destination.target).partition_columns() == ["V"]  # type: ignore[union-attr]
    for mine in tasks:
        assert differences(spark, tmp_path, mine, truth) == (0, 0, 0)


def differences(spark: Any, folder: Path, mine: TableTask, truth: list[Any]) -> tuple[int, ...]:
    file = folder / f"truth-{mine.table.name}.parquet"
    rows = [{"ID": key, "V": value, "N": number} for key, value, number in truth]
    names = pa.schema([("ID", pa.decimal128(10, 0)), ("V", pa.string()), ("N", pa.string())])
    pq.write_table(pa.Table.from_pylist(rows, names), file)
    newest = latest_version(mine.destination.target)
    assert newest is not None
    compared = CompareTask(
        mine.table,
        mine.destination.target,
        mine.course.versions[-1],
        (str(file),),
        99,
        newest,
        options=mine.destination.options,
    )
    (found,) = compare_tables(spark, [compared])
    return found.missing_rows, found.extra_rows, found.differing_cells


def test_a_changed_setting_that_needs_a_new_snapshot_holds_the_table_until_then(spark: Any, tmp_path: Path) -> None:
    plain = task(tmp_path)
    rows = [{"ID": 1, "V": "a"}]
    load(spark, tmp_path, plain, 5, rows)
    spark.sql(
        f"ALTER TABLE delta.`{plain.destination.target}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    ).collect()
    window = land(tmp_path / "w", 10, 100, committed(0, 20, (1, insert(2, "b"))))
    changed = {
        "any": TargetOptions(readers="any"),
        "_op": TargetOptions(metadata_columns=("_commit_scn", "_op")),
        "V": TargetOptions(partition_by=("V",)),
    }
    for said, options in changed.items():
        held = run_batch(spark, batch_spec(tmp_path / said, [window], [with_destination(plain, options=options)])).tables[0]
        assert held.error is not None
        assert held.error["code"] == "SchemaConflict"
        assert said in held.error["what"]

    narrow = with_destination(plain, options=changed["any"])
    assert load(spark, tmp_path, narrow, 8, rows)["error"]["code"] == "SchemaConflict"
    assert load(spark, tmp_path, narrow, 9, rows, replace=True) == {"error": None}
    done = run_batch(spark, batch_spec(tmp_path / "done", [window], [narrow])).tables[0]
    assert done.error is None
    log = read_log(plain.destination.target)
    assert log is not None
    assert "deletionVectors" not in log.features()


WORD = "__HIVE_DEFAULT_PARTITION__"
NO_PATHS = {"the word for NULL": WORD, "too long": "x" * 254, "too long once escaped": "/" * 90, "a NUL": "a\0b"}
PATHS = ("a/b=%41", "é\u0301😀 \t\x7f{}[]^", " ", ".", WORD.lower(), "null", "x" * 200, "/" * 60)
BY_V = TargetOptions(partition_by=("V",))


def test_texts_that_a_path_of_a_partition_can_hold_are_loaded_as_they_are(spark: Any, tmp_path: Path) -> None:
    mine = with_destination(task(tmp_path), options=BY_V)
    rows = [{"ID": n, "V": value} for n, value in enumerate((*PATHS, None), 1)]

    assert load(spark, tmp_path, mine, 5, rows) == {"error": None}

    assert [(int(row[0]), row[1]) for row in rows_of(spark, mine)] == [(row["ID"], row["V"]) for row in rows]


@pytest.mark.parametrize("value", NO_PATHS.values(), ids=NO_PATHS.keys())
def test_a_text_that_no_path_of_a_partition_can_hold_is_refused_before_the_commit(
    spark: Any, tmp_path: Path, value: str
) -> None:
    mine = with_destination(task(tmp_path), options=BY_V)
    error = load(spark, tmp_path, mine, 5, [{"ID": 1, "V": "fits"}, {"ID": 2, "V": value}])["error"]

    assert (error["code"], "in the row with ID 2" in error["what"]) == ("ValueDoesNotFit", True)
    assert "`partition_by` of SHOP.T" in error["cure"]
    assert read_log(mine.destination.target) is None


def test_a_batch_with_such_a_text_holds_the_table_until_the_text_is_changed_or_the_setting(spark: Any, tmp_path: Path) -> None:
    keyed = with_destination(task(tmp_path, TableId("SHOP", "T1"), 101), options=BY_V)
    appended = task(tmp_path, TableId("SHOP", "T2"), 102, options=BY_V)
    appended = with_course(appended, versions=(replace(appended.course.versions[0], key=(), key_kind="append"),), deliveries=())
    for mine in (keyed, appended):
        assert load(spark, tmp_path, mine, 5, [{"ID": 1, "V": "fits"}]) == {"error": None}
    words = [f"""insert into "SHOP"."T"("ID","V") values ('2','{WORD}');""", insert(3, "good")]
    changes = committed(0, 20, (1, words[0], "R2"), (1, words[1], "R3"))
    rows = [
        {**row, "ordinal": row["ordinal"] + 100 * n, "xid": f"{row['xid']}{n}"}
        for n in (1, 2)
        for row in of_table(changes, f"T{n}", 100 + n)
    ]
    first = land(tmp_path / "w1", 10, 100, rows)

    held = run_batch(spark, batch_spec(tmp_path / "one", [first], [keyed, appended])).tables

    assert [(one.state, one.error and one.error["code"]) for one in held] == [("held", "ValueDoesNotFit")] * 2
    assert [one.error and "in the row with ID 2" in one.error["what"] for one in held] == [True, False]
    assert [len(rows_of(spark, mine)) for mine in (keyed, appended)] == [1, 1]
    fixed = of_table(committed(50, 150, (3, update(2, WORD, "other"), "R2")), "T1", 101)
    second = land(tmp_path / "w2", 100, 200, fixed)
    done = run_batch(spark, batch_spec(tmp_path / "two", [first, second], [keyed])).tables[0]
    assert (done.state, done.error) == ("applied", None)
    assert [(int(row[0]), row[1]) for row in rows_of(spark, keyed)] == [(1, "fits"), (2, "other"), (3, "good")]


def test_a_ddl_that_takes_away_a_partitions_column_holds_the_table_with_a_cure_that_helps(spark: Any, tmp_path: Path) -> None:
    columns = ((ID, V, N), (ID, N))
    versions = tuple(version(scn=scn, columns=one) for scn, one in zip((0, 40), columns, strict=True))
    steps = (ColumnChange(40, "drop_column", V),)
    mine = task(tmp_path, versions=(replace(versions[0], columns=(ID, V)), versions[1]), ddl=steps, options=BY_V)
    assert load(spark, tmp_path, mine, 5, [{"ID": 1, "V": "fits"}]) == {"error": None}

    held = run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, committed(0, 50))], [mine])).tables[0]

    assert held.error is not None
    assert held.error["code"] == "SchemaConflict"
    assert "take it out of `partition_by` of SHOP.T" in held.error["cure"]
