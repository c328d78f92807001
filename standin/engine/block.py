"""Anonymous PL/SQL blocks: variables, calls, assignments, embedded SQL, EXECUTE IMMEDIATE, IF, FOR and exception handlers.

What else a block needs (cursors, records, procedures of its own, other loops) raises ORA-06550.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
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
from standin.engine.tokens import Cursor, Token, tokens_of
from standin.engine.values import to_number
from standin.interface import Called, Done, OraError, Rows

_SQL = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "SAVEPOINT", "LOCK"})
_ENDS = frozenset({"END", "EXCEPTION", "ELSE", "ELSIF", "WHEN"})  # words that end a sequence of statements
_NAMED_ERRORS = {
    "NO_DATA_FOUND": 1403,
    "TOO_MANY_ROWS": 1422,
    "DUP_VAL_ON_INDEX": 1,
    "ZERO_DIVIDE": 1476,
    "INVALID_NUMBER": 1722,
}
_INTO = re.compile(r"\bINTO\s+([\w:.\s,]+?)\s+(?=FROM\b)", re.IGNORECASE)


@dataclass(slots=True)
class _Binds:
    """The block's binds by name, with the direction each is used in."""

    values: dict[str, Any]
    variables: dict[str, Any] = field(default_factory=dict)  # of the block
    error: OraError | None = None  # which the running handler handles
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
        _block(session, cursor, binds)
    directions = [binds.direction(name) for name in names]
    return Called(directions, [None if d == "IN" else binds.values.get(n) for d, n in zip(directions, names, strict=True)])


def _block(session: EngineSession, cursor: Cursor, binds: _Binds) -> None:
    """Run [DECLARE ..] BEGIN .. [EXCEPTION ..] END."""
    if cursor.accept("DECLARE"):
        while not cursor.is_next("BEGIN"):
            _declare(session, cursor, binds)
    cursor.expect("BEGIN")
    start = cursor.position
    try:
        _statements(session, cursor, binds)
    except OraError as error:
        cursor.go_to(start)
        _skip(cursor)
        if not cursor.accept("EXCEPTION") or not _handles(cursor, error):
            raise
        outer = binds.error
        binds.error = error
        binds.variables |= {"SQLCODE": -error.code, "SQLERRM": str(error)}
        _statements(session, cursor, binds)
        binds.error = outer
    while not cursor.is_next("END"):
        cursor.take()  # EXCEPTION, or other handlers
        _skip(cursor)
    cursor.expect("END")
    if cursor.next.kind == "word" and not cursor.is_next(";"):
        cursor.take()  # the block's name


def _handles(cursor: Cursor, error: OraError) -> bool:
    """Go to the statements of the handler of this error. Return whether there is one."""
    while cursor.accept("WHEN"):
        names = [cursor.name()]
        while cursor.accept("OR"):
            names.append(cursor.name())
        cursor.expect("THEN")
        if "OTHERS" in names or any(_NAMED_ERRORS.get(name) == error.code for name in names):
            return True
        _skip(cursor)
    return False


def _statements(session: EngineSession, cursor: Cursor, binds: _Binds) -> None:
    """Run statements up to the word that ends them, which stays."""
    while not (cursor.next.kind == "word" and cursor.next.value in _ENDS):
        _statement(session, cursor, binds)
        if not cursor.accept(";"):
            raise _unknown(cursor.next, cursor.text)


def _skip(cursor: Cursor) -> None:
    """Go past statements that do not run, up to the word that ends them."""
    depth = 0
    while cursor.next.kind != "end":
        word = cursor.next.value if cursor.next.kind == "word" else ""
        if depth == 0 and word in _ENDS:
            return
        if word in ("BEGIN", "IF", "LOOP", "CASE"):
            depth += 1
        elif word == "END":
            depth -= 1
            if cursor.ahead(1).value in ("IF", "LOOP", "CASE"):
                cursor.take()
        cursor.take()


def _declare(session: EngineSession, cursor: Cursor, binds: _Binds) -> None:
    """Read a variable, with its type and value."""
    if cursor.next.value in ("PROCEDURE", "FUNCTION", "CURSOR", "TYPE", "PRAGMA"):
        raise _unknown(cursor.next, cursor.text, f"{cursor.next.value} in a block is not modelled")
    name = cursor.name()
    while not (cursor.is_next(";") or cursor.is_next(":=") or cursor.is_next("DEFAULT")):
        if cursor.take().kind == "end":
            raise _unknown(cursor.next, cursor.text)
    binds.variables[name] = None
    if cursor.accept(":=") or cursor.accept("DEFAULT"):
        binds.variables[name] = _value(session, cursor, binds)
    cursor.expect(";")


def _statement(session: EngineSession, cursor: Cursor, binds: _Binds) -> None:
    if cursor.accept("NULL") or _assigned(session, cursor, binds):
        return
    for word, run in _CONTROL.items():
        if cursor.is_next(word):
            run(session, cursor, binds)
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
    else:
        _call(session, cursor, binds)


def _assigned(session: EngineSession, cursor: Cursor, binds: _Binds) -> bool:
    """Run an assignment to a bind or variable, if one is next."""
    token = cursor.next
    if cursor.ahead(1).value != ":=" or not (token.kind == "bind" or token.value in binds.variables):
        return False
    cursor.take()
    cursor.expect(":=")
    if token.kind == "bind":
        binds.set(token.value, _expression(session, cursor, binds))
    else:
        binds.variables[token.value] = _value(session, cursor, binds)
    return True


