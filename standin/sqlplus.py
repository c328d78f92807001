"""Runs a script as SQL*Plus does: replaces `&` in comments too, waits for answers, and passes over errors by default.

Known are the commands of installers: ACCEPT, DEFINE, UNDEFINE, PROMPT, REMARK, SET, WHENEVER, EXECUTE, EXIT, CONNECT, COLUMN
with NEW_VALUE, and @, @@, START for another script. What only changes the screen or the machine around it (SPOOL, HOST, SHOW)
is passed over.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from standin.interface import OraError

_PLSQL = re.compile(
    r"(BEGIN|DECLARE|CREATE\s+(OR\s+REPLACE\s+)?((NON)?EDITIONABLE\s+)?(PROCEDURE|FUNCTION|PACKAGE|TRIGGER|TYPE))\b",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"(?P<user>\"[^\"]+\"|[^/@\s]+)(/(?P<password>\"[^\"]*\"|[^@\s]*))?(@\S+)?(\s+AS\s+\w+)?;?", re.IGNORECASE)
_COMMANDS = {  # shortest accepted form -> full name
    "ACC": "ACCEPT",
    "DEF": "DEFINE",
    "UNDEF": "UNDEFINE",
    "PRO": "PROMPT",
    "REM": "REMARK",
    "SET": "SET",
    "WHENEVER": "WHENEVER",
    "EXEC": "EXECUTE",
    "EXIT": "EXIT",
    "QUIT": "QUIT",
    "CONN": "CONNECT",
    "STA": "START",
    "COL": "COLUMN",
    "SPO": "SPOOL",
    "HO": "HOST",
    "SHO": "SHOW",
    "CL": "CLEAR",
    "DESC": "DESCRIBE",
    "TTI": "TTITLE",
    "BTI": "BTITLE",
    "TIMI": "TIMING",
    "BRE": "BREAK",
    "VAR": "VARIABLE",
    "PRI": "PRINT",
}
_SWITCHES = ("VERIFY", "ECHO", "FEEDBACK", "DEFINE", "SQLBLANKLINES")
_SHORT_SWITCHES = {"VER": "VERIFY", "FEED": "FEEDBACK", "DEF": "DEFINE", "SCAN": "DEFINE", "SQLBL": "SQLBLANKLINES"}


class Waits(Exception):
    """The script asks a question that nobody answers: in a container's start-up scripts it would hang."""


@runtime_checkable
class _Answer(Protocol):
    """What a query returns: a cursor of a driver."""

    @property
    def description(self) -> Sequence[Sequence[object]] | None: ...

    def __iter__(self) -> Iterator[Sequence[object]]: ...


@dataclass(slots=True)
class Transcript:
    """The screen after a script, the questions it asked, and the statements it ran; `failed` is a non-zero exit status."""

    screen: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    failed: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.screen)


class _Exit(Exception):
    pass


