"""Anonymous PL/SQL blocks: variables, procedures of their own, calls, assignments, embedded SQL, EXECUTE IMMEDIATE, IF, FOR
and exception handlers.

OPEN gives the client a cursor. What else a block needs (FETCH, records, functions of its own, other loops) raises ORA-06550.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from standin.binds import scan_binds
from standin.engine.plsql.autonomous import autonomous
from standin.engine.plsql.expressions import (
    Binds,
    LocalProcedure,
    call,
    evaluate,
    expression,
    unknown,
    value_of,
    with_binds,
)
from standin.engine.plsql.lob_calls import is_lob_call, run_lob_call, selected_locator
from standin.engine.plsql.session_packages import take_results
from standin.engine.sessions.session import EngineSession
from standin.engine.text.tokens import Cursor
from standin.engine.types.values import to_number
from standin.interface import Called, Done, OraError, Rows

_SQL = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "SAVEPOINT", "LOCK"})
_ENDS = frozenset({"END", "EXCEPTION", "ELSE", "ELSIF", "WHEN"})  # words that end a sequence of statements
NAMED_ERRORS = {
    "NO_DATA_FOUND": (1403, "no data found"),
    "TOO_MANY_ROWS": (1422, "exact fetch returns more than requested number of rows"),
    "DUP_VAL_ON_INDEX": (1, "unique constraint violated"),
    "ZERO_DIVIDE": (1476, "divisor is equal to zero"),
    "INVALID_NUMBER": (1722, "invalid number"),
}
_INTO = re.compile(r"\bINTO\s+([\w:.\s,]+?)\s+(?=FROM\b)", re.IGNORECASE)


def run_block(session: EngineSession, text: str, names: Sequence[str], values: Sequence[Any]) -> Called:
    """Run a block or CALL. `names` are the distinct binds in order of first appearance."""
    binds = Binds(dict(zip(names, [*values, *[None] * (len(names) - len(values))], strict=False)))
    version, release = session.database.state.release.split(".")[:2]
    binds.variables |= {"DBMS_DB_VERSION.VERSION": int(version), "DBMS_DB_VERSION.RELEASE": int(release)}
    cursor = Cursor(text)
    if cursor.accept("CALL"):
        call(session, cursor, binds)
    else:
        _block(session, cursor, binds)
    directions = [binds.direction(name) for name in names]
    values = [None if d == "IN" else binds.values.get(n) for d, n in zip(directions, names, strict=True)]
    return Called(directions, values, take_results(session))


def _block(session: EngineSession, cursor: Cursor, binds: Binds) -> None:
    """Run [DECLARE ..] BEGIN .. [EXCEPTION ..] END."""
    if cursor.accept("DECLARE"):
        _declarations(session, cursor, binds)
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
    _end_block(cursor)


def _end_block(cursor: Cursor) -> None:
    """Go past the handlers that do not run, END and the name after it."""
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
        if "OTHERS" in names or any(NAMED_ERRORS[name][0] == error.code for name in names if name in NAMED_ERRORS):
            return True
        _skip(cursor)
    return False


def _statements(session: EngineSession, cursor: Cursor, binds: Binds) -> None:
    """Run statements up to the word that ends them, which stays."""
    while not (cursor.next.kind == "word" and cursor.next.value in _ENDS):
        _statement(session, cursor, binds)
        if not cursor.accept(";"):
            raise unknown(cursor.next, cursor.text)


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


def _declarations(session: EngineSession, cursor: Cursor, binds: Binds) -> None:
    while not cursor.is_next("BEGIN"):
        if cursor.accept("PROCEDURE"):
            name = cursor.name()
            binds.procedures[name] = _procedure(cursor)
        else:
            _declare(session, cursor, binds)


def _procedure(cursor: Cursor) -> LocalProcedure:
    """Read a procedure's parameters, and go past its body."""
    parameters = tuple(_parameter(text, cursor) for text in cursor.expressions()) if cursor.is_next("(") else ()
    if not cursor.accept("IS"):
        cursor.expect("AS")
    start, is_autonomous = cursor.position, False
    while not cursor.is_next("BEGIN"):
        is_autonomous = is_autonomous or cursor.is_next("PRAGMA", "AUTONOMOUS_TRANSACTION")
        if cursor.next.kind == "end" or cursor.is_next("PROCEDURE"):
            raise unknown(cursor.next, cursor.text)
        cursor.take()
    cursor.take()
    _skip(cursor)
    _end_block(cursor)
    cursor.expect(";")
    return LocalProcedure(parameters, start, is_autonomous)


def _parameter(text: str, cursor: Cursor) -> tuple[str, str | None]:
    """Return name and default of `name [IN] type [:= value]`."""
    words = text.split()
    if "OUT" in (word.upper() for word in words):
        raise unknown(cursor.next, cursor.text, "an OUT parameter of a local procedure is not modelled")
    default = re.split(r":=|\bDEFAULT\b", text, maxsplit=1, flags=re.IGNORECASE)[1:]
    return words[0].upper(), default[0].strip() if default else None


