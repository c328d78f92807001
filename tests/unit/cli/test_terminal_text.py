"""Names and values of the source in the terminal: whoever chooses them chooses no style, and commands no terminal."""

from __future__ import annotations

import pytest

from pipelines.cli.output import Output as Form
from pipelines.cli.output import console, findings_text, grid, print_alert, print_error, print_progress, show
from pipelines.errors import Finding

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
