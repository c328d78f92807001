"""How an operation is declared: what a person starts by hand is a function, and its command, its field of a form and its
button are made from the function's signature and docstring."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from inspect import getdoc, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

if TYPE_CHECKING:
    from redolake.config import Pipeline
    from redolake.source import ConnectParams


class Verdict(IntEnum):
    """How an operation has ended: its exit code on a terminal; in Airflow, all but DONE fail the run."""

    DONE = 0
    STOPPED = 1
    MISUSED = 2
    DIFFERS = 3
    LATER = 75


MEANINGS = {
    Verdict.DONE: "done",
    Verdict.STOPPED: "stopped, and the message says what to do; or `verify` could not compare a table",
    Verdict.MISUSED: "wrong configuration or usage",
    Verdict.DIFFERS: "something differs, or a table stays as it is: held, not repaired, not closed",
    Verdict.LATER: "try again later (`run`: an archived log is due and not there yet)",
}


@dataclass(frozen=True, slots=True)
class Option:
    """A value that a person chooses: an option of the command, a field of the form. `name` is the option's where it is another
    than the argument's, `title` the field's; `choices` are the values that it takes, with what they mean."""

    help: str
    title: str = ""
    name: str = ""
    positional: bool = False
    choices: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of an operation: its type is one of `str`, `int` and `bool`, or a list of tables or keys."""

    name: str
    type: Any
    default: Any
    option: Option

    @property
    def title(self) -> str:
        return self.option.title or self.name.replace("_", " ").capitalize()


Keys = Sequence[Mapping[str, str]]
Table = Annotated[str, Option("OWNER.TABLE.", positional=True)]
Tables = Annotated[list[str], Option("OWNER.TABLE ...", positional=True)]
OfKeys = Annotated[
    Keys, Option("Only the rows with these keys, e.g. ID=42. Default: all that are known to be wrong.", "Keys", "key")
]


@dataclass(frozen=True, slots=True)
class Work:
    """What an operation works with, and for whom. Without `execute` it changes nothing and says what it would do; `shown` is
    then what identifies that (Outcome.shown), and an operation that is given it does nothing else. `opens` opens Spark where
    the pipeline's own settings do not say how."""

    pipeline: Pipeline
    execute: bool
    by: str
    reason: str
    report: Callable[[str], None]
    source: ConnectParams | None = None
    opens: Callable[[], Any] | None = None
    shown: Any = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an operation did, or would do: `result` for programs, `lines` for people. `shown` identifies what the lines are
    about, as plain JSON."""

    result: Any
    lines: tuple[str, ...]
    verdict: Verdict = Verdict.DONE
    shown: Any = None


@dataclass(frozen=True, slots=True)
class Operation:
    """`command` are the words after `redolake`; `reason` says where the reason is stored. An operation that is `at_once` loses
    nothing, and its command does it without `--execute`. One that is `final` cannot be undone; with a parameter's name, only
    where that is chosen."""

    command: str
    act: Callable[..., Outcome]
    help: str
    reason: str
    connects: bool
    at_once: bool
    final: bool | str
    parameters: tuple[Parameter, ...]

    def is_final(self, chosen: Mapping[str, Any]) -> bool:
        return bool(chosen[self.final]) if isinstance(self.final, str) else self.final

    @property
    def does(self) -> str:
        """The first paragraph of its help."""
        return self.help.split("\n\n")[0]


def operation(
    command: str,
    *,
    reason: str,
    connects: bool = False,
    at_once: bool = False,
    final: bool | str = False,
) -> Callable[[Callable[..., Outcome]], Operation]:
    """Return a decorator that makes an Operation of a function whose first argument is the Work."""

    def declare(act: Callable[..., Outcome]) -> Operation:
        paragraphs = (getdoc(act) or "").split("\n\n")
        help = "\n\n".join(" ".join(one.split()) for one in paragraphs)
        return Operation(command, act, help, reason, connects, at_once, final, parameters_of(act))

    return declare


def parameters_of(act: Callable[..., Outcome]) -> tuple[Parameter, ...]:
    hints = get_type_hints(act, include_extras=True)
    found = list(signature(act).parameters.values())[1:]
    return tuple(Parameter(one.name, hints[one.name].__origin__, one.default, hints[one.name].__metadata__[0]) for one in found)