def _call_local(session: EngineSession, cursor: Cursor, binds: Binds) -> None:
    """Run a procedure of the block. It sees the block's variables, and keeps what it assigns to them."""
    procedure = binds.procedures[cursor.name()]
    given = _arguments(session, cursor, binds, procedure) if cursor.accept("(") else {}
    for name, default in procedure.parameters:
        if name not in given:
            if default is None:
                message = "PLS-00306: wrong number or types of arguments in call"
                raise OraError(6550, "line 1, column 1:", more=(message,))
            given[name] = evaluate(session, default, binds)
    after, outer = cursor.position, dict(binds.variables)
    own = given.keys() | _declared_names(cursor, procedure.start)
    binds.variables |= given
    cursor.go_to(procedure.start)
    try:
        with autonomous(session) if procedure.is_autonomous else nullcontext():
            _declarations(session, cursor, binds)
            _block(session, cursor, binds)
    finally:
        for name in own:
            binds.variables.pop(name, None)
            if name in outer:
                binds.variables[name] = outer[name]
    cursor.go_to(after)


def _arguments(session: EngineSession, cursor: Cursor, binds: Binds, procedure: LocalProcedure) -> dict[str, Any]:
    """Read `a, name => b)`."""
    found: dict[str, Any] = {}
    while not cursor.accept(")"):
        name = procedure.parameters[len(found)][0] if len(found) < len(procedure.parameters) else ""
        if cursor.ahead(1).value == "=>":
            name = cursor.name()
            cursor.expect("=>")
        if name not in dict(procedure.parameters):
            raise unknown(cursor.next, cursor.text)
        found[name] = expression(session, cursor, binds)
        if not cursor.accept(",") and not cursor.is_next(")"):
            raise unknown(cursor.next, cursor.text)
    return found


def _declared_names(cursor: Cursor, start: int) -> set[str]:
    """Return the variables that a procedure declares."""
    cursor.go_to(start)
    names, begins = set(), True
    while not cursor.is_next("BEGIN"):
        token = cursor.take()
        if begins and token.value != "PRAGMA":
            names.add(token.value)
        begins = token.value == ";"
    return names


def _declare(session: EngineSession, cursor: Cursor, binds: Binds) -> None:
    """Read a variable, with its type and value."""
    if cursor.accept("PRAGMA", "AUTONOMOUS_TRANSACTION", ";"):
        return
    if cursor.next.value in ("FUNCTION", "CURSOR", "TYPE", "PRAGMA"):
        raise unknown(cursor.next, cursor.text, f"{cursor.next.value} in a block is not modelled")
    name = cursor.name()
    while not (cursor.is_next(";") or cursor.is_next(":=") or cursor.is_next("DEFAULT")):
        if cursor.take().kind == "end":
            raise unknown(cursor.next, cursor.text)
    binds.variables[name] = None
    if cursor.accept(":=") or cursor.accept("DEFAULT"):
        binds.variables[name] = value_of(session, cursor, binds)
    cursor.expect(";")


def _statement(session: EngineSession, cursor: Cursor, binds: Binds) -> None:
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
    elif is_lob_call(cursor):
        run_lob_call(session, cursor, binds)
    elif cursor.next.kind == "word" and cursor.next.value in binds.procedures and cursor.ahead(1).value in ("(", ";"):
        _call_local(session, cursor, binds)
    elif cursor.next.kind == "word" and cursor.next.value in _SQL:
        _embedded(session, _sql_text(cursor), binds)
    else:
        call(session, cursor, binds)


def _assigned(session: EngineSession, cursor: Cursor, binds: Binds) -> bool:
    """Run an assignment to a bind or variable, if one is next."""
    token = cursor.next
    if cursor.ahead(1).value != ":=" or not (token.kind == "bind" or token.value in binds.variables):
        return False
    cursor.take()
    cursor.expect(":=")
    if token.kind == "bind":
        binds.set(token.value, expression(session, cursor, binds))
    else:
        binds.variables[token.value] = value_of(session, cursor, binds)
    return True


def _raise(session: EngineSession, cursor: Cursor, binds: Binds) -> None:
    cursor.expect("RAISE")
    if cursor.next.value in NAMED_ERRORS:
        raise OraError(*NAMED_ERRORS[cursor.name()])
    if binds.error is None or not cursor.is_next(";"):
        raise unknown(cursor.next, cursor.text)
    raise binds.error


def _raise_application_error(session: EngineSession, cursor: Cursor, binds: Binds) -> None:
    cursor.expect("RAISE_APPLICATION_ERROR")
    number, text = cursor.expressions()[:2]
    raise OraError(-int(evaluate(session, number, binds)), str(evaluate(session, text, binds)))


def _if(session: EngineSession, cursor: Cursor, binds: Binds) -> None:
    cursor.expect("IF")
    done = False
    while True:
        start = cursor.next.start
        while not cursor.is_next("THEN"):
            cursor.take()
        condition = cursor.text[start : cursor.next.start]
        cursor.expect("THEN")
        if not done and evaluate(session, f"CASE WHEN {condition} THEN 1 ELSE 0 END", binds) == 1:
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


