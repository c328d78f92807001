"""A small table that is merged in this process has the rows, the types and the files that Spark would have left."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from redolake.apply import small_tables
from redolake.apply.delta import small_merge
from redolake.apply.delta import table as delta_table
from redolake.apply.lake_tables import open_table
from redolake.apply.target import NetColumns, Tag, Terms
from redolake.errors import Transient
from redolake.job.batch import run_batch
from redolake.records.batches.manifest import TableResult
from redolake.records.batches.spec import TableTask
from redolake.values import frames
from redolake.values.table import Column, OracleType
from redolake.values.target_options import TargetOptions
from redolake.values.terms import RowCounts
from tests.integration.spark.landing import land
from tests.integration.spark.reader_matrix import RIGHT, Cells, Lake, State, asked, cells_of
from tests.integration.spark.redo_rows import committed, delete, insert, update
from tests.integration.spark.specs import ID, TABLE, V, batch_spec, contents, loaded, task, version
from tests.integration.spark.test_readers import ALL, GOLDEN
from tests.references.delta_table import delta_rows
from tests.support.lake_readers import Spark, readers_here
from tests.tables.lake_values import COLUMNS

pytestmark = pytest.mark.spark

ROWS = [{"ID": n, "V": f"v{n}"} for n in range(1, 4)]
FITS = Column(3, "FITS", OracleType("VARCHAR2", length=100), 3)  # as a column of what this process fetches is called


def apply(spark: Any, folder: Path, mine: TableTask, start: int, *changes: tuple[Any, ...]) -> TableResult:
    window = land(folder / f"w{start}", start, start + 100, committed(start, start + 10, *changes))
    (result,) = run_batch(spark, batch_spec(folder, [window], [mine])).tables
    return result


def log_of(mine: TableTask) -> Path:
    return Path(mine.destination.target, "_delta_log")


def writers(mine: TableTask) -> list[str]:
    """Return who has made each commit of changes."""
    infos = [json.loads(file.read_text().splitlines()[0])["commitInfo"] for file in sorted(log_of(mine).glob("0*.json"))]
    return [info["engineInfo"].partition("/")[0] for info in infos if info["operation"] == "MERGE"]


DIRECT = pytest.mark.parametrize("few_changes", ["direct"], indirect=True)


@DIRECT
def test_both_ways_follow_each_other(spark, tmp_path: Path, few_changes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark takes its turn, writes a checksum of what this process has left, and the table stays one that this process writes,
    though it is small beside its changes alone. What no change names keeps its value."""
    monkeypatch.setattr(small_merge, "SPARKS_TURN", 4)
    monkeypatch.setattr(delta_table, "REWRITTEN_BYTES", 0)
    monkeypatch.setattr(delta_table, "BYTES_A_CHANGE", 1 << 20)
    mine = task(tmp_path, versions=(version(columns=(ID, V, FITS)),))
    loaded(spark, tmp_path, mine, rows=[{**row, "FITS": f"own {row['ID']}"} for row in ROWS])
    counted, expected = [], {1: "v1", 2: "v2", 3: "v3"}
    for n in range(5):
        changes = [(3, update(1, expected[1], f"at {n}")), (1, insert(10 + n, "new"))]
        expected |= {1: f"at {n}", 10 + n: "new"}
        if n:
            changes.append((2, delete(9 + n, "new")))
            del expected[9 + n]
        result = apply(spark, tmp_path, mine, 10 + 100 * n, *changes)
        assert result.error is None
        counted.append((result.inserted, result.updated, result.deleted))
        assert contents(mine) == expected
        assert {int(row.ID): row.V for row in spark.read.format("delta").load(mine.destination.target).collect()} == expected
        table = open_table(spark, mine.destination.target, mine.destination.app_id)
        assert table.bytes == sum(file.stat().st_size for file in map(Path, live_files(mine)))

    assert counted == [(1, 1, 0), *[(1, 1, 1)] * 4]
    own = {int(row["ID"]): row["FITS"] for row in delta_rows(mine.destination.target)}
    assert own == {1: "own 1", 2: "own 2", 3: "own 3", 14: None}
    assert writers(mine) == ["Redolake", "Redolake", "Apache-Spark", "Redolake", "Redolake"]


def live_files(mine: TableTask) -> list[str]:
    log = open_table(None, mine.destination.target, mine.destination.app_id).log  # type: ignore[arg-type]
    assert log is not None
    return [f"{mine.destination.target}/{name}" for name in log.files()]


