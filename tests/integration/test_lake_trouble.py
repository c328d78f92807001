"""Trouble of the whole lake or landing ends the command, holds no table, and the next run goes on by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.errors import LakeFull, LakeMissing, LakeRefused, LandingMissing, LandingUnwritable, RedolakeError
from tests.fixtures.shop import Shop
from tests.references.source_comparison import compare_with_source
from tests.support.doctor import run_doctor
from tests.support.mounts import fill, needs_mount, not_mounted, read_only, small_disk

pytestmark = [pytest.mark.spark, needs_mount]

TABLES = ["SHOP.CUSTOMERS", "SHOP.PAYMENTS"]
SMALL_KIB = 2048


@contextmanager
def full(lake: Path) -> Iterator[None]:
    file = fill(lake)
    try:
        yield
    finally:
        file.unlink()


TROUBLES: dict[str, tuple[Callable[[Path], AbstractContextManager[None]], type[RedolakeError]]] = {
    "full": (full, LakeFull),
    "read-only": (read_only, LakeRefused),
    "not mounted": (not_mounted, LakeMissing),
}


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "lake", SMALL_KIB):
        yield tmp_path / "lake"


def begun(shop: Shop, spark: Any) -> Pipeline:
    shop.work(10)
    pipeline = shop.pipeline(tables=TABLES)
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    shop.work(10, seed=2)
    shop.switch_logs()
    return pipeline


def commands(pipeline: Pipeline, shop: Shop, spark: Any) -> dict[str, Callable[[], object]]:
    return {
        "run": lambda: steps.run_pipeline(pipeline, source=shop.params, spark=spark),
        "snapshot": lambda: steps.take_snapshot(pipeline, TABLES[:1], replace=True, source=shop.params, spark=spark),
        "verify": lambda: steps.verify_tables(pipeline, source=shop.params, spark=spark),
    }


def test_trouble_of_the_whole_lake_holds_no_table_and_the_next_run_goes_on(shop: Shop, lake: Path, spark: Any) -> None:
    pipeline = begun(shop, spark)

    for name, (trouble, error) in TROUBLES.items():
        with trouble(lake):
            for command, do in commands(pipeline, shop, spark).items():
                if (name, command) in READS_ONLY:
                    continue
                with pytest.raises(error) as raised:
                    do()
                assert "no table is held" in raised.value.cure, (name, command)
            if name == "not mounted":
                assert list(lake.iterdir()) == []
        assert {t.state for t in steps.read_status(pipeline).tables} <= {"live", "snapshotting"}, name

    shop.work(10, seed=3)
    shop.switch_logs()
    steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params, spark=spark)
    assert {t.state for t in steps.read_status(pipeline).tables} == {"live"}
    start, end = map(int, steps.read_status(pipeline).windows[-1].name.split("-")[1:])
    with not_mounted(lake), pytest.raises(LakeMissing):
        steps.run_backfill(pipeline, start, end, TABLES[1:], execute=True, spark=spark)
    assert steps.verify_tables(pipeline, source=shop.params, spark=spark).equal


READS_ONLY = {("full", "verify"), ("read-only", "verify")}


def test_a_lake_of_an_older_redolake_is_marked(shop: Shop, lake: Path, spark: Any) -> None:
    pipeline = begun(shop, spark)
    mark = lake / "_redolake" / "shop.json"
    mark.unlink()
    (record,) = Path(pipeline.landing, "shop", "lakes").iterdir()
    record.unlink()

    with not_mounted(lake), pytest.raises(LakeMissing, match="none of the tables"):
        steps.run_pipeline(pipeline, source=shop.params, spark=spark)
    steps.run_pipeline(pipeline, source=shop.params, spark=spark)

    assert mark.is_file()
    with not_mounted(lake), pytest.raises(LakeMissing, match="has lost the file"):
        steps.verify_tables(pipeline, source=shop.params, spark=spark)


def test_a_lake_that_was_emptied_on_purpose_is_filled_again_after_the_cure(shop: Shop, lake: Path, spark: Any) -> None:
    pipeline = begun(shop, spark)
    with not_mounted(lake):
        with pytest.raises(LakeMissing) as missing:
            steps.run_pipeline(pipeline, source=shop.params, spark=spark)
        file = Path(missing.value.cure.partition("create the empty file ")[2].partition(",")[0])
        file.parent.mkdir()
        file.touch()
        steps.run_pipeline(pipeline, source=shop.params, spark=spark)
        held = [t.table for t in steps.read_status(pipeline).tables if t.state == "held"]
        assert held == TABLES
        steps.take_snapshot(pipeline, TABLES, replace=True, source=shop.params, spark=spark)
        assert steps.verify_tables(pipeline, source=shop.params, spark=spark).equal


def test_a_landing_that_is_not_mounted_is_no_new_pipeline(shop: Shop, lake: Path, spark: Any, tmp_path: Path) -> None:
    pipeline = begun(shop, spark)
    landing = Path(pipeline.landing)
    with not_mounted(landing):
        with pytest.raises(LandingMissing, match="the lake was written from it"):
            steps.run_pipeline(pipeline, source=shop.params, spark=spark)
        errors = [finding.what for finding in run_doctor(pipeline, shop.params) if finding.severity == "error"]
        assert [what.partition(":")[0] for what in errors] == ["the landing is empty, and the lake was written from it"]

    steps.run_pipeline(pipeline, source=shop.params, spark=spark)
    assert steps.verify_tables(pipeline, source=shop.params, spark=spark).equal


def test_a_landing_that_the_ledger_knows_and_that_is_not_mounted_is_one_error(shop: Shop, lake: Path, spark: Any) -> None:
    pipeline = shop.pipeline(tables=TABLES, ledger={"url": f"sqlite:///{shop.folder}/ledger.db"})
    shop.work(10)
    steps.take_snapshot(pipeline, source=shop.params, spark=spark)
    shop.work(10, seed=2)
    shop.switch_logs()

    with not_mounted(Path(pipeline.landing)):
        for do in commands(pipeline, shop, spark).values():
            with pytest.raises(LandingMissing, match="the ledger knows this pipeline"):
                do()

    steps.run_pipeline(pipeline, source=shop.params, spark=spark)
    assert compare_with_source(pipeline, shop.params).equal


def test_a_landing_that_is_full_while_a_snapshot_is_read_holds_no_table(shop: Shop, spark: Any) -> None:
    landing = shop.folder / "landing"
    pipeline = shop.pipeline(tables=TABLES, ledger={"url": f"sqlite:///{shop.folder}/ledger.db"})
    shop.work(10)

    def fill_before_reading(line: str) -> None:
        if line.startswith("reading"):
            fill(landing)

    with small_disk(landing, SMALL_KIB):
        with pytest.raises(LandingUnwritable, match="No space left"):
            steps.take_snapshot(pipeline, source=shop.params, spark=spark, report=fill_before_reading)
        assert [t.table for t in steps.read_status(pipeline).tables if t.state == "held"] == []

        (landing / "fills-the-disk").unlink()
        steps.take_snapshot(pipeline, source=shop.params, spark=spark)
        assert {t.state for t in steps.read_status(pipeline).tables} == {"live"}
