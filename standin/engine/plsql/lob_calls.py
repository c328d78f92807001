"""DBMS_LOB.WRITE, WRITEAPPEND, COPY, TRIM and ERASE in a PL/SQL block, on a locator that was selected FOR UPDATE into a
variable, or on a temporary large object in a bind or variable.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from standin.binds import scan_binds
from standin.engine.plsql.expressions import Binds, expression, unknown, with_binds
from standin.engine.redo.lob_redo import LobCall, as_text, as_units
from standin.engine.sessions.session import EngineSession
from standin.engine.text.tokens import Cursor
from standin.engine.transactions.transaction import Transaction
from standin.interface import OraError, Rows
from standin.redo_file import Op

_SELECT = re.compile(
    r"SELECT\s+(\w+)\s+INTO\s+(\w+)\s+FROM\s+([\w.]+)\s+(WHERE\b.*?)\s+FOR\s+UPDATE\s*", re.IGNORECASE | re.DOTALL
)
_CALLS = frozenset({"WRITE", "WRITEAPPEND", "COPY", "TRIM", "ERASE"})

Content = str | bytes


@dataclass(frozen=True, slots=True)
class Locator:
    """A large object of a row that the transaction has locked."""

    table: str
    column: str
    rowid: str


def selected_locator(session: EngineSession, text: str, binds: Binds) -> bool:
    """Lock the row and put a locator into the variable, if the statement selects a large object of one row FOR UPDATE."""
    found = _SELECT.fullmatch(text)
    if found is None:
        return False
    column, variable, table, where = found.groups()
    described = session.execute(f"SELECT {column} FROM {table}", (), describe_only=True)
    if not isinstance(described, Rows) or described.columns[0].type not in ("CLOB", "NCLOB", "BLOB"):
        return False
    rows = _rows(session, with_binds(f"SELECT ROWIDTOCHAR(ROWID) FROM {table} {where} FOR UPDATE", binds), binds)
    if len(rows) != 1:
        raise OraError(1403, "no data found") if not rows else OraError(1422, "exact fetch returns more than one row")
    binds.variables[variable.upper()] = Locator(table, column, rows[0])
    return True


def is_lob_call(cursor: Cursor) -> bool:
    return cursor.is_next("DBMS_LOB", ".") and cursor.ahead(2).value in _CALLS


def run_lob_call(session: EngineSession, cursor: Cursor, binds: Binds) -> None:
    cursor.expect("DBMS_LOB", ".")
    name = cursor.name()
    cursor.expect("(")
    target, arguments = cursor.next, [expression(session, cursor, binds)]
    while cursor.accept(","):
        arguments.append(expression(session, cursor, binds))
    cursor.expect(")")
    locator, *rest = arguments
    if isinstance(locator, str | bytes):
        made, _ = _changed(locator, name, rest, by_code_unit=session.database.options.lob_counts == "code units")
        if target.kind == "bind":
            binds.set(target.value, made)
        else:
            binds.variables[target.value] = made
        return
    if not isinstance(locator, Locator) or session.transaction is None or name == "COPY":
        raise unknown(cursor.next, cursor.text, "a locator that was selected FOR UPDATE is expected")
    _write(session, session.transaction, locator, name, rest)


def _write(session: EngineSession, tx: Transaction, locator: Locator, name: str, arguments: list[Any]) -> None:
    (old,) = _rows(session, f"SELECT {locator.column} FROM {locator.table} WHERE ROWID = :1", None, locator.rowid)
    if old is None:
        raise OraError(22275, "invalid LOB locator specified")
    made, call = _changed(old, name, arguments, by_code_unit=session.database.options.lob_counts == "code units")
    tx.lob_call = call
    try:
        session.execute(f"UPDATE {locator.table} SET {locator.column} = :1 WHERE ROWID = :2", [[made, locator.rowid]])
    finally:
        tx.lob_call = None


def _changed(old: Content, name: str, arguments: list[Any], *, by_code_unit: bool) -> tuple[Content, LobCall]:
    """Return the content after a call, and what the call did."""
    content: Any = as_units(old, by_code_unit=by_code_unit)
    blank: Content = b"\0" if isinstance(old, bytes) else " "
    if name == "TRIM":
        if int(arguments[0]) > len(content):
            raise OraError(22926, "specified trim length is greater than current LOB value's length")
        made, call = content[: int(arguments[0])], LobCall(Op.LOB_TRIM, int(arguments[0]))
    elif name == "ERASE":
        amount, start = min(int(arguments[0]), len(content) - int(arguments[1]) + 1), int(arguments[1])
        made = content[: start - 1] + blank * amount + content[start - 1 + amount :]
        call = LobCall(Op.LOB_ERASE, start, amount)
    else:
        given = [*arguments, 1, 1] if name == "COPY" else arguments  # source, amount, offsets in the target and in the source
        offset = len(content) + 1 if name == "WRITEAPPEND" else int(given[2] if name == "COPY" else given[1])
        source: Any = given[0] if name == "COPY" else given[-1]
        if isinstance(old, bytes) and isinstance(source, str):
            source = bytes.fromhex(source)
        start, amount = (int(given[3]) - 1, int(given[1])) if name == "COPY" else (0, int(given[0]))
        piece: Any = as_units(source, by_code_unit=by_code_unit)[start : start + amount]
        padded = content + blank * (offset - 1 - len(content))
        made = padded[: offset - 1] + piece + padded[offset - 1 + len(piece) :]
        call = LobCall(Op.LOB_WRITE, offset, len(piece))
    return as_text(made) if isinstance(made, str) else made, call


def _rows(session: EngineSession, sql: str, binds: Binds | None, *values: Any) -> list[Any]:
    """Return the one column of a query."""
    given: list[Any] = list(values)
    if binds is not None:
        given = [binds.get(name) for name in scan_binds(sql).names]
    result = session.execute(sql, [given] if given else ())
    assert isinstance(result, Rows)
    return [value for batch in result.batches for value in batch.columns[0].to_pylist()]