def _raise(session: EngineSession, cursor: Cursor, binds: _Binds) -> None:
    cursor.expect("RAISE")
    if binds.error is None or not cursor.is_next(";"):
        raise _unknown(cursor.next, cursor.text)
    raise binds.error


def _raise_application_error(session: EngineSession, cursor: Cursor, binds: _Binds) -> None:
    cursor.expect("RAISE_APPLICATION_ERROR")
    number, text = cursor.expressions()[:2]
    raise OraError(-int(_evaluate(session, number, binds)), str(_evaluate(session, text, binds)))


def _if(session: EngineSession, cursor: Cursor, binds: _Binds) -> None:
    cursor.expect("IF")
    done = False
    while True:
        start = cursor.next.start
        while not cursor.is_next("THEN"):
            cursor.take()
        condition = cursor.text[start : cursor.next.start]
        cursor.expect("THEN")
        if not done and _evaluate(session, f"CASE WHEN {condition} THEN 1 ELSE 0 END", binds) == 1:
            done = True
            _statements(session, cursor, binds)
        else:
            _skip(cursor)
        if not cursor.accept("ELSIF"):
            break
    if cursor.accept("ELSE"):
        if done:
            _skip(cursor)
        else:
            _statements(session, cursor, binds)
    cursor.expect("END", "IF")


def _for(session: EngineSession, cursor: Cursor, binds: _Binds) -> None:
    """Run FOR i IN a .. b LOOP, or FOR r IN (query) LOOP, whose columns are r.name."""
    cursor.expect("FOR")
    name = cursor.name()
    cursor.expect("IN")
    rows: list[dict[str, Any]]
    if cursor.is_next("(", "SELECT") or cursor.is_next("(", "WITH"):
        text = cursor.parenthesised()
        rows = [{f"{name}.{column}": value for column, value in row.items()} for row in _queried(session, text, binds)]
    else:
        start = cursor.next.start
        while not cursor.is_next("LOOP"):
            cursor.take()
        first, _, last = cursor.text[start : cursor.next.start].partition("..")
        span = range(int(_evaluate(session, first, binds)), int(_evaluate(session, last, binds)) + 1)
        rows = [{name: number} for number in span]
    cursor.expect("LOOP")
    body, outer = cursor.position, dict(binds.variables)
    for row in rows:
        cursor.go_to(body)
        binds.variables |= row
        _statements(session, cursor, binds)
    for own in rows[0] if rows else ():
        binds.variables.pop(own, None)
        if own in outer:
            binds.variables[own] = outer[own]
    cursor.go_to(body)
    _skip(cursor)
    cursor.expect("END", "LOOP")


def _queried(session: EngineSession, text: str, binds: _Binds) -> list[dict[str, Any]]:
    """Return the rows of a query, with NUMBERs as numbers."""
    bound = scan_binds(_with_binds(text, binds))
    result = session.execute(bound.text, [[binds.get(name) for name in bound.names]] if bound.names else ())
    if not isinstance(result, Rows):
        raise OraError(6550, "line 1, column 1:", more=("PLS-00428: an INTO clause is expected in this SELECT statement",))
    found = []
    for batch in result.batches:
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            typed = (
                to_number(v) if c.type == "NUMBER" and v is not None else v for v, c in zip(values, result.columns, strict=True)
            )
            found.append(dict(zip((c.name for c in result.columns), typed, strict=True)))
    return found


def _select_into(session: EngineSession, cursor: Cursor, binds: _Binds) -> None:
    """Run SELECT .. INTO variables FROM .., which must return one row."""
    text = _sql_text(cursor)
    found = _INTO.search(text)
    if found is None:
        raise OraError(6550, "line 1, column 1:", more=("PLS-00428: an INTO clause is expected in this SELECT statement",))
    rows = _queried(session, text[: found.start()] + " " + text[found.end() :], binds)
    if len(rows) != 1:
        raise (
            OraError(1403, "no data found")
            if not rows
            else OraError(1422, "exact fetch returns more than requested number of rows")
        )
    for name, value in zip(found[1].split(","), rows[0].values(), strict=True):
        plain = name.strip()
        if plain.startswith(":"):
            binds.set(plain[1:].strip().upper(), value)
        else:
            binds.variables[plain.upper()] = value


def _value(session: EngineSession, cursor: Cursor, binds: _Binds) -> Any:
    """Evaluate the expression up to the semicolon."""
    start = cursor.next.start
    while not cursor.is_next(";"):
        if cursor.take().kind == "end":
            raise _unknown(cursor.next, cursor.text)
    return _evaluate(session, cursor.text[start : cursor.next.start], binds)


def _with_binds(text: str, binds: _Binds) -> str:
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
    text = _with_binds(text, binds)
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
    bound = scan_binds(f"select {_with_binds(text, binds)} from dual")
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


_CONTROL: dict[str, Callable[[EngineSession, Cursor, _Binds], None]] = {
    "BEGIN": _block,
    "DECLARE": _block,
    "IF": _if,
    "FOR": _for,
    "SELECT": _select_into,
    "RAISE": _raise,
    "RAISE_APPLICATION_ERROR": _raise_application_error,
}
