"""Assembling and folding in Spark, compared with the plain-Python reference over many random histories at once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

from redolake.apply.landed.check_changes import probe_net_changes
from redolake.apply.net.net_change import events, net_change
from redolake.assemble.assembled import assemble_batch
from redolake.assemble.attribution import CapturedTable
from redolake.assemble.carry import list_open
from redolake.records.batches.spec import LandedWindow
from redolake.values.scn import ScnRange
from redolake.values.table import TableId
from tests.generated.hunts import EXAMPLES
from tests.generated.redo_history import History
from tests.integration.spark.assembling import assembled_rows, carried_over, dispositions
from tests.integration.spark.landing import a_row, land
from tests.references.assemble_reference import assemble, deciding_xid, fold

pytestmark = pytest.mark.spark

PHASES = [Phase.explicit, *([Phase.generate] if EXAMPLES else [])]
HISTORIES = 20 if EXAMPLES else 6
KEY = (9, 1)  # the key contains the history's con_id, so that all histories fold at once


@dataclass(frozen=True)
class Landed:
    """Many histories in one landing, with the same windows. Each has its own container, table and two slices."""

    windows: list[LandedWindow]
    rows: list[list[dict[str, Any]]]  # per window

    @property
    def ordered(self) -> list[tuple[LandedWindow, list[dict[str, Any]]]]:
        return list(zip(self.windows, self.rows, strict=True))


def land_histories(folder: Path, seed: int, edges: list[int]) -> Landed:
    histories = [History(seed + n, steps=70, con_id=n, object_id=100 + n) for n in range(HISTORIES)]
    end = max(max(history.end for history in histories), edges[-1] + 1)
    windows, rows = [], []
    for number, (start, stop) in enumerate(zip([0, *edges], [*edges, end], strict=True)):
        mine = [
            {**row, "slice": 2 * history.con_id + row["slice"], "window_start": start}
            for history in histories
            for row in history.cut([*edges, end])[number][2]
        ]
        windows.append(land(folder / str(number), start, stop, mine))
        rows.append(mine)
    return Landed(windows, rows)


@settings(max_examples=2 * EXAMPLES or 1, phases=PHASES)
@given(
    seed=st.integers(0, 10**9),
    edges=st.sets(st.integers(1001, 1110), min_size=1, max_size=3).map(sorted),
    cut=st.integers(1, 3),
    position=st.integers(1000, 1060),
)
@example(seed=3, edges=[1030, 1055, 1080], cut=2, position=1040)
def test_spark_assembles_and_folds_like_the_reference(
    spark, tmp_path_factory: pytest.TempPathFactory, seed: int, edges: list[int], cut: int, position: int
) -> None:
    """Two batches with a random cut. Every second table was snapshotted at `position`; three have a DDL at 1065."""
    folder = tmp_path_factory.mktemp("histories")
    landed = land_histories(folder, seed, edges)
    carried: list[dict[str, Any]] = []
    carry_files: list[str] = []
    for batch in filter(None, (landed.ordered[:cut], landed.ordered[cut:])):
        windows = [window for window, _ in batch]
        mine = [*carried, *(row for _, rows in batch for row in rows)]
        positions = [position if n % 2 else -1 for n in range(HISTORIES)]
        who = [
            CapturedTable(n, TableId("SHOP", f"T{100 + n}"), (100 + n,), at, 10**6, ddl_scns=(1065,) if n < 3 else ())
            for n, at in enumerate(positions)
        ]
        disposed = [
            change
            for con_id in range(HISTORIES)
            for change in assemble([row for row in mine if row["con_id"] == con_id], position=positions[con_id])
        ]
        applied = [change for change in disposed if change.disposition == "applied"]
        found = assemble_batch(spark, ScnRange(windows[0].start, windows[-1].end), windows, carry_files, who, "FREEPDB1")
        by_spark = {identity(row): row for row in found.changes.drop("sql_redo").collect()}
        net, changes, finding = net_of(found)

        assert {identity(change.row): change.disposition for change in disposed} == {
            k: row["disposition"] for k, row in by_spark.items()
        }
        assert not found.accounting.problems
        for change in applied:
            row = by_spark[identity(change.row)]
            assert change.commit == (row["commit_scn"], row["commit_thread"], row["commit_rs_id"])
            assert row["range_number"] == (row["table_number"] < 3 and row["commit_scn"] >= 1065)
        for table in who:
            balance = found.accounting.balance(table.number, found.input_counts)
            assert balance.difference == 0
            assert balance.applied == sum(change.row["con_id"] == table.number for change in applied)
        assert net == {
            (con_id, key): value
            for con_id in range(HISTORIES)
            for key, value in fold(image(change.row) for change in applied if change.row["con_id"] == con_id).items()
        }
        assert (changes, finding) == (len(applied), None)

        carried = [change.row for change in disposed if change.disposition == "carried_out"]
        carry_files = carried_over(found, folder / f"carry{windows[0].start}")
        back = [row for row in carried_rows(carry_files) if row["operation_code"] in (1, 2, 3)]
        assert sorted(identity(row) for row in back) == sorted(identity(row) for row in carried)
        listed = list_open(spark.read.parquet(*carry_files)) if carried else ()
        assert {(t.con_id, t.xid) for t in listed} == {(row["con_id"], deciding_xid(row)) for row in carried}
        assert sum(t.rows for t in listed) == len(carried)


def identity(row: Any) -> tuple[int, int, int]:
    return row["window_start"], row["slice"], row["ordinal"]


def carried_rows(files: list[str]) -> list[dict[str, Any]]:
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def net_of(found: Any) -> tuple[dict[tuple[int, int], str | None], int, object]:
    """Return the net change by (con_id, key), the number of changes in it, and the first finding."""
    images = (
        found.changes.filter("disposition = 'applied'")
        .withColumn("image", F.from_json("sql_redo", "o struct<`1`: string, `2`: string>, n struct<`1`: string, `2`: string>"))
        .selectExpr(
            "*", "con_id as b9", "con_id as a9", "int(image.o.`1`) as b1", "int(image.n.`1`) as a1", "image.n.`2` as a2"
        )
        .withColumn("finding", F.expr("cast(null as struct<commit_scn: bigint, scn: bigint, code: string, what: string>)"))
    )
    net = net_change(events(images, KEY), KEY).persist()
    folded = {(row["k9"], row["k1"]): row["a2"] if row["op"] in ("U", "R") else None for row in net.collect()}
    changes, finding, _ = probe_net_changes(net).answer()
    net.unpersist()
    return folded, changes, finding


def image(row: Any) -> tuple[Any, Any, Any, Any]:
    body = json.loads(row["sql_redo"])
    before, after = body.get("o"), body.get("n")
    return (row, before and int(before["1"]), after and int(after["1"]), after and after["2"])


def write(ordinal: int, xid: str, row_id: str, before: tuple[int, str] | None, after: tuple[int, str] | None) -> dict[str, Any]:
    """Return a change at SCN 20 + ordinal, with its images as `net_of` reads them."""
    body = {side: {"1": str(v[0]), "2": v[1]} for side, v in (("o", before), ("n", after)) if v}
    code = 1 if before is None else 2 if after is None else 3
    return a_row(ordinal, 20 + ordinal, code, xid=xid, row_id=row_id, sql_redo=json.dumps(body))


def test_commit_order_and_all_changes_of_a_row_give_the_net_change(spark, tmp_path: Path) -> None:
    """Two transactions commit at one SCN on two threads; a third changed a row before them and commits after them.

    One inserts, updates, deletes and inserts a row; one moves a row, as its partition key changed.
    """
    rows = [
        write(0, "3.3.3", "C", (7, "c"), (7, "late")),
        write(1, "1.1.1", "A", None, (1, "a")),
        write(2, "1.1.1", "A", (1, "a"), (1, "b")),
        write(3, "1.1.1", "A", (1, "b"), (2, "b")),
        write(4, "1.1.1", "A", (2, "b"), None),
        write(5, "1.1.1", "A", None, (2, "again")),
        {**write(6, "2.2.2", "M1", (4, "m"), None), "slice": 1, "thread": 2},
        {**write(7, "2.2.2", "M2", None, (4, "moved")), "slice": 1, "thread": 2},
        a_row(8, 40, 7, xid="2.2.2", slice=1, thread=2),
        a_row(9, 40, 7, xid="1.1.1"),
        a_row(10, 41, 7, xid="3.3.3"),
    ]

    found, settled = (assembled_rows(spark, tmp_path / str(position), rows, position=position) for position in (39, 40))

    net, changes, finding = net_of(found)
    assert net == {(3, 1): None, (3, 2): "again", (3, 4): "moved", (3, 7): "late"}
    assert (changes, finding, found.accounting.problems) == (8, None, {})
    assert {number for (_, number), what in dispositions(settled).items() if what == "applied"} == {0}
    assert {number for (_, number), what in dispositions(settled).items() if what == "before_position"} == set(range(1, 8))
