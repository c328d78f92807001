"""Which readers open the lake, and what they make of each value: after changes and DDL, under both profiles.

The second test asks some of the questions of docs/reference/readers.md, `make readers` all of them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from redolake.apply.delta import table as delta_table
from redolake.job.batch import run_batch
from redolake.job.snapshot import run_snapshot
from redolake.records.batches.spec import ColumnChange, TableTask
from redolake.values.table import Column, OracleType, TableId
from redolake.values.target_options import TargetOptions
from tests.integration.spark.landing import land
from tests.integration.spark.reader_matrix import (
    RIGHT,
    Cells,
    Lake,
    State,
    asked,
    cells_of,
    cells_of_past,
    past,
    states_of_any,
    states_of_spark,
)
from tests.integration.spark.reader_parts import Parts
from tests.integration.spark.redo_rows import committed, delete, insert, of_table, update
from tests.integration.spark.specs import ID, V, batch_spec, snapshot_spec, task, version
from tests.support.documented_readers import Documented, as_documented
from tests.support.lake_readers import Reader, Spark, readers_here
from tests.tables.lake_values import COLUMNS

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[3] / "docs" / "concepts" / "reading-the-lake.md"
HOW_TO = PAGE.parents[1] / "how-to" / "read-the-lake.md"
D = Column(3, "D", OracleType("DATE"), 3)
N = Column(4, "N", OracleType("NUMBER", precision=5, scale=1), 4)
AFTER_DDL = (ID, replace(V, name="TEXT"), D)
Rows = set[tuple[Any, ...]]
GOLDEN = Path(__file__).parents[2] / "golden" / "readers.json"
PARTS = Path(__file__).parents[3] / ".readers"
ALL = os.environ.get("REDOLAKE_ALL_READERS", "") != ""
RESULTS = ("right", "refused", "wrong")
WRITES = os.environ.get("REDOLAKE_WRITE_READERS", "") != ""  # the golden table
PARTITIONS = [column for column in COLUMNS if column.in_path and (ALL or column.name in ("DEC38", "TSTZ", "TEXT_"))]
READERS = {
    reader.name: reader for reader in readers_here(with_java=ALL) if not reader.name.startswith(("pandas", "Polars, read"))
}


def as_rows(table: pa.Table) -> Rows:
    return {tuple((name, str(value)) for name, value in row.items()) for row in table.to_pylist()}


def by_spark(spark: Any, path: str) -> Rows:
    return as_rows(spark.read.format("delta").load(path).toArrow())


def answer(reader: Reader, path: str, expected: Rows) -> str:
    try:
        rows = as_rows(reader.table(path))
    except Exception as refused:
        return f"no: {refused}"
    assert rows == expected
    return "yes"


def described() -> list[list[str]]:
    """Return the cells of the page's table: a line for each reader."""
    lines = PAGE.read_text().partition("| Reader |")[2].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[: lines.index("")]]
    return [line for line in cells if line[0] in READERS]


def captured(folder: Path, name: str, object_id: int, options: TargetOptions) -> TableTask:
    table = TableId("SHOP", name)
    versions = (
        version(table, columns=(ID, V), object_id=object_id),
        version(table, 120, (ID, V, D, N), object_id),
        version(table, 140, AFTER_DDL, object_id),
    )
    steps = (
        ColumnChange(120, "add_column", D),
        ColumnChange(120, "add_column", N, "7.5"),
        ColumnChange(140, "rename_column", AFTER_DDL[1]),
        ColumnChange(140, "drop_column", N),
    )
    return task(folder, table, object_id, versions=versions, ddl=steps, options=options)


