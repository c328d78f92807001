"""Every form in Airflow's own pages, in headless Chromium: how it opens, what it and the run refuse of wrong input, and that
what was filled in is what the run gets.

Airflow has no scheduler here: a run that a form has started is repeated in this process, with the run's own settings.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.e2e.airflow_pages.conftest import Site
from tests.fixtures.airflow import run_dag
from tests.fixtures.browser import follow
from tests.support.waiting import wait_until

pytestmark = pytest.mark.airflow

NO_TABLE = "SHOP.NOTHING: is no table of the pipeline: a pattern matches it, and no plan has found it"
NAMED, MATCHED = "e2e", "matched"  # a pipeline that names its tables, and one with a pattern


@dataclass(slots=True)
class Form:
    page: Any
    dialog: Any

    def write(self, name: str, text: str) -> None:
        self.dialog.locator(f"[name=element_{name}]").fill(text)

    def box(self, name: str) -> Any:
        """Return the text field of a list."""
        row = f"//input[@name='element_{name}']/ancestor::div[.//input[@role='combobox']][1]//input[@role='combobox']"
        return self.dialog.locator(f"xpath={row}")

    def turn(self, name: str) -> None:
        """Turn a switch."""
        self.dialog.locator(f"[name=element_{name}]").dispatch_event("click")

    def choose(self, name: str, choice: str) -> None:
        self.box(name).fill(choice)
        self.page.get_by_role("option", name=choice).first.click()

    def required(self) -> list[str]:
        """Return the fields that are red."""
        red = self.dialog.locator("[role=group][data-invalid]")
        return [text.partition("\n")[0] for text in red.locator("label").all_inner_texts()]

    def check(self, opens: Opens) -> None:
        """Check the fields of the form that has just opened. It can be sent unless one is required."""
        for field in opens.fields[-1:]:  # Airflow fetches them
            self.dialog.locator("label", has_text=field).last.wait_for()
        labels = [text.partition("\n")[0].strip(" *") for text in self.dialog.locator("label").all_inner_texts()]
        assert [label for label in labels if label in opens.fields] == list(opens.fields)
        assert self.required() == list(opens.required)
        assert self.button.is_enabled() == (not opens.required)

    @property
    def button(self) -> Any:
        return self.dialog.get_by_role("button", name="Trigger").last

    def close(self) -> None:
        self.dialog.get_by_role("button", name="Close").click()
        self.dialog.wait_for(state="detached")

    def send(self) -> tuple[int, dict[str, Any]]:
        """Press the button; return what Airflow's API answers."""
        with self.page.expect_response(lambda r: r.request.method == "POST" and r.url.endswith("/dagRuns")) as answer:
            self.button.click()
        if answer.value.ok:
            self.dialog.wait_for(state="detached")
        return answer.value.status, answer.value.json()


@pytest.fixture(scope="module")
def page(airflow_page: Any) -> Any:
    airflow_page.set_viewport_size({"width": 1280, "height": 1600})
    return airflow_page


@pytest.fixture(scope="module")
def seconds() -> dict[str, int]:
    """Return by DAG the last second in which its form was open. Airflow proposes the second as the logical date of the run, and
    refuses a second run with that date."""
    return {}


@pytest.fixture
def open_form(page: Any, seconds: dict[str, int]) -> Iterator[Callable[..., Form]]:
    """Yield a function that opens a DAG's form; close what is open in the end.

    It opens over the list of DAGs with that one in it. On the DAG's own page Airflow then shows the new run, at four times the
    cost.
    """
    form, dags = Form(page, page.locator("[role=dialog][data-state=open]").last), list[str]()

    def opened(part: str, pipeline: str = NAMED, on_its_page: bool = False) -> Form:
        dag = f"{pipeline}_{part}"
        dags.append(dag)
        follow(page, f"/dags?name_pattern={dag}")
        link = page.get_by_role("link", name=dag, exact=True)
        link.wait_for()
        if on_its_page:
            link.click()
            page.get_by_role("heading", name=dag, exact=True).wait_for()
        wait_until(lambda: int(time.time()) > seconds.get(dag, 0), 5, 0.05)
        page.get_by_role("button", name="Trigger").first.click()
        form.dialog.get_by_text("Advanced Options").wait_for()
        form.check(FORMS[part])
        return form

    yield opened
    if form.dialog.count():
        form.close()
    seconds.update(dict.fromkeys(dags, int(time.time())))


