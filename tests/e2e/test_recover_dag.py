"""`<name>_recover` in Airflow, against a source whose redo is lost: it inspects, and acts only on a confirmed choice."""

from __future__ import annotations

import pytest

from redolake import steps
from redolake.config import Pipeline
from redolake.context import Run
from tests.fixtures.airflow import configure, run_dag
from tests.fixtures.shop import Shop

pytestmark = pytest.mark.airflow


@pytest.fixture
def lost(shop: Shop, monkeypatch: pytest.MonkeyPatch, airflow_db: None) -> Pipeline:
    """Nothing is landed yet, and the redo after the position is purged."""
    spark = '{"conn_type": "spark", "host": "local[2]"}'
    pipeline = configure(shop, monkeypatch, ["SHOP.PAYMENTS", "SHOP.STOCK"], {}, spark)
    steps.begin_snapshot(Run(pipeline, shop.params))
    shop.lose_redo()
    return pipeline


def test_a_gap_is_declared_only_where_the_form_was_confirmed(shop: Shop, lost: Pipeline) -> None:
    position = steps.read_status(lost).next_start_scn
    assert run_dag(lost, "capture")[0] == "failed"
    assert run_dag(lost, "recover")[0] == "failed", "it only inspects, while redo is lost"
    gap = {"choice": "gap", "dry_run": False, "reason": "tapes are gone"}
    assert run_dag(lost, "recover", {**gap, "confirm": "yes"})[0] == "failed"
    assert steps.read_status(lost).next_start_scn == position
    loss = steps.read_status(lost).lost
    assert loss is not None
    assert loss.code == "RedoLost"

    state, tasks = run_dag(lost, "recover", {**gap, "confirm": lost.name})

    assert (state, tasks) == ("success", {"approve": "success", "decide": "success", "snapshot": "skipped"})
    status = steps.read_status(lost)
    assert (status.lost, status.next_start_scn > position) == (None, True)
    assert run_dag(lost, "capture")[0] == "success"
    assert steps.read_status(lost).next_start_scn > status.next_start_scn
    assert run_dag(lost, "recover", {"restored": True})[0] == "success"
