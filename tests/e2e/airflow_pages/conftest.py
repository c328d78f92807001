"""Airflow's API server, which runs beside the tests on their database, and headless Chromium; one of each for all pages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from redolake import steps
from redolake.config import Pipeline, load_configuration
from redolake.context import Run
from tests.fixtures.airflow import airflow_db, configure, open_server, write_dags
from tests.fixtures.browser import STANDSTILL, open_browser
from tests.fixtures.shop import open_shop
from tests.states.cockpit_ledger import CockpitLedger

__all__ = ["airflow_db"]

SPARK = '{"conn_type": "spark", "host": "local[2]"}'


@dataclass(frozen=True, slots=True)
class Site:
    url: str
    pipelines: dict[str, Pipeline]
    files: dict[str, Path]  # a pipelines.yml for each pipeline alone: `dag.test` stores all DAGs of the file again


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory, airflow_db: None) -> Iterator[Site]:
    """Start Airflow with four pipelines: `e2e` names its tables, `matched` has a pattern, `shop` is in trouble, and `fresh` has
    no contents yet."""
    folder = tmp_path_factory.mktemp("pages")
    trouble = CockpitLedger(tmp_path_factory.mktemp("framed"), datetime.now(UTC))
    trouble.run()
    trouble.hold_stock()
    trouble.lose_redo()
    trouble.open_transactions()
    trouble.decide()
    shop = trouble.pipeline.model_dump(mode="json", exclude={"name", "matches"})
    with pytest.MonkeyPatch.context() as patch, open_shop(folder) as source:
        configure(source, patch, ["SHOP.PAYMENTS", "SHOP.STOCK"], {}, SPARK)
        file = Path(os.environ["REDOLAKE_CONFIG"])
        named = yaml.safe_load(file.read_text())["pipelines"]["e2e"]
        matched = {**named, **elsewhere(named), "tables": ["SHOP.*"]}
        body = {"e2e": named, "matched": matched, "shop": shop, "fresh": {**shop, **elsewhere(shop)}}
        file.write_text(yaml.safe_dump({"pipelines": body}))
        files = {name: folder / f"{name}.yml" for name in body}
        for name, one in files.items():
            one.write_text(yaml.safe_dump({"pipelines": {name: body[name]}}))
        pipelines = dict(load_configuration(file).pipelines)
        steps.begin_snapshot(Run(pipelines["e2e"], source.params))
        write_dags()
        with open_server(patch, folder / "log") as url:
            yield Site(url, pipelines, files)
    trouble.ledger.close()


@pytest.fixture(scope="package")
def airflow_page(browser: Any, site: Site) -> Iterator[Any]:
    """Load Airflow's page, once: its seven megabytes of script take seconds. Nothing is wrong by its console."""
    context = browser.new_context(reduced_motion="reduce")
    context.add_init_script(STANDSTILL)
    page = context.new_page()
    said = errors_of(page)
    page.goto(site.url)
    page.get_by_role("link", name="Redolake", exact=True).wait_for()
    assert said == []
    yield page
    context.close()


def errors_of(page: Any) -> list[str]:
    """Return the errors that the page's console will show."""
    said = list[str]()
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    return said


def elsewhere(settings: dict[str, Any]) -> dict[str, str]:
    return {what: f"{settings[what]}-of-another" for what in ("lake", "landing")}
