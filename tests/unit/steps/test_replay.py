"""The batch of each aim of an old range: one landing, aimed at shadows, changes, files, reads, copies and a history.

`tests/golden/replay.json` has their specs. After an intended change, `REDOLAKE_GOLDEN=write` writes them again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow.parquet as pq
import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.context import Run, read_spec
from redolake.errors import ConfigurationError, RedolakeError, Terminal
from redolake.land import layout
from redolake.reconcile.batches import load_name
from redolake.reconcile.newest_batches import batch_name
from redolake.records.batches.carry import OpenTransaction
from redolake.records.batches.manifest import BatchResult, TableResult
from redolake.records.batches.spec import BatchSpec
from redolake.records.codec import to_body
from redolake.records.loads import SnapshotLoaded, SnapshotResult, SnapshotSpec, SnapshotTask
from redolake.records.pruned import Pruned, PruneStep
from redolake.records.windows import DdlRow, WindowManifest
from redolake.steps.ranges.as_of import plan_read
from redolake.values.landed_schema import LANDED_SCHEMA
from redolake.values.scn import Scn
from redolake.values.table import Column, OracleType, TableId, TableVersion
from tests.unit.reconcile.pipeline_on_disk import FIRST, OPEN, ORDERS, PipelineOnDisk, carried_rows

GOLDEN = Path(__file__).parents[2] / "golden" / "replay.json"
LOOSE = TableId("SHOP", "LOOSE")  # a column of its key may be NULL
OBJECTS = {ORDERS: 4711, LOOSE: 4712}
SETTINGS = (
    {"table": str(ORDERS), "history": "changes", "on_error": {"value": "quarantine", "at_most": {"percent": 5}}},
    {"table": str(LOOSE), "target": "loose/rows"},
)
ADDED = DdlRow(350, 1, "0x1", 0, "SHOP", "ORDERS", 4711, "ALTER TABLE shop.orders ADD (more VARCHAR2(9))")


class Landing(PipelineOnDisk):
    """Two tables that were loaded AS OF SCN 120, and windows of 100 SCNs, each with a batch. At SCN 200 a transaction is open,
    at SCN 350 a column was added."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.names = dict[int, str]()
        self.pipeline = Pipeline.model_validate(
            {**self.pipeline.model_dump(), "tables": SETTINGS, "allowed_folders": ["memory://bucket"]}
        )
        tasks = tuple(
            SnapshotTask(table, "target", f"shop/{table}/{FIRST}", version_of(table), (), scn=120) for table in OBJECTS
        )
        name = f"loads/{load_name('token', 120, tasks)}"
        self.write(
            f"{name}/spec.json", SnapshotSpec("shop", 120, "token", tasks, str(folder / "shop" / name / "manifest.json"))
        )
        loaded = tuple(SnapshotLoaded(table, "applied", True, 3, delta_version=1) for table in OBJECTS)
        self.write(f"{name}/manifest.json", SnapshotResult("shop", 120, loaded))
        self.applied(100, 2, open_now=(OPEN,))
        self.applied(200, 3)
        self.applied(300, 4, ADDED)
        self.applied(400, 5)

    def applied(self, start: int, version: int, *ddl: DdlRow, open_now: tuple[OpenTransaction, ...] = ()) -> None:
        """Write a window and the batch over it, whose last changes commit 10 SCNs before its end."""
        window = self.landed(start, *ddl)
        name = batch_name(FIRST, window.start, window.end, "")
        followed = {"add_column": 1} if ddl else {}
        one = TableResult(ORDERS, "applied", window.end - 1, position=window.end - 10, delta_version=version, ddl=followed)
        result = BatchResult(
            "shop", FIRST, start, start + 100, "t", (window.name,), (one, replace(one, table=LOOSE)), open_now, ()
        )
        if open_now:
            self.write(carried_rows(name), "rows")
            digests = {self.carried(name): self.files.digest(carried_rows(name))}
            result = replace(result, carry_files=(self.carried(name),), digests=digests)
        self.write(f"batches/{name}/manifest.json", result)

    def landed(self, start: int, *ddl: DdlRow) -> WindowManifest:
        made = self.window(start, start + 100, ddl=ddl, tables=tuple(map(str, OBJECTS)), rows=3)
        self.names[start] = made.name
        file = self.folder / "shop" / layout.in_window(made.name, made.files[0])
        pq.write_table(LANDED_SCHEMA.empty_table(), file)
        return made


def version_of(table: TableId) -> TableVersion:
    number, text = OracleType("NUMBER", precision=9, scale=0), OracleType("VARCHAR2", 20)
    columns = (Column(1, "ID", number, 1, nullable=table == LOOSE), Column(2, "NOTE", text, 2))
    made = TableVersion(table, Scn(120), OBJECTS[table], OBJECTS[table], columns, (1,), 2)
    return replace(made, key_kind="columns") if table == LOOSE else made


