"""Translate the driver's errors into ours: the class by error number, with the failed statement's name and a cure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from redolake.errors import LogMinerFailed, RedolakeError, Terminal
from redolake.source.connection import NOT_SHOWN, shown_dsn
from redolake.source.grants import missing_grants
from redolake.values.ora_codes import (
    INTERNAL,
    MISSING_PRIVILEGE,
    ROWS,
    SHOWS_VALUES,
    WRAPPERS,
    error_class_for,
)  # fmt: skip

DRIVER = re.compile(r"DPY-\d{4}")
ORA = re.compile(r"ORA-(\d{5})")
CAUSE = re.compile(r"ORA-\d{5}|DPY-\d{4}|\[(?:Errno|SSL)|timed out")  # how a line begins that says why: Oracle, driver, network
TRANSIENT_CURE = "wait: the step is retried. If it keeps failing, ask the DBA for the alert log of that time"
UNKNOWN_CURE = "look up the code in Oracle's error manual; the step stopped and changed nothing"

LOGMINER_ARGUMENT = re.compile(r"ORA-0*600\b[^\n]*?\[krv\w*\]", re.IGNORECASE)
LOGMINER_CURE = (
    "wait: the step is retried. If it comes again, give the DBA this text with its time: the alert log and the incident (adrci)"
    " have the trace, Oracle Support knows the argument and its patch. If the redo of that log cannot be read at all, "
    "`redolake recover` lists the choices"
)
SHOWS_DSN = ("DPY-2049", "DPY-2056", "DPY-4017", "DPY-4018")  # texts with a connect string, or what an alias leads to
VALUES_OF_DSN = re.compile(r"(?:=\s*\"?|/)([^()&\"=\s/@:]{3,})")
SIMILAR = re.compile(r"[Ss]imilar to ORA-(\d{5})")


@dataclass(frozen=True, slots=True)
class DriverError:
    """The driver's error object. `code` is 0 for the driver's own errors."""

    code: int
    full_code: str
    message: str


def ora_number(error: DriverError) -> int:
    """Return the ORA number that decides the class: that of the cause below a wrapper, or of the listener in a DPY text."""
    if error.code in WRAPPERS:
        return next((n for n in map(int, ORA.findall(error.message)) if n not in WRAPPERS), error.code)
    if error.code:
        return error.code
    similar = SIMILAR.search(error.message)
    return int(similar[1]) if similar else 0


def without_values(error: DriverError) -> DriverError:
    """Return the error with a text that contains no value of a row: since 23ai texts of failed conversions do, and those of
    triggers and policies may."""
    lines = [line for line in error.message.splitlines() if ORA.match(line) or DRIVER.match(line)]
    shown = [f"{line.partition(':')[0]}: its text may contain row data" if has_value(line) else line for line in lines]
    return replace(error, message="\n".join(shown) or error.full_code)


def without_dsn(error: DriverError, dsn: str) -> DriverError:
    """Return the error with a text that contains nothing of a connect string, which may have the password of a wallet."""
    shown = shown_dsn(dsn)
    message = error.message.replace(dsn, shown) if dsn else error.message
    for part in VALUES_OF_DSN.findall(dsn):  # Oracle's client shows a part of it, too
        message = message if part in shown else message.replace(part, NOT_SHOWN)
    if error.full_code in SHOWS_DSN:
        code, _, text = message.splitlines()[0].partition(": ")
        said = re.split('[:"]', text)[0].strip()
        message = f"{code}: {said} (not shown: it may contain a password)"
    return replace(error, message=message)


def has_value(line: str) -> bool:
    number = ORA.match(line)
    return number is not None and int(number[1]) in SHOWS_VALUES


def is_of_logminer(number: int, error: DriverError) -> bool:
    """Return whether an internal error has an argument of LogMiner's code."""
    return number == INTERNAL and LOGMINER_ARGUMENT.search(error.message) is not None


def cure_of(number: int, full_code: str, kind: type[RedolakeError]) -> str:
    if kind is LogMinerFailed:
        return LOGMINER_CURE
    rows = (ROWS.get(number), ROWS.get(full_code))
    known = next((row.cure for row in rows if row and row.cure), "")
    return known or (UNKNOWN_CURE if issubclass(kind, Terminal) else TRANSIENT_CURE)


def translate(error: DriverError, doing: str, *, sql: str = "", user: str = "", dsn: str = "") -> RedolakeError:
    """Return the typed error for `error`, raised while `doing` (a statement's name, or `connect`)."""
    number = ora_number(error)
    kind = LogMinerFailed if is_of_logminer(number, error) else error_class_for(number, error.full_code)
    cure = cure_of(number, error.full_code, kind)
    if number in MISSING_PRIVILEGE:
        cure = missing_grants(sql, user) or "ask the DBA for the privilege that the statement needs"
    first_line = error.message.splitlines()[0] if error.message else error.full_code
    nested = "; ".join(line for line in error.message.splitlines()[1:] if CAUSE.match(line))
    what = f"{first_line.removesuffix('.')}; {nested}" if nested else first_line
    return kind(
        what, cure=cure.format(user=user or "the user"), ora_code=number or None, doing=doing, user=user, dsn=dsn or None
    )
