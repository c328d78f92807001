"""Approvals in the landing become decisions of the ledger, each once, whatever the ledger has lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from redolake.context import Run
from redolake.land import layout
from redolake.land.files import Files
from redolake.reconcile.approvals import approvals, reconcile_approvals, record_approval
from redolake.records.approvals import Approval
from tests.states.lost_ledger import lose_ledger
from tests.unit.reconcile.pipeline_on_disk import ORDERS, PipelineOnDisk

NOW = datetime(2026, 6, 1, 12, 0, 0, 600_000, UTC)


def approve(context: Run, at: datetime, reason: str = "a test") -> str:
    return record_approval(context, "repair", ORDERS, 100, by="ada", reason=reason, at=at).name


def names(context: Run) -> list[str]:
    return [found.name for found in approvals(context)]


def test_an_approval_of_any_time_is_recorded_once(context: Run) -> None:
    made = [approve(context, NOW + days * timedelta(days=1)) for days in (0, 30, -400, 31)]
    reconcile_approvals(context)

    assert names(context) == sorted(made)


def test_a_ledger_that_was_lost_gets_all_approvals_again(on_disk: PipelineOnDisk, context: Run) -> None:
    made = [approve(context, NOW + days * timedelta(days=40)) for days in range(4)]
    lose_ledger(on_disk.folder)
    with Run(on_disk.pipeline) as again:
        reconcile_approvals(again)
        assert names(again) == made


def test_an_approval_of_a_host_whose_clock_is_behind_is_found(on_disk: PipelineOnDisk, context: Run) -> None:
    approve(context, NOW)
    name = f"{NOW - timedelta(days=6):%Y%m%dT%H%M%S%f}-late"
    on_disk.write(
        layout.approval_file(name), Approval("repair", str(ORDERS), 1, "", "", "", "eve", "2026-05-26T12:00:00+00:00", name)
    )
    reconcile_approvals(context)

    assert names(context)[0] == name


def test_old_approvals_are_not_looked_for_again(context: Run, monkeypatch) -> None:
    for days in range(0, 100, 10):
        approve(context, NOW + timedelta(days=days))
    asked, listed = list[str](), Files.names

    def listing(self: Files, relative: str, after: str = "") -> list[str]:
        found = listed(self, relative, after)
        asked.extend(found)
        return found

    monkeypatch.setattr(Files, "names", listing)
    reconcile_approvals(context)

    assert len(asked) == 1
