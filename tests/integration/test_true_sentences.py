"""The sentences, colours and metrics of a real capture, from the first snapshot through a held table to a declared gap."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest
import yaml
from typer.testing import CliRunner

from redolake import steps
from redolake.cli import app
from redolake.cli.cockpit import verdict
from redolake.cli.output import console
from redolake.cockpit import Overview, read_overview
from redolake.cockpit.metrics import prometheus_text
from redolake.cockpit.overview import EVERY_TABLE
from redolake.config import Pipeline
from redolake.context import Run, ledger_url
from redolake.errors import RedoLost, TableHeld
from tests.fixtures.shop import Shop, shop
from tests.references.plain_lake import PlainLake

__all__ = ["shop"]


def seen(pipeline: Pipeline) -> Overview:
    return read_overview(pipeline, ledger_url(pipeline), datetime.now(UTC), tables=EVERY_TABLE)


def metric(pipeline: Pipeline, name: str) -> float | None:
    found = re.search(rf"^{re.escape(name)} (\S+)$", prometheus_text([seen(pipeline)]), re.MULTILINE)
    return None if found is None else float(found[1])


def run(pipeline: Pipeline, folder: Path, *arguments: str) -> str:
    body = pipeline.model_dump(mode="json", exclude={"name", "matches"}, exclude_unset=True)
    (folder / "pipelines.yml").write_text(yaml.safe_dump({"pipelines": {pipeline.name: body}}))
    with mock.patch.object(console, "_width", 80):
        return CliRunner().invoke(app, [*arguments, "--config", str(folder / "pipelines.yml")]).output


def test_each_sentence_from_snapshot_to_declared_gap_is_true(shop: Shop, tmp_path: Path) -> None:
    names = ["SHOP.CUSTOMERS", "SHOP.PAYMENTS", "SHOP.PARTS"]
    shop.run_sql(
        "CREATE TABLE parts (id NUMBER(9) PRIMARY KEY, place VARCHAR2(20))",
        "ALTER TABLE parts ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS",
        "INSERT INTO parts (id, place) VALUES (1, 'A')",
    )
    pipeline = shop.pipeline(tables=names)
    shop.work(5)
    shop.switch_logs()

    def look(what: str) -> Overview:
        found = seen(pipeline)
        assert found.health.sentence in verdict(found).plain, what
        return found

    with PlainLake().in_place_of_spark():
        assert look("before").health.state == "not started"
        begun = steps.begin_snapshot(Run(pipeline, shop.params))
        assert look("begun").health.state == "snapshotting"
        steps.read_snapshot_table(Run(pipeline, shop.params), begun.scn, names[0])
        assert look("one is read").health.state == "snapshotting"
        steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params)
        loaded = look("loaded, windows are older")
        assert (loaded.health.state, loaded.health.tone) == ("on time", "good")
        assert loaded.health.complete_to_scn == min(t.complete_to_scn or 0 for t in loaded.tables)
        assert metric(pipeline, 'redolake_applied_scn{pipeline="shop"}') == loaded.health.complete_to_scn
        assert steps.measure_runway(pipeline, source=shop.params).at_least
        assert metric(pipeline, 'redolake_runway_hours{pipeline="shop"}') is None, "a floor is no measure"
        assert metric(pipeline, 'redolake_runway_short{pipeline="shop"}') == 0

        shop.run_sql("DROP TABLE parts PURGE")
        shop.work(5, seed=2)
        shop.switch_logs()
        with suppress(TableHeld):
            steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params)
        held = look("one is held")
        assert (held.health.state, held.health.tone, held.health.right_tables) == ("incomplete", "notice", 2)
        assert held.health.sentence.startswith("2 of 3 tables are right up to ")
        assert metric(pipeline, 'redolake_health{pipeline="shop",state="on time"}') == 0

        shop.lose_redo()
        with pytest.raises(RedoLost):
            steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params)
        assert look("lost").health.state == "stopped"
        steps.recover_redo_loss(pipeline, "gap", source=shop.params, reason="the tape is gone", by="ann")
        with suppress(TableHeld):
            steps.run_pipeline(pipeline, until_caught_up=True, source=shop.params)
        gapped = look("a gap is declared")
        assert (gapped.health.state, gapped.health.tone, gapped.health.right_tables) == ("incomplete", "notice", 0)
        assert "never read" in " ".join(gapped.health.more)
        assert metric(pipeline, 'redolake_declared_gaps{pipeline="shop"}') == 1
        assert {t.tone for t in gapped.tables} == {"notice", "bad"}
        (gap,) = steps.read_status(pipeline).declared_gaps
        shown = run(pipeline, tmp_path, "status")
        assert f"SCN {gap.from_scn}" in shown
        assert f"to {gap.to_scn - 1} was never read" in shown
        assert json.loads(run(pipeline, tmp_path, "explain-lag", "--output", "json"))["health"]["state"] == "incomplete"
        assert "live, lacks a gap" in shown
        assert max(map(len, shown.partition("Latest windows")[2].partition("No transaction")[0].splitlines())) <= 80
