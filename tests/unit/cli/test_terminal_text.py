"""Names and values of the source in the terminal: whoever chooses them chooses no style, and commands no terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Group

from redolake.cli.monitoring import show_details, tables_grid
from redolake.cli.output import Output as Form
from redolake.cli.output import console, findings_text, given, grid, print_alert, print_error, print_progress, show, text_of
from redolake.cli.quarantine import quarantine_text
from redolake.errors import Finding
from redolake.steps.proof.quarantine import QuarantinedChange, QuarantineList
from redolake.steps.shared.status import Status, TableStatus
from tests.unit.steps.test_lines import filled

HOSTILE = ("[red]x", "[/]", "[link=https://a.b]x", ":warning:", "a\x1b]0;title", "a\x9b2Jb", "a\u202eb", "a\\[b]")


def as_shown(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_name_or_value_is_shown_as_it_is(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    finding = Finding(text, "is odd", "leave it out")
    prints = (
        lambda: console.print(grid("", ("source", "Delta"), [(text, None)])),
        lambda: show(Form.table, [], lambda: findings_text([finding])),
        lambda: print_alert(text),
        lambda: print_error(text),
        lambda: print_progress(text),
    )
    for one in prints:
        one()
        shown = "".join(capsys.readouterr())
        assert as_shown(text) in shown
        assert all(c.isprintable() or c == "\n" for c in shown)


@pytest.mark.parametrize("text", ["A\nFORGED", "A\r\nFORGED", "A\x85FORGED", "[/x]\nFORGED"])
def test_no_name_of_a_pipeline_s_status_begins_a_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = filled(Status, text, on=False, none=False)

    console.print(tables_grid(found, {}))
    show_details(found)

    shown = capsys.readouterr().out
    assert shown.count("FORGED") > 20
    assert [line for line in shown.splitlines() if line.startswith("FORGED")] == []


def test_of_many_tables_those_that_are_no_less_than_live_share_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    live = [TableStatus(f"SHOP.T{n}", "live", 1000 + n) for n in range(40)]
    tables = (TableStatus("SHOP.H", "held", 900), *live)
    found = replace(filled(Status, "shop", on=False, none=True), tables=tables)

    console.print(tables_grid(found, {"SHOP.T7": "live, behind"}))

    shown = capsys.readouterr().out
    assert [name for name in ("SHOP.H", "SHOP.T7", "SHOP.T8", "39 more", "live, behind", "1000") if name not in shown] == [
        "SHOP.T8"
    ]
    assert len(shown.splitlines()) < 12


def test_a_long_list_of_changes_in_quarantine_shows_its_beginning_and_says_where_all_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = QuarantinedChange("SHOP.T", '{"ID":"1"}', "open", "ValueDoesNotFit", "why", "UPDATE", 1, 2, None, None, None, None)
    console.print(quarantine_text(QuarantineList(1000, 0, (one,) * 1000)))
    shown = capsys.readouterr().out

    assert shown.count("UPDATE") == 200
    assert "1000 key(s) in quarantine; the first 200 of 1000 changes, --output json has all" in " ".join(shown.split())


COMMAND = "do it again with `redolake repair SHOP.ORDERS --key ID=42 --execute --reason 'why not'` once that has ended"
PRINTED = (
    lambda: console.print(grid(COMMAND, ("a", "do this"), [("x", COMMAND)])),
    lambda: console.print(grid("", ("a", "do this"), [(n, COMMAND) for n in range(3)], ("a",))),
    lambda: show(Form.table, [], lambda: Group(grid("", ("a",), [(1,)]), text_of(COMMAND))),
    lambda: show(Form.table, [], lambda: findings_text([Finding("x", COMMAND, COMMAND)])),
    lambda: show(Form.table, [], lambda: COMMAND),
    lambda: print_alert(COMMAND, COMMAND),
    lambda: print_error(COMMAND),
    lambda: print_progress(COMMAND),
)


@pytest.mark.parametrize("width", [40, 80, 500])
@pytest.mark.parametrize("place", range(len(PRINTED)))
def test_a_command_names_its_pipeline_however_narrow_the_terminal(
    place: int, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell breaks it over lines, and a highlighted word of it is drawn apart."""
    monkeypatch.setattr(given, "options", ("-p shop",))
    monkeypatch.setattr(console, "_width", width)

    PRINTED[place]()

    letters = "".join(c for c in "".join(capsys.readouterr()) if c.isalnum() or c in "-='`")
    assert letters.count("redolakerepair") == letters.count("--reason'whynot'-pshop`") > 0
