"""Rows that a DML statement passes over: LOG ERRORS writes why they failed into a table, and the hint
IGNORE_ROW_ON_DUPKEY_INDEX leaves out rows whose key is in use. What such a row has written already is undone, also in the redo.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from sqlglot import exp

from standin.engine.ddl.error_logs import CONTROL_COLUMNS, default_name
from standin.engine.expressions.compiler import Compiler
from standin.engine.expressions.frame import EMPTY_SCOPE, Fn, Frame
from standin.engine.plsql.autonomous import autonomous
from standin.engine.sessions.names import table_named
from standin.engine.sessions.privileges import require_on
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.layout import Row
from standin.engine.storage.storage import TableStore
from standin.engine.text.parse import parse_as_written
from standin.engine.text.tokens import Cursor, Token, tokens_of
from standin.interface import OraError

_OF_STATEMENT = frozenset({28, 54, 60, 600, 1013, 3001})  # errors that no row has by itself
_HINT = re.compile(r"\bIGNORE_ROW_ON_DUPKEY_INDEX\b\s*(\([^()]*(?:\([^()]*\))?[^()]*\))?", re.IGNORECASE)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class FailedRow:
    """`kind` is I, U or D; `values` are those that the row would have had, as far as they are known."""

    kind: str
    values: Mapping[str, Any] = field(default_factory=dict)
    rowid: str | None = None


class Attempts(Protocol):
    """One run of a statement."""

    def take(self, error: OraError, row: FailedRow) -> None:
        """Pass over the row, or raise the error."""


class PassesOver(Protocol):
    def begin(self, session: EngineSession, frame: Frame) -> Attempts: ...


def failed_row(kind: str, store: TableStore, values: Row, row: int | None = None) -> FailedRow:
    return FailedRow(kind, dict(zip(store.layout.names, values, strict=False)), None if row is None else store.rowid(row))


def attempt(
    session: EngineSession, attempts: Attempts | None, write: Callable[[], Result], row: Callable[[], FailedRow]
) -> Result | None:
    """Write one row. If the statement passes over its error, take back what it wrote and return None."""
    if attempts is None:
        return write()
    mark = len(session.transaction.undo) if session.transaction is not None else 0
    try:
        return write()
    except OraError as error:
        if error.code in _OF_STATEMENT:
            raise
        if session.transaction is not None:
            session.database.rollback.to_mark(session.transaction, mark)
        attempts.take(error, row())
        return None


@dataclass(frozen=True, slots=True)
class ErrorLog:
    """LOG ERRORS [INTO table] [(tag)] [REJECT LIMIT n | UNLIMITED]; without a limit, the first error ends the statement."""

    table: str  # owner and name, in quotes
    columns: tuple[str, ...]  # of the table, beside Oracle's own
    tag: Fn | None
    limit: int | None

    def begin(self, session: EngineSession, frame: Frame) -> Attempts:
        tag = None if self.tag is None else self.tag((), frame)
        return _LoggedErrors(self, session, tag)


@dataclass(slots=True)
class _LoggedErrors:
    log: ErrorLog
    session: EngineSession
    tag: Any
    count: int = 0

    def take(self, error: OraError, row: FailedRow) -> None:
        """Write the row into the error log in a transaction of its own, so that it stays there after a rollback."""
        known = {name: row.values[name] for name in self.log.columns if row.values.get(name) is not None}
        written = dict(zip(CONTROL_COLUMNS, (error.code, f"{error}\n", row.rowid, row.kind, self.tag), strict=True)) | known
        names = ", ".join(f'"{name}"' for name in written)
        binds = ", ".join(f":{number}" for number in range(1, len(written) + 1))
        with autonomous(self.session):
            self.session.execute(f"INSERT INTO {self.log.table} ({names}) VALUES ({binds})", [[*written.values()]])
            self.session.commit()
        self.count += 1
        if self.log.limit is not None and self.count > self.log.limit:
            raise error


def split_log_errors(text: str) -> tuple[str, str | None]:
    """Return a DML statement without LOG ERRORS, and that clause."""
    if "ERRORS" not in text.upper():
        return text, None
    tokens = tokens_of(text)
    for number in range(len(tokens) - 2, 0, -1):
        if _words(tokens[number : number + 2]) == ("LOG", "ERRORS"):
            return text[: tokens[number].start], text[tokens[number].start :]
    return text, None


def _words(tokens: list[Token]) -> tuple[str, ...]:
    return tuple(token.value for token in tokens if token.kind == "word")


def error_log(session: EngineSession, clause: str, target: TableStore) -> ErrorLog:
    """Read the clause. Raise ORA-00942 or ORA-38900 for a table that is no error log."""
    cursor = Cursor(clause)
    cursor.expect("LOG", "ERRORS")
    owner, name = cursor.qualified() if cursor.accept("INTO") else (None, default_name(target.definition.name))
    tag = None
    if cursor.is_next("("):
        tag = Compiler(EMPTY_SCOPE).compile(parse_as_written(f"select {cursor.parenthesised()} from dual").expressions[0]).run
    limit: int | None = 0
    if cursor.accept("REJECT", "LIMIT"):
        limit = None if cursor.accept("UNLIMITED") else int(cursor.take().value)
    cursor.end()
    table = table_named(session, owner or session.schema, name).definition
    require_on(session.account, "INSERT", table)
    for column in CONTROL_COLUMNS:
        if table.column(column) is None:
            raise OraError(38900, f'missing mandatory column "{column}" of error logging table "{table.name}"')
    own = tuple(c.name for c in table.columns if c.name not in CONTROL_COLUMNS)
    return ErrorLog(f'"{table.owner}"."{table.name}"', own, tag, limit)


@dataclass(frozen=True, slots=True)
class IgnoredKey:
    """Rows whose key is in use in a unique index."""

    index: str  # owner and name, as ORA-00001 has them

    def begin(self, session: EngineSession, frame: Frame) -> Attempts:
        return self

    def take(self, error: OraError, row: FailedRow) -> None:
        if error.code != 1 or f"({self.index})" not in str(error):
            raise error


def ignored_key(tree: exp.Insert, store: TableStore) -> IgnoredKey | None:
    """Return what the hint IGNORE_ROW_ON_DUPKEY_INDEX says. Raise ORA-38912 or ORA-38913 where it names no unique index."""
    hint = tree.args.get("hint")
    text = " ".join(w if isinstance(w, str) else w.sql(dialect="oracle") for w in hint.expressions) if hint is not None else ""
    found = _HINT.search(text)
    if found is None:
        return None
    cursor = Cursor((found[1] or "()")[1:-1])
    if cursor.next.kind == "end":
        raise OraError(38912, "An index must be specified in the index hint")
    cursor.name()
    cursor.accept(",")
    if cursor.next.kind == "end":
        raise OraError(38912, "An index must be specified in the index hint")
    columns = tuple(cursor.names()) if cursor.is_next("(") else None
    name = cursor.name() if columns is None else ""
    index = next((i for i in store.indexes if i.unique and (i.columns == columns if columns else i.name == name)), None)
    if index is None:
        raise OraError(38913, "Index specified in the index hint is invalid")
    return IgnoredKey(f"{store.definition.owner}.{index.name}")