@pytest.fixture
def repeat(site: Site, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str, str]]:
    """Return a function that runs a DAG in this process as the form has asked for; it returns the run's state and its log."""

    def repeated(part: str, conf: dict[str, Any], pipeline: str = NAMED) -> tuple[str, str]:
        monkeypatch.setenv("REDOLAKE_CONFIG", str(site.files[pipeline]))
        capfd.readouterr()
        state, _ = run_dag(site.pipelines[pipeline], part, conf)
        return state, "".join(capfd.readouterr())

    return repeated


@dataclass(frozen=True, slots=True)
class Opens:
    """The fields of a form when it opens, by their titles, and those among them that have to be filled in first."""

    fields: tuple[str, ...]
    required: tuple[str, ...] = ()


FORMS = {
    "doctor": Opens(()),
    "verify": Opens(("Tables", "Method", "Sample", "Due", "History", "Show values")),
    "snapshot": Opens(("Tables", "Replace", "By policy")),
    "backfill": Opens(
        ("Tables", "From", "To", "Target", "Schema", "From logs", "Logs", "Folder", "Reason", "Dry run"), ("From", "To")
    ),
    "mend": Opens(
        (
            "Mend",
            "Tables",
            "DDL",
            "New history",
            "Keys",
            "Copy",
            "Undo",
            "SCN",
            "Logs",
            "From",
            "From logs",
            "Window",
            "Replace",
            "Discard",
            "Transaction",
            "Container",
            "Reason",
            "Dry run",
            "Confirm",
        )
    ),
    "recover": Opens(("Tables", "Choice", "Restored", "SCN", "Reason", "Dry run", "Confirm")),
    "maintain": Opens(("Tables", "Dry run")),
}


def test_every_dag_that_is_started_by_hand_has_its_form_here() -> None:
    from redolake.airflow.settings import STARTED_BY_HAND

    assert set(FORMS) == STARTED_BY_HAND == {part for _, part, *_ in RUNS.values()}


