"""The open cursors of a session: statement text, bind and define types, and rows not fetched yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from standin.binds import BoundSql, scan_binds, statement_kind
from standin.interface import ColumnInfo, OraError
from standin.wire.cells import Cell, EncodedRows
from standin.wire.errors import as_ora_error
from standin.wire.types import LOBS, LONGS, TEXTS, BindType, WireType, column_type

_BYTES = frozenset({WireType.RAW, WireType.LONG_RAW})
_HIGHEST_ID = 0xFFFF
_INLINE = 32767  # bytes; longer binds of SQL are sent after all others


class Result:
    """The encoded rows of one execution, with one block read ahead, so that the last rows are known to be the last."""

    def __init__(self, blocks: Iterator[EncodedRows]) -> None:
        self._blocks = blocks
        self._ready: list[EncodedRows] = []
        self._failure: OraError | None = None
        self._is_read = False
        self.fetched = 0

    def read_ahead(self, rows: int) -> None:
        """Read until more than `rows` rows are ready. An error is kept for the fetch that needs the rows."""
        try:
            while not self._is_read and self._failure is None and sum(map(len, self._ready)) <= rows:
                block = next(self._blocks, None)
                if block is None:
                    self._is_read = True
                else:
                    self._ready.append(block)
        except Exception as error:  # of any kind: database code produces the rows, and this may run between calls
            self._failure = as_ora_error(error)

    def take(self, rows: int) -> list[memoryview]:
        self.read_ahead(rows)
        if self._failure is not None and sum(map(len, self._ready)) < max(rows, 1):
            raise self._failure
        taken, wanted = [], rows
        while wanted and self._ready:
            block = self._ready[0]
            count = min(wanted, len(block))
            taken.append(block.first(count))
            wanted -= count
            if count == len(block):
                self._ready.pop(0)
            else:
                self._ready[0] = block.without(count)
        self.fetched += rows - wanted
        return taken

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows that the client has not fetched, one at a time."""
        while True:
            self.read_ahead(0)
            if self._failure is not None:
                raise self._failure
            if not self._ready:
                return
            block = self._ready[0]
            self._ready[:1] = [block.without(1)] if len(block) > 1 else []
            yield block.rows.slice(0, 1)

    @property
    def is_at_end(self) -> bool:
        return self._is_read and not self._ready

    def close(self) -> None:
        self._ready, self._is_read = [], True
        close = getattr(self._blocks, "close", None)
        if close is not None:
            close()


@dataclass(slots=True)
class Cursor:
    id: int
    sql: str
    kind: str
    bound: BoundSql
    container: int  # CON_ID in which it was parsed
    binds: tuple[BindType, ...] = ()
    defines: tuple[BindType | None, ...] = ()
    directions: tuple[str, ...] = ()  # of an executed PL/SQL block
    columns: tuple[ColumnInfo, ...] = ()
    result: Result | None = None
    scrolled: pa.Table | None = None  # the whole result of a scrollable cursor
    nested: list[int] = field(default_factory=list)  # cursors in the rows of this one, which end with it

    @property
    def is_plsql(self) -> bool:
        return self.kind == "plsql"

    @property
    def returning(self) -> tuple[BindType, ...]:
        """The binds of RETURNING .. INTO: described, but never sent."""
        start = self.bound.returning_from
        return () if start is None else self.binds[start:]

    def sent_binds(self, *, again: bool) -> list[int]:
        """Return the indexes of the binds in a row, in the order in which they are sent."""
        indexes = list(range(len(self.binds) - len(self.returning)))
        if not self.is_plsql:
            return sorted(indexes, key=lambda i: self.binds[i].size > _INLINE)
        if again:  # pure OUT binds are not sent again
            indexes = [i for i in indexes if i >= len(self.directions) or self.directions[i] != "OUT"]
        return indexes

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The wire formats of the columns. The client defines whether LOBs are sent inline as LONG or as locators."""
        cells = []
        for i, column in enumerate(self.columns):
            kind, defined = column_type(column), self._define(i)
            if kind.type in LOBS and defined is not None and defined.type in LONGS:
                cells.append(Cell(defined.type, defined.form))
            else:
                cells.append(Cell(kind.type, kind.form, column.shape))
        return tuple(cells)

    def show(self, columns: tuple[ColumnInfo, ...]) -> None:
        """Take the columns of an execution. The cursor keeps its defines: a LOB that was text or RAW is still sent inline."""
        if self.columns and self.columns != columns:
            was = [column_type(column) for column in self.columns]
            self.defines = tuple(
                BindType(WireType.LONG_RAW if was[i].type in _BYTES else WireType.LONG, 0, was[i].form)
                if i < len(was) and column_type(column).type in LOBS and was[i].type in _BYTES | TEXTS
                else self._define(i)
                for i, column in enumerate(columns)
            )
        self.columns = columns

    def _define(self, column: int) -> BindType | None:
        return self.defines[column] if column < len(self.defines) else None

    @property
    def awaits_defines(self) -> bool:
        """Whether the client will send defines before it expects rows, as it does for LOB columns."""
        return any(column_type(column).type in LOBS and self._define(i) is None for i, column in enumerate(self.columns))

    def finish(self) -> None:
        self.scrolled = None
        if self.result is not None:
            self.result.close()
            self.result = None


@dataclass(slots=True)
class CursorTable:
    """The open cursors by id."""

    _open: dict[int, Cursor] = field(default_factory=dict)
    _last: int = 0

    def open(self, sql: str, container: int, wanted: int = 0) -> Cursor:
        """Open a cursor with a new id, or instead of the cursor that the client names."""
        if wanted:
            self.close(wanted)
        number = wanted or self._free_id()
        cursor = self._open[number] = Cursor(number, sql, statement_kind(sql), scan_binds(sql), container)
        return cursor

    def get(self, number: int) -> Cursor:
        cursor = self._open.get(number)
        if cursor is None:
            raise OraError(1001, "invalid cursor")
        return cursor

    def close(self, number: int) -> None:
        cursor = self._open.pop(number, None)
        if cursor is not None:
            cursor.finish()
            self.close_nested(cursor)

    def close_nested(self, cursor: Cursor) -> None:
        nested, cursor.nested = cursor.nested, []
        for number in nested:
            self.close(number)

    def close_all(self) -> None:
        for number in list(self._open):
            self.close(number)

    def _free_id(self) -> int:
        if len(self._open) >= _HIGHEST_ID:
            raise OraError(1000, "maximum open cursors exceeded")
        while True:
            self._last = self._last % _HIGHEST_ID + 1
            if self._last not in self._open:
                return self._last
