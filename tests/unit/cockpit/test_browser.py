"""The page in headless Chromium: it fits, says nothing on the console, and a button starts the DAG with what was filled in.

The pages are rendered from a ledger. A small server shows them, and answers as Airflow's API does when a DAG is started.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from redolake.cockpit import read_overview
from redolake.cockpit.render import POLICY, Pages, static_file
from tests.fixtures.browser import browser
from tests.states.cockpit_ledger import CockpitLedger

__all__ = ["browser"]

NOW = datetime(2026, 5, 1, 14, 2, 41, tzinfo=UTC)


@dataclass
class Site:
    url: str = ""
    pages: dict[str, str] = field(default_factory=dict)
    started: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    refusal: str | None = None


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    made = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            static = static_file(path.rpartition("/")[2]) if path.startswith("/redolake/static/") else None
            body, kind = static or (made.pages.get(path, "<h1>Airflow</h1>").encode(), "text/html")
            self.answer(200, body, kind)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made.started.append((self.path, body))
            answer = {"detail": made.refusal} if made.refusal else {"dag_run_id": "manual__1"}
            self.answer(400 if made.refusal else 200, json.dumps(answer).encode(), "application/json")

        def answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if self.path.startswith("/redolake/"):
                self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    made.url = f"http://127.0.0.1:{server.server_port}"
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, server: Site) -> None:
    """Put the pages of `shop` there."""
    made = CockpitLedger(tmp_path_factory.mktemp("shop"), NOW)
    made.run()
    made.hold_stock()
    made.lose_redo()
    made.open_transactions()
    found = read_overview(made.pipeline, made.url, NOW)
    made.ledger.close()
    pages = Pages("/redolake", "", ["shop"], NOW)
    server.pages["/redolake/pipelines/shop"] = pages.pipeline(found, [str(table) for table in made.tables])
    server.pages["/redolake/"] = pages.index([found], {})


@pytest.fixture
def site(server: Site, shop: None) -> Site:
    """Return the server, which has started no DAG yet and refuses none."""
    server.started.clear()
    server.refusal = None
    return server


@dataclass(frozen=True, slots=True)
class Tab:
    """A page of the browser; `said` is what the console says."""

    page: Any
    said: list[str]


@pytest.fixture(scope="module")
def tab(browser: Any) -> Iterator[Tab]:
    """Open one page for all tests: each of its own would be a window with Chromium's own pages."""
    context = browser.new_context()
    opened = Tab(context.new_page(), [])
    opened.page.on("console", lambda message: opened.said.append(message.text))
    opened.page.on("pageerror", lambda error: opened.said.append(str(error)))
    yield opened
    context.close()


@pytest.fixture
def page(tab: Tab, site: Site) -> Iterator[Any]:
    """Show the page of `shop`. Whatever the console says fails the test."""
    tab.page.emulate_media(color_scheme="light")
    tab.page.set_viewport_size({"width": 1280, "height": 900})
    tab.said.clear()
    tab.page.goto(f"{site.url}/redolake/pipelines/shop")
    yield tab.page
    assert [text for text in tab.said if "400" not in text] == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_it_fits_a_desktop_and_a_phone_in_light_and_dark(page: Any, width: int, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})

    ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert ground == ("rgb(15, 17, 20)" if scheme == "dark" else "rgb(246, 247, 249)")


def test_a_window_opens_by_keyboard_and_shows_a_sum_that_adds_up(page: Any) -> None:
    row = page.locator("button.row").first
    row.focus()
    page.keyboard.press("Enter")

    details = page.locator("tr.note:not([hidden]) dl").first
    assert row.get_attribute("aria-expanded") == "true"
    assert "1,740 = 1,700 applied + 25 rolled back + 15 still open" in details.inner_text()


def test_on_a_phone_the_cure_and_the_buttons_of_a_held_table_are_in_sight(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    held = page.locator("section[aria-labelledby=tables] tr.note.bad")

    for part in (
        held.locator(".cure"),
        held.get_by_role("button", name="Resume"),
        held.get_by_role("button", name="Read again"),
    ):
        box = part.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390


def test_the_cost_of_dropping_a_transaction_is_looked_at_by_a_button(page: Any, site: Site) -> None:
    page.locator("section[aria-labelledby=transactions]").get_by_role("button", name="Show").first.click()
    page.click("dialog button.primary")
    page.wait_for_url("**/dags/shop_mend/runs/manual__1")

    assert site.started[0][1]["conf"] == {"mend": "tx drop", "xid": "4.17.2210", "container": 3, "dry_run": True}


def test_a_pipeline_without_contents_offers_its_snapshot_and_no_empty_tables(page: Any, site: Site, tmp_path: Path) -> None:
    made = CockpitLedger(tmp_path, NOW)
    found = read_overview(made.pipeline, made.url, NOW)
    made.ledger.close()
    site.pages["/redolake/pipelines/fresh"] = Pages("/redolake", "", ["shop"], NOW).pipeline(found, ["SHOP.ORDERS"])
    page.goto(f"{site.url}/redolake/pipelines/fresh")

    assert page.locator(".hero button").all_inner_texts() == ["Snapshot", "Doctor"]
    assert page.locator("thead").count() == 0
    assert "No table has contents yet." in page.locator("section[aria-labelledby=tables]").inner_text()


def test_a_button_starts_the_dag_with_what_was_filled_in(page: Any, site: Site) -> None:
    page.click("button:has-text('Declare the gap')")
    page.click("dialog button.primary")
    assert site.started == [], "the reason is required"

    page.fill("dialog [name=reason]", "the tape is gone")
    page.fill("dialog [name=confirm]", "shop")
    page.click("dialog button.primary")
    page.wait_for_url("**/dags/shop_recover/runs/manual__1")

    conf = {"choice": "gap", "dry_run": False, "reason": "the tape is gone", "confirm": "shop"}
    assert site.started == [("/api/v2/dags/shop_recover/dagRuns", {"logical_date": None, "conf": conf})]


def test_what_airflow_refuses_is_said_in_the_form(page: Any, site: Site) -> None:
    site.refusal = "from_scn: None is not of type 'integer'"
    page.click("button:has-text('Verify now')")
    page.select_option("dialog [name=tables]", ["SHOP.ORDERS", "SHOP.STOCK"])
    page.click("dialog button.primary")

    answer = page.locator("dialog .answer")
    answer.wait_for(state="visible")
    assert answer.inner_text() == site.refusal
    assert site.started[0][1]["conf"] == {"tables": ["SHOP.ORDERS", "SHOP.STOCK"]}


def test_inside_airflow_a_link_moves_the_page_around_it(tab: Tab, site: Site) -> None:
    sandbox = "allow-scripts allow-same-origin allow-forms allow-downloads"
    site.pages["/plugin/redolake"] = f'<html class="dark"><iframe sandbox="{sandbox}" src="/redolake/pipelines/shop"></iframe>'
    tab.page.goto(f"{site.url}/plugin/redolake")
    inner = tab.page.frames[1]

    inner.wait_for_selector("main")
    assert inner.evaluate("document.documentElement.dataset.theme") == "dark"
    inner.evaluate("document.querySelector('a[data-out]').click()")

    tab.page.wait_for_url("**/dags/shop_capture")
