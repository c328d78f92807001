"""Maintenance holds both leases while its job may run, and the tables for which no time was left come first next time."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolake.config import Pipeline
from redolake.config.keep import KeepSettings, OptimizeSettings
from redolake.context import Run
from redolake.errors import LeaseHeld, Terminal
from redolake.ledger.entries import LeaseKind, lease_name
from redolake.operations.upkeep import optimize
from redolake.records.maintenance import MaintainedTable, MaintenanceResult, MaintenanceSpec
from redolake.steps.upkeep.maintenance import describe_maintenance, prepare_maintenance, record_maintenance
from tests.unit.reconcile.pipeline_on_disk import ORDERS, PipelineOnDisk

MAINTAINED = (MaintainedTable(ORDERS, 40, 2, True), MaintainedTable(ORDERS, 3, 3, is_history=True))


def is_free(pipeline: Pipeline, kind: LeaseKind) -> bool:
    with Run(pipeline) as context:
        try:
            context.ledger.release_lease(context.ledger.lease(lease_name(kind, context.name), "another", 1.0))
        except LeaseHeld:
            return False
    return True


def finish(on_disk: PipelineOnDisk, batch: str, result: MaintenanceResult) -> MaintenanceResult:
    """Write what the job would leave, and record it."""
    spec = on_disk.files.read_record(MaintenanceSpec, batch.removeprefix(on_disk.files.location("")).lstrip("/"))
    assert spec is not None
    on_disk.files.create_record(spec.manifest.removeprefix(on_disk.files.location("")).lstrip("/"), result)
    return record_maintenance(on_disk.pipeline, batch)


def test_both_leases_are_held_from_the_spec_to_the_record(on_disk: PipelineOnDisk) -> None:
    prepared = prepare_maintenance(on_disk.pipeline)
    assert prepared.tables == ("SHOP.ORDERS",)
    assert prepared.batch is not None
    assert [is_free(on_disk.pipeline, kind) for kind in ("apply", "load")] == [False, False]
    found = finish(on_disk, prepared.batch, MaintenanceResult("shop", MAINTAINED))

    assert [is_free(on_disk.pipeline, kind) for kind in ("apply", "load")] == [True, True]
    assert list(describe_maintenance(found)) == [
        "SHOP.ORDERS: 40 files are 2 now",
        "the history of SHOP.ORDERS: 3 files",
    ]


def test_tables_that_were_left_come_first_next_time(on_disk: PipelineOnDisk) -> None:
    prepared = prepare_maintenance(on_disk.pipeline)
    assert prepared.batch is not None
    finish(on_disk, prepared.batch, MaintenanceResult("shop", (), ("SHOP.ORDERS",)))
    with Run(on_disk.pipeline) as context:
        assert (context.ledger.fact("maintenance") or {})["left"] == ["SHOP.ORDERS"]
    assert prepare_maintenance(on_disk.pipeline).tables == ("SHOP.ORDERS",)


def test_a_table_without_contents_is_refused_and_a_pipeline_without_any_leaves_no_lease(tmp_path: Path) -> None:
    empty = PipelineOnDisk(tmp_path)
    assert prepare_maintenance(empty.pipeline).batch is None
    with pytest.raises(Terminal, match="the table has no contents"):
        prepare_maintenance(empty.pipeline, ["SHOP.ORDERS"])
    assert [is_free(empty.pipeline, kind) for kind in ("apply", "load")] == [True, True]


def test_a_damaged_history_is_left_to_the_job_which_names_it(on_disk: PipelineOnDisk) -> None:
    body = on_disk.pipeline.model_dump(exclude={"tables"})
    pipeline = Pipeline.model_validate({**body, "tables": [{"table": "SHOP.ORDERS", "history": "changes"}]})
    log = Path(str(pipeline.history_target(ORDERS))) / "_delta_log"
    log.mkdir(parents=True)
    for version in (0, 2):
        (log / f"{version:020d}.json").write_text("{}")
    prepared = prepare_maintenance(pipeline)
    assert prepared.batch is not None
    spec = on_disk.files.read_record(MaintenanceSpec, prepared.batch.removeprefix(on_disk.files.location("")).lstrip("/"))
    assert spec is not None
    assert [task.of is None for task in spec.tables] == [True, False]


def test_what_would_be_done_with_each_table_is_said_before(on_disk: PipelineOnDisk) -> None:
    def said(**keep: str) -> str:
        more = {"optimize": OptimizeSettings(files=5, file_bytes="1MB"), "keep": KeepSettings(**keep)}
        found = optimize.act(Run(on_disk.pipeline.model_copy(update=more)))
        assert found.lines[0] == "SHOP.ORDERS"
        return found.lines[1]

    rewrite = "OPTIMIZE of a table with 5 files or more, if they are smaller than 1.0 MB on average; "
    assert said() == f"{rewrite}no VACUUM, as `keep.delta_history` is not set."
    assert said(delta_history="7d") == f"{rewrite}VACUUM of what is older than 7 d."
