"""Expressions, calls and binds inside a PL/SQL block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from standin.binds import scan_binds
from standin.engine.expressions.compiler import Compiler
from standin.engine.expressions.frame import EMPTY_SCOPE, Frame, NotCompilable
from standin.engine.sessions.privileges import executes
from standin.engine.sessions.procedures import FUNCTION_VALUE, not_declared, procedures, require_kind
from standin.engine.sessions.session import EngineSession
from standin.engine.text.parse import parse_as_written
from standin.engine.text.tokens import Cursor, Token, tokens_of
from standin.engine.types.comparison import arithmetic
from standin.engine.types.values import to_number
from standin.interface import OraError
from standin.intervals import DaySecond


@dataclass(frozen=True, slots=True)
class LocalProcedure:
    """A procedure of the block: its parameters with the texts of their defaults, and where its declarations begin."""

    parameters: tuple[tuple[str, str | None], ...]
    start: int
    is_autonomous: bool


@dataclass(slots=True)
class Binds:
    """The block's binds by name, with the direction each is used in."""

    values: dict[str, Any]
    variables: dict[str, Any] = field(default_factory=dict)  # of the block
    procedures: dict[str, LocalProcedure] = field(default_factory=dict)
    error: OraError | None = None  # which the running handler handles
    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)

    def get(self, name: str) -> Any:
        self.read.add(name)
        value = self.values.get(name)
        if isinstance(value, timedelta):
            return DaySecond.of(value)
        return None if value == "" else value

    def set(self, name: str, value: Any) -> None:
        self.written.add(name)
        self.values[name] = value

    def direction(self, name: str) -> str:
        if name in self.written:
            return "IN OUT" if name in self.read else "OUT"
        return "IN"


def value_of(session: EngineSession, cursor: Cursor, binds: Binds) -> Any:
    """Evaluate the expression up to the semicolon."""
    start = cursor.next.start
    while not cursor.is_next(";"):
        if cursor.take().kind == "end":
            raise unknown(cursor.next, cursor.text)
    return evaluate(session, cursor.text[start : cursor.next.start], binds)


def with_binds(text: str, binds: Binds) -> str:
    """Return SQL with the block's variables as binds."""
    out, at, tokens = [], 0, tokens_of(text)
    number = 0
    while number < len(tokens):
        token = tokens[number]
        record = ".".join(t.value for t in tokens[number : number + 3]) if number + 2 < len(tokens) else ""
        record = record.replace("...", ".")
        after_dot = number > 0 and tokens[number - 1].value == "." and tokens[number - 1].kind == "sign"
        name, length = (record, 3) if record in binds.variables else (token.value, 1)
        if token.kind == "word" and name in binds.variables and not after_dot:
            binds.values[f"V_{name.replace('.', '_')}"] = binds.variables[name]
            out += [text[at : token.start], f":V_{name.replace('.', '_')}"]
            at = tokens[number + length - 1].end
        number += length if token.kind == "word" and name in binds.variables else 1
    return "".join(out) + text[at:]


def call(session: EngineSession, cursor: Cursor, binds: Binds, *, as_function: bool = False) -> Any:
    """Run `package.procedure(a, name => b)`; OUT arguments must be binds."""
    start = cursor.next
    name = _dotted(cursor)
    procedure = procedures.find(name)
    if procedure is None or not executes(session.account, procedure.privilege):
        raise at_token(not_declared(name, *_line_of(cursor.text, start)), start)
    require_kind(procedure, as_function=as_function)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    outs: dict[str, str] = {}
    directions = {p.name: p.direction for p in procedure.parameters}
    if cursor.accept("("):
        while not cursor.accept(")"):
            is_named = cursor.ahead(1).value == "=>"
            at = len(positional)
            parameter = procedure.parameters[at].name if at < len(procedure.parameters) else ""
            if is_named:
                parameter = cursor.name().lower()
                cursor.expect("=>")
            direction = directions.get(parameter, "IN")
            if direction.endswith("OUT") and cursor.next.kind == "bind":
                outs[parameter] = cursor.next.value
            value = _skipped(cursor) if direction == "OUT" else expression(session, cursor, binds)
            if is_named:
                named[parameter] = value
            else:
                positional.append(value)
            if not cursor.accept(",") and not cursor.is_next(")"):
                raise unknown(cursor.next, cursor.text)
    result = procedures.call(session, name, positional, named)
    for parameter, bind in outs.items():
        binds.set(bind, result[parameter])
    return result[FUNCTION_VALUE] if isinstance(result, Mapping) and FUNCTION_VALUE in result else result


