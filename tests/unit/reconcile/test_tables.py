"""Tables and versions rebuilt from files: the SCN from which a table is captured, and DDL that a RESETLOGS undid."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from redolake.context import Run
from redolake.ledger import base
from redolake.reconcile.ledger import reconcile_ledger
from redolake.reconcile.table_versions import known_versions
from redolake.reconcile.tables import capture_scn
from redolake.records.codec import to_body
from redolake.records.windows import DdlRow
from redolake.values.scn import ChainPosition, Scn
from redolake.values.table import TableId
from tests.states.lost_ledger import lose_ledger
from tests.unit.reconcile.pipeline_on_disk import (
    OPEN,
    ORDERS,
    SECOND,
    PipelineOnDisk,
    corrected_table,
)


def test_every_table_is_captured_from_the_end_of_a_declared_gap(on_disk: PipelineOnDisk, context: Run) -> None:
    assert capture_scn(context, ORDERS) == 100
    on_disk.declare_gap(200, 300, dropped=(OPEN,), snapshot_scn=120)
    assert capture_scn(context, ORDERS) == 300
    assert capture_scn(context, TableId("SHOP", "NEW")) == 300
    on_disk.window(300, 400)
    assert capture_scn(context, ORDERS) == 300
    assert capture_scn(context, TableId("SHOP", "NEW")) is None


def test_a_gap_without_redo_between_incarnations_restarts_capture_too(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.declare_gap(200, 200, end_in=SECOND, dropped=(OPEN,), snapshot_scn=120)
    on_disk.window(200, 300, SECOND)

    assert capture_scn(context, ORDERS) == 200


def test_a_new_snapshot_forgets_versions_that_a_resetlogs_undid(on_disk: PipelineOnDisk, context: Run) -> None:
    """A DDL at 180, then a RESETLOGS to 130 and a snapshot AS OF 140: at 190 the table lacks the DDL's columns."""
    corrected_table(context)
    (first,) = known_versions(context, ORDERS)
    context.ledger.record_version(ORDERS, Scn(180), to_body(first.since(Scn(180))), "ddl")
    on_disk.declare_gap(200, 130, "snapshot", end_in=SECOND, dropped=(OPEN,), snapshot_scn=120)
    on_disk.load(140, SECOND)
    corrected_table(context)

    assert [version.from_scn for version in known_versions(context, ORDERS)] == [140]


def test_a_lost_ledger_is_rebuilt_without_ddl_that_a_resetlogs_undid(tmp_path: Path) -> None:
    on_disk = PipelineOnDisk(tmp_path)
    on_disk.load(120)
    added = DdlRow(180, 1, "0x1", 0, "SHOP", "ORDERS", 4711, "ALTER TABLE shop.orders ADD (note VARCHAR2(9))")
    on_disk.batch(on_disk.window(100, 200, ddl=(added,)))
    with Run(on_disk.pipeline) as context:
        corrected_table(context)
        assert [version.from_scn for version in known_versions(context, ORDERS)] == [120, 180]
    on_disk.declare_gap(200, 130, "snapshot", end_in=SECOND, snapshot_scn=120)
    on_disk.load(140, SECOND)
    on_disk.batch(on_disk.window(130, 250, SECOND))
    lose_ledger(tmp_path)
    with Run(on_disk.pipeline) as context:
        assert corrected_table(context).position == ChainPosition(SECOND, 249)
        assert [version.from_scn for version in known_versions(context, ORDERS)] == [140]


def test_a_batch_that_was_not_recorded_is_recorded_after_its_table_has_left_pipelines_yml(tmp_path: Path) -> None:
    """Apply was killed between a batch and its record; meanwhile a person took the table out. Put back, it is as it was."""
    on_disk = PipelineOnDisk(tmp_path)
    on_disk.load(120)
    first = on_disk.window(100, 150)
    on_disk.batch(first)
    with Run(on_disk.pipeline) as context:
        corrected_table(context)
    added = DdlRow(180, 1, "0x1", 0, "SHOP", "ORDERS", 4711, "ALTER TABLE shop.orders ADD (note VARCHAR2(9))")
    on_disk.batch(on_disk.window(150, 200, ddl=(added,)))
    without = on_disk.pipeline.model_copy(update={"tables": []})
    with Run(without) as context:
        reconcile_ledger(context)
        assert [version.from_scn for version in known_versions(context, ORDERS)] == [120, 180]
    with Run(on_disk.pipeline) as context:
        assert corrected_table(context).position.scn == 199
        assert [version.from_scn for version in known_versions(context, ORDERS)] == [120, 180]


def test_a_rebuild_that_is_killed_after_any_write_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version that stays unknown would hold its table: the dictionary has a column that no DDL added."""
    on_disk = PipelineOnDisk(tmp_path)
    on_disk.load(120)
    added = DdlRow(180, 1, "0x1", 0, "SHOP", "ORDERS", 4711, "ALTER TABLE shop.orders ADD (note VARCHAR2(9))")
    on_disk.batch(on_disk.window(100, 200, ddl=(added,)))

    def killed_after(write: int) -> bool:
        """Rebuild a lost ledger; return whether that was killed after the given write."""
        writes = count(1)

        def kill() -> None:
            if next(writes) == write:
                raise KeyboardInterrupt

        lose_ledger(tmp_path)
        with Run(on_disk.pipeline) as context, monkeypatch.context() as patch:
            patch.setattr(base, "ledger_point", kill)
            try:
                corrected_table(context)
            except KeyboardInterrupt:
                return True
        return False

    for write in count(1):
        if not killed_after(write):
            break
        with Run(on_disk.pipeline) as context:
            corrected_table(context)
            assert [version.from_scn for version in known_versions(context, ORDERS)] == [120, 180], write
    assert write > 10
