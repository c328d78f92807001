"""How an operation is declared: what a person starts by hand is a function, and its command, its field of a form and its
button are made from the function's signature and docstring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from inspect import Parameter as Argument
from inspect import getdoc, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from redolake.errors import ConfigurationError, Finding
from redolake.values.moment import parse_moment

if TYPE_CHECKING:
    from redolake.config import Pipeline

When = bool | Callable[[Mapping[str, Any]], bool]


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
    than the argument's, `title` the field's; `choices` are the values that it takes, with what they mean; `check` raises
    ValueError for a value that is none."""

    help: str
    title: str = ""
    name: str = ""
    positional: bool = False
    choices: Mapping[str, str] = field(default_factory=dict)
    check: Callable[[Any], object] | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of an operation: its type is one of `str`, `int`, `bool` and Moment, or a list of tables, keys or texts."""

    name: str
    type: Any
    default: Any
    option: Option

    @property
    def title(self) -> str:
        return self.option.title or self.name.replace("_", " ").capitalize()

    @property
    def is_needed(self) -> bool:
        return self.default is Argument.empty

    @property
    def several(self) -> bool:
        return self.type in (Keys, Texts)

    @property
    def flag(self) -> str:
        return f"--{(self.option.name or self.name).replace('_', '-')}"

    def wrong_in(self, value: Any) -> Iterator[Finding]:
        """Yield what is no value of the parameter."""
        check = (lambda given: parse_moment(str(given))) if self.type is Moment else self.option.check
        if check is None or value is None:
            return
        for one in value if self.several else [value]:
            try:
                check(one)
            except ValueError as error:
                yield Finding(self.flag, str(error), f"correct it, in Airflow the field {self.title}")


class Moment(str):
    """An SCN, a time, `first`, `now`, or the name of a window (values/moment.py)."""


Keys = Sequence[Mapping[str, str]]
Texts = Sequence[str]
Table = Annotated[str, Option("OWNER.TABLE.", positional=True)]
Tables = Annotated[Texts, Option("OWNER.TABLE ...", positional=True)]
AnyTables = Annotated[Texts, Option("OWNER.TABLE ...; default: all tables.", positional=True)]
FromLogs = Annotated[bool, Option("Mine archived logs again, in place of windows that have landed or would have to.")]
Logs = Annotated[
    Texts,
    Option("A log, or a folder of them below `allowed_folders`, that the database can read. Default: V$ARCHIVED_LOG."),
]
OfKeys = Annotated[
    Keys, Option("Only the rows with these keys, e.g. ID=42. Default: all that are known to be wrong.", "Keys", "key")
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an operation did, or would do: `result` for programs, `lines` for people. `shown` identifies what the lines are
    about, as plain JSON. `is_all` says that --execute would do nothing else."""

    result: Any
    lines: tuple[str, ...]
    verdict: Verdict = Verdict.DONE
    shown: Any = None
    rest: Any = None
    is_all: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """`command` are the words after `redolake`. One that `looks` changes nothing. One that is `at_once` loses nothing, and its
    command does it without `--execute`. One that is `final` cannot be undone; with a parameter's name, only where that is
    chosen. A person `decides` what is final, and what is declared so, always or with what is chosen: then it needs a reason,
    and `reason` says where that is stored. `connects` says whether it asks the source, or with what is chosen it does. `record`
    ends what went on apart (Run.apart)."""

    command: str
    act: Callable[..., Outcome]
    help: str
    reason: str
    decides: When
    connects: When
    looks: bool
    at_once: bool
    final: bool | str
    record: Callable[[Pipeline, str], Outcome] | None
    parameters: tuple[Parameter, ...]

    def is_final(self, chosen: Mapping[str, Any]) -> bool:
        return bool(chosen[self.final]) if isinstance(self.final, str) else self.final

    def asks_source(self, chosen: Mapping[str, Any]) -> bool:
        return self.connects if isinstance(self.connects, bool) else self.connects(chosen)

    def needs_reason(self, chosen: Mapping[str, Any]) -> bool:
        return self.is_final(chosen) or (self.decides if isinstance(self.decides, bool) else self.decides(chosen))

    def check(self, chosen: Mapping[str, Any], *, execute: bool, reason: str) -> None:
        """Raise ConfigurationError for values that are none, and for a decision without a reason. Nothing is opened for it."""
        from redolake.context import check_reason

        if wrong := [finding for one in self.parameters for finding in one.wrong_in(chosen[one.name])]:
            raise ConfigurationError(wrong)
        if execute and self.needs_reason(chosen):
            check_reason(self.command, reason)

    @property
    def does(self) -> str:
        """The first paragraph of its help."""
        return self.help.split("\n\n")[0]


def operation(
    command: str,
    *,
    reason: str = "",
    decides: When = False,
    connects: When = False,
    looks: bool = False,
    at_once: bool = False,
    final: bool | str = False,
    record: Callable[[Pipeline, str], Outcome] | None = None,
) -> Callable[[Callable[..., Outcome]], Operation]:
    """Return a decorator that makes an Operation of a function whose first argument is the Run."""

    def declare(act: Callable[..., Outcome]) -> Operation:
        paragraphs = (getdoc(act) or "").split("\n\n")
        help = "\n\n".join(" ".join(one.split()) for one in paragraphs)
        mine = parameters_of(act)
        return Operation(command, act, help, reason, decides, connects, looks, at_once, final, record, mine)

    return declare


def parameters_of(act: Callable[..., Outcome]) -> tuple[Parameter, ...]:
    hints = get_type_hints(act, localns={"Run": object}, include_extras=True)  # what opens a Run is imported when one is needed
    found = list(signature(act).parameters.values())[1:]
    return tuple(Parameter(one.name, hints[one.name].__origin__, one.default, hints[one.name].__metadata__[0]) for one in found)
