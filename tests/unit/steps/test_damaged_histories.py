"""Doctor names the tables whose history is not as the last batch has left it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.context import Run
from redolake.errors import Finding
from redolake.reconcile.ledger import reconcile_ledger
from redolake.records.batches.manifest import HistoryFact, TableResult
from tests.support.doctor import run_doctor
from tests.unit.reconcile.pipeline_on_disk import ORDERS, PipelineOnDisk

APP = "shop/SHOP.ORDERS/11/history/1"


def commit(folder: Path, version: int, position: int) -> None:
    """Write a commit of the history with one data file."""
    (folder / "_delta_log").mkdir(parents=True, exist_ok=True)
    (folder / f"{version}.parquet").write_text("rows")
    add = {"path": f"{version}.parquet", "modificationTime": version, "dataChange": True}
    actions = [{"txn": {"appId": APP, "version": position}}, {"add": add}]
    (folder / "_delta_log" / f"{version:020d}.json").write_text("\n".join(map(json.dumps, actions)))


class WithHistory:
    """SHOP.ORDERS and its history, which has commits up to SCN 150 and 199. The last batch has left it so."""

    def __init__(self, folder: Path) -> None:
        self.disk = PipelineOnDisk(folder)
        self.disk.load(120)
        done = TableResult(ORDERS, "applied", 199, None, position=199, history=HistoryFact(1, 199, 120, "it begins", 5))
        self.disk.batch(self.disk.window(100, 200), done=done)
        self.pipeline = self.configured("changes")
        self.folder = Path(str(self.pipeline.history_target(ORDERS)))
        for version, position in enumerate((150, 199)):
            commit(self.folder, version, position)
        with Run(self.pipeline) as context:
            reconcile_ledger(context)

    def configured(self, history: str) -> Pipeline:
        table = {"table": "SHOP.ORDERS", "history": history}
        return Pipeline.model_validate({**self.disk.pipeline.model_dump(exclude={"tables"}), "tables": [table]})

    def newest_commit(self) -> Path:
        return max((self.folder / "_delta_log").glob("*.json"))

    def findings(self, pipeline: Pipeline | None = None) -> list[Finding]:
        return [one for one in run_doctor(pipeline or self.pipeline) if "history" in one.what]


@pytest.fixture
def kept(tmp_path: Path) -> WithHistory:
    return WithHistory(tmp_path)


WRONG: dict[str, tuple[Callable[[WithHistory], object], str]] = {
    "gone": (lambda kept: shutil.rmtree(kept.folder), "held commits up to SCN 199, is gone"),
    "an older copy": (lambda kept: kept.newest_commit().unlink(), "holds commits up to SCN 150: it is an older copy"),
    "a commit cut short": (lambda kept: kept.newest_commit().write_text('{"txn":'), "Delta log of the history is damaged"),
    "a commit missing": (lambda kept: min((kept.folder / "_delta_log").glob("*")).unlink(), "a commit is missing"),
    "a data file gone": (lambda kept: (kept.folder / "0.parquet").unlink(), "1 of the 2 files of the history are gone"),
}


@pytest.mark.parametrize("how", WRONG)
def test_a_history_that_is_not_as_it_was_left_is_found(kept: WithHistory, how: str) -> None:
    assert kept.findings() == []
    change, what = WRONG[how]
    change(kept)
    (found,) = kept.findings()
    assert (found.subject, found.severity) == ("SHOP.ORDERS", "error")
    assert what in found.what
    assert "redolake history rebuild SHOP.ORDERS" in found.cure


def test_a_history_that_is_not_wanted_any_more_or_shall_begin_again_is_no_finding(kept: WithHistory) -> None:
    shutil.rmtree(kept.folder)
    assert len(kept.findings()) == 1
    assert kept.findings(kept.configured("none")) == []
    with Run(kept.pipeline) as context:
        context.ledger.hold(ORDERS, {"code": "TableSetBack", "what": "its history is gone", "where": {}, "cure": ""})
    steps.resume_tables(kept.pipeline, ["SHOP.ORDERS"], reason="nobody reads it", new_history=True)
    assert kept.findings() == []
