"""Which version of a Delta table is compared with the source: one that readers see, or the next one's before our own commit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redolake.apply.delta.commit import text_of
from redolake.apply.delta.log import read_log
from redolake.apply.verify.compare import version_to_compare
from redolake.apply.verify.comparison import CompareTask
from redolake.errors import FolderTaken, TableSetBack
from redolake.values.table import TableId
from tests.integration.spark.specs import version

OURS = text_of({"batch": "[10, 20)"})
MINE, OTHER = "shop/SHOP.ORDERS/1", 'shop/SHOP."Orders"/1'


def write(table: Path, *by: str | None) -> CompareTask:
    """Commit rows in the name of each application id; None is a writer that is not ours."""
    log = table / "_delta_log"
    log.mkdir()
    for number, app in enumerate(by):
        actions = [{"commitInfo": {"operation": "WRITE", "userMetadata": None if app is None else OURS}}]
        actions += [{"add": {"path": "x", "dataChange": True}}, {"metaData": {"configuration": {}}}]
        actions += [] if app is None else [{"txn": {"appId": app, "version": number}}]
        (log / f"{number:020d}.json").write_text("\n".join(map(json.dumps, actions)))
    return CompareTask(TableId("SHOP", "ORDERS"), str(table), version(), (), 9, 0, app_id=MINE)


def test_rows_that_another_writer_changed_before_our_next_commit_are_compared(tmp_path: Path) -> None:
    assert version_to_compare(write(tmp_path, MINE, None, MINE)) == 1


def test_the_version_before_our_next_commit_is_compared(tmp_path: Path) -> None:
    assert version_to_compare(write(tmp_path, MINE, MINE, MINE)) == 0


def test_rows_that_another_writer_changed_since_are_told_and_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(TableSetBack, match=r"readers see rows that another writer changed in version 2 .*\(WRITE\)"):
        version_to_compare(write(tmp_path, MINE, MINE, None))


def test_a_table_that_was_written_over_by_another_table_is_not_compared(tmp_path: Path) -> None:
    with pytest.raises(FolderTaken, match=r'SHOP\."Orders" of pipeline shop was written to the same folder'):
        version_to_compare(write(tmp_path, MINE, OTHER))


def test_a_repair_is_compared_with_the_feature_that_it_enables(tmp_path: Path) -> None:
    task = write(tmp_path, MINE, None)
    said = {"commitInfo": {"operation": "MERGE", "userMetadata": text_of({"repair": "r1"})}}
    merged = [said, {"txn": {"appId": f"{MINE}/repair", "version": 9}}, {"add": {"path": "y", "dataChange": True}}]
    for number, actions in ((2, [said]), (3, merged)):
        (tmp_path / "_delta_log" / f"{number:020d}.json").write_text("\n".join(map(json.dumps, actions)))

    assert version_to_compare(task) == 3


def test_a_feature_that_a_killed_repair_has_enabled_hides_no_write_of_others(tmp_path: Path) -> None:
    task = write(tmp_path, MINE, None)
    said = {"commitInfo": {"operation": "SET TBLPROPERTIES", "userMetadata": text_of({"repair": "r1"})}}
    (tmp_path / "_delta_log" / f"{2:020d}.json").write_text(json.dumps(said))

    log = read_log(task.target)
    assert log is not None
    assert log.foreign_writes("shop/SHOP.ORDERS/") == [(1, "WRITE")]
