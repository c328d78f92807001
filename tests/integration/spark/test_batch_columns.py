"""Batches that change columns: by DDL in the redo, and where the columns of an older lake have another type."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from redolake.apply.delta.plain_types import COLLATED
from redolake.job.batch import run_batch
from redolake.job.snapshot import run_snapshot
from redolake.records.batches.spec import ColumnChange
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import committed, control, insert, move, update
from tests.integration.spark.specs import ID, V, W, batch_spec, created, loaded, snapshot_spec, task, version
from tests.integration.spark.table_with_ddl import AFTER_DDL, N, ddl_rows, rows_of, with_ddl
from tests.references.delta_table import delta_rows, position_of, read_delta
from tests.support.killed import killed_at

pytestmark = pytest.mark.spark


def test_ddl_between_changes_is_followed_and_continues_after_a_kill(spark, tmp_path: Path) -> None:
    mine = with_ddl(tmp_path)
    loaded(spark, tmp_path, mine)
    spec = batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, ddl_rows())], [mine])

    for point in ("merge", "evolve", "evolve#2", "fill", "merge", "evolve"):
        with killed_at(point):
            run_batch(spark, spec)
    result = run_batch(spark, spec)

    assert result.tables[0].error is None
    assert rows_of(spark, mine) == AFTER_DDL
    assert (result.tables[0].complete_to, position_of(mine.destination.target, mine.destination.app_id)) == (99, 99)
    Path(spec.manifest).unlink()
    assert run_batch(spark, spec).tables[0].delta_version == result.tables[0].delta_version


def test_a_followed_ddl_does_not_count_as_another_writer(spark, tmp_path: Path) -> None:
    mine = task(tmp_path, versions=(version(), version(scn=40, columns=(ID, V, W))), ddl=(ColumnChange(40, "add_column", W),))
    loaded(spark, tmp_path, mine)
    first = run_batch(spark, batch_spec(tmp_path / "1", [land(tmp_path / "w", 10, 100, [control(0, 20, 7)])], [mine]))
    later = land(tmp_path / "x", 100, 200, committed(0, 120, (1, insert(2, "b"))))

    second = run_batch(spark, batch_spec(tmp_path / "2", [later], [mine]))
    assert (first.tables[0].ddl, second.tables[0].ddl, second.tables[0].error) == ({"add_column": 1}, {}, None)


def test_a_table_replaced_from_before_an_added_default_gets_the_default_again(spark, tmp_path: Path) -> None:
    """Nothing changed the table after the DDL at 40, so its position is the snapshot's; then it is replaced AS OF 20."""
    mine = task(
        tmp_path, versions=(version(), version(scn=40, columns=(ID, V, N))), ddl=(ColumnChange(40, "add_column", N, "7.5"),)
    )
    rows = [{"ID": 1, "V": "a"}]
    window = land(tmp_path / "w", 10, 100, [control(0, 20, 7)])
    loaded(spark, tmp_path, mine, rows=rows)
    run_batch(spark, batch_spec(tmp_path / "1", [window], [mine]))

    run_snapshot(spark, snapshot_spec(tmp_path, mine, 20, rows, replace=True))
    result = run_batch(spark, batch_spec(tmp_path / "2", [window], [mine]))

    assert result.tables[0].error is None
    assert [str(row["N"]) for row in delta_rows(mine.destination.target)] == ["7.5"]


def test_an_update_without_a_defaulted_column_keeps_its_value(spark, tmp_path: Path) -> None:
    """Oracle does not rewrite rows for ADD COLUMN .. DEFAULT: their redo shows NULL, or nothing, where SELECT shows 7.5."""
    mine = task(tmp_path, versions=(version(columns=(ID, V, N)),), defaulted=(3,))
    created(spark, mine)
    path = f"delta.`{mine.destination.target}`"
    spark.sql(
        f"INSERT INTO {path} VALUES (1, 'a', 7.5, 5), (2, 'b', 7.5, 5), (3, 'c', 7.5, 5), (4, 'd', 7.5, 5), (6, 'f', 3, 5)"
    )
    null = """ and "N" IS NULL;"""
    rows = [
        *committed(0, 20, (3, update(1, "a", "aa"), "R1")),
        *committed(10, 22, (3, move(2, 3, "b")[:-1] + null, "R2"), (3, move(3, 2, "c")[:-1] + null, "R3")),
        *committed(20, 24, (3, """update "SHOP"."T" set "N" = NULL where "ID" = '4' and "V" = 'd' and "N" IS NULL;""", "R4")),
        *committed(30, 26, (3, update(4, "d", "dd")[:-1] + null, "R4")),
        *committed(40, 28, (1, """insert into "SHOP"."T"("ID","V","N") values ('5','e',NULL);""", "R5")),
        *committed(50, 30, (3, update(5, "e", "ee")[:-1] + null, "R5")),
        *committed(60, 32, (3, update(6, "f", "ff")[:-1] + """ and "N" = '3';""", "R6"), (3, move(6, 7, "ff"), "R6")),
    ]

    result = run_batch(spark, batch_spec(tmp_path, [land(tmp_path / "w", 10, 100, rows)], [mine]))

    assert result.tables[0].error is None
    found = {int(row["ID"]): (row["V"], row["N"]) for row in delta_rows(mine.destination.target)}
    values = {key: (text, None if number is None else float(number)) for key, (text, number) in found.items()}
    assert values == {1: ("aa", 7.5), 3: ("b", 7.5), 2: ("c", 7.5), 4: ("dd", None), 5: ("ee", None), 7: ("ff", 3.0)}


def as_connect_wrote_it(there: Path, target: Path) -> None:
    """Copy a table with the schema that lakes written over Spark Connect had. The copy's path is new to the session."""
    shutil.copytree(there, target, ignore=shutil.ignore_patterns(".*.crc"))
    plain = r"\"type\":\"string\""
    for file in (target / "_delta_log").glob("0*"):
        file.write_text(file.read_text().replace(plain, plain.replace("string", COLLATED)))


def test_text_columns_of_an_older_lake_become_plain_strings_in_one_commit(spark, tmp_path: Path) -> None:
    mine = task(tmp_path)
    first = task(tmp_path / "first")
    loaded(spark, tmp_path, first, rows=[{"ID": 1, "V": "a"}])
    as_connect_wrote_it(Path(first.destination.target), Path(mine.destination.target))
    windows = [land(tmp_path / str(start), start, start + 90, [control(0, start + 10, 7)]) for start in (10, 100)]
    with pytest.raises(KeyError, match="collate"):
        read_delta(mine.destination.target)

    with killed_at("evolve"):
        run_batch(spark, batch_spec(tmp_path, windows[:1], [mine]))
    results = [run_batch(spark, batch_spec(tmp_path, [window], [mine])).tables[0] for window in windows]

    assert [(result.error, result.delta_version) for result in results] == [(None, 2), (None, 2)]
    assert read_delta(mine.destination.target).to_pylist() == [{"ID": 1, "V": "a", "_commit_scn": 5}]
    assert position_of(mine.destination.target, mine.destination.app_id) == 5
    run_snapshot(spark, snapshot_spec(tmp_path, mine, 300, [{"ID": 2, "V": "b"}]))
    assert read_delta(mine.destination.target).to_pylist() == [{"ID": 2, "V": "b", "_commit_scn": 300}]
