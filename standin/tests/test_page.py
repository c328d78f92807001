"""Whatever the page names is there: commands, their options, and those of a database in Python."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from standin.__main__ import app
from standin.engine.settings.options import DatabaseOptions
from standin.olr.options import Behaviour

PAGE = (Path(__file__).parents[1] / "docs" / "reference.md").read_text()


def test_every_named_command_of_the_stand_in_has_the_named_options() -> None:
    commands = typer.main.get_command(app).commands.items()  # type: ignore[attr-defined]
    known = {name: {option for p in command.params for option in (*p.opts, *p.secondary_opts)} for name, command in commands}
    named = re.findall(r"python -m standin ([a-z-]+)([^`#\n]*)", PAGE)
    rows = [("start", cell) for cell in re.findall(r"^\| (`--[^|]*) \|", PAGE, re.MULTILINE)]

    found = [(name, option) for name, text in (*named, *rows) for option in re.findall(r"(?<![\w-])--[a-z-]+", text)]
    assert len(found) > 20
    assert [(name, option) for name, option in found if option not in known[name]] == []


def test_every_named_option_of_the_stand_in_in_python_exists() -> None:
    cells = re.findall(r"^\|(?: [^|]* \|)? `([a-z_]+)(?:=[^`|]+)?`(?:[^|]*, in Python)? \|", PAGE, re.MULTILINE)

    assert len(cells) > 20
    assert sorted({*cells} - {*DatabaseOptions.__dataclass_fields__, *Behaviour.__dataclass_fields__}) == []