def _skipped(cursor: Cursor) -> Any:
    """Skip an OUT argument, whose value is not read."""
    cursor.take()
    return None


def _dotted(cursor: Cursor) -> str:
    if cursor.next.kind not in ("word", "quoted"):
        raise unknown(cursor.next, cursor.text)
    name = cursor.take().value
    while cursor.accept("."):
        name += "." + cursor.name()
    return name


def expression(session: EngineSession, cursor: Cursor, binds: Binds) -> Any:
    """Evaluate terms joined by + - * ||, from left to right."""
    value = _term(session, cursor, binds)
    while cursor.next.kind == "sign" and cursor.next.value in ("+", "-", "*", "||"):
        sign = cursor.take().value
        other = _term(session, cursor, binds)
        value = f"{value or ''}{other or ''}" if sign == "||" else arithmetic(sign, value, other)
    return value


def _term(session: EngineSession, cursor: Cursor, binds: Binds) -> Any:
    token = cursor.next
    if token.kind == "string":
        cursor.take()
        return token.value or None
    if token.kind == "number":
        cursor.take()
        return to_number(token.value)
    if token.kind == "bind":
        cursor.take()
        return binds.get(token.value)
    if cursor.accept("-"):
        return arithmetic("-", 0, _term(session, cursor, binds))
    if cursor.accept("("):
        value = expression(session, cursor, binds)
        cursor.expect(")")
        return value
    if cursor.accept("NULL"):
        return None
    if token.value in ("TRUE", "FALSE") and token.kind == "word":
        cursor.take()
        return token.value == "TRUE"
    return _name_or_call(session, cursor, binds)


def _name_or_call(session: EngineSession, cursor: Cursor, binds: Binds) -> Any:
    start, at = cursor.next, 0
    name = start.value
    while cursor.ahead(at + 1).value == "." and cursor.ahead(at + 1).kind == "sign":
        at += 2
        name += "." + cursor.ahead(at).value
    if name in binds.variables or start.value in binds.variables:
        length = at + 1 if name in binds.variables else 1
        for _ in range(length):
            cursor.take()
        return binds.variables[name if name in binds.variables else start.value]
    if procedures.has_constant(name):
        for _ in range(at + 1):
            cursor.take()
        return procedures.value_of(name)
    if procedures.find(name) is not None:
        return call(session, cursor, binds, as_function=True)
    if start.kind == "word":
        text_start = start.start
        _dotted(cursor)
        if cursor.is_next("("):
            cursor.parenthesised()
        return evaluate(session, cursor.text[text_start : cursor.next.start], binds)
    raise unknown(start, cursor.text)


def evaluate(session: EngineSession, text: str, binds: Binds) -> Any:
    """Return the value of an expression that is plain SQL."""
    bound = scan_binds(f"select {with_binds(text, binds)} from dual")
    tree = parse_as_written(bound.text)
    try:
        compiled = Compiler(EMPTY_SCOPE).compile(tree.expressions[0])
    except NotCompilable as error:
        raise OraError(3001, f"unimplemented feature: {error} in PL/SQL") from None
    return compiled.run((), Frame(session, [binds.get(name) for name in bound.names]))


def _line_of(text: str, token: Token) -> tuple[int, int]:
    line = text.count("\n", 0, token.start) + 1
    return line, token.start - (text.rfind("\n", 0, token.start) + 1) + 1


def unknown(token: Token, text: str, reason: str = "") -> OraError:
    line, column = _line_of(text, token)
    shown, because = token.value or "end-of-file", f" ({reason})" if reason else ""
    text_of_it = f'PLS-00103: Encountered the symbol "{shown}" when expecting something else{because}'
    return at_token(OraError(6550, f"line {line}, column {column}:", more=(text_of_it,)), token)


def at_token(error: OraError, token: Token) -> OraError:
    """Return the error with the token's offset in the text, which a client shows beside the line and column."""
    error.position = token.start
    return error
