"""The ledger corrected from the files of the landing, also when it was lost or is an older copy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redolake.cli.monitoring import rows_text
from redolake.context import Run
from redolake.reconcile.ledger import drops, last_batch, reconcile_ledger
from redolake.reconcile.newest_batches import batch_name
from redolake.records.batches.manifest import CARRIED_IN, RowAccount
from redolake.records.windows import DdlRow
from redolake.steps.apply.batch import resume_tables
from redolake.steps.shared.status import list_windows
from redolake.values.redo import Position
from redolake.values.scn import ChainPosition, Scn
from tests.states.lost_ledger import lose_ledger
from tests.unit.reconcile.pipeline_on_disk import (
    DBID,
    FIRST,
    OPEN,
    ORDERS,
    SECOND,
    PipelineOnDisk,
    corrected_table,
    following_batch,
)


def test_a_lost_ledger_is_rebuilt_from_the_files(context: Run) -> None:
    entry = corrected_table(context)

    assert (entry.state, entry.snapshot_scn, entry.position) == ("live", 120, ChainPosition(FIRST, 199))
    assert [v.source for v in context.ledger.versions(ORDERS)] == ["baseline"]
    assert context.ledger.position() == Position(DBID, FIRST, Scn(200))


def test_an_older_ledger_learns_of_a_newer_snapshot(on_disk: PipelineOnDisk, context: Run) -> None:
    corrected_table(context)
    on_disk.load(250)
    entry = corrected_table(context)

    assert (entry.state, entry.snapshot_scn, entry.position) == ("live", 250, ChainPosition(FIRST, 250))
    assert [int(v.from_scn) for v in context.ledger.versions(ORDERS)] == [120, 250]


def test_a_lost_ledger_is_the_same_if_the_landing_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The landing of years does not fit into the memory; here a part is one window, and one batch."""
    on_disk = PipelineOnDisk(tmp_path)
    on_disk.load(120)
    for start in (100, 200, 300, 400):
        text = f"ALTER TABLE shop.orders ADD (note{start} VARCHAR2(9))"
        on_disk.batch(on_disk.window(start, start + 100, ddl=(DdlRow(start + 80, 1, "0x1", 0, "SHOP", "ORDERS", 4711, text),)))

    def rebuilt() -> tuple[Any, ...]:
        with Run(on_disk.pipeline) as context:
            entry, windows = corrected_table(context), context.ledger.windows()
            versions = [(v.from_scn, v.body, v.ddl) for v in context.ledger.versions(ORDERS)]
            return entry.position, entry.state, versions, [(w.name, w.state) for w in windows]

    at_once = rebuilt()
    lose_ledger(tmp_path)
    monkeypatch.setattr("redolake.land.windows.KEPT", 1)
    monkeypatch.setattr("redolake.ledger.windows.WINDOWS_AT_ONCE", 1)
    monkeypatch.setattr("redolake.reconcile.ledger.BATCHES_AT_ONCE", 1)

    assert at_once[0] == ChainPosition(FIRST, 499)
    assert len(at_once[2]) == 5
    assert rebuilt() == at_once


def test_known_batches_are_not_read_again(on_disk: PipelineOnDisk, context: Run) -> None:
    corrected_table(context)
    for file in (on_disk.folder / "shop").glob("batches/*/manifest.json"):
        body = json.loads(file.read_text())
        file.write_text(json.dumps({**body, "format": 99}))  # reading it would raise FormatTooNew

    reconcile_ledger(context)


def test_the_ledger_records_the_row_account_of_each_window(on_disk: PipelineOnDisk, context: Run) -> None:
    window = on_disk.window(200, 300)
    accounts = {
        window.name: RowAccount(landed=3, applied=2, carried_out=1),
        CARRIED_IN: RowAccount(carried_in=4, rolled_back=4),
    }
    name = on_disk.batch(window, accounts=accounts)

    reconcile_ledger(context)

    recorded = (context.ledger.batch(name).result or {})["accounts"]
    assert recorded == {
        window.name: {"landed": 3, "applied": 2, "carried_out": 1},
        CARRIED_IN: {"carried_in": 4, "rolled_back": 4},
    }
    assert list_windows(on_disk.pipeline)[-1].account == recorded[window.name]


def test_the_list_of_windows_says_which_are_applied(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.batch(on_disk.window(200, 300))
    on_disk.window(300, 400)

    reconcile_ledger(context)

    found = list_windows(on_disk.pipeline)
    assert [(window.from_scn, window.state) for window in found][-2:] == [(200, "applied"), (300, "landed")]
    assert rows_text(found[-1]) == "not applied yet"


def test_a_held_table_can_be_resumed_after_the_ledger_was_lost(on_disk: PipelineOnDisk) -> None:
    on_disk.load(120)
    on_disk.batch(on_disk.window(100, 200))
    on_disk.batch(on_disk.window(200, 300), state="held")

    assert resume_tables(on_disk.pipeline, ["SHOP.ORDERS"]) == ("SHOP.ORDERS",)


def test_after_a_resetlogs_positions_belong_to_the_new_incarnation(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.declare_gap(200, 130, end_in=SECOND, dropped=(OPEN,), snapshot_scn=120)
    on_disk.batch(on_disk.window(130, 160, SECOND))
    entry = corrected_table(context)

    assert entry.position == ChainPosition(SECOND, 159)
    assert context.ledger.position() == Position(DBID, SECOND, Scn(160))
    last = last_batch(context)
    assert last is not None
    assert last.end == 160


def test_a_hold_made_while_a_batch_runs_outlives_the_batch(on_disk: PipelineOnDisk, context: Run) -> None:
    """The batch was prepared before `plan` found that supplemental logging was off."""
    corrected_table(context)
    window = on_disk.window(200, 300)
    name = batch_name(FIRST, 200, 300)
    context.ledger.prepare_batch(name, window.scns, "spec.json")
    context.ledger.hold(ORDERS, {"code": "NotLogged", "what": "", "where": {}, "cure": ""})
    on_disk.batch(window, open_now=())

    entry = corrected_table(context)

    assert (entry.state, entry.position) == ("held", ChainPosition(FIRST, 299))


def test_partial_files_of_killed_writers_are_ignored(on_disk: PipelineOnDisk, context: Run) -> None:
    on_disk.window(200, 300)
    corrected_table(context)
    for file in [
        *(on_disk.folder / "shop").rglob("*.json"),
        on_disk.folder / "shop/dictionary/0000000011-00000000000000000200.json",
    ]:
        file.parent.mkdir(exist_ok=True)
        file.with_name(f"{file.name}.363ce4b3.part").write_bytes(b'{"half')
    for folder in ("gaps", "drops"):
        on_disk.write(f"{folder}/0000000011-00000000000000000300.json.363ce4b3.part", '{"half')

    assert context.landing.dictionary.positions() == []
    assert (context.landing.gaps.all(), drops(context)) == ([], [])
    assert corrected_table(context).position == ChainPosition(FIRST, 199)
    spec = following_batch(context)
    assert (spec.start, spec.end) == (200, 300)