@pytest.mark.usefixtures("merged_by_spark")  # with deletion vectors
def test_each_reader_returns_the_rows_of_spark_or_refuses_as_the_page_says(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta_table, "REWRITTEN_BYTES", 0)  # as in a large table
    tasks = [captured(tmp_path, "T1", 101, TargetOptions("spark")), captured(tmp_path, "T2", 102, TargetOptions("any"))]
    rows = [{"ID": n, "V": f"v{n}"} for n in range(1, 9)]
    for mine in tasks:
        loaded = snapshot_spec(tmp_path, mine, 5, rows)
        run_snapshot(spark, replace(loaded, tables=(replace(loaded.tables[0], options=mine.destination.options),)))
    answers = {"new": read(spark, tasks)}
    changes = committed(0, 20, (1, insert(9, "new"), "R9"), (3, update(2, "v2", "changed"), "R2"), (2, delete(3, "v3"), "R3"))
    run(spark, tmp_path, tasks, 10, changes)
    answers["merged"] = read(spark, tasks)
    date = "TO_DATE('2026-01-02 03:04:05', 'YYYY-MM-DD HH24:MI:SS')"
    dated = f"""insert into "SHOP"."T"("ID","TEXT","D") values ('10','ten',{date});"""
    run(spark, tmp_path, tasks, 100, committed(30, 150, (1, dated, "R10")))
    answers["evolved"] = read(spark, tasks)

    assert [len(by_spark(spark, mine.destination.target)) for mine in tasks] == [9, 9]
    of_any = {f"{reader} {when}": found[1][reader] for when, found in answers.items() for reader in READERS}
    assert {key: said for key, said in of_any.items() if said != "yes"} == {}
    found = [[reader, *(answers[when][0][reader][:3].strip(":") for when in answers), "yes"] for reader in READERS]
    assert found == described()


def test_the_block_of_spark_runs_as_its_page_prints_it(spark: Any, tmp_path: Path) -> None:
    """The blocks of the other readers are run by tests/unit/test_read_the_lake.py."""
    block = HOW_TO.read_text().partition("## Spark\n\n```sql\n")[2].partition("```")[0]
    path = str(tmp_path / "orders")
    spark.createDataFrame([(1, "NEW"), (2, "PAID"), (3, "NEW")], "ID int, STATUS string").write.format("delta").save(path)

    *made, query = block.replace("/data/lake/shop/orders", path).strip().removesuffix(";").split(";\n")
    for statement in made:
        spark.sql(statement)
    try:
        assert [tuple(row) for row in spark.sql(query).collect()] == [("NEW", 2), ("PAID", 1)]
    finally:
        spark.sql("DROP VIEW shop.orders")


def test_no_reader_shows_or_finds_another_value_than_the_table_says(spark: Any, connect_beside: Any, tmp_path: Path) -> None:
    lake, parts, documented = Lake(spark, tmp_path), Parts(PARTS if WRITES else None), Cells()
    readers: list[Reader] = [*readers_here(with_java=ALL), Spark(spark), Spark(connect_beside, "Spark Connect")]
    ways = [way for reader in readers if (way := as_documented(reader)) is not None]
    for state in (*states_of_any(lake, PARTITIONS), *states_of_spark(lake)):
        if not state.name.startswith("spark:"):
            documented |= documented_cells(ways, state)
        for reader in readers:
            with reader.zone(state.zone):
                parts.add(
                    reader,
                    state.key,
                    state.path,
                    partial(cells_of, reader, state, partial(asked, reader, state, everything=ALL)),
                )

    then = past(lake)
    for reader in readers:
        parts.add(reader, "past", then.path, partial(cells_of_past, reader, then))
    for way in ways:
        documented |= cells_of_past(way.reader, then)
    for reader in (*readers, *(way.reader for way in ways)):
        reader.end()

    found = parts.cells
    of_any = {key: result for key, result in found.items() if "spark:" not in key[1]} | documented
    if WRITES:
        GOLDEN.write_text(text_of(golden_of(found, of_any, readers, parts)))
    golden = json.loads(GOLDEN.read_text())
    expected = {tuple(key): result for *key, result in golden["others"]}
    whole = {(reader, state): error for reader, of in golden["refused"].items() for state, error in of.items()}
    missed = {key: result for key, result in found.items() if result != expected.get(key, whole.get(key[:2], RIGHT))}
    assert missed == {}
    assert not ALL or {key for key in expected if key[0] in {r.name for r in readers}} <= found.keys()
    assert {key: result for key, result in of_any.items() if result.startswith("wrong")} == {}
    assert not ALL or counts_of(of_any).items() <= golden["documented"].items()


