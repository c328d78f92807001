"""Anonymous PL/SQL blocks: calls, assignments to binds, embedded SQL and EXECUTE IMMEDIATE, in sequence.

Variables and control flow are not modelled; a block that needs them raises ORA-06550.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from standin.binds import scan_binds
from standin.engine.comparison import arithmetic
from standin.engine.expressions import Compiler
from standin.engine.frame import EMPTY_SCOPE, Frame, NotCompilable
from standin.engine.parse import parse_as_written
from standin.engine.plsql import not_declared, procedures
from standin.engine.privileges import executes
from standin.engine.session import EngineSession
from standin.engine.tokens import Cursor, Token
from standin.engine.values import to_number
from standin.interface import Called, Done, OraError

_SQL = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "SAVEPOINT", "LOCK"})


@dataclass(slots=True)
class _Binds:
    """The block's binds by name, with the direction each is used in."""

    values: dict[str, Any]
    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)

    def get(self, name: str) -> Any:
        self.read.add(name)
        value = self.values.get(name)
        return None if value == "" else value

    def set(self, name: str, value: Any) -> None:
        self.written.add(name)
        self.values[name] = value

    def direction(self, name: str) -> str:
        if name in self.written:
            return "IN OUT" if name in self.read else "OUT"
        return "IN"


def run_block(session: EngineSession, text: str, names: Sequence[str], values: Sequence[Any]) -> Called:
    """Run a block or CALL. `names` are the distinct binds in order of first appearance."""
    binds = _Binds(dict(zip(names, [*values, *[None] * (len(names) - len(values))], strict=False)))
    cursor = Cursor(text)
    if cursor.accept("CALL"):
        _call(session, cursor, binds)
    else:
        if cursor.accept("DECLARE") and not cursor.is_next("BEGIN"):
            raise _unknown(cursor.next, cursor.text, "declarations are not modelled")
        cursor.expect("BEGIN")
        while not cursor.accept("END"):
            _statement(session, cursor, binds)
            if not cursor.accept(";"):
                raise _unknown(cursor.next, cursor.text)
    directions = [binds.direction(name) for name in names]
    return Called(directions, [None if d == "IN" else binds.values.get(n) for d, n in zip(directions, names, strict=True)])


def _statement(session: EngineSession, cursor: Cursor, binds: _Binds) -> None:
    if cursor.accept("NULL"):
        return
    if cursor.accept("BEGIN"):
        while not cursor.accept("END"):
            _statement(session, cursor, binds)
            cursor.expect(";")
        return
    if cursor.accept("COMMIT"):
        _skip_words(cursor)
        session.commit()
    elif cursor.is_next("ROLLBACK"):
        session.execute(_sql_text(cursor), ())
    elif cursor.accept("EXECUTE", "IMMEDIATE"):
        _execute_immediate(session, cursor, binds)
    elif cursor.next.kind == "word" and cursor.next.value in _SQL:
        _embedded(session, _sql_text(cursor), binds)
    elif cursor.next.kind == "bind":
        name = cursor.take().value
        cursor.expect(":=")
        binds.set(name, _expression(session, cursor, binds))
    else:
        _call(session, cursor, binds)


def _skip_words(cursor: Cursor) -> None:
    while cursor.next.kind == "word" and cursor.next.value != "END":
        cursor.take()


def _sql_text(cursor: Cursor) -> str:
    """Read the text up to the semicolon."""
    start = cursor.next.start
    while not cursor.is_next(";"):
        if cursor.take().kind == "end":
            raise _unknown(cursor.next, cursor.text)
    return cursor.text[start : cursor.next.start]


def _embedded(session: EngineSession, text: str, binds: _Binds) -> None:
    bound = scan_binds(text)
    given = bound.names if bound.returning_from is None else bound.names[: bound.returning_from]
    outcome = session.execute(text, [[binds.get(name) for name in given]] if given else ())
    if bound.returning_from is not None and isinstance(outcome, Done):
        for name, values in zip(bound.names[bound.returning_from :], outcome.returning[0], strict=True):
            if len(values) > 1:
                raise OraError(1422, "exact fetch returns more than requested number of rows")
            binds.set(name, values[0] if values else None)