@DIRECT
def test_of_two_who_commit_at_once_one_is_refused(
    spark, tmp_path: Path, few_changes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one comes after all checks. Its commit stays."""
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine, rows=ROWS)
    assert apply(spark, tmp_path, mine, 10, (3, update(1, "v1", "first"))).error is None
    real, theirs = small_merge.create, b'{"commitInfo":{"operation":"SET TBLPROPERTIES"}}\n'

    def other_first(log: Any, path: str, body: bytes) -> None:
        if path.endswith(".json"):
            Path(path).write_bytes(theirs)
        real(log, path, body)

    monkeypatch.setattr(small_merge, "create", other_first)
    with pytest.raises(Transient, match="another writer changed the table meanwhile"):
        apply(spark, tmp_path, mine, 110, (3, update(1, "first", "second")))
    monkeypatch.undo()

    assert contents(mine) == {1: "first", 2: "v2", 3: "v3"}
    assert max(log_of(mine).glob("0*.json")).read_bytes() == theirs


@DIRECT
@pytest.mark.parametrize(("fails", "inserted"), [("the file", 1), ("the commit", 1), ("the answer", 0)])
def test_where_a_file_cannot_be_written_spark_merges(
    spark, tmp_path: Path, few_changes: str, monkeypatch: pytest.MonkeyPatch, fails: str, inserted: int
) -> None:
    """Delta skips a commit that is there after all."""
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine, rows=ROWS)
    real = small_merge.create

    def failing(log: Any, path: str, body: bytes) -> None:
        is_commit = path.endswith(".json")
        if not is_commit and fails != "the file":
            return real(log, path, body)
        if fails == "the answer":
            real(log, path, body)
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(small_merge, "create", failing)
    result = apply(spark, tmp_path, mine, 10, (1, insert(9, "new")))

    assert (result.error, result.inserted, result.position) == (None, inserted, 109)
    assert contents(mine) == {1: "v1", 2: "v2", 3: "v3", 9: "new"}


@DIRECT
@pytest.mark.parametrize(
    ("changed", "redo_bytes", "writer"),
    [("v" * 90, 0, "Redolake"), ("v" * 101, 0, "Apache-Spark"), ("v" * 101, 500, "Redolake")],
)
def test_what_needs_more_memory_than_its_share_is_merged_by_spark(
    spark, tmp_path: Path, few_changes: str, monkeypatch: pytest.MonkeyPatch, changed: str, redo_bytes: int, writer: str
) -> None:
    """A text that is too long does not come to this process, as redo or as a value. Neither do all rows of a file that is small
    by its compression."""
    monkeypatch.setattr(small_tables, "MOST_REDO_BYTES", redo_bytes)
    monkeypatch.setattr(small_tables, "MOST_FETCHED_BYTES", 201)
    monkeypatch.setattr(small_merge, "MOST_IN_MEMORY", 10_000)
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine, rows=ROWS)
    for start, changes in ((10, [(1, insert(8, "new")), (3, update(1, "v1", changed))]), (110, [(2, delete(8, "new"))])):
        result = apply(spark, tmp_path, mine, start, *changes)
        assert result.error is None
        monkeypatch.setattr(small_merge, "MOST_IN_MEMORY", 100 if writer == "Apache-Spark" else 10_000)

    assert contents(mine) == {1: changed, 2: "v2", 3: "v3"}
    assert writers(mine) == [writer, writer]


@DIRECT
def test_a_batch_that_ended_before_its_manifest_is_counted(spark, tmp_path: Path, few_changes: str) -> None:
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine, rows=ROWS)
    changes = (3, update(1, "v1", "new")), (2, delete(2, "v2"))
    first = apply(spark, tmp_path, mine, 10, *changes)
    (tmp_path / "batches" / "10-110" / "manifest.json").unlink()

    again = apply(spark, tmp_path, mine, 10, *changes)

    assert (writers(mine), again.error) == (["Redolake"], None)
    assert [(one.inserted, one.updated, one.deleted, one.balance.applied) for one in (first, again)] == [(0, 1, 1, 2)] * 2


def test_each_value_of_each_type_is_what_spark_wrote_to_each_reader(spark, tmp_path: Path) -> None:
    """Each row is merged over itself. A cell may be right where Spark's statistics hide it, and never the other way."""
    path = Lake(spark, tmp_path).load(COLUMNS, "any")
    table = open_table(spark, path, "p/SHOP.T1/1")
    assert table.takes_rows(1)
    options, before = TargetOptions("any"), rows_by_arrow(table)
    files = {name: file_types(f"{path}/{name}") for name in table.log.files()}  # type: ignore[union-attr]
    ids = {column.name: column.id for column in table.columns.values()}
    net = before.rename_columns([frames.after(ids[name]) if name in ids else name for name in before.column_names])
    net = net.append_column("k1", net["a1"]).append_column("op", pa.array(["U"] * len(net)))
    with table.commit(Terms(TABLE, None, any_rows=True), Tag(table.app_id, 9, {}), "merge") as writer:
        merged = writer.merge(partial(pytest.fail, "Spark merges"), NetColumns((1,)), options, net)

    assert merged == RowCounts(updated=len(before))
    assert in_order(rows_by_arrow(table)) == in_order(before)
    (name,) = table.log.files()  # type: ignore[union-attr]
    assert {json.dumps(found) for found in files.values()} == {json.dumps(file_types(f"{path}/{name}"))}
    shown = spark.read.format("delta").load(path)
    assert in_order(shown.toArrow()) == in_order(spark.read.format("delta").option("versionAsOf", 0).load(path).toArrow())
    written = {tuple(key): result for *key, result in json.loads(GOLDEN.read_text())["others"]}
    state, found = State("merged here", path, COLUMNS), Cells()
    for reader in (*readers_here(with_java=False), Spark(spark)):
        found |= cells_of(reader, state, partial(asked, reader, replace(state, name="after OPTIMIZE"), everything=ALL))
    worse = {
        key: result
        for key, result in found.items()
        if result != RIGHT and result != written.get((key[0], "as written", *key[2:]), RIGHT)
    }
    assert worse == {}


def rows_by_arrow(table: Any) -> pa.Table:
    return small_merge.read_files(table.log, table.log.files(), small_merge.arrow_schema(table.log))


def in_order(rows: pa.Table) -> list[str]:
    """Return the rows as texts, in which -0.0 is not 0.0."""
    return sorted(map(repr, rows.select(sorted(rows.column_names)).to_pylist()))


def file_types(path: str) -> Mapping[str, str]:
    schema = pq.ParquetFile(path).schema
    return {one.name: f"{one.physical_type} {one.logical_type}" for one in (schema.column(n) for n in range(len(schema.names)))}