class _SqlPlus:
    def __init__(
        self,
        execute: Callable[[str], object],
        answers: Iterable[str],
        errors: tuple[type[Exception], ...],
        read: Callable[[str], str | None],
        connect: Callable[[str, str], Callable[[str], object]] | None,
    ) -> None:
        self.transcript = Transcript()
        self._read, self._connect_as = read, connect
        self._folders = [""]  # of the scripts that run, the innermost last
        self._new_values: dict[str, str] = {}  # column -> variable
        self._in_comment = False
        self._ampersand = "&"
        self._execute, self._errors = execute, errors
        self._answers = iter(answers)
        self._defined: dict[str, str] = {}
        self._on = {"VERIFY": True, "ECHO": False, "FEEDBACK": True, "DEFINE": True, "SQLBLANKLINES": False}
        self._exits, self._exit_fails = False, True
        self._commands = {
            "ACCEPT": self._accept,
            "DEFINE": self._define,
            "UNDEFINE": self._undefine,
            "PROMPT": self._show,
            "SET": self._set,
            "WHENEVER": self._whenever,
            "EXECUTE": lambda call: self._run_statement(f"BEGIN {call}; END;"),
            "EXIT": self._leave,
            "QUIT": self._leave,
            "CONNECT": self._connect,
            "START": lambda rest: self._start(rest, ""),
            "COLUMN": self._column,
        }
        self._buffer: list[str] = []  # the statement being read
        self._continues = False  # its last line ends with a hyphen
        self._last = ""  # the statement that `/` runs again

    def run(self, text: str) -> Transcript:
        try:
            for line in text.splitlines():
                self._line(line)
        except _Exit:
            pass
        return self.transcript

    def _line(self, line: str) -> None:
        if self._on["ECHO"]:
            self._show(f"SQL> {line}")
        bare = line.strip()
        if self._buffer:
            self._continued(line, bare)
        elif self._in_comment:
            self._in_comment = "*/" not in bare
        elif bare.startswith("/*"):
            self._comment(bare)
        elif bare == "/":
            self._run_statement(self._last)
        elif bare and not self._command(bare):
            self._begin(line, bare)

    def _comment(self, bare: str) -> None:
        """Pass over a comment before a statement. Without a blank after its start SQL*Plus runs the slash."""
        if self._last and not re.match(r"/\*(\s|$)", bare):
            self._run_statement(self._last)
        self._in_comment = "*/" not in bare

    def _begin(self, line: str, bare: str) -> None:
        line = self._continuing(self._replaced(line))
        if not bare.startswith("--"):  # of a comment too SQL*Plus has replaced the variables by now
            self._buffer = [line]
            self._end_if_complete()

    def _continued(self, line: str, bare: str) -> None:
        if bare == "/":
            self._finish("\n".join(self._buffer))
        elif not bare and not self._is_plsql and not self._on["SQLBLANKLINES"]:
            self._last, self._buffer = "\n".join(self._buffer), []  # a blank line ends a statement without running it
        else:
            line = self._replaced(line)
            if self._continues:
                line = f"{self._buffer.pop()} {line}"
            self._buffer.append(self._continuing(line))
            self._end_if_complete()

    def _continuing(self, line: str) -> str:
        """Return a line of a statement without the hyphen at its end, which continues it with the next line."""
        self._continues = line.rstrip().endswith("-") and not line.lstrip().startswith("--")
        return line.rstrip()[:-1] if self._continues else line

    @property
    def _is_plsql(self) -> bool:
        return _PLSQL.match(self._buffer[0].strip()) is not None

    def _end_if_complete(self) -> None:
        text = "\n".join(self._buffer).rstrip()
        if not self._is_plsql and text.endswith(";"):
            self._finish(text.removesuffix(";"))

    def _finish(self, text: str) -> None:
        self._buffer, self._last = [], text
        self._run_statement(text)

    def _run_statement(self, text: str) -> None:
        self.transcript.statements.append(text)
        try:
            self._keep_new_values(self._execute(text))
        except self._errors as error:
            self._show("ERROR at line 1:")
            self._show(str(error))
            self.transcript.errors.append(str(error))
            if self._exits:
                self._exit(self._exit_fails)

    def _leave(self, status: str) -> None:
        self._exit(status.upper() not in ("", "SUCCESS", "0"))

    def _exit(self, failed: bool) -> None:
        self.transcript.failed = failed
        raise _Exit

    def _keep_new_values(self, answer: object) -> None:
        if self._new_values and isinstance(answer, _Answer) and answer.description:
            names = [str(column[0]).upper() for column in answer.description]
            for row in answer:
                for name, value in zip(names, row, strict=True):
                    if name in self._new_values:
                        self._defined[self._new_values[name]] = "" if value is None else str(value)

    def _start(self, rest: str, folder: str) -> None:
        """Run another script, whose name counts from `folder`; its arguments are &1, &2 and so on."""
        name, *arguments = shlex.split(rest.rstrip(";"))
        path = os.path.normpath(os.path.join(folder, name if Path(name).suffix else f"{name}.sql"))
        text = self._read(path)
        if text is None:
            self._show(f'SP2-0310: unable to open file "{path}"')
            self.transcript.errors.append(self.transcript.screen[-1])
            return
        self._defined |= {str(number): argument for number, argument in enumerate(arguments, 1)}
        self._folders.append(os.path.dirname(path))
        for line in text.splitlines():
            self._line(line)
        self._folders.pop()
        if self._buffer:  # the end of a script ends a statement without running it
            self._last, self._buffer = "\n".join(self._buffer), []

    def _connect(self, rest: str) -> None:
        login = _LOGIN.fullmatch(rest)
        if login is None or self._connect_as is None:
            self._show("SP2-0640: Not connected")
            self.transcript.errors.append(f"{self.transcript.screen[-1]}: CONNECT {rest.partition('/')[0]}")
            return
        self._execute = self._connect_as(login["user"].strip('"'), (login["password"] or "").strip('"'))

    def _column(self, rest: str) -> None:
        """Note the variable that takes a column's value; how a column is shown does not matter here."""
        words = rest.split()
        short = [word.upper() for word in words]
        place = next((at for at, word in enumerate(short) if word in ("NEW_VALUE", "NEW_V")), None)
        if place is not None:
            self._new_values[short[0]] = words[place + 1].lower()

    def _command(self, line: str) -> bool:
        if line.startswith("@"):
            self._start(self._replaced(line).lstrip("@"), self._folders[-1] if line.startswith("@@") else "")
            return True
        word = line.split()[0].rstrip(";").upper()
        name = next((full for short, full in _COMMANDS.items() if word.startswith(short) and full.startswith(word)), None)
        if name is None or (name == "SET" and re.match(r"SET\s+(ROLE|TRANSACTION|CONSTRAINTS?)\b", line, re.IGNORECASE)):
            return False
        if name == "REMARK":  # the one comment that is not searched for variables
            return True
        rest = self._replaced(line).rstrip(";")[len(word) :].strip()
        if name in self._commands:  # the others change the screen or the machine around it
            self._commands[name](rest)
        return True

    def _accept(self, rest: str) -> None:
        words = shlex.split(rest, posix=True)
        name, upper = words[0], [word.upper() for word in words]
        prompt = words[upper.index("PROMPT") + 1] if "PROMPT" in upper else ""
        typed = self._ask(prompt, hidden="HIDE" in upper)
        default = words[upper.index("DEFAULT") + 1] if "DEFAULT" in upper else ""
        self._defined[name.lower()] = typed or default

    def _define(self, rest: str) -> None:
        name, _, value = rest.partition("=")
        self._defined[name.strip().lower()] = value.strip().strip("'\"")

    def _undefine(self, rest: str) -> None:
        for name in rest.split():
            self._defined.pop(name.lower(), None)

    def _set(self, rest: str) -> None:
        words = iter(rest.upper().split())
        for name in words:
            full = _SHORT_SWITCHES.get(name, name)
            value = next(words, "")
            if full in _SWITCHES:
                self._on[full] = value != "OFF"
            if full == "DEFINE" and value.strip("'\"") not in ("ON", "OFF", ""):
                self._ampersand = value.strip("'\"")

    def _whenever(self, rest: str) -> None:
        kind, action, *status = rest.upper().split()
        if kind == "SQLERROR":
            self._exits = action == "EXIT"
            self._exit_fails = not status or status[0] not in ("SUCCESS", "0")

    def _replaced(self, line: str) -> str:
        """Replace the variables of a line, asking for those without a value."""
        if not self._on["DEFINE"]:
            return line
        mark = re.escape(self._ampersand)
        new = re.sub(rf"{mark}{mark}?(\w+)\.?", self._value, line)
        if new != line and self._on["VERIFY"]:
            self._show(f"old   1: {line}")
            self._show(f"new   1: {new}")
        return new

    def _value(self, found: re.Match[str]) -> str:
        name = found[1].lower()
        if name in self._defined:
            return self._defined[name]
        typed = self._ask(f"Enter value for {name}: ", hidden=False)
        if found[0].startswith(2 * self._ampersand):
            self._defined[name] = typed
        return typed

    def _ask(self, question: str, *, hidden: bool) -> str:
        self.transcript.questions.append(question)
        typed = next(self._answers, None)
        if typed is None:
            raise Waits(f"the script waits for an answer to {question!r}")
        self._show(question + ("*" * len(typed) if hidden else typed))
        return typed

    def _show(self, line: str) -> None:
        self.transcript.screen.append(line)


def run_script(
    text: str,
    execute: Callable[[str], object],
    answers: Iterable[str] = (),
    errors: tuple[type[Exception], ...] = (OraError,),
    read: Callable[[str], str | None] = lambda path: None,
    connect: Callable[[str, str], Callable[[str], object]] | None = None,
) -> Transcript:
    """Run the script's statements with `execute`; `answers` are typed at its questions, in order. `read` returns the text of
    another script by its path from where SQL*Plus was started: `@` counts from there, `@@` from the script that calls.
    `connect` opens a session of another user, for CONNECT, and returns what runs statements in it.

    Raises Waits for a question without an answer.
    """
    return _SqlPlus(execute, answers, errors, read, connect).run(text)
