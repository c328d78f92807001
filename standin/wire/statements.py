"""Executes, re-executes and fetches: reads the request, calls the database, and builds the reply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from standin.composites import from_json, from_plain
from standin.interface import PARSES, Called, Composite, Done, LargeBytes, OraError, Rows, Session
from standin.wire import messages
from standin.wire.cells import ROW, EncodedRows, Locate, encode_rows
from standin.wire.cursors import Cursor, CursorTable, Result
from standin.wire.errors import NO_DATA_FOUND, as_ora_error
from standin.wire.lobs import LobStore
from standin.wire.objects import NULL, object_cell, read_object
from standin.wire.primitives import clr, sb, ub
from standin.wire.reader import Reader
from standin.wire.repeats import vector_in_front
from standin.wire.requests import (
    Dialect,
    ExecuteHead,
    Option,
    Orientation,
    RawBind,
    read_bind_row,
    read_bind_type,
    read_execute,
    read_reexecute,
)
from standin.wire.types import LOBS, NATIONAL, TEXTS, BindType, WireType
from standin.wire.values import decode_bind, encode_out, out_bytes


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
    rowid: str | None = None
    has_warning: bool = False


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
            self._session.statistics[PARSES] += 1
            cursor = self.cursors.open(head.sql, self._session.container, head.cursor)
        if head.define_count:
            cursor.defines = tuple(read_bind_type(reader, self._dialect) for _ in range(head.define_count))
            reader.finish()
            if cursor.scrolled is not None:
                return self._scrolled(cursor, head, [], describe=False)
            return self._fetched(cursor, head.prefetch) if cursor.result is not None else Reply(cursor=cursor.id)
        if head.bind_count:
            cursor.binds = tuple(read_bind_type(reader, self._dialect) for _ in range(head.bind_count))
        is_run = bool(head.options & Option.EXECUTE)  # without it, a statement is parsed: no binds follow
        raw = self._bind_rows(reader, cursor, head.iterations, again=False) if is_run else []
        reader.finish()
        try:
            return self._execute(cursor, head, raw)
        except Exception as error:
            if head.sql is not None:  # the client never receives the cursor id if the first execution fails
                self.cursors.close(cursor.id)
            return _failed(cursor, error, len(raw), known=head.sql is None, row_counts=head.row_counts)

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
        describe = bool(head.options & (Option.PARSE | Option.DESCRIBE))
        rows = self._decoded(cursor, raw)
        if head.scrollable and cursor.kind == "query":
            return self._scrolled(cursor, head, rows, describe=describe)
        if head.sql is None and cursor.result is not None and not head.options & Option.EXECUTE:  # opened by a PL/SQL block
            return self._fetched(cursor, head.prefetch)
        if head.options & Option.EXECUTE:
            return self._run(cursor, _Run(rows, head.prefetch, head.options, head.row_counts, describe))
        if cursor.kind != "query":
            self._session.parse(cursor.sql)
            return Reply(cursor=cursor.id)
        answer = self._session.execute(cursor.sql, rows, describe_only=True)
        if not isinstance(answer, Rows):
            raise TypeError(f"a describe was answered with {type(answer).__name__}")
        cursor.columns = answer.columns
        return Reply([self._describe(cursor)], cursor.id)

    def _run(self, cursor: Cursor, run: _Run) -> Reply:
        cursor.finish()
        self.cursors.close_nested(cursor)
        if (failure := self._failure(cursor.sql)) is not None:
            raise failure
        if cursor.is_plsql and len(run.rows) > 1:
            return self._called_for_each(cursor, run)
        schema = self._session.schema
        answer = self._session.execute(cursor.sql, run.rows, batch_errors=bool(run.options & Option.BATCH_ERRORS))
        if isinstance(answer, Rows):
            return self._opened(cursor, answer, run)
        if self._session.schema != schema and not self._dialect.is_jdbc:
            return Reply([messages.executed(cursor.id, None, with_cursor=False, schema=self._session.schema)], cursor.id)
        reply = self._done(cursor, answer, run) if isinstance(answer, Done) else self._called(cursor, answer)
        if run.options & Option.COMMIT and not reply.failures:
            self._session.commit()
        return reply

    # -- queries

    def _opened(self, cursor: Cursor, answer: Rows, run: _Run) -> Reply:
        if cursor.kind != "query":
            raise TypeError(f"rows came back from a statement of kind {cursor.kind}")
        changed = cursor.columns != answer.columns  # the table was altered since the last execution: describe it again
        cursor.show(answer.columns)
        cursor.result = Result(self._encoded(cursor, answer))
        reply = Reply(cursor=cursor.id)
        if self._wants_rows(cursor, run):
            reply = self._fetched(cursor, run.prefetch)
        front = [self._describe(cursor)] if run.describe or changed else []
        reply.parts = [*front, *reply.parts]
        if self._dialect.is_jdbc:
            reply.parts.append(messages.executed(cursor.id, None, with_cursor=True))
        return reply

    def _scrolled(self, cursor: Cursor, head: ExecuteHead, binds: list[list[Any]], *, describe: bool) -> Reply:
        """Run a scrollable cursor, or move it. A client names the first row that it wants; the reply counts to the last one."""
        if head.options & Option.EXECUTE:
            cursor.finish()
            answer = self._session.execute(cursor.sql, binds)
            if not isinstance(answer, Rows):
                raise TypeError(f"a query was answered with {type(answer).__name__}")
            cursor.show(answer.columns)
            batches = list(answer.batches)
            cursor.scrolled = pa.Table.from_batches(batches) if batches else pa.table({})
        if cursor.scrolled is None:
            raise OraError(1002, "fetch out of sequence")
        front: list[bytes | memoryview] = [self._describe(cursor)] if describe else []
        if cursor.awaits_defines:
            return Reply(front, cursor.id)
        last = cursor.scrolled.num_rows
        first = {Orientation.FIRST: 1, Orientation.LAST: max(last, 1)}.get(head.orientation, max(head.position, 1))
        rows = cursor.scrolled.slice(first - 1, head.prefetch)
        encoded = list(encode_rows(rows.to_batches() if last else [], cursor.cells, self._locator(cursor), whole=True))
        front += [messages.row_header(), *(block.first(len(block)) for block in encoded)] if encoded else []
        count = sum(map(len, encoded))
        return Reply(front, cursor.id, first - 1 + count, NO_DATA_FOUND if count < head.prefetch else None, is_fetch=True)

    def _wants_rows(self, cursor: Cursor, run: _Run) -> bool:
        """Return whether rows come with the execution. LOBs wait for the client's defines; with defines they come unasked: the
        client does not ask for rows of LOBs, and takes them as its first batch."""
        if self._dialect.is_jdbc:
            return bool(run.prefetch and run.options & Option.FETCH)
        return bool(run.prefetch) and not cursor.awaits_defines and bool(run.options & Option.FETCH or cursor.defines)

    def _encoded(self, cursor: Cursor, answer: Rows) -> Iterator[EncodedRows]:
        """Encode lazily: the define request after the execute decides how LOBs are sent."""
        yield from encode_rows(answer.batches, cursor.cells, self._locator(cursor))

    def _locator(self, cursor: Cursor) -> Locate:
        """Return the function that gives the cell of a LOB, an instance or a nested cursor, in a row of the cursor."""

        def cell(value: Any, national: bool) -> bytes:
            if isinstance(value, Composite):
                return object_cell(value, self._lobs.locator)
            if not isinstance(value, int):
                return self._lobs.cell(value, national)
            inner = self._open_rows(self._session.take_rows(value))
            cursor.nested.append(inner.id)
            return self._cursor_cell(inner)

        return cell

    def _fetched(self, cursor: Cursor, rows: int) -> Reply:
        result = cursor.result
        if result is None:
            raise OraError(1002, "fetch out of sequence")
        before = result.fetched
        taken = result.take(rows)
        parts: list[bytes | memoryview] = []
        if taken:
            vector, taken[0] = vector_in_front(taken[0], len(cursor.columns))
            parts = [messages.row_header(vector), *taken]
        if result.is_at_end and result.fetched - before < rows:  # Oracle finds the end when it looks for one more row
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
        return Reply(parts, cursor.id, sum(done.counts), error, done.failures, rowid=done.rowid, has_warning=done.has_warning)

    def _returned(self, values: Sequence[Sequence[Any]], binds: Sequence[BindType]) -> bytes:
        columns = zip(values, binds, strict=True)
        return ROW + b"".join(ub(len(column)) + b"".join(self._fitted(v, bind) for v in column) for column, bind in columns)

    def _fitted(self, value: Any, bind: BindType) -> bytes:
        """Encode a value that RETURNING brings. One that is too long is cut, and its whole length is its return code."""
        if value is None or not (bind.type in TEXTS or bind.type == WireType.RAW):
            return self._out(value, bind)
        whole = out_bytes(value, bind)
        return clr(whole[: bind.size]) + sb(len(whole) if len(whole) > bind.size else 0)

    def _called_for_each(self, cursor: Cursor, run: _Run) -> Reply:
        """Run a block for each row of binds. If one fails, the rows before it stay, and their number is its position."""
        calls = []
        for number, row in enumerate(run.rows):
            try:
                calls.append(self._session.execute(cursor.sql, [row]))
            except OraError as error:
                error.position = number
                raise
        if run.options & Option.COMMIT:
            self._session.commit()
        return self._called(cursor, *(call for call in calls if isinstance(call, Called)))

    def _called(self, cursor: Cursor, *calls: Called) -> Reply:
        """Answer one call, or those of an array: the directions, and the OUT values of each call."""
        parts: list[bytes | memoryview] = []
        if cursor.binds:
            directions = calls[-1].directions
            if len(directions) != len(cursor.binds):
                raise TypeError(f"{len(cursor.binds)} binds, but {len(directions)} directions")
            cursor.directions = tuple(directions)
            parts.append(messages.io_vector(directions))
            for called in calls:
                given = zip(called.directions, called.values, cursor.binds, strict=True)
                outs = [self._out(value, bind) for direction, value, bind in given if direction != "IN"]
                parts += [ROW, *outs] if outs else []
        results = [rows for called in calls for rows in called.results]
        if results:
            parts.append(messages.implicit_results([self._cursor_cell(self._open_rows(rows))[1:] for rows in results]))
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
        if bind.type == WireType.OBJECT:
            return NULL if value is None else object_cell(self._instance(value, bind), self._lobs.locator)
        if bind.type in LOBS:
            return b"\0" if value is None else self._lobs.cell(value, bind.form == NATIONAL)
        return encode_out(value, bind)

    def _instance(self, value: Any, bind: BindType) -> Composite:
        """Return an instance for a variable of an object type: SQL has the text of its JSON, PL/SQL perhaps its values only."""
        if isinstance(value, Composite):
            return value
        shape = self._session.type_of(bind.oid)
        return from_json(shape, value) if isinstance(value, str) else from_plain(shape, value)

    def _ref_cursor(self, rows: Rows) -> bytes:
        """Open a cursor for the rows of a query that a block has opened, and return its description and number."""
        return self._cursor_cell(self._open_rows(rows))

    def _open_rows(self, rows: Rows) -> Cursor:
        cursor = self.cursors.open("", self._session.container)
        cursor.kind, cursor.columns = "query", rows.columns
        cursor.result = Result(self._encoded(cursor, rows))
        return cursor

    def _cursor_cell(self, cursor: Cursor) -> bytes:
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
        if raw is None:
            return None
        if bind.type == WireType.CURSOR:
            return self._given_rows(self._cursor(int.from_bytes(raw, "big")))
        if bind.type == WireType.OBJECT:
            return read_object(raw, self._session.type_of(bind.oid), self._lobs.value)
        if bind.type in LOBS:
            value = self._lobs.value(raw)
            return LargeBytes(value) if isinstance(value, bytes) else value
        return decode_bind(raw, bind)

    def _given_rows(self, cursor: Cursor) -> Rows | None:
        """Return what a client's cursor has left, for a block that reads it. The client gets the rest. Closing it there ends
        the result alone: the client can run the cursor again."""
        if cursor.result is None:
            return None
        rows = Rows(cursor.columns, cursor.result.rest(), cursor.finish)
        fetched = cursor.result.fetched
        cursor.result = Result(self._encoded(cursor, rows))
        cursor.result.fetched = fetched
        return rows


def _failed(cursor: Cursor, error: Exception, rows: int, *, known: bool, row_counts: bool = False) -> Reply:
    """Return the reply to a failure, with the cursor id if the client has it already.

    In an array run the position is the failing row; the rows before it were executed. That of a block is only a count: its
    position would be one in the text.
    """
    fault = as_ora_error(error)
    done = fault.position if cursor.kind in ("dml", "plsql") and rows > 1 else 0
    if cursor.is_plsql and rows > 1:
        fault.position = 0
    parts = [messages.executed(cursor.id, fault.counts, with_cursor=False)] if row_counts else []
    return Reply([*parts], cursor.id if known else 0, done, fault)