def _for(session: EngineSession, cursor: Cursor, binds: Binds) -> None:
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
        span = range(int(evaluate(session, first, binds)), int(evaluate(session, last, binds)) + 1)
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


def _rows(session: EngineSession, text: str, binds: Binds) -> Rows:
    bound = scan_binds(with_binds(text, binds))
    result = session.execute(bound.text, [[binds.get(name) for name in bound.names]] if bound.names else ())
    if not isinstance(result, Rows):
        raise OraError(6550, "line 1, column 1:", more=("PLS-00428: an INTO clause is expected in this SELECT statement",))
    return result


def _queried(session: EngineSession, text: str, binds: Binds) -> list[dict[str, Any]]:
    """Return the rows of a query, with NUMBERs as numbers."""
    result = _rows(session, text, binds)
    found = []
    for batch in result.batches:
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            typed = (
                to_number(v) if c.type == "NUMBER" and v is not None else v for v, c in zip(values, result.columns, strict=True)
            )
            found.append(dict(zip((c.name for c in result.columns), typed, strict=True)))
    return found


def _open(session: EngineSession, cursor: Cursor, binds: Binds) -> None:
    """Run OPEN cursor FOR query. The rows are those of this moment; the client fetches them."""
    cursor.expect("OPEN")
    name = cursor.take()
    cursor.expect("FOR")
    rows = _rows(session, _sql_text(cursor), binds)
    if name.kind == "bind":
        binds.set(name.value, rows)
    else:
        binds.variables[name.value] = rows


def _fetch(session: EngineSession, cursor: Cursor, binds: Binds) -> None:
    """Run FETCH cursor INTO variables. After the last row, the variables keep their values."""
    cursor.expect("FETCH")
    rows = _opened(cursor, binds)
    cursor.expect("INTO")
    targets = [cursor.take()]
    while cursor.accept(","):
        targets.append(cursor.take())
    values = rows.take()
    if len(targets) != len(rows.columns):
        raise OraError(6504, "PL/SQL: Return types of Result Set variables or query do not match")
    for target, value, column in zip(targets, values or (), rows.columns, strict=False):
        plain = to_number(value) if column.type == "NUMBER" and value is not None else value
        if target.kind == "bind":
            binds.set(target.value, plain)
        else:
            binds.variables[target.value] = plain


def _close(session: EngineSession, cursor: Cursor, binds: Binds) -> None:
    cursor.expect("CLOSE")
    name, rows = cursor.next, _opened(cursor, binds)
    rows.close()
    if name.kind != "bind":
        binds.variables[name.value] = None


def _opened(cursor: Cursor, binds: Binds) -> Rows:
    name = cursor.take()
    rows = binds.get(name.value) if name.kind == "bind" else binds.variables.get(name.value)
    if not isinstance(rows, Rows):
        raise OraError(1001, "invalid cursor")
    return rows


def _select_into(session: EngineSession, cursor: Cursor, binds: Binds) -> None:
    """Run SELECT .. INTO variables FROM .., which must return one row."""
    text = _sql_text(cursor)
    if selected_locator(session, text, binds):
        return
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


def _skip_words(cursor: Cursor) -> None:
    while cursor.next.kind == "word" and cursor.next.value != "END":
        cursor.take()


def _sql_text(cursor: Cursor) -> str:
    """Read the text up to the semicolon."""
    start = cursor.next.start
    while not cursor.is_next(";"):
        if cursor.take().kind == "end":
            raise unknown(cursor.next, cursor.text)
    return cursor.text[start : cursor.next.start]


def _embedded(session: EngineSession, text: str, binds: Binds) -> None:
    text = with_binds(text, binds)
    bound = scan_binds(text)
    given = bound.names if bound.returning_from is None else bound.names[: bound.returning_from]
    outcome = session.execute(text, [[binds.get(name) for name in given]] if given else ())
    if bound.returning_from is not None and isinstance(outcome, Done):
        for name, values in zip(bound.names[bound.returning_from :], outcome.returning[0], strict=True):
            if len(values) > 1:
                raise OraError(1422, "exact fetch returns more than requested number of rows")
            binds.set(name, values[0] if values else None)


def _execute_immediate(session: EngineSession, cursor: Cursor, binds: Binds) -> None:
    text = expression(session, cursor, binds)
    if not isinstance(text, str):
        raise OraError(6535, "statement string in EXECUTE IMMEDIATE is NULL or 0 length")
    values = []
    if cursor.accept("USING"):
        values.append(expression(session, cursor, binds))
        while cursor.accept(","):
            values.append(expression(session, cursor, binds))
    session.execute(text, [values] if values else ())


_CONTROL: dict[str, Callable[[EngineSession, Cursor, Binds], None]] = {
    "BEGIN": _block,
    "DECLARE": _block,
    "IF": _if,
    "FOR": _for,
    "OPEN": _open,
    "FETCH": _fetch,
    "CLOSE": _close,
    "SELECT": _select_into,
    "RAISE": _raise,
    "RAISE_APPLICATION_ERROR": _raise_application_error,
}
