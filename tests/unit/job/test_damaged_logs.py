"""A damaged Delta log is an error of its table, whoever reads it: the other tables go on, and the cure is the table's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redolake.apply.lake_tables import read_log
from redolake.apply.owner import damage_of
from redolake.apply.range_changes import is_written
from redolake.apply.table_log import VersionToRead
from redolake.apply.verify.compare import table_bytes, version_to_compare
from redolake.apply.verify.comparison import CompareTask
from redolake.errors import LakeDamaged
from redolake.job.as_of import check_versions, make_copy
from redolake.job.as_of import load_of as load_of_version
from redolake.job.maintenance import maintain
from redolake.job.quarantine import load_of
from redolake.job.swap import find_swap, keep_newest, position_of_copy
from redolake.records.batches.spec import Destination
from redolake.records.maintenance import MaintenanceSpec, MaintenanceTask
from redolake.values.table import TableId
from tests.integration.spark.specs import version as table_version
from tests.unit.apply.verify.test_compare import MINE, write

ORDERS = TableId("SHOP", "ORDERS")
SHADOW = f"{MINE}/shadow/1-5"
NO_SPARK: Any = None


def version(path: Path, copy: Path | None = None) -> VersionToRead:
    return VersionToRead(ORDERS, str(path), 1, MINE, 5, copy=None if copy is None else str(copy))


def compared(path: Path) -> CompareTask:
    return CompareTask(ORDERS, str(path), table_version(), (), 9, 0, app_id=MINE)


def maintained(path: Path, of: str | None = None) -> object:
    spec = MaintenanceSpec("shop", "token", (), "manifest", 1, 1, 1.0)
    return maintain(NO_SPARK, spec, MaintenanceTask(ORDERS, str(path), of=of), lambda: None)


AGAIN, HISTORY = "snapshot SHOP.ORDERS --replace", "history rebuild SHOP.ORDERS"
SHADOWED, COPY = "run the backfill again", "make the copy again"
READERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "maintenance": (maintained, AGAIN),
    "maintenance of a history": (lambda path: maintained(path, "shop/orders"), HISTORY),
    "a load's name": (lambda path: load_of_version(version(path)), AGAIN),
    "the position": (lambda path: read_log(str(path), damage_of(MINE)), AGAIN),
    "quarantine": (lambda path: load_of(str(path), MINE), AGAIN),
    "a swap": (lambda path: find_swap(str(path), MINE, "1-5-copy", 5), AGAIN),
    "what a swap keeps": (lambda path: keep_newest(NO_SPARK, version(path), {}), AGAIN),
    "a copy to swap": (lambda path: position_of_copy(str(path), MINE), COPY),
    "a copy": (lambda path: make_copy(NO_SPARK, version(path.parent, path), {}), COPY),
    "versions as of": (lambda path: check_versions([version(path)]), AGAIN),
    "verify's version": (lambda path: version_to_compare(compared(path)), AGAIN),
    "verify's size": (lambda path: table_bytes(compared(path)), AGAIN),
    "changes": (lambda path: is_written(Destination(str(path), SHADOW), "delta"), SHADOWED),
}  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_a_damaged_log_names_its_table(tmp_path: Path, reader: str) -> None:
    write(tmp_path, MINE, MINE, MINE)
    (tmp_path / "_delta_log" / f"{1:020d}.json").unlink()
    read, cure = READERS[reader]
    with pytest.raises(LakeDamaged, match="a commit is missing") as stopped:
        read(tmp_path)
    assert str(stopped.value.where["table"]) == "SHOP.ORDERS"
    assert cure in stopped.value.cure
