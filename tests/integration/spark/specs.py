"""Specs of batches and snapshots for a table SHOP.T (ID, V)."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from redolake.apply.create import create_table
from redolake.apply.lake_tables import open_table
from redolake.job.snapshot import run_snapshot
from redolake.job.translation import TRANSLATION
from redolake.records.batches.spec import BatchSpec, Course, Destination, LandedWindow, Redo, TableTask
from redolake.records.loads import SnapshotSpec, SnapshotTask
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion
from tests.references.delta_table import delta_rows

ID = Column(1, "ID", OracleType("NUMBER", precision=10, scale=0), 1, False)
V = Column(2, "V", OracleType("VARCHAR2", length=100), 2)
W = Column(3, "W", OracleType("VARCHAR2", length=100), 3)
TABLE = TableId("SHOP", "T")


COURSE, REDO = ({field.name for field in fields(kind)} for kind in (Course, Redo))


def version(table: TableId = TABLE, scn: int = 0, columns: tuple[Column, ...] = (ID, V), object_id: int = 100) -> TableVersion:
    return TableVersion(table, Scn(scn), object_id, object_id, columns, (1,), max(c.id for c in columns) + 1)


def task(folder: Path, table: TableId = TABLE, object_id: int = 100, **more: Any) -> TableTask:
    course = {"versions": (version(table, object_id=object_id),), **{name: more.pop(name) for name in COURSE & more.keys()}}
    hold = more.pop("hold", None)
    there = {"target": str(folder / "lake" / table.name), "app_id": f"p/{table}/1", **more}
    return TableTask(table, Destination(**there), Course(**course), hold)


def with_course(task: TableTask, **course: Any) -> TableTask:
    return replace(task, course=replace(task.course, **course))


def with_destination(task: TableTask, **there: Any) -> TableTask:
    return replace(task, destination=replace(task.destination, **there))


def batch_spec(folder: Path, windows: Sequence[LandedWindow], tables: Sequence[TableTask], **more: Any) -> BatchSpec:
    start, end = windows[0].start, windows[-1].end
    name = f"{start}-{end}"
    return BatchSpec(
        pipeline="p",
        resetlogs_id=1,
        start=start,
        end=end,
        token="token",
        redo=Redo(tuple(windows), container="FREEPDB1", **{name: more.pop(name) for name in REDO & more.keys()}),
        tables=tuple(tables),
        carry_out=str(folder / "batches" / name / "carry"),
        manifest=str(folder / "batches" / name / "manifest.json"),
        **more,
    )


def snapshot_spec(folder: Path, task: TableTask, scn: int, rows: Sequence[Mapping[str, Any]] = (), **more: Any) -> SnapshotSpec:
    texts = dict.fromkeys(["V", *(name for row in rows for name in row if name != "ID")])
    source = pa.schema([("ID", pa.decimal128(10, 0)), *((name, pa.string()) for name in texts)])
    file = folder / f"snapshot-{task.table.name}-{scn}.parquet"
    pq.write_table(pa.Table.from_pylist(list(rows), source), file)
    loaded = SnapshotTask(
        task.table,
        task.destination.target,
        task.destination.app_id,
        task.course.versions[0],
        (str(file),),
        rows=len(rows),
        scn=scn,
    )
    return SnapshotSpec("p", scn, f"token{scn}", (loaded,), str(folder / f"snapshot-{task.table.name}-{scn}.json"), **more)


COPIES = tempfile.TemporaryDirectory(prefix="redolake-tables-")
KNOWN: dict[tuple[Any, ...], str] = {}


def loaded(spark: Any, folder: Path, task: TableTask, scn: int = 5, rows: Sequence[Mapping[str, Any]] = ()) -> None:
    """Put the table there as its snapshot AS OF `scn` leaves it."""

    def load() -> None:
        assert run_snapshot(spark, snapshot_spec(folder, task, scn, rows)).tables[0].error is None

    copied(
        ("loaded", task.table, task.destination.app_id, task.course.versions[0], scn, json.dumps(rows)),
        task.destination.target,
        load,
    )


def created(spark: Any, *tasks: TableTask) -> None:
    """Put empty tables there, at no position."""
    for task in tasks:
        first = task.course.versions[0]
        make = partial(create_table, open_table(spark, task.destination.target, ""), first, task.course.rules, TRANSLATION)
        copied(("created", first.columns, first.key, tuple(task.course.rules.items())), task.destination.target, make)


def copied(what: tuple[Any, ...], target: str, make: Callable[[], None]) -> None:
    """Have Spark make a table once in this process, and copy its folder from then on: a copy costs no second of planning."""
    if what in KNOWN:
        shutil.copytree(KNOWN[what], target)
        return
    make()
    KNOWN[what] = shutil.copytree(target, f"{COPIES.name}/{len(KNOWN)}")


def contents(task: TableTask) -> dict[int, str]:
    return {int(row["ID"]): row["V"] for row in delta_rows(task.destination.target)}
