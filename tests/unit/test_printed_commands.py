"""Each command in a text that people read is one that the command line itself accepts, as it is printed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from redolake import errors
from tests.support.printed_commands import (
    COMMANDS,
    GROUP,
    PAGES,
    PLACEHOLDER,
    QUOTED,
    ROOT,
    SHOWN,
    VALUES,
    code_commands,
    outside_quotes,
    page_commands,
    printed_shapes,
    without_templates,
)
from tests.tables.printed_places import LISTED, NOT_RUN, STATES, TRIED_IN, state_of


def fault_of(command: str) -> str:
    """Return why the command line refuses the command, which is not run; nothing if it accepts it."""
    if command.startswith("make "):
        return fault_of_make(command)
    words = shlex.split(PLACEHOLDER.sub(lambda found: VALUES[found[1]], re.sub(r" 2?> \S+$", "", command)))[1:]
    if "--help" in words or words == ["--version"]:
        return ""
    words = words[1:] if re.fullmatch("-v+", words[0]) else words
    chosen: Any = GROUP
    while hasattr(chosen, "commands"):
        chosen = chosen.commands.get(words[0] if words else "")
        words = words[1:]
    if chosen is None:
        return "no command of this name"
    try:
        chosen.make_context(chosen.name, words)
    except Exception as error:  # typer brings its own copy of click, or takes the installed one
        text = str(error.format_message()) if hasattr(error, "format_message") else repr(error)
        return "" if text.endswith("does not exist.") else text  # a file that the reader has
    return ""


def fault_of_make(command: str) -> str:
    text = (ROOT / "Makefile").read_text()
    targets = {name for line in re.findall(r"^([a-z][\w -]*):", text, re.M) for name in line.split()}
    variables = {name for pair in re.findall(r"\$\((?:if |or )?\$?\(?(\w+)|^(\w+) [:?]?=", text, re.M) for name in pair}
    wrong = [
        word
        for word in shlex.split(command)[1:]
        if (word.partition("=")[0] not in variables if "=" in word else word not in targets)
    ]
    return f"no target or variable: {wrong}" if wrong else ""


def wrong(found: Iterator[tuple[str, str]]) -> list[str]:
    return sorted({f"{place}: `{command}`: {fault}" for place, command in found if (fault := fault_of(command))})


def test_each_command_that_the_code_prints_is_accepted_by_the_command_line() -> None:
    assert len(dict.fromkeys(code_commands())) > 250
    assert wrong(code_commands()) == []


def test_each_command_of_the_page_and_of_files_for_other_programs_is_accepted() -> None:
    found = [(str(file.relative_to(ROOT)), command) for file in SHOWN for command in QUOTED.findall(without_templates(file))]

    assert {name for name, _ in found} > {
        "docker/prometheus/redolake-alerts.yml",
        "pipelines/redolake/cockpit/page/pipeline.html",
    }
    assert wrong(iter(found)) == []


def test_each_command_in_the_cure_of_an_error_class_is_accepted() -> None:
    texts = [(name, " ".join((kind.__doc__ or "").split())) for name, kind in vars(errors).items() if isinstance(kind, type)]

    assert wrong((name, command) for name, text in texts for command in QUOTED.findall(text)) == []


def test_a_command_outside_of_backquotes_ends_its_line() -> None:
    assert len(list(outside_quotes())) > 5
    assert wrong(outside_quotes()) == []


def test_each_command_of_a_page_is_accepted() -> None:
    assert wrong(one for page in PAGES for one in page_commands(page)) == []


# What cannot be undone asks, and a script or a task cannot answer. Others ask always, or, as `init`, not for this.
CONFIRMED = {
    "init": set[str](),
    "resume": {"--ddl"},
    "quarantine drop": {"--execute"},
    "tx drop": {"--execute"},
    "recover": {"--execute"},
    "remine": {"--discard"},
    "prune": {"--execute"},
    "history prune": {"--execute"},
    "history rebuild": {"--execute"},
}


def test_a_reason_and_a_confirmation_are_given_where_the_command_needs_them() -> None:
    """The help of `--reason` says with which options it is needed."""
    lacking = []
    for place, command in [*code_commands(), *outside_quotes()]:
        words = shlex.split(command)[1:]
        name = next((name for name in (" ".join(words[:2]), " ".join(words[:1])) if name in COMMANDS), "")
        parameters = COMMANDS[name].params if name else ()
        help_of = {option: getattr(one, "help", None) or "" for one in parameters for option in one.opts}
        needing = re.findall(r"(--[a-z -]+?)(?: and | needs? it)", help_of.get("--reason", ""))
        if "--reason" not in words and any({*options.split()} <= {*words} for options in needing):
            lacking.append(f"{place}: `{command}`: --reason")
        if "--yes" in help_of and {*words} & CONFIRMED.get(name, {*words}) and not {"--yes", "-y"} & {*words}:
            lacking.append(f"{place}: `{command}`: --yes")
    assert lacking == []


def test_each_place_that_prints_a_command_has_a_state_in_which_it_is_run() -> None:
    """tests/integration/test_cures_as_printed.py runs them there."""
    found = [(place, shape) for place, shape, _ in printed_shapes()]
    names = {*(place for place, _ in found), *(f"{place} {shape}" for place, shape in found)}

    lacking = [f"{place} {shape}" for place, shape in found if state_of(place, shape) is None]
    assert lacking == [], "add each to the state in which it is printed: tests/tables/printed_places.py"
    assert {*LISTED} - names == set(), "the code prints these no more"
    assert len(LISTED) == sum(len(places) for group in (STATES, TRIED_IN, NOT_RUN) for places in group.values())
    for test in TRIED_IN:
        file, _, function = test.partition("::")
        assert f"def {function}(" in (ROOT / file).read_text(), test
