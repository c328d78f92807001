"""A Delta log that is damaged in any way holds its table with a typed error, and the load that its cure names mends it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redolake.apply.delta.commit import session_with_tag
from redolake.apply.delta.table import DeltaTable
from redolake.apply.target import Tag
from redolake.job.batch import run_batch
from redolake.job.snapshot import run_snapshot
from redolake.records.batches.spec import TableTask
from redolake.values.target_options import TargetOptions
from tests.integration.spark.landing import land
from tests.integration.spark.redo_rows import committed, update
from tests.integration.spark.specs import batch_spec, snapshot_spec, task, with_destination

pytestmark = pytest.mark.spark

ROWS = [{"ID": n, "V": f"v{n}"} for n in (1, 2)]
LAST = 54  # the SCN of the table's last commit
V2 = (("delta.checkpointPolicy", "v2"), ("delta.feature.v2Checkpoint", "supported"))


@pytest.fixture(scope="module")
def tables(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return folders with a table that has a checkpoint, of the old kind and of the new one, in the middle of its log."""
    made = {}
    for kind, properties in (("classic", ()), ("v2", V2)):
        folder = tmp_path_factory.mktemp(kind)
        mine = task(folder)
        options = TargetOptions(properties=(("delta.checkpointInterval", "3"), *properties))
        first = replace(snapshot_spec(folder, mine, 50, ROWS), origin="1-2-3")
        run_snapshot(spark, replace(first, tables=(replace(first.tables[0], options=options),)))
        for scn in range(51, LAST + 1):
            with session_with_tag(
                spark, Tag(DeltaTable(spark, mine.destination.target, mine.destination.app_id).app_id, scn, {})
            ) as session:
                session.sql(f"UPDATE delta.`{mine.destination.target}` SET V = '{scn}' WHERE ID = 1")
        made[kind] = folder
        for file in Path(mine.destination.target).rglob(".*.crc"):
            file.unlink()  # of Hadoop's local file system; other stores have none
    return made


def checkpoints(log: Path) -> list[Path]:
    return sorted(log.glob("*.checkpoint*"))


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def retention(log: Path) -> None:
    """Remove the commits before the newest checkpoint, and older checkpoints, as log retention does."""
    newest = checkpoints(log)[-1].name[:20]
    for file in [*log.glob("0*.json"), *checkpoints(log)]:
        if file.name[:20] < newest:
            file.unlink()


def of_checkpoint(change: Callable[[Path], None], *, retained: bool) -> Callable[[Path], None]:
    def damage(log: Path) -> None:
        if retained:
            retention(log)
        change(checkpoints(log)[-1])

    return damage


def of_sidecar(change: Callable[[Path], None], *, retained: bool = True) -> Callable[[Path], None]:
    def damage(log: Path) -> None:
        if retained:
            retention(log)
        for file in log.glob("_sidecars/*.parquet"):
            change(file)

    return damage


def without_commits(log: Path) -> None:
    """Leave a checkpoint, and no commit at all."""
    retention(log)
    for file in log.glob("0*"):
        if ".checkpoint" not in file.name:
            file.unlink()


def of_newest_commit(change: Callable[[Path], None]) -> Callable[[Path], None]:
    return lambda log: change(max(log.glob("0*[0-9].json")))


def text(text_: str) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        file.write_text(text_)

    return write


def as_a_file(log: Path) -> None:
    shutil.rmtree(log)
    log.write_text("x")


def without_sidecars(log: Path) -> None:
    retention(log)
    shutil.rmtree(log / "_sidecars")


def emptied(log: Path) -> None:
    for file in log.glob("0*"):
        file.unlink()


def lying_checksum(**parts: Any) -> Callable[[Path], None]:
    """Change parts of the newest checksum, which stays well-formed."""

    def damage(log: Path) -> None:
        file = max(log.glob("0*.crc"))
        found = json.loads(file.read_text())
        for part, values in parts.items():
            found[part] = {**found[part], **values} if isinstance(values, dict) else values
        file.write_text(json.dumps(found))

    return damage