def test_a_table_of_before_is_measured_alike_once_it_is_loaded_again(spark: Any, tmp_path: Path) -> None:
    """Delta keeps a table's properties where its rows are replaced, and with them the columns that it measures."""
    lake = Lake(spark, tmp_path)
    path = lake.load([column for column in COLUMNS if column.name in ("INT_", "BOOL", "DEC38")], "any")
    measured = spark.sql(f"SHOW TBLPROPERTIES delta.`{path}`").where("key = 'delta.dataSkippingStatsColumns'").collect()
    assert [row["value"] for row in measured] == ["`ID`,`INT_`,`_commit_scn`"]
    lake.alter(path, "UNSET TBLPROPERTIES ('delta.dataSkippingStatsColumns')")

    (loaded,) = run_snapshot(spark, replace(lake.last, token="again", replace=True)).tables

    assert loaded.error is None
    assert spark.sql(f"SHOW TBLPROPERTIES delta.`{path}`").where("key = 'delta.dataSkippingStatsColumns'").collect() == measured
    bounds = [set(json.loads(add["stats"])["minValues"]) for add in added(Path(path))]
    assert bounds[-1] <= {"ID", "INT_", "_commit_scn"}, "the newest files have other statistics"


def documented_cells(ways: Sequence[Documented], state: State) -> Cells:
    """Return the cells of a state in the columns that the page says to read in another way, read in that way."""
    found: Cells = {}
    for way in ways:
        if columns := [column for column in state.columns if way.needs(column.lake)]:
            with way.reader.zone(state.zone):
                own = partial(asked, way.reader, state, everything=ALL)
                found |= cells_of(way.reader, replace(state, columns=columns), own)
    return found


def counts_of(cells: Cells) -> dict[str, list[int]]:
    """Return how many of each reader's cells are right, refused, wrong."""
    counts: dict[str, list[int]] = {}
    for (reader, *_), result in cells.items():
        counts.setdefault(reader, [0, 0, 0])[RESULTS.index(result.partition(":")[0])] += 1
    return counts


def added(table: Path) -> list[dict[str, Any]]:
    """Return the add actions of the table's commits, the newest last."""
    lines = [line for file in sorted(table.glob("_delta_log/*.json")) for line in file.read_text().splitlines()]
    return [action["add"] for action in map(json.loads, lines) if "add" in action]


def text_of(golden: dict[str, Any]) -> str:
    """Return JSON with a line for each cell."""
    cells = ",\n".join(json.dumps(cell, ensure_ascii=False) for cell in golden["others"])
    head = json.dumps({key: value for key, value in golden.items() if key != "others"}, indent=1, ensure_ascii=False)
    return f'{head[:-2]},\n "others": [\n{cells}\n]}}\n'


def golden_of(found: Cells, of_any: Cells, readers: Sequence[Reader], parts: Parts) -> dict[str, Any]:
    counts: dict[str, dict[str, list[int]]] = {}
    for (reader, state, _, _), result in found.items():
        of = counts.setdefault(reader, {}).setdefault(state, [0, 0, 0])
        of[RESULTS.index(result.partition(":")[0])] += 1
    results: dict[tuple[str, str], set[str]] = {}
    for key, result in found.items():
        results.setdefault(key[:2], set()).add(result)
    whole = {key: min(one) for key, one in results.items() if len(one) == 1 and min(one) != RIGHT}
    return {
        "refused": {of: {state: error for (name, state), error in sorted(whole.items()) if name == of} for of in counts},
        "asked": {reader.name: parts.days[reader.name] for reader in readers},
        "versions": {reader.name: reader.version for reader in readers},
        "counts": counts,
        "documented": counts_of(of_any),
        "others": sorted([*key, result] for key, result in found.items() if result != RIGHT and key[:2] not in whole),
    }


def run(spark: Any, folder: Path, tasks: list[TableTask], start: int, changes: list[dict[str, Any]]) -> None:
    rows = [row for n, mine in enumerate(tasks) for row in of_table(shifted(changes, n), mine.table.name, 101 + n)]
    window = land(folder / f"w{start}", start, 100 if start < 100 else 200, rows)
    result = run_batch(spark, batch_spec(folder / str(start), [window], tasks))
    assert [table.error for table in result.tables] == [None] * len(tasks)


def shifted(rows: list[dict[str, Any]], n: int) -> list[dict[str, Any]]:
    """Return the same changes in a transaction of their own."""
    return [{**row, "ordinal": row["ordinal"] + 500 * n, "xid": f"{row['xid']}{n}"} for row in rows]


def read(spark: Any, tasks: list[TableTask]) -> list[dict[str, str]]:
    """Return, for each table, each reader's answer."""
    found = []
    for mine in tasks:
        expected = by_spark(spark, mine.destination.target)
        found.append({name: answer(reader, mine.destination.target, expected) for name, reader in READERS.items()})
    return found
