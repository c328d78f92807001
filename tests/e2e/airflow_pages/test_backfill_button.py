"""Airflow's own Backfill, by dates, of a DAG that follows SCNs: it is refused, and a person finds the DAG to use beside it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.airflow_pages.conftest import Site
from tests.fixtures.browser import follow

pytestmark = pytest.mark.airflow

ASK = """async path => {
  const range = { from_date: "2026-11-01T00:00:00Z", to_date: "2026-11-02T00:00:00Z", run_backwards: false };
  const body = { dag_id: "shop_capture", ...range, reprocess_behavior: "none", max_active_runs: 1, dag_run_conf: {} };
  const sent = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, sent);
  return [answer.status, (await answer.json()).detail];
}"""


def test_the_dialog_disables_a_backfill_by_dates_and_leads_to_the_dag_that_takes_an_old_range(
    site: Site, airflow_page: Any
) -> None:
    airflow_page.set_viewport_size({"width": 1280, "height": 1000})
    follow(airflow_page, "/dags?name_pattern=shop_capture")
    airflow_page.get_by_role("link", name="shop_capture", exact=True).wait_for()
    airflow_page.get_by_role("button", name="Trigger").first.click()
    dialog = airflow_page.locator("[role=dialog][data-state=open]").last
    dialog.locator("label", has_text="An old range").first.wait_for()
    by_dates = dialog.locator("label", has_text="Run this Dag for a range of dates").locator("input")

    assert by_dates.is_disabled()
    assert "Backfill takes dates, and redo has SCNs: trigger shop_backfill for an old range" in dialog.inner_text()
    assert dialog.get_by_role("button", name="Trigger").last.is_enabled(), "a run of today needs nothing filled in"
    link = dialog.get_by_role("link", name="shop_backfill")
    assert link.get_attribute("href") == "/dags/shop_backfill", "opened beside the dialog"
    dialog.get_by_role("button", name="Close").click()
    dialog.wait_for(state="detached")
    follow(airflow_page, "/dags/shop_backfill")
    airflow_page.get_by_role("heading", name="shop_backfill", exact=True).wait_for()


def test_the_api_refuses_a_backfill_by_dates_and_the_dags_description_says_what_to_use(site: Site, airflow_page: Any) -> None:
    refused = [400, "Dag with dag_id: 'shop_capture' does not allow backfill runs"]
    assert airflow_page.evaluate(ASK, "/api/v2/backfills") == refused
    assert airflow_page.evaluate(ASK, "/api/v2/backfills/dry_run") == refused

    described = airflow_page.evaluate("async () => (await (await fetch('/api/v2/dags/shop_capture')).json()).description")
    assert described.endswith("shop_backfill applies an old range again")