def later_transactions(log: Path) -> None:
    """Let the checksum say that our application has written much more than its commits do."""
    actions = [json.loads(line) for line in max(log.glob("0*[0-9].json")).read_text().splitlines()]
    lying_checksum(setTransactions=[{**a["txn"], "version": 999} for a in actions if "txn" in a])(log)


def stale_checksum(log: Path) -> None:
    """Leave the checksum of a commit that was removed beside another one that writers without checksums put in its place."""
    file = max(log.glob("0*.crc"))
    shutil.copy(min(log.glob("0*.crc")), file)


def newest_data(log: Path) -> Path:
    return max(log.parent.glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)


def twice(log: Path) -> None:
    """Leave the newest commit again, under the name of a file that a writer had not published yet."""
    file = max(log.glob("0*[0-9].json"))
    shutil.copy(file, log / f".{file.name}.tmp")
    shutil.copy(file, log / file.name.replace(".json", ".0a1b2c3d-0000-4000-8000-000000000000.json"))


CHANGES: dict[str, Callable[[Path], None]] = {
    "cut": cut,
    "empty": empty,
    "gone": Path.unlink,
    "of other bytes": text("x" * 500),
}
# By what is wrong: the kind of the table, how it is damaged, and the error of the batch that meets it.
DAMAGES: dict[str, tuple[str, Callable[[Path], None], str | None]] = {
    **{
        f"a checkpoint {how}, its commits gone": ("classic", of_checkpoint(change, retained=True), "LakeDamaged")
        for how, change in CHANGES.items()
    },
    "a checkpoint cut, its commits there": ("classic", of_checkpoint(cut, retained=False), "LakeDamaged"),
    "a checkpoint gone, its commits there": ("classic", of_checkpoint(Path.unlink, retained=False), None),
    "a checkpoint and no commit": ("classic", without_commits, "LakeDamaged"),
    "a v2 checkpoint and no commit": ("v2", without_commits, "LakeDamaged"),
    "a v2 checkpoint cut": ("v2", of_checkpoint(cut, retained=True), "LakeDamaged"),
    "a v2 checkpoint gone": ("v2", of_checkpoint(Path.unlink, retained=True), "LakeDamaged"),
    "a sidecar cut": ("v2", of_sidecar(cut), "LakeDamaged"),
    "a sidecar empty": ("v2", of_sidecar(empty), "LakeDamaged"),
    "a sidecar gone, the commits there": ("v2", of_sidecar(Path.unlink, retained=False), "LakeDamaged"),
    "the folder of the sidecars gone": ("v2", without_sidecars, "LakeDamaged"),
    **{
        f"the newest commit {how}": ("classic", of_newest_commit(change), code)
        for how, change, code in (
            ("cut", cut, "LakeDamaged"),
            ("empty", empty, "LakeDamaged"),
            ("gone", Path.unlink, "TableSetBack"),
            ("of other JSON", text('{"txn": 5}'), "LakeDamaged"),
            ("of a txn without a version", text('{"txn": {"appId": "p/SHOP.T/1"}}'), "LakeDamaged"),
            ("of no schema", text('{"metaData": {"schemaString": "x"}}'), "TableSetBack"),
            ("of a foreign note", text('{"commitInfo": {"userMetadata": "{\\"redolake\\": "}}'), "TableSetBack"),
        )
    },
    "a commit in the middle gone": ("classic", lambda log: sorted(log.glob("0*[0-9].json"))[-2].unlink(), "LakeDamaged"),
    "the commit of the checkpoint gone": ("classic", lambda log: (log / f"{3:020}.json").unlink(), None),
    "the pointer to the checkpoint cut": ("classic", lambda log: cut(log / "_last_checkpoint"), None),
    "the pointer to a checkpoint that is not there": (
        "classic",
        lambda log: text('{"version": 99, "size": 1}')(log / "_last_checkpoint"),
        None,
    ),
    "a data file gone": ("classic", lambda log: newest_data(log).unlink(), "LakeDamaged"),
    "two commits of one version": ("classic", twice, None),
    "the checksum a list": ("classic", lambda log: text("[1]")(max(log.glob("0*.crc"))), None),
    "the checksum of other parts": (
        "classic",
        lambda log: text('{"metadata": 5, "protocol": []}')(max(log.glob("0*.crc"))),
        None,
    ),
    "the checksum of another table": (
        "classic",
        lying_checksum(metadata={"id": "x", "partitionColumns": ["ID"]}),
        "SchemaConflict",
    ),
    "the checksum of later transactions": ("classic", later_transactions, None),
    "the checksum of another commit": ("classic", stale_checksum, None),
    "no commit and no checkpoint": ("classic", emptied, "TableSetBack"),
    "a log that is a file": ("classic", as_a_file, "LakeDamaged"),
}
CONTINUED = ("a checkpoint cut, its commits gone", "a sidecar empty")
NAMELESS = ("no commit and no checkpoint", "a log that is a file", "a checkpoint and no commit")  # of an owner