@pytest.fixture
def landing(tmp_path: Path) -> Landing:
    return Landing(tmp_path)


def backfill(landing: Landing, *range_and_tables: Any, **how: Any) -> BatchSpec:
    prepared = steps.prepare_backfill(landing.pipeline, *range_and_tables, dry_run=False, **how)
    assert prepared.batch is not None
    with Run(landing.pipeline) as context:
        spec = read_spec(context, prepared.batch)
    assert isinstance(spec, BatchSpec)
    return spec


def read(landing: Landing, scn: int) -> BatchSpec:
    spec = plan_read(landing.pipeline, str(scn)).spec
    assert spec is not None
    return spec


def given_to(place: str, act: Callable[[], Any]) -> list[BatchSpec]:
    """Return the specs that a step gives to a job."""
    specs = list[BatchSpec]()
    with mock.patch(place, side_effect=lambda _, spec, *rest: specs.append(spec)):
        act()
    return specs


def copy(landing: Landing) -> list[BatchSpec]:
    with mock.patch("redolake.job.as_of.make_copy"):
        return given_to(
            "redolake.job.swap.fold_into_copies",
            lambda: steps.copy_tables(landing.pipeline, 250, 350, execute=True, spark="no Spark"),
        )


def swap(landing: Landing) -> list[BatchSpec]:
    with (
        mock.patch("redolake.job.swap.position_of_copy", return_value=349),
        mock.patch("redolake.job.swap.find_swap", return_value=("kept", 9)),
    ):
        return given_to(
            "redolake.job.swap.fold_into_copies",
            lambda: steps.swap_table(
                landing.pipeline, str(ORDERS), "250-350-copy", execute=True, reason="wrong", spark="no Spark"
            ),
        )


def rebuild(landing: Landing) -> list[BatchSpec]:
    landing.pipeline = landing.pipeline.model_copy(update={"batch": landing.pipeline.batch.model_copy(update={"max_rows": 1})})
    with (
        mock.patch("redolake.job.as_of.make_copy"),
        mock.patch("redolake.job.history_rebuild.goes_back_to", return_value=None),
        mock.patch("redolake.job.history_rebuild.join_history", return_value=(1, 1)),
    ):
        return given_to(
            "redolake.job.as_of.bring_on",
            lambda: steps.rebuild_history(landing.pipeline, str(ORDERS), "250", execute=True, spark="no Spark"),
        )


def test_who_decided_on_a_rebuilt_history_is_known_before_it_joins_and_one_that_is_refused_is_no_decision(
    landing: Landing,
) -> None:
    def decided() -> list[tuple[str, Any]]:
        with Run(landing.pipeline) as context:
            return [(made.who, dict(made.body)) for made in context.ledger.decisions("rebuild history")]

    def rebuild(**found: Any) -> None:
        with ExitStack() as patched:
            for name, answer in {"goes_back_to": mock.Mock(return_value=None), **found}.items():
                patched.enter_context(mock.patch(f"redolake.job.history_rebuild.{name}", answer))
            for name in ("make_copy", "bring_on"):
                patched.enter_context(mock.patch(f"redolake.job.as_of.{name}"))
            steps.rebuild_history(
                landing.pipeline, str(ORDERS), "250", execute=True, spark="no Spark", by="ann", reason="asked for"
            )

    with pytest.raises(Terminal, match="says the same as the table"):
        rebuild(goes_back_to=mock.Mock(return_value=100), says_the_same=mock.Mock(return_value=True))
    assert decided() == []

    with pytest.raises(OSError, match="killed"):
        rebuild(join_history=mock.Mock(side_effect=OSError("killed")))
    assert decided() == [("ann", {"table": str(ORDERS), "from_scn": 199, "to_scn": 499, "reason": "asked for"})]


AIMS: dict[str, Callable[[Landing], BatchSpec | list[BatchSpec]]] = {
    "shadow": lambda landing: backfill(landing, 250, 380),
    "shadow, one table from its first redo on": lambda landing: backfill(landing, 121, 300, [str(LOOSE)]),
    "shadow with the columns of today": lambda landing: backfill(landing, 250, 300, schema="current"),
    "changes": lambda landing: backfill(landing, 250, 380, target="changes"),
    "files": lambda landing: backfill(landing, 250, 380, target="files", folder="memory://bucket/changes/"),
    "read": lambda landing: read(landing, 320),
    "read in the first window": lambda landing: read(landing, 150),
    "copy": copy,
    "swap": swap,
    "history": rebuild,
}
ALL_GIVEN = {"from_logs": True, "schema": "current", "folder": "/x", "reason": "r"}


def short(body: Any) -> Any:
    """Return a record without the fields that say nothing."""
    if isinstance(body, dict):
        return {name: short(value) for name, value in body.items() if value not in (None, False, "", [], {})}
    return [short(one) for one in body] if isinstance(body, list) else body


