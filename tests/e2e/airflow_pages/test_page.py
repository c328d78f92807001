"""The page inside Airflow's own frame, in headless Chromium: from the navigation and as a tab, on a desktop and a phone, light
and dark. The ledger of `shop` is that of a pipeline in trouble."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.e2e.airflow_pages.conftest import errors_of
from tests.fixtures.browser import follow
from tests.states.cockpit_ledger import FIRST_SCN, INCARNATION, SCNS

pytestmark = pytest.mark.airflow

DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
VIEWS = {
    "desktop, light": (DESKTOP, "light"),
    "desktop, dark": (DESKTOP, "dark"),
    "phone, light": (PHONE, "light"),
    "phone, dark": (PHONE, "dark"),
}
NO_DAG = "/dags?name_pattern=none"  # Airflow with as little in it as possible
# As a choice in another tab of the browser arrives here.
CHOOSE = """theme => {
  localStorage.setItem("theme", theme);
  dispatchEvent(new StorageEvent("storage", { key: "theme", newValue: theme }));
}"""
in_every_view = pytest.mark.parametrize("shown", VIEWS, indirect=True)
in_two_views = pytest.mark.parametrize("shown", ["desktop, light", "phone, dark"], indirect=True)


@dataclass(frozen=True, slots=True)
class Shown:
    """Airflow's page, and ours in its frame."""

    page: Any
    frame: Any

    def open(self, path: str) -> None:
        """Go to an address of Airflow. The page of the test before has gone by then, which could still change the address: that
        of a run adds its time to it."""
        follow(self.page, NO_DAG)
        self.page.get_by_text("Filter by tag").wait_for()
        self.page.locator("iframe[title=Redolake]").wait_for(state="detached")
        follow(self.page, path)

    def inside(self, script: str) -> Any:
        return self.frame.locator("main").evaluate(f"() => {script}")


@pytest.fixture(scope="module")
def said(airflow_page: Any) -> list[str]:
    return errors_of(airflow_page)


@pytest.fixture
def shown(request: pytest.FixtureRequest, airflow_page: Any, said: list[str]) -> Iterator[Shown]:
    """An error on the console, of the page or of Airflow around it, fails the test."""
    size, theme = VIEWS[request.param]
    airflow_page.set_viewport_size(size)
    airflow_page.emulate_media(color_scheme=theme)
    airflow_page.evaluate(CHOOSE, theme)
    airflow_page.locator(f"html.{theme}").wait_for()
    said.clear()
    yield Shown(airflow_page, airflow_page.frame_locator("iframe[title=Redolake]"))
    assert said == []


@in_every_view
def test_from_the_navigation_to_a_pipeline_that_fits_and_has_the_theme_of_airflow(shown: Shown) -> None:
    shown.open(NO_DAG)
    shown.page.get_by_role("link", name="Redolake", exact=True).click()
    shown.frame.locator("h2 a").first.wait_for()
    assert shown.frame.locator("h2 a").all_inner_texts() == ["shop", "e2e", "fresh", "matched"], (
        "the one in trouble comes first"
    )
    shown.frame.locator("h2 a", has_text="shop").click()

    shown.page.wait_for_url("**/plugin/redolake/redolake/pipelines/shop")
    shown.frame.locator(".timeline canvas").wait_for()
    assert shown.inside("document.documentElement.scrollWidth <= window.innerWidth")
    ours, airflows = "document.documentElement.dataset.theme", "window.parent.document.documentElement.className.split(' ')"
    assert shown.inside(ours) in shown.inside(airflows)
    assert "log 105 of redo thread 1 was deleted" in shown.frame.locator(".verdict").inner_text()


@in_two_views
def test_a_button_of_a_dag_that_changes_nothing_starts_it_at_once_and_its_run_has_the_page_as_a_tab(shown: Shown) -> None:
    shown.open("/plugin/redolake/redolake/pipelines/shop")
    shown.frame.get_by_role("button", name="Doctor").click()
    assert shown.frame.locator("dialog input, dialog select").count() == 0
    shown.frame.locator("dialog").get_by_role("button", name="Start").click()

    shown.page.wait_for_url("**/dags/shop_doctor/runs/*")
    shown.page.locator("a[href*='/dags/shop_doctor/runs/']", has_text="Redolake").click()
    shown.frame.locator("h1", has_text="shop").wait_for()


@in_two_views
def test_the_link_of_a_failed_task_shows_the_choices_and_each_opens_its_form_filled_in(shown: Shown) -> None:
    shown.open("/plugin/redolake/redolake/pipelines/shop#recover")
    card = shown.frame.locator(".choice", has_text="declare the gap")
    assert "every change committed in the gap" in card.inner_text()
    shown.frame.get_by_role("button", name="Check again").click()
    assert shown.frame.locator("dialog input").count() == 0, "a look at the logs needs no confirmation"
    shown.frame.locator("dialog").get_by_role("button", name="Cancel").click()

    card.get_by_role("button", name="Declare the gap").click()
    dialog = shown.frame.locator("dialog")
    assert {box.get_attribute("name"): box.evaluate("box => box.required") for box in dialog.locator("input").all()} == {
        "reason": True,
        "confirm": True,
    }
    dialog.locator("[name=reason]").fill("the tape is gone")
    dialog.get_by_role("button", name="Start").click()
    assert dialog.locator("[name=confirm]").evaluate("box => !box.validity.valid")
    dialog.locator("[name=confirm]").fill("shop")
    with shown.page.expect_response(lambda answer: answer.request.method == "POST") as sent:
        dialog.get_by_role("button", name="Start").click()

    chosen = {"choice": "gap", "dry_run": False, "reason": "the tape is gone", "confirm": "shop"}
    conf = sent.value.json()["conf"]
    assert (sent.value.status, {name: conf[name] for name in chosen}) == (200, chosen)
    shown.page.wait_for_url("**/dags/shop_recover/runs/*")


@in_two_views
def test_the_link_of_a_window_opens_it_in_the_frame_and_a_bar_of_the_chart_its_row_account(shown: Shown) -> None:
    shown.open(f"/plugin/redolake/redolake/pipelines/shop?before={INCARNATION}-{FIRST_SCN + 3 * SCNS}")
    chart = shown.frame.locator(".timeline .u-over")
    chart.wait_for()
    assert shown.frame.locator("button.row").count() == 3
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    shown.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 8)
    assert "1,290 = 1,250 applied + 25 rolled back + 15 still open" in shown.frame.locator(".readout").inner_text()
    chart.click(position={"x": box["width"] / 2, "y": box["height"] - 8})

    assert shown.frame.locator("button.row").nth(1).get_attribute("aria-expanded") == "true"
    assert "1,290 = 1,250 applied" in shown.frame.locator(f"#w{INCARNATION}-{FIRST_SCN + SCNS}").inner_text()