def rows_of(spark: Any, mine: TableTask) -> dict[int, str]:
    return {int(row["ID"]): row["V"] for row in spark.read.format("delta").load(mine.destination.target).collect()}


def apply_one(spark: Any, folder: Path, mine: TableTask, end: int, key: int, old: str) -> dict[str, Any] | None:
    """Apply a batch with one UPDATE, and return the table's error."""
    window = land(folder / f"w{end}", 10, end, committed(0, end - 5, (3, update(key, old, "changed"))))
    (found,) = run_batch(spark, batch_spec(folder / str(end), [window], [mine])).tables
    return found.error


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_log_is_a_typed_error_and_the_load_that_it_names_succeeds(
    spark: Any, tmp_path: Path, tables: dict[str, Path], damage: str
) -> None:
    kind, change, code = DAMAGES[damage]
    mine = task(tmp_path, at_least=LAST)
    shutil.copytree(tables[kind] / "lake", tmp_path / "lake")
    log = Path(mine.destination.target, "_delta_log")
    change(log)
    left = sorted(file.read_bytes() for file in log.rglob("*") if file.is_file())
    forget = spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache
    forget()  # as in the process of the next run
    again = replace(snapshot_spec(tmp_path, mine, 60, ROWS[:1]), replace=True, origin="1-2-3")
    others = replace(again, tables=(replace(again.tables[0], app_id="other/SHOP.T/1"),))

    error = apply_one(spark, tmp_path, mine, 100, 2, "v2")
    refused = None if kind == "v2" or damage in NAMELESS else run_snapshot(spark, others).tables[0]
    if code is not None:
        assert error is not None
        assert (error["code"], error["where"]["table"]) == (code, "SHOP.T")
        assert "`redolake snapshot SHOP.T --replace`" in error["cure"]
        if code == "LakeDamaged":
            assert Path(mine.destination.target) in Path(error["where"]["path"].removeprefix("file:")).parents
    else:
        assert (error, rows_of(spark, mine)) == (None, {1: str(LAST), 2: "changed"})
    loaded = run_snapshot(spark, again).tables[0]

    assert (loaded.error, loaded.loaded, rows_of(spark, mine)) == (None, True, {1: "v1"})
    if damage in CONTINUED:
        assert apply_one(spark, tmp_path, with_destination(mine, at_least=60), 110, 1, "v1") is None
        assert rows_of(spark, mine) == {1: "changed"}
    if (aside := list(Path(mine.destination.target).glob("_delta_log.*"))) != []:
        assert sorted(file.read_bytes() for file in aside[0].rglob("*") if file.is_file()) == left, "something is lost"
    if refused is not None:
        assert (refused.error or {}).get("code") == "FolderTaken"
