"""Executes, re-executes and fetches: reads the request, calls the database, and builds the reply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from standin.interface import Called, Done, OraError, Rows, Session
from standin.wire import messages
from standin.wire.cells import ROW, EncodedRows, encode_rows
from standin.wire.cursors import Cursor, CursorTable, Result
from standin.wire.errors import NO_DATA_FOUND, as_ora_error
from standin.wire.lobs import LobStore
from standin.wire.primitives import sb, ub
from standin.wire.reader import Reader
from standin.wire.repeats import vector_in_front
from standin.wire.requests import (
    Dialect,
    ExecuteHead,
    Option,
    RawBind,
    read_bind_row,
    read_bind_type,
    read_execute,
    read_reexecute,
)
from standin.wire.types import LOBS, BindType, WireType
from standin.wire.values import decode_bind, encode_out


@dataclass(slots=True)
class Reply:
    """A response without its last message, which is a status or the end of a call.

    `ahead` is a result with rows to prepare after this response is sent.
    """

    parts: list[bytes | memoryview] = field(default_factory=list)
    cursor: int = 0
    count: int = 0
    error: OraError | None = None
    failures: Sequence[tuple[int, OraError]] = ()
    ahead: Result | None = None
    rows_ahead: int = 0
    is_fetch: bool = False
    is_status: bool = False


@dataclass(frozen=True, slots=True)
class _Run:
    """The parameters of one execution of a cursor."""

    rows: list[list[Any]]
    prefetch: int
    options: Option
    row_counts: bool = False
    describe: bool = False


class Statements:
    """Runs the statements of one session on its open cursors."""

    def __init__(
        self, session: Session, lobs: LobStore, dialect: Dialect, failure: Callable[[str], OraError | None] = lambda _: None
    ) -> None:
        self.cursors = CursorTable()
        self._session, self._lobs, self._dialect, self._failure = session, lobs, dialect, failure

    def execute(self, reader: Reader) -> Reply:
        head = read_execute(reader, self._dialect)
        if head.sql is None:
            cursor = self._cursor(head.cursor)
        else:
            cursor = self.cursors.open(head.sql, self._session.container, head.cursor)
        if head.define_count:
            cursor.defines = tuple(read_bind_type(reader, self._dialect) for _ in range(head.define_count))
            reader.finish()
            return self._fetched(cursor, head.prefetch)
        if head.bind_count:
            cursor.binds = tuple(read_bind_type(reader, self._dialect) for _ in range(head.bind_count))
        raw = self._bind_rows(reader, cursor, head.iterations, again=False)
        reader.finish()
        try:
            return self._execute(cursor, head, raw)
        except Exception as error:
            if head.sql is not None:  # the client never receives the cursor id if the first execution fails
                self.cursors.close(cursor.id)
            return _failed(cursor, error, len(raw), known=head.sql is None)

    def reexecute(self, reader: Reader, *, fetch: bool) -> Reply:
        request = read_reexecute(reader)
        cursor = self._cursor(request.cursor)
        raw = self._bind_rows(reader, cursor, 1 if fetch else request.iterations, again=True)
        reader.finish()
        options = Option.EXECUTE | (Option.FETCH if fetch else Option.COMMIT if request.commit else Option(0))
        try:
            return self._run(cursor, _Run(self._decoded(cursor, raw), request.iterations, options))
        except Exception as error:
            return _failed(cursor, error, len(raw), known=True)

    def fetch(self, reader: Reader) -> Reply:
        cursor, rows = self._cursor(reader.ub()), reader.ub()
        reader.finish()
        return self._fetched(cursor, rows)

    def _cursor(self, number: int) -> Cursor:
        """Return an open cursor; ORA-65108 if it was parsed before the session switched to another container."""
        cursor = self.cursors.get(number)
        if cursor.container != self._session.container:
            raise OraError(65108, "invalid use of a cursor belonging to another container")
        return cursor

    def _execute(self, cursor: Cursor, head: ExecuteHead, raw: list[list[RawBind]]) -> Reply:
        if head.scrollable:
            raise OraError(3001, "unimplemented feature: scrollable cursors")
        describe = bool(head.options & (Option.PARSE | Option.DESCRIBE))
        rows = self._decoded(cursor, raw)
        if head.sql is None and cursor.result is not None and not head.options & Option.EXECUTE:  # opened by a PL/SQL block
            return self._fetched(cursor, head.prefetch)
        if head.options & Option.EXECUTE:
            return self._run(cursor, _Run(rows, head.prefetch, head.options, head.row_counts, describe))
        if cursor.kind != "query":
            return Reply(cursor=cursor.id)
        answer = self._session.execute(cursor.sql, rows, describe_only=True)
        if not isinstance(answer, Rows):
            raise TypeError(f"a describe was answered with {type(answer).__name__}")
        cursor.columns = answer.columns
        return Reply([self._describe(cursor)], cursor.id)

    def _run(self, cursor: Cursor, run: _Run) -> Reply:
        cursor.finish()
        if (failure := self._failure(cursor.sql)) is not None:
            raise failure
        answer = self._session.execute(cursor.sql, run.rows, batch_errors=bool(run.options & Option.BATCH_ERRORS))
        if isinstance(answer, Rows):
            return self._opened(cursor, answer, run)
        reply = self._done(cursor, answer, run) if isinstance(answer, Done) else self._called(cursor, answer)
        if run.options & Option.COMMIT and not reply.failures:
            self._session.commit()
        return reply

    # -- queries

    def _opened(self, cursor: Cursor, answer: Rows, run: _Run) -> Reply:
        if cursor.kind != "query":
            raise TypeError(f"rows came back from a statement of kind {cursor.kind}")
        changed = cursor.columns != answer.columns  # the table was altered since the last execution: describe it again
        cursor.columns = answer.columns
        cursor.result = Result(self._encoded(cursor, answer))
        reply = Reply(cursor=cursor.id)
        if run.options & Option.FETCH and run.prefetch and (self._dialect.is_jdbc or not cursor.awaits_defines):
            reply = self._fetched(cursor, run.prefetch)
        front = [self._describe(cursor)] if run.describe or changed else []
        reply.parts = [*front, *reply.parts]
        if self._dialect.is_jdbc:
            reply.parts.append(messages.executed(cursor.id, None, with_cursor=True))
        return reply

    def _encoded(self, cursor: Cursor, answer: Rows) -> Iterator[EncodedRows]:
        """Encode lazily: the define request after the execute decides how LOBs are sent."""
        yield from encode_rows(answer.batches, cursor.cells, self._lobs.cell)

    def _fetched(self, cursor: Cursor, rows: int) -> Reply:
        result = cursor.result
        if result is None:
            raise OraError(1002, "fetch out of sequence")
        taken = result.take(rows)
        parts: list[bytes | memoryview] = []
        if taken:
            vector, taken[0] = vector_in_front(taken[0], len(cursor.columns))
            parts = [messages.row_header(vector), *taken]
        if result.is_at_end:
            return Reply(parts, cursor.id, result.fetched, NO_DATA_FOUND, is_fetch=True)
        return Reply(parts, cursor.id, result.fetched, ahead=result, rows_ahead=rows, is_fetch=True)

    def _describe(self, cursor: Cursor) -> bytes:
        return messages.describe(cursor.columns, wide_scale=self._dialect.is_jdbc)

    # -- DML, DDL and PL/SQL

    def _done(self, cursor: Cursor, done: Done, run: _Run) -> Reply:
        parts: list[bytes | memoryview] = []
        if cursor.returning:
            no_values: list[list[Any]] = [[] for _ in cursor.returning]
            per_row = done.returning or [no_values] * max(len(run.rows), 1)
            parts += [self._returned(values, cursor.returning) for values in per_row]
        parts.append(
            messages.executed(cursor.id, done.counts if run.row_counts else None, with_cursor=self._dialect.is_jdbc),
        )
        error = OraError(24381, "error(s) in array DML") if done.failures else None
        return Reply(parts, cursor.id, sum(done.counts), error, done.failures)

    def _returned(self, values: Sequence[Sequence[Any]], binds: Sequence[BindType]) -> bytes:
        columns = zip(values, binds, strict=True)
        return ROW + b"".join(ub(len(column)) + b"".join(self._out(v, bind) for v in column) for column, bind in columns)

    def _called(self, cursor: Cursor, called: Called) -> Reply:
        parts: list[bytes | memoryview] = []
        if cursor.binds:
            if len(called.directions) != len(cursor.binds):
                raise TypeError(f"{len(cursor.binds)} binds, but {len(called.directions)} directions")
            cursor.directions = tuple(called.directions)
            parts.append(messages.io_vector(called.directions))
            given = zip(called.directions, called.values, cursor.binds, strict=True)
            outs = [self._out(value, bind) for direction, value, bind in given if direction != "IN"]
            parts += [ROW, *outs] if outs else []
        parts.append(messages.executed(cursor.id, None, with_cursor=self._dialect.is_jdbc))
        return Reply(parts, cursor.id, 0)

    def _out(self, value: Any, bind: BindType) -> bytes:
        """Encode a value and its return code; 0 means not truncated."""
        if bind.is_array:
            items = value or []
            return ub(len(items)) + b"".join(self._out_value(item, bind) + sb(0) for item in items)
        return self._out_value(value, bind) + sb(0)

    def _out_value(self, value: Any, bind: BindType) -> bytes:
        if isinstance(value, Rows):
            return self._ref_cursor(value)
        if bind.type in LOBS:
            return b"\0" if value is None else self._lobs.cell(value)
        return encode_out(value, bind)

    def _ref_cursor(self, rows: Rows) -> bytes:
        """Open a cursor for the rows of a query that a block has opened, and return its description and number."""
        cursor = self.cursors.open("", self._session.container)
        cursor.kind, cursor.columns = "query", rows.columns
        cursor.result = Result(self._encoded(cursor, rows))
        return b"\x01" + messages.described(cursor.columns, wide_scale=self._dialect.is_jdbc) + ub(cursor.id)

    # -- binds

    def _bind_rows(self, reader: Reader, cursor: Cursor, iterations: int, *, again: bool) -> list[list[RawBind]]:
        count = 1 if cursor.kind == "query" else max(iterations, 1)
        order = cursor.sent_binds(again=again) if cursor.binds else []
        if order:
            return [read_bind_row(reader, order, cursor.binds) for _ in range(count)]
        if cursor.is_plsql and cursor.binds:  # with OUT binds only, not even the row mark is sent
            return [[None] * len(cursor.binds) for _ in range(count)]
        return [[] for _ in range(count)] if count > 1 else []

    def _decoded(self, cursor: Cursor, rows: list[list[RawBind]]) -> list[list[Any]]:
        sent = cursor.binds[: len(cursor.binds) - len(cursor.returning)]
        return [[self._value(raw, bind) for raw, bind in zip(row, sent, strict=False)] for row in rows]

    def _value(self, raw: RawBind, bind: BindType) -> Any:
        if isinstance(raw, list):
            return [self._value(item, bind) for item in raw]
        if raw is None or bind.type == WireType.CURSOR:
            return None
        return self._lobs.value(raw) if bind.type in LOBS else decode_bind(raw, bind)


def _failed(cursor: Cursor, error: Exception, rows: int, *, known: bool) -> Reply:
    """Return the reply to a failure, with the cursor id if the client has it already.

    In an array run the position is the failing row; the rows before it were executed.
    """
    fault = as_ora_error(error)
    done = fault.position if cursor.kind == "dml" and rows > 1 else 0
    return Reply(cursor=cursor.id if known else 0, count=done, error=fault)
