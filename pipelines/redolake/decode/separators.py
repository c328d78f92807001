"""The grammar of a separator: the text of a redo statement between two literals, quotes included.

A separator closes the literal before it (a format mask is part of the separator), contains any values without a literal,
and opens the next literal or ends the statement. Any other text is an error. The states say which separator may follow
another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from redolake.decode.forms import CONSTANTS, FUNCTIONS, Clause, Form, Verb
from redolake.values.table import TableId


class Enclosure(IntEnum):
    """The text around a literal, which decides how the literal may be closed."""

    QUOTES = 0
    CALL = 1
    MASKABLE = 2  # a call that takes a second argument, the format mask
    UNISTR = 3  # may continue with || UNISTR(


# A literal is read in a state: clause times 4 plus Enclosure. Three more states are the start and end of a statement, and a
# literal that continues the value of the one before, in the same clause.
START, END, UNISTR_FOLLOWS = 12, 13, 14


def state(clause: int, enclosure: int) -> int:
    return clause * len(Enclosure) + enclosure


@dataclass(frozen=True, slots=True)
class StatementHead:
    """The head of a statement. `columns` is the list of an INSERT."""

    kind: Verb
    table: TableId
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Assignment:
    """A value of a column. `column` is None in the list of an INSERT, where the position gives it, and for ROWID."""

    column: str | None
    clause: Clause
    form: Form
    bare: str | None = None  # the text of a number without quotes


@dataclass(frozen=True, slots=True)
class Separator:
    """A separator. `enters` is the set of states it may follow, as bits. `inline` are its values without a literal."""

    enters: int
    leaves: int
    head: StatementHead | None = None
    inline: tuple[Assignment, ...] = ()
    opens: Assignment | None = None  # also None for ROWID, which the column ROW_ID contains


@dataclass(frozen=True, slots=True)
class _Rest:
    """The text between the end of one literal and the beginning of the next."""

    leaves: int
    inline: tuple[Assignment, ...] = ()
    opens: Assignment | None = None


_OF_A_MOMENT = (Form.DATE, Form.TIMESTAMP, Form.TIMESTAMP_TZ, Form.TIMESTAMP_LTZ)
_COLUMN = r'(?:a\.)?"(?P<column>[^"]+)"'
_CONSTANT = "|".join(map(re.escape, CONSTANTS))
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:E[+-]?\d+)?"
_OPENING = "|".join(map(re.escape, FUNCTIONS))
_VALUE = re.compile(rf"(?P<constant>{_CONSTANT})|(?P<number>{_NUMBER})|(?P<call>{_OPENING})?'\Z", re.ASCII)
_ASSIGNED = re.compile(rf"{_COLUMN}(?: = |(?P<null> IS NULL))")
_TABLE = r'"(?P<owner>[^"]+)"\."(?P<name>[^"]+)"'
_INSERT = re.compile(rf'insert into {_TABLE} ?\((?P<columns>"[^"]+"(?:,"[^"]+")*)\) values \(')
_UPDATE = re.compile(rf"update {_TABLE}(?: a)? set ")
_DELETE = re.compile(rf"delete from {_TABLE}(?: a)?")
_END = re.compile(r";?[\s\0]*")  # C programs end a text with NUL
_NAME = re.compile(r'"([^"]+)"')

# Format masks under which the text of a date is ISO. Mining sets SYYYY, which keeps the sign of BC; early landings have YYYY.
# Under another mask, day and month could be confused.
_MASK = re.compile(r"', 'S?YYYY-MM-DD HH24:MI:SS(?:\.FF[1-9]?)?(?: TZH:TZM)?'\)")

# An apostrophe inside a quoted name would count as a quote, so redo_sql.py replaces it by NUL, which no name may contain.
HIDDEN_APOSTROPHE = "\0"


def read_separator(text: str) -> Separator | None:
    """Return the parsed separator, or None where the grammar does not have the text."""
    if not text.startswith("'"):
        return _read_head(text)
    if text == "') || UNISTR('":
        return Separator(_bits(Clause, [Enclosure.UNISTR]), UNISTR_FOLLOWS)
    return _merge(_readings(text))


def _readings(text: str) -> Iterator[tuple[int, _Rest]]:
    """Yield (states, rest) for each clause and each way to close a literal under which the text has a meaning."""
    closings = [(1, [Enclosure.QUOTES])]
    if text.startswith("')"):
        closings.append((2, [w for w in Enclosure if w is not Enclosure.QUOTES]))
    if m := _MASK.match(text):
        closings.append((m.end(), [Enclosure.MASKABLE]))
    for length, enclosures in closings:
        for clause in Clause:
            if clause is Clause.VALUES:
                rest = _read_values(text, length, False)
            else:
                rest = _read_conditions(text, length, clause, False)
            if rest is not None:
                yield _bits([clause], enclosures), rest


def _merge(readings: Iterator[tuple[int, _Rest]]) -> Separator | None:
    """Merge readings with the same rest: `')` ends an INSERT after text, and an UPDATE after a call."""
    enters, merged = 0, None
    for states, rest in readings:
        if merged is not None and rest != merged:
            return None
        enters, merged = enters | states, rest
    return None if merged is None else Separator(enters, merged.leaves, None, merged.inline, merged.opens)


def _read_head(text: str) -> Separator | None:
    if m := _INSERT.match(text):
        columns = tuple(_show(c) for c in _NAME.findall(m["columns"]))
        kind, rest = Verb.INSERT, _read_values(text, m.end(), True)
        if len(set(columns)) < len(columns):
            return None
    elif m := _UPDATE.match(text):
        kind, columns, rest = Verb.UPDATE, (), _read_conditions(text, m.end(), Clause.SET, True)
    elif m := _DELETE.match(text):
        kind, columns = Verb.DELETE, ()
        if text.startswith(" where ", m.end()):
            rest = _read_conditions(text, m.end() + len(" where "), Clause.WHERE, True)
        else:
            rest = _Rest(END) if _END.fullmatch(text, m.end()) else None
    if m is None or rest is None:
        return None
    head = StatementHead(kind, TableId(_show(m["owner"]), _show(m["name"])), columns)
    return Separator(1 << START, rest.leaves, head, rest.inline, rest.opens)


def _read_values(text: str, at: int, first: bool) -> _Rest | None:
    inline: list[Assignment] = []
    while True:
        if not first:
            if text.startswith(")", at) and _END.fullmatch(text, at + 1):
                return _Rest(END, tuple(inline))
            if not text.startswith(",", at):
                return None
            at += 1
        first = False
        m = _VALUE.match(text, at)
        if m is None:
            return None
        value = _assignment(m, None, Clause.VALUES)
        if m.end() == len(text) and text.endswith("'"):
            return _Rest(state(Clause.VALUES, _enclosure(value.form)), tuple(inline), value)
        inline.append(value)
        at = m.end()


def _read_conditions(text: str, at: int, clause: Clause, first: bool) -> _Rest | None:
    """Read the list of a SET, which a WHERE may follow, or the conditions of a WHERE."""
    inline: list[Assignment] = []
    while True:
        if not first:
            if _END.fullmatch(text, at):
                return _Rest(END, tuple(inline))
            clause, at = _next_condition(text, at, clause)
            if at < 0:
                return None
        first = False
        if clause is Clause.WHERE and text[at:] in ("ROWID = '", "a.ROWID = '"):
            return _Rest(state(Clause.WHERE, Enclosure.QUOTES), tuple(inline))
        m = _ASSIGNED.match(text, at)
        if m is None:
            return None
        column, at = _show(m["column"]), m.end()
        if m["null"]:
            if clause is Clause.SET:
                return None
            inline.append(Assignment(column, clause, Form.NULL))
            continue
        m = _VALUE.match(text, at)
        if m is None:
            return None
        value = _assignment(m, column, clause)
        if m.end() == len(text) and text.endswith("'"):
            return _Rest(state(clause, _enclosure(value.form)), tuple(inline), value)
        inline.append(value)
        at = m.end()


def _next_condition(text: str, at: int, clause: Clause) -> tuple[Clause, int]:
    following_texts = ((", ", Clause.SET), (" where ", Clause.WHERE)) if clause is Clause.SET else ((" and ", Clause.WHERE),)
    for text_between, following in following_texts:
        if text.startswith(text_between, at):
            return following, at + len(text_between)
    return clause, -1


def _assignment(m: re.Match[str], column: str | None, clause: Clause) -> Assignment:
    if m["constant"]:
        return Assignment(column, clause, CONSTANTS[m["constant"]])
    if m["number"]:
        return Assignment(column, clause, Form.NUMBER, m["number"])
    return Assignment(column, clause, FUNCTIONS[m["call"]] if m["call"] else Form.TEXT)


def _enclosure(form: Form) -> Enclosure:
    if form in (Form.TEXT, Form.MOMENT):
        return Enclosure.QUOTES
    if form is Form.UNISTR:
        return Enclosure.UNISTR
    return Enclosure.MASKABLE if form in _OF_A_MOMENT else Enclosure.CALL


def _bits(clauses: Iterable[Clause], enclosures: list[Enclosure]) -> int:
    return sum(1 << state(clause, enclosure) for clause in clauses for enclosure in enclosures)


def _show(name: str) -> str:
    return name.replace(HIDDEN_APOSTROPHE, "'")
