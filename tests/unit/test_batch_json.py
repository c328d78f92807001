"""Orders and outcomes as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pipelines.batch import (
    FORMAT,
    Balance,
    BatchResult,
    BatchSpec,
    Dropped,
    DroppedRows,
    HoldAt,
    LandedWindow,
    OpenTransaction,
    SnapshotSpec,
    SnapshotTask,
    Step,
    TableResult,
    TableTask,
    batch_result_from_json,
    spec_from_json,
    to_json,
)
from pipelines.errors import FormatTooNew
from pipelines.scn import Scn
from pipelines.table import Column, OracleType, TableId, TableVersion

T = TableId("SHOP", "Odd \"name'")
N = Column(2, "N", OracleType("NUMBER"), 2)
VERSION = TableVersion(T, Scn(5), 7, 8, (Column(1, "ID", OracleType("NUMBER", precision=9, scale=0), 1, False), N), (1,), 3)
OPEN = OpenTransaction(3, "1.2.3", 1, 40, "2026-01-02 03:04:05", 9, 700, None)
DROPPED = Dropped(3, "4.5.6", 33, ("7.8.9",))
TASK = TableTask(
    T,
    "s3://lake/t",
    "p/t/1",
    (VERSION,),
    {2: "string", 1: 4},
    (Step(50, "add_column", N, "1"),),
    HoldAt(60, {"what": "x"}),
    (2,),
)
BATCH = BatchSpec(
    "p", 1, 10, 100, "token", (LandedWindow("w", 10, 100, ("a", "b")),), (TASK,), "c", "m", ("x",), (OPEN,), (DROPPED,), "PDB"
)
SPECS = [
    BATCH,
    SnapshotSpec("p", 50, "token", (SnapshotTask(T, "t", "a", VERSION, ("f",), {2: 3}, 8),), "m", True, {"spark.x": "y"}),
]
RESULT = BatchResult(
    "p",
    1,
    10,
    100,
    "other token",
    ("w",),
    (TableResult(T, "held", 59, {"code": "X"}, balance=Balance(3, 0, 1, held=2)),),
    (OPEN,),
    (),
    dropped=(DroppedRows(3, "4.5.6", 33, {"SHOP.T": 4}, 60, True),),
    accounts={"w": Balance(3, 0, 1, held=2)},
)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.kind)
def test_an_order_survives_json(spec: BatchSpec) -> None:
    assert spec_from_json(to_json(spec), "file") == spec


def test_an_outcome_survives_json_and_knows_its_order() -> None:
    assert batch_result_from_json(to_json(RESULT), "file") == RESULT
    assert RESULT.is_of(BATCH)
    assert not RESULT.is_of(replace(BATCH, dropped=())), "one that dropped nothing would have applied it"
    assert not RESULT.is_of(spec_from_json(to_json(BATCH).replace('"end": 100', '"end": 101'), "file"))  # type: ignore[arg-type]


def test_an_order_of_a_newer_redolake_is_refused() -> None:
    body = json.loads(to_json(BATCH))

    with pytest.raises(FormatTooNew):
        spec_from_json(json.dumps({**body, "format": FORMAT + 1}), "file")


def test_an_order_and_an_outcome_of_the_first_format_are_read() -> None:
    order, outcome = json.loads(to_json(BATCH)), json.loads(to_json(RESULT))
    for name in ("dropped", "lease", "character_set"):
        del order[name]
    for task in order["tables"]:
        del task["defaulted"], task["shadow_from"]
        for column in task["versions"][0]["columns"]:
            del column["has_default"]
    for name in ("dropped", "accounts", "read_to"):
        del outcome[name]

    old_task = replace(TASK, defaulted=())
    assert spec_from_json(json.dumps({**order, "format": 1}), "file") == replace(
        BATCH, dropped=(), tables=(old_task,), format=1
    )
    assert batch_result_from_json(json.dumps({**outcome, "format": 1}), "file") == replace(
        RESULT, dropped=(), accounts={}, format=1
    )


def test_rows_that_vanish_show_in_the_balance() -> None:
    assert Balance(landed=5, carried_in=2, applied=3, undone=2, carried_out=1).difference == 1
    assert Balance(landed=5, applied=3, dropped=2).difference == 0
