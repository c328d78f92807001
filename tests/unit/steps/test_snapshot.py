"""A snapshot is loaded only in the chain epoch in which it was begun."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from redolake.context import Run
from redolake.errors import ConfigurationError, SnapshotTooEarly, Terminal
from redolake.reconcile.snapshot_start import check_chain_epoch
from redolake.source import Handover
from redolake.steps.snapshots import begin as snapshot_steps
from redolake.steps.snapshots.begin import begin_snapshot
from redolake.steps.snapshots.load import prepare_snapshot_load
from redolake.values.dictionary_table import DictionaryColumn, DictionaryTable
from redolake.values.redo import Incarnation, RedoFacts
from redolake.values.scn import Scn
from redolake.values.table import OracleType
from tests.unit.reconcile.pipeline_on_disk import (
    DBID,
    FIRST,
    OPEN,
    ORDERS,
    SECOND,
    PipelineOnDisk,
    begin_snapshot_at,
    corrected_table,
)


@pytest.mark.parametrize("end_in", [FIRST, SECOND])
def test_a_snapshot_begun_before_a_declared_gap_is_not_loaded_after_it(
    on_disk: PipelineOnDisk, context: Run, end_in: int
) -> None:
    corrected_table(context)
    begin_snapshot_at(context, 250)
    check_chain_epoch(context, ORDERS, 250)
    on_disk.declare_gap(200, 300, end_in=end_in, dropped=(OPEN,), snapshot_scn=120)

    with pytest.raises(Terminal, match="AS OF SCN 250 was begun before a RESETLOGS or a declared gap"):
        prepare_snapshot_load(on_disk.pipeline, {"SHOP.ORDERS": 250}, replace=True)
    assert corrected_table(context).state == "live"


def test_a_snapshot_begun_before_a_resetlogs_is_not_loaded_after_capture_followed_it(
    on_disk: PipelineOnDisk, context: Run
) -> None:
    corrected_table(context)
    begin_snapshot_at(context, 250)
    on_disk.window(200, 230, SECOND)

    with pytest.raises(Terminal, match="was begun before a RESETLOGS"):
        prepare_snapshot_load(on_disk.pipeline, {"SHOP.ORDERS": 250}, replace=True)


def test_a_snapshot_from_before_a_resetlogs_is_not_used_for_the_same_scn_after_it(
    on_disk: PipelineOnDisk, context: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """|100 applied|200 RESETLOGS to 130: SCN 150 occurs again, and the table was read AS OF the first one."""
    corrected_table(context)
    begin_snapshot_at(context, 150)
    context.landing.snapshots.publish_manifest(ORDERS, 150, [])
    on_disk.declare_gap(200, 130, end_in=SECOND, dropped=(OPEN,), snapshot_scn=120)
    source_at(150, monkeypatch)

    with pytest.raises(SnapshotTooEarly, match="was read AS OF SCN 150 before a RESETLOGS"):
        begin_snapshot(on_disk.pipeline, tables=["SHOP.ORDERS"], replace=True)


def test_a_replace_that_names_no_table_is_refused_and_not_a_run_that_does_nothing(
    on_disk: PipelineOnDisk, context: Run
) -> None:
    assert corrected_table(context).state == "live"

    with pytest.raises(ConfigurationError, match="reads again the tables that are named, and none is named"):
        begin_snapshot(on_disk.pipeline, replace=True)


def source_at(scn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the source answer with SHOP.ORDERS as of `scn` in the second incarnation."""
    column = DictionaryColumn("ID", OracleType("NUMBER", precision=9, scale=0), 1, 1, False)
    there = DictionaryTable(ORDERS, 4711, 4711, (column,), ("ID",), frozenset(), Scn(scn), Scn(scn))
    incarnations = (Incarnation(SECOND, Scn(130), "CURRENT", Scn(1)),)
    monkeypatch.setattr(Run, "oracle", lambda *_: nullcontext())
    monkeypatch.setattr(snapshot_steps, "check_source", lambda *_: {})
    monkeypatch.setattr(snapshot_steps, "read_container", lambda *_: None)
    monkeypatch.setattr(snapshot_steps, "read_same_container", lambda *_: None)
    monkeypatch.setattr(
        snapshot_steps, "read_handover_and_tables", lambda *_: (Handover(Scn(scn), (), Scn(scn)), {ORDERS: there})
    )
    monkeypatch.setattr(snapshot_steps, "read_redo_facts", lambda _: RedoFacts(DBID, Scn(scn), (), (), (), incarnations))