NEEDS_REASON = "needs a reason, which is stored with it\n    do this: add --reason TEXT, or in Airflow fill in the field Reason"
# What is filled in, what the run gets of it, and what the run says. In a list, `=` stands before what is chosen; `!` turns a
# switch.
Fields = dict[str, str]
RUNS: dict[str, tuple[str, str, Fields, dict[str, Any], str, str]] = {
    "a check of the source": (NAMED, "doctor", {}, {}, "success", ""),
    "from above to": (
        NAMED, "backfill", {"from_scn": "9", "to_scn": "5"},
        {
            "from_scn": "9", "to_scn": "5", "tables": [], "from_logs": False, "logs": [],
            "schema": "historic", "dry_run": True,
        },
        "failed", "[9, 5) holds no SCN\n    do this: give a from-SCN below the to-SCN",
    ),
    "a range that is not landed": (
        NAMED, "backfill", {"from_scn": "5", "to_scn": "9", "schema": "=current"},
        {"from_scn": "5", "to_scn": "9", "schema": "current"},
        "failed", "[5, 9) is not completely landed: nothing is landed\n    do this: choose a range inside it",
    ),
    "archived logs that the database cannot open": (
        NAMED, "backfill", {"from_scn": "5", "to_scn": "9", "from_logs": "!", "logs": "/restored"},
        {"from_logs": True, "logs": ["/restored"]},
        "failed", "/restored: ORA-01284: file /restored cannot be opened",
    ),
    "a range for live tables that is not landed": (
        NAMED, "backfill", {"from_scn": "5", "to_scn": "9", "target": "=live: "}, {"target": "live", "reason": None},
        "failed", "[5, 9) is not completely landed: nothing is landed",
    ),
    "logs that would not be read": (
        NAMED, "backfill", {"from_scn": "5", "to_scn": "9", "logs": "/restored"}, {"from_logs": False, "logs": ["/restored"]},
        "failed", "--logs: are given, and the landing is read\n    do this: add --from-logs, in Airflow the field From logs",
    ),
    "a time in the future": (
        NAMED, "backfill", {"from_scn": "first", "to_scn": "2199-11-20 08:00 UTC"}, {"to_scn": "2199-11-20 08:00 UTC"},
        "failed", "to: 2199-11-20 08:00:00 UTC is in the future: it is ",
    ),
    "a time without its zone": (
        NAMED, "backfill", {"from_scn": "2026-11-20 08:00", "to_scn": "now"},
        {"from_scn": "2026-11-20 08:00", "to_scn": "now"},
        "failed", "'2026-11-20 08:00' has no zone: write `2026-11-20 08:00 UTC`",
    ),
    "an unknown table to snapshot": (
        MATCHED, "snapshot", {"tables": "SHOP.NOTHING\n\n"}, {"tables": ["SHOP.NOTHING", "", ""], "replace": False},
        "failed", NO_TABLE,
    ),
    "an unknown table to compare": (
        MATCHED, "verify", {"tables": "SHOP.NOTHING"}, {"tables": ["SHOP.NOTHING"]},
        "failed", NO_TABLE,
    ),
    "tables without contents": (
        NAMED, "verify", {}, {"tables": []}, "failed", "SHOP.STOCK: NOT COMPARED, Terminal: the table has no contents yet",
    ),
    "a table that is not held": (
        MATCHED, "mend", {"tables": "SHOP.NOTHING"}, {"mend": "resume", "tables": ["SHOP.NOTHING"], "ddl": None},
        "failed", NO_TABLE,
    ),
    "a choice for a DDL without a reason": (
        NAMED, "mend", {"tables": "=SHOP.STOCK", "ddl": "=ignore", "confirm": "e2e", "dry_run": "!"},
        {"tables": ["SHOP.STOCK"], "ddl": "ignore", "dry_run": False}, "failed", NEEDS_REASON,
    ),
    "a repair without a reason": (
        NAMED, "mend", {"mend": "=repair: ", "tables": "=SHOP.STOCK", "dry_run": "!"},
        {"mend": "repair", "tables": ["SHOP.STOCK"], "reason": None}, "failed", NEEDS_REASON,
    ),
    "copies of tables with nothing in them": (
        NAMED, "backfill", {"from_scn": "5", "to_scn": "9", "target": "=copy: "}, {"target": "copy", "from_logs": False},
        "failed", "the table has no contents yet",
    ),
    "copies from logs": (
        NAMED, "backfill", {"from_scn": "5", "to_scn": "9", "target": "=copy: ", "from_logs": "!"},
        {"target": "copy", "from_logs": True},
        "failed", "--from-logs: is nothing for the target copy\n    do this: leave it out, in Airflow the field From logs",
    ),
    "a swap with no copy": (
        NAMED, "mend", {"mend": "=swap: ", "tables": "=SHOP.STOCK"},
        {"mend": "swap", "tables": ["SHOP.STOCK"], "copy": None, "dry_run": True},
        "failed", "swap of SHOP.STOCK: neither a copy nor undo is chosen",
    ),
    "a swap of a table without contents": (
        MATCHED, "mend", {"mend": "=swap: ", "tables": "SHOP.STOCK", "copy": "5-9-copy", "reason": "a bug"},
        {"tables": ["SHOP.STOCK"], "copy": "5-9-copy", "reason": "a bug"}, "failed", "the table has no contents yet",
    ),
    "an undo that names a copy": (
        NAMED, "mend", {"mend": "=swap: ", "tables": "=SHOP.STOCK", "copy": "5-9-copy", "undo": "!"},
        {"undo": True, "copy": "5-9-copy"}, "failed", "a copy and undo exclude each other",
    ),
    "columns of a table without contents": (
        NAMED, "mend", {"mend": "=fill-columns: ", "tables": "=SHOP.STOCK"}, {"mend": "fill-columns", "tables": ["SHOP.STOCK"]},
        "failed", "the table has no contents yet",
    ),
    "keys of no table": (
        NAMED, "mend", {"mend": "=quarantine retry: ", "keys": "ID=4"}, {"tables": [], "keys": "ID=4"},
        "failed", "no table is chosen to quarantine retry\n  do this: choose it in the field Tables",
    ),
    "nothing to retry": (
        NAMED, "mend", {"mend": "=quarantine retry: ", "tables": "=SHOP.STOCK"}, {"mend": "quarantine retry"},
        "failed", "no key of the table is in quarantine",
    ),
    "a field of another operation": (
        NAMED, "mend", {"mend": "=tx drop: ", "keys": "ID=4"}, {"mend": "tx drop", "keys": "ID=4"},
        "failed", "tx drop has no Keys\n  do this: leave the field Keys empty",
    ),
    "a look where nothing is lost": (NAMED, "recover", {}, {"choice": None, "scn": None, "tables": []}, "success", ""),
    "a gap that is confirmed by another text": (
        NAMED, "recover", {"choice": "=gap: ", "reason": "gone", "confirm": "yes", "dry_run": "!"},
        {"choice": "gap", "confirm": "yes"},
        "failed", "not confirmed: the field Confirm must contain e2e\n  do this: trigger it again and fill it in",
    ),
    "a gap without a reason": (
        NAMED, "recover", {"choice": "=gap: ", "confirm": "e2e", "dry_run": "!"},
        {"choice": "gap", "reason": None, "confirm": "e2e"},
        "failed", NEEDS_REASON,
    ),
    "maintenance where nothing is old": (NAMED, "maintain", {}, {"dry_run": False}, "success", ""),
    "a list of open transactions": (NAMED, "mend", {"mend": "=tx drop: "}, {"xid": None, "dry_run": True}, "success", ""),
    "no transaction to drop": (
        NAMED, "mend", {"mend": "=tx drop: ", "reason": "gone", "confirm": "e2e", "dry_run": "!"},
        {"mend": "tx drop", "xid": None}, "failed", "no transaction is named",
    ),
    "an unknown transaction": (
        NAMED, "mend", {"mend": "=tx drop: ", "xid": " 1.2.3"}, {"mend": "tx drop", "xid": " 1.2.3"},
        "failed", "no transaction 1.2.3 is open at the end of the last batch",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_a_form_opens_with_its_fields_and_its_run_gets_what_was_filled_in_and_says_what_is_wrong_with_it(
    name: str, open_form: Callable[..., Form], repeat: Callable[..., tuple[str, str]]
) -> None:
    pipeline, part, fields, conf, state, text = RUNS[name]
    form = open_form(part, pipeline)
    for field, value in fields.items():
        if value == "!":
            form.turn(field)
        elif value.startswith("="):
            form.choose(field, value[1:])
        else:
            form.write(field, value)

    status, run = form.send()

    assert status == 200, run
    assert {key: run["conf"][key] for key in conf} == conf
    found, log = repeat(part, run["conf"], pipeline)
    assert (found, text in log) == (state, True), log[-2000:]


def test_a_fraction_is_refused_in_the_form(open_form: Callable[..., Form]) -> None:
    form = open_form("backfill", on_its_page=True)
    form.write("from_scn", "2.5")
    form.write("to_scn", "9")

    status, answer = form.send()

    assert status == 400
    assert "'2.5' does not match" in answer["detail"]
    form.dialog.get_by_text("'2.5' does not match").first.wait_for()


def test_a_list_from_which_everything_was_removed_means_all_tables(open_form: Callable[..., Form]) -> None:
    form = open_form("snapshot")
    form.choose("tables", "SHOP.STOCK")
    form.box("tables").press("Backspace")

    status, run = form.send()

    assert (status, run["conf"]["tables"]) == (200, None)