def _execute_immediate(session: EngineSession, cursor: Cursor, binds: _Binds) -> None:
    text = _expression(session, cursor, binds)
    if not isinstance(text, str):
        raise OraError(6535, "statement string in EXECUTE IMMEDIATE is NULL or 0 length")
    values = []
    if cursor.accept("USING"):
        values.append(_expression(session, cursor, binds))
        while cursor.accept(","):
            values.append(_expression(session, cursor, binds))
    session.execute(text, [values] if values else ())


def _call(session: EngineSession, cursor: Cursor, binds: _Binds) -> Any:
    """Run `package.procedure(a, name => b)`; OUT arguments must be binds."""
    start = cursor.next
    name = _dotted(cursor)
    procedure = procedures.find(name)
    if procedure is None or not executes(session.account, procedure.privilege):
        raise not_declared(name, *_line_of(cursor.text, start))
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
            value = _skipped(cursor) if direction == "OUT" else _expression(session, cursor, binds)
            if is_named:
                named[parameter] = value
            else:
                positional.append(value)
            if not cursor.accept(",") and not cursor.is_next(")"):
                raise _unknown(cursor.next, cursor.text)
    result = procedures.call(session, name, positional, named)
    for parameter, bind in outs.items():
        binds.set(bind, result[parameter])
    return result


def _skipped(cursor: Cursor) -> Any:
    """Skip an OUT argument, whose value is not read."""
    cursor.take()
    return None


def _dotted(cursor: Cursor) -> str:
    if cursor.next.kind not in ("word", "quoted"):
        raise _unknown(cursor.next, cursor.text)
    name = cursor.take().value
    while cursor.accept("."):
        name += "." + cursor.name()
    return name


def _expression(session: EngineSession, cursor: Cursor, binds: _Binds) -> Any:
    """Evaluate terms joined by + - * ||, from left to right."""
    value = _term(session, cursor, binds)
    while cursor.next.kind == "sign" and cursor.next.value in ("+", "-", "*", "||"):
        sign = cursor.take().value
        other = _term(session, cursor, binds)
        value = f"{value or ''}{other or ''}" if sign == "||" else arithmetic(sign, value, other)
    return value


def _term(session: EngineSession, cursor: Cursor, binds: _Binds) -> Any:
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
        value = _expression(session, cursor, binds)
        cursor.expect(")")
        return value
    if cursor.accept("NULL"):
        return None
    if token.value in ("TRUE", "FALSE") and token.kind == "word":
        cursor.take()
        return token.value == "TRUE"
    return _name_or_call(session, cursor, binds)


def _name_or_call(session: EngineSession, cursor: Cursor, binds: _Binds) -> Any:
    start, at = cursor.next, 0
    name = start.value
    while cursor.ahead(at + 1).value == "." and cursor.ahead(at + 1).kind == "sign":
        at += 2
        name += "." + cursor.ahead(at).value
    if procedures.has_constant(name):
        for _ in range(at + 1):
            cursor.take()
        return procedures.value_of(name)
    if procedures.find(name) is not None:
        return _call(session, cursor, binds)
    if start.kind == "word":
        text_start = start.start
        _dotted(cursor)
        if cursor.is_next("("):
            cursor.parenthesised()
        return _evaluate(session, cursor.text[text_start : cursor.next.start], binds)
    raise _unknown(start, cursor.text)


def _evaluate(session: EngineSession, text: str, binds: _Binds) -> Any:
    """Return the value of an expression that is plain SQL."""
    bound = scan_binds(f"select {text} from dual")
    tree = parse_as_written(bound.text)
    try:
        compiled = Compiler(EMPTY_SCOPE).compile(tree.expressions[0])
    except NotCompilable as error:
        raise OraError(3001, f"unimplemented feature: {error} in PL/SQL") from None
    return compiled.run((), Frame(session, [binds.get(name) for name in bound.names]))


def _line_of(text: str, token: Token) -> tuple[int, int]:
    line = text.count("\n", 0, token.start) + 1
    return line, token.start - (text.rfind("\n", 0, token.start) + 1) + 1


def _unknown(token: Token, text: str, reason: str = "") -> OraError:
    line, column = _line_of(text, token)
    shown, because = token.value or "end-of-file", f" ({reason})" if reason else ""
    return OraError(
        6550,
        f"line {line}, column {column}:",
        more=(f'PLS-00103: Encountered the symbol "{shown}" when expecting something else{because}',),
    )
