"""A batch without changes needs no Spark, and says the same as with it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from redolake.errors import LandingDamaged, LeaseHeld
from redolake.job.job import run, run_without_spark
from redolake.records.batches.manifest import BatchResult
from redolake.records.batches.spec import BatchSpec, HoldAt, TableTask
from redolake.records.codec import to_body
from redolake.records.file_digest import FileDigest
from redolake.values.target_options import TargetOptions
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import control
from tests.integration.spark.specs import batch_spec, loaded, task, with_destination
from tests.references.delta_table import latest_version

pytestmark = pytest.mark.spark

ROWS = [{"ID": n, "V": f"v{n}"} for n in range(1, 4)]
OF_TIME = ("assemble_seconds", "apply_seconds", "applied_at")


@dataclass(frozen=True)
class Given:
    """A table that is complete to SCN 9, and a batch of SCN [10, 20) with the ends of others' transactions."""

    spark: Any
    folder: Path
    mine: TableTask

    def spec(self, mine: TableTask, **more: Any) -> BatchSpec:
        window = land(self.folder / "10", 10, 20, [control(1, 12, 6), control(2, 14, 7)])
        return batch_spec(self.folder, [window], [mine], **{"rows": 2, "change_rows": 0, **more})

    def version(self) -> int:
        return latest_version(self.mine.destination.target)


@pytest.fixture
def given(spark: Any, tmp_path: Path) -> Given:
    mine = task(tmp_path)
    loaded(spark, tmp_path, mine, 9, ROWS)
    return Given(spark, tmp_path, mine)


def said(result: Any) -> dict[str, Any]:
    assert isinstance(result, BatchResult)
    body = to_body(result)
    for table in body["tables"]:
        del table["seconds"]
    return {name: value for name, value in body.items() if name not in OF_TIME}


def as_it_is(_: Given, mine: TableTask) -> TableTask:
    return mine


def held_before(_: Given, mine: TableTask) -> TableTask:
    return replace(mine, hold=HoldAt(10, {"code": "SchemaConflict", "what": "a DDL", "where": {}, "cure": "x"}))


def held_in_between(_: Given, mine: TableTask) -> TableTask:
    return replace(mine, hold=HoldAt(15, {"code": "SchemaConflict", "what": "a DDL", "where": {}, "cure": "x"}))


def older_copy(_: Given, mine: TableTask) -> TableTask:
    return with_destination(mine, at_least=11)


def gone(_: Given, mine: TableTask) -> TableTask:
    shutil.rmtree(mine.destination.target)
    return mine


def cut_log(given: Given, mine: TableTask) -> TableTask:
    (Path(mine.destination.target) / "_delta_log" / f"{given.version():020d}.json").write_text('{"commitInfo"')
    return mine


def other_partitions(_: Given, mine: TableTask) -> TableTask:
    return with_destination(mine, options=TargetOptions(partition_by=("V",)))


@pytest.mark.parametrize("state", [as_it_is, held_before, held_in_between], ids=lambda state: str(state.__name__))
def test_it_says_of_a_table_what_spark_would_say(given: Given, state: Callable[[Given, TableTask], TableTask]) -> None:
    mine = state(given, given.mine)

    lines, by_spark = list[str](), list[str]()
    alone = run_without_spark(given.spec(mine), lines.append)

    with_spark = run(given.spark, replace(given.spec(mine), manifest=str(given.folder / "again.json")), by_spark.append)
    assert (said(alone), lines) == (said(with_spark), by_spark)
    assert said(alone)["read_to"] is not None
    assert Path(given.spec(mine).manifest).exists()


@pytest.mark.parametrize("state", [older_copy, gone, cut_log, other_partitions], ids=lambda state: str(state.__name__))
def test_what_would_hold_a_table_is_left_to_spark(given: Given, state: Callable[[Given, TableTask], TableTask]) -> None:
    spec = given.spec(state(given, given.mine))

    assert run_without_spark(spec) is None

    assert not Path(spec.manifest).exists()
    done = run(given.spark, spec)
    assert isinstance(done, BatchResult)
    assert done.tables[0].state == "held"


def with_property(_: Given, mine: TableTask) -> TableTask:
    return with_destination(mine, options=TargetOptions(properties=(("a.b", "c"),)))


def with_cluster(_: Given, mine: TableTask) -> TableTask:
    return with_destination(mine, options=TargetOptions(cluster_by=("ID",)))


def with_new_history(given: Given, mine: TableTask) -> TableTask:
    return with_destination(mine, history=str(given.folder / "lake" / "_history"))


def of_a_shadow(given: Given, mine: TableTask) -> TableTask:
    return with_destination(mine, target=str(given.folder / "lake" / "_shadow"), shadow_from=10)


@pytest.mark.parametrize(
    "state", [with_property, with_cluster, with_new_history, of_a_shadow], ids=lambda state: str(state.__name__)
)
def test_where_a_table_is_to_be_written_spark_is_needed(given: Given, state: Callable[[Given, TableTask], TableTask]) -> None:
    spec, before, lines = given.spec(state(given, given.mine)), given.version(), list[str]()

    assert run_without_spark(spec, lines.append) is None

    assert (given.version(), Path(spec.manifest).exists(), lines) == (before, False, [])
    done = run(given.spark, spec)
    assert isinstance(done, BatchResult)
    assert done.tables[0].state == "applied", done.tables[0].error


def test_a_damaged_file_and_a_lost_lease_stop_it(given: Given) -> None:
    (window,) = given.spec(given.mine).redo.windows
    digests = {file: FileDigest(1, "0" * 64) for file in window.files}
    damaged = given.spec(given.mine, digests=digests)
    assert run_without_spark(damaged) is None
    with pytest.raises(LandingDamaged):
        run(given.spark, damaged)

    def lost() -> None:
        raise LeaseHeld("another writer has the lease", cure="wait")

    with pytest.raises(LeaseHeld):
        run_without_spark(given.spec(given.mine), may_commit=lost)
    assert not Path(given.spec(given.mine).manifest).exists()