def check(landing: Landing, name: str, made: Any) -> None:
    """Compare with the golden file, in which names, times and folders are always the same."""
    text = json.dumps(made, indent=1, sort_keys=True).replace(str(landing.folder), "FOLDER")
    found = json.loads(re.sub(r"(?<=~~)\w{16}|[0-9a-f]{32}", "TOKEN", re.sub(r"\d{8}T\d{6}-", "TIME-", text)))
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    if os.environ.get("REDOLAKE_GOLDEN") == "write":
        GOLDEN.write_text(json.dumps({**golden, name: found}, indent=1, sort_keys=True) + "\n")
        return
    assert found == golden[name]


@pytest.mark.parametrize("aim", AIMS)
def test_each_aim_has_its_batch(landing: Landing, aim: str) -> None:
    made = AIMS[aim](landing)
    check(landing, aim, [short(to_body(spec)) for spec in (made if isinstance(made, list) else [made])])


def nothing(_: Landing) -> None:
    """Leave the landing as it is."""


def file_gone(landing: Landing) -> None:
    landing.files.remove(layout.in_window(landing.names[300], "300.parquet"))


def stopped(landing: Landing) -> None:
    landing.landed(300, replace(ADDED, sql="ALTER TABLE shop.orders SHRINK UPWARDS"))


def left_out(landing: Landing) -> None:
    landing.window(300, 400, tables=(str(LOOSE),))


def then_a_gap(landing: Landing) -> None:
    landing.declare_gap(500, 600)
    landing.landed(600)


def carried_rows_damaged(landing: Landing) -> None:
    """Prune what is older than SCN 200, and damage the rows of the transaction that was open there."""
    first = landing.names[100]
    landing.files.remove(layout.window_folder(first))
    landing.files.remove(layout.link_of(first))
    landing.write(layout.PRUNED, Pruned((PruneStep(FIRST, 200, "2026-01-02T03:04:05+00:00", "dba"),), 1))
    landing.write(carried_rows(batch_name(FIRST, 100, 200, "")), "others")


REFUSED: dict[str, tuple[Callable[[Landing], None], Callable[[Landing], Any]]] = {
    "shadow beyond what is landed": (nothing, lambda landing: backfill(landing, 250, 900)),
    "shadow, redo gone": (file_gone, lambda landing: backfill(landing, 250, 380)),
    "shadow, a DDL that is not followed": (stopped, lambda landing: backfill(landing, 250, 380)),
    "shadow, a window without the table": (left_out, lambda landing: backfill(landing, 250, 380)),
    "shadow over a gap": (then_a_gap, lambda landing: backfill(landing, 450, 650)),
    "read beyond what is applied": (nothing, lambda landing: read(landing, 900)),
    "read before the snapshot": (nothing, lambda landing: read(landing, 110)),
    "read, redo gone": (file_gone, lambda landing: read(landing, 380)),
    "read, a DDL that is not followed": (stopped, lambda landing: read(landing, 380)),
    "read inside a gap": (then_a_gap, lambda landing: read(landing, 550)),
    "shadow, carried rows gone": (carried_rows_damaged, lambda landing: backfill(landing, 250, 380)),
    "read, carried rows gone": (carried_rows_damaged, lambda landing: read(landing, 220)),
    "copy, carried rows gone": (carried_rows_damaged, copy),
    "history, carried rows gone": (carried_rows_damaged, rebuild),
    "copy, redo gone": (file_gone, copy),
    "history, redo gone": (file_gone, rebuild),
    "history, a DDL that is not followed": (stopped, rebuild),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_an_aim_cannot_reach_is_refused(landing: Landing, case: str) -> None:
    damage, act = REFUSED[case]
    damage(landing)
    with pytest.raises(RedolakeError) as refused:
        act(landing)
    check(landing, f"refused: {case}", refused.value.as_dict())


# --- What is asked for ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "given", "refused"),
    [
        ("copy", ALL_GIVEN, ["--schema", "--folder", "--from-logs", "--reason"]),
        ("live", ALL_GIVEN, ["--schema", "--folder"]),
        ("shadow", ALL_GIVEN, ["--folder", "--reason"]),
        ("changes", ALL_GIVEN, ["--schema", "--folder", "--reason"]),
        ("files", ALL_GIVEN, ["--schema", "--reason"]),
        ("files", {"folder": "somewhere"}, ["--folder"]),
        ("files", {}, ["--folder"]),
        ("shadow", {}, []),
    ],
)
def test_a_backfill_drops_no_option(target: Any, given: dict[str, Any], refused: list[str]) -> None:
    if not refused:
        steps.refuse_unused(target, **given)
        return
    with pytest.raises(ConfigurationError) as error:
        steps.refuse_unused(target, **given)
    assert [one.subject for one in error.value.findings] == refused
