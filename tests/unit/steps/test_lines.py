"""What a step's result says of itself: whatever is in a name or a value, no line of it begins another one."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import product
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from redolake import steps
from redolake.steps.ranges.live import LiveBackfill
from redolake.steps.ranges.logs import PlannedLogs

HOSTILE = (
    "A\nB",
    "A\r\n  do this: redolake recover --yes",
    "[/x]",
    "[bold red]A",
    "\x1b[2J\x1b]0;x\x07",
    "`rm -rf /`",
    "$(reboot)",
    "a'b",
    "A; DROP TABLE b; --",
    "\u2028A\u202eB\x85",
    "{{6*7}}",
    "| a | b |",
)
PLAIN = (PlannedLogs,)  # has only numbers in its lines


def results() -> list[type]:
    """Return every result of a step that has lines, or a text of its own."""
    found = []
    for module in pkgutil.walk_packages(steps.__path__, "redolake.steps."):
        for one in vars(importlib.import_module(module.name)).values():
            if isinstance(one, type) and dataclasses.is_dataclass(one) and one.__module__ == module.name:
                own = vars(one)
                if isinstance(own.get("lines"), property) or ("__str__" in own and not issubclass(one, Exception)):
                    found.append(one)
    return sorted({*found} - {*PLAIN}, key=lambda one: one.__qualname__)


def filled(kind: Any, text: str, *, on: bool, none: bool, name: str = "") -> Any:
    """Return an instance of a type whose texts are `text`; what may be on, empty or none is so or not."""
    if name == "error":
        return dict.fromkeys(("code", "what", "cure"), text)
    if name == "at" or name.endswith("_at"):
        return "2026-03-01T10:00:00+00:00"
    if name == "committed":
        return "0000000001-00000000000000000900"
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return None if none and NoneType in arguments else filled(arguments[0], text, on=on, none=none)
    if origin is Literal:
        return arguments[0]
    if origin is tuple or (origin is not None and issubclass(origin, Sequence)):
        return () if none else (filled(arguments[0], text, on=on, none=none),) * 2
    if origin is not None and issubclass(origin, Mapping):
        key, value = (filled(one, text, on=on, none=none) for one in arguments)
        return {} if none else {key: value}
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        fields = {one.name: filled(hints[one.name], text, on=on, none=none, name=one.name) for one in dataclasses.fields(kind)}
        return kind(**fields)
    return {str: text, bool: on, int: 0 if none else 3, float: 3.0}.get(kind, text)


@pytest.mark.parametrize("kind", results(), ids=lambda one: one.__name__)
def test_a_result_s_lines_stay_lines_whatever_is_in_its_names(kind: type) -> None:
    for text, on, none in product(HOSTILE, (False, True), (False, True)):
        made = filled(kind, text, on=on, none=none)

        lines = getattr(made, "lines", None) or (str(made),)

        assert all(line.isprintable() for line in lines), (text, lines)
        for line in lines:
            if found := re.fullmatch(r"(?:prove it|it is held, and goes on after): redolake (.*)", line):
                words = shlex.split(found[1])  # a shell sees the words that are meant, and no other command
                assert (words[0] in ("verify", "resume"), len(words)) == (True, 2 if kind is not LiveBackfill else 3), line
