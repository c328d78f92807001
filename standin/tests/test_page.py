"""Whatever the page names is there: commands, their options, and those of a database in Python."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from standin.__main__ import app
from standin.engine.settings.options import DatabaseOptions

PAGE = (Path(__file__).parents[1] / "docs" / "reference.md").read_text()


def test_every_named_command_of_the_stand_in_has_the_named_options() -> None:
    commands = typer.main.get_command(app).commands.items()  # type: ignore[attr-defined]
    known = {name: {option for p in command.params for option in (*p.opts, *p.secondary_opts)} for name, command in commands}
    named = re.findall(r"(?:python -m standin|`)\s*(start|workload|inject-fault)\b([^`#\n]*)", PAGE)

    found = [(name, option) for name, text in named for option in re.findall(r"(?<![\w-])--[a-z-]+", text)]
    assert len(found) > 8
    assert [(name, option) for name, option in found if option not in known[name] | {"--help"}] == []
    alone = {option for text in re.findall(r"`(--[^`]+)`", PAGE) for option in re.findall(r"--[a-z-]+", text)}
    assert len(alone) > 4
    assert alone <= set().union(*known.values())


def test_every_named_option_of_the_stand_in_in_python_exists() -> None:
    """And each that is a reading of Oracle is named."""
    table = PAGE.partition("\n## Options\n")[2].partition("\nNo option")[0]
    named = set(re.findall(r"`([a-z_]+)`", table)) | set(re.findall(r"`([a-z_]+)=[^`]+`", PAGE))

    assert len(named) > 20
    assert sorted(named - {*DatabaseOptions.__dataclass_fields__}) == []
    sizes = [
        "name", "pdb_name", "is_cdb", "dbid", "threads", "log_bytes", "groups", "destinations", "archive_lag_target",
        "directory", "start_scn", "scns_per_second", "undo_scns", "undo_seconds", "supplemental", "passwords",
        "verifier_rounds", "background",
    ]  # fmt: skip
    assert {*DatabaseOptions.__dataclass_fields__} - {*sizes} - named == set()
