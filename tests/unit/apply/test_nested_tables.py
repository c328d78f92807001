"""Folders of Delta tables that lie inside each other, as two pipelines that do not know of each other may have them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from redolake.apply.lake_tables import check_not_nested
from redolake.apply.table import check_whose
from redolake.errors import FolderTaken
from redolake.job.lake import has_neighbours
from redolake.values.table import TableId

TABLE = TableId("SHOP", "T")


def delta(folder: Path, pipeline: str | None = "other") -> str:
    (folder / "_delta_log").mkdir(parents=True)
    marks = {} if pipeline is None else {"redolake.pipeline": pipeline, "redolake.table": "SHOP.U"}
    action = {"metaData": {"configuration": marks, "schemaString": "{}"}}
    (folder / "_delta_log" / f"{0:020d}.json").write_text(json.dumps(action))
    return str(folder)


@pytest.mark.parametrize("inner", ["t", "x/y/t", "K=1/t/../t2"])
def test_a_table_inside_that_of_another_pipeline_is_refused_and_names_it(tmp_path: Path, inner: str) -> None:
    outer, mine = delta(tmp_path / "outer"), delta((tmp_path / "outer" / inner).resolve(), "mine")

    with pytest.raises(FolderTaken, match=rf"lies inside that of SHOP.U of pipeline other \({outer}\)"):
        check_not_nested(mine, TABLE)


@pytest.mark.parametrize("inner", ["t", "x/y/t", "K=1/t", "_K=1/t", "K=1/L=2/x/t"])  # VACUUM looks below partitions too
def test_a_table_around_that_of_another_pipeline_is_refused_and_names_it(tmp_path: Path, inner: str) -> None:
    mine, other = delta(tmp_path / "mine", "mine"), delta(tmp_path / "mine" / inner)

    with pytest.raises(FolderTaken, match=rf"lies around that of SHOP.U of pipeline other \({other}\)"):
        check_not_nested(mine, TABLE)


def test_a_table_around_one_that_redolake_did_not_write_is_refused(tmp_path: Path) -> None:
    mine = delta(tmp_path / "mine", "mine")
    delta(tmp_path / "mine" / "t", None)

    with pytest.raises(FolderTaken, match="around that of a Delta table that Redolake did not write"):
        check_not_nested(mine, TABLE)


def test_tables_beside_each_other_and_what_vacuum_passes_over_are_fine(tmp_path: Path) -> None:
    mine = delta(tmp_path / "lake" / "t", "mine")
    delta(tmp_path / "lake" / "u")
    delta(tmp_path / "lake" / "t" / "_shadow" / "u")
    (tmp_path / "lake" / "t" / "K=1").mkdir()

    check_not_nested(mine, TABLE)
    check_not_nested(str(tmp_path / "lake" / "new"), TABLE)


MARK = "_redolake/mine.json"


def marked(lake: Path, pipeline: str) -> Path:
    (lake / "_redolake").mkdir(parents=True, exist_ok=True)
    (lake / "_redolake" / f"{pipeline}.json").write_text("{}")
    return lake


@pytest.mark.parametrize("other", [".", "..", "../../.."])
def test_another_pipeline_in_the_lake_or_around_it_is_known_by_its_mark(tmp_path: Path, other: str) -> None:
    lake = marked(tmp_path / "a" / "b" / "lake", "mine")
    (lake / "_redolake" / "write-test-1").write_text("")
    assert not has_neighbours(str(lake), MARK)
    marked((lake / other).resolve(), "other")

    assert has_neighbours(str(lake), MARK)
    assert has_neighbours(f"file://{lake}/", MARK)


def test_the_same_mark_around_the_lake_is_that_of_another_pipeline_of_the_name(tmp_path: Path) -> None:
    lake = marked(marked(tmp_path, "mine") / "lake", "mine")

    assert has_neighbours(str(lake), MARK)


def test_a_batch_asks_for_nested_folders_only_beside_another_pipeline(tmp_path: Path) -> None:
    path = delta(Path(delta(tmp_path / "t")) / "inner", "mine")
    task: Any = SimpleNamespace(
        table=TABLE, destination=SimpleNamespace(app_id=""), course=SimpleNamespace(latest=SimpleNamespace(object_id=7))
    )
    target: Any = SimpleNamespace(log=None, path=path)

    def ask(has: bool) -> None:
        context: Any = SimpleNamespace(origin="", has_neighbours=has, may_commit=None, check_lake=None)
        check_whose(context, target, task)

    ask(False)
    with pytest.raises(FolderTaken, match="lies inside that of SHOP"):
        ask(True)


def test_a_batch_lists_no_partitions(tmp_path: Path) -> None:
    mine = delta(tmp_path / "mine", "mine")
    delta(tmp_path / "mine" / "K=1" / "t")

    check_not_nested(mine, TABLE, in_partitions=False)
