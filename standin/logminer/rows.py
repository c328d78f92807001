"""Converts a batch of redo records to rows of V$LOGMNR_CONTENTS: their tables, statements and continuation rows.

Only the selected columns are computed; `contents` defines them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from standin.logminer.dictionary import VERSION_MISMATCH, RedoDictionary, ResolvedTable
from standin.logminer.pieces import cut
from standin.logminer.statements import LOB_OPS, XML_OPS, Layout, TableText
from standin.octets import text_array
from standin.redo_file import BARE, DICTIONARY, NOT_SHOWN, Op, unpack

MISSING_SCN = 34
USER_DDL = "USER DDL (PlSql=0 RecDep=0)"
# A record of fewer bytes needs no continuation row, so its text need not be written to find out.
_ONE_PIECE_BYTES = 400
_BARE_TEXTS = {Op.START: "set transaction read write", Op.COMMIT: "commit", Op.ROLLBACK: "rollback"}


class Catalog(Protocol):
    def resolve(self, con_id: int, object_id: int, object_version: int, supplemental: bool) -> ResolvedTable: ...


@dataclass(slots=True)
class Rendering:
    """The state of one SELECT: dictionary, layout, prepared tables, and the transactions with a START already read."""

    catalog: Catalog
    layout: Layout
    tables: dict[tuple[int, int, int, bool], TableText] = field(default_factory=dict)
    started: set[tuple[int, int, int, int]] = field(default_factory=set)
    forgets_sequences: bool = False
    max_start_scns: bool = False
    locators_have_text: bool = False

    def table(self, con_id: int, object_id: int, object_version: int, supplemental: bool) -> TableText:
        key = (con_id, object_id, object_version, supplemental)
        text = self.tables.get(key)
        if text is None:
            text = self.tables[key] = TableText(self.catalog.resolve(*key), self.layout)
        return text

    @property
    def follows_ddl(self) -> bool:
        return isinstance(self.catalog, RedoDictionary) and self.catalog.tracks

    def learn(self, record: str) -> None:
        """Take a table's definition from the redo."""
        assert isinstance(self.catalog, RedoDictionary)
        self.catalog.learn(record)
        self.tables.clear()


class RedoRows:
    """The rows of a batch of records. `take` repeats a record's value for its continuation rows."""

    def __init__(self, batch: pa.RecordBatch, rendering: Rendering, *, redo: bool, undo: bool) -> None:
        self.batch, self.rendering = batch, rendering
        self._undo_wanted = undo
        self._pieces = self._cut(self._redo_texts if redo else self._long_texts(), self._undo_texts if undo else None)

    def values(self, name: str) -> list[Any]:
        values: list[Any] = self.batch.column(name).to_pylist()
        return values

    @cached_property
    def ops(self) -> list[int]:
        """Operation codes; 255 for tables with a type that LogMiner does not support."""
        return [
            int(Op.UNSUPPORTED) if table is not None and table.is_unsupported else op
            for op, table in zip(self.values("op"), self.tables, strict=True)
        ]

    @cached_property
    def tables(self) -> list[TableText | None]:
        find = self.rendering.table
        names = ("op", "con_id", "object_id", "object_version", "supplemental")
        keys = zip(*map(self.values, names), strict=True)
        if not self.rendering.follows_ddl:
            return [find(*key) if op in _TABLE_OPS else None for op, *key in keys]
        found: list[TableText | None] = []
        for (op, *key), info, text in zip(keys, self.values("info"), self.values("sql"), strict=True):
            if info == DICTIONARY:
                self.rendering.learn(text)
            found.append(find(*key) if op in _TABLE_OPS else None)
        return found

    @cached_property
    def beyond_definition(self) -> list[bool]:
        """Whether a change without supplemental log data has more columns than the definition that LogMiner assumes."""
        if pc.all(self.batch.column("supplemental")).as_py():
            return [False] * self.batch.num_rows
        images = zip(self.tables, self.values("before"), self.values("after"), strict=True)
        return [
            table is not None
            and table.table.status == 3
            and not unpack(before).keys() | unpack(after) <= table.table.columns.keys()
            for table, before, after in images
        ]

    @cached_property
    def _redo_texts(self) -> list[str | None]:
        return self._texts(None)

    def _long_texts(self) -> list[str | None]:
        """Return the texts of records long enough to need continuation rows, None for the others."""
        batch = self.batch
        size = pc.add(pc.binary_length(batch.column("before")), pc.binary_length(batch.column("after")))
        long = pc.or_(pc.greater(size, _ONE_PIECE_BYTES), pc.greater(pc.binary_length(batch.column("sql")), 900))
        return self._texts(long.to_pylist()) if pc.any(long).as_py() else [None] * batch.num_rows

    def _texts(self, only: list[bool] | None) -> list[str | None]:
        delimiter = self.rendering.layout.delimiter
        texts: list[str | None] = []
        rows = zip(
            self.ops, self.tables, self.values("rollback"), self.values("before"), self.values("after"), self.values("row_id"),
            self.values("sql"), self.beyond_definition, strict=True,
        )  # fmt: skip
        for number, (op, table, rollback, before, after, row_id, sql, beyond) in enumerate(rows):
            if only is not None and not only[number]:
                texts.append(None)
            elif op == Op.UNSUPPORTED:
                texts.append("Unsupported")
            elif sql == NOT_SHOWN:
                texts.append(sql)
            elif beyond:
                texts.append(VERSION_MISMATCH)
            elif table is not None:
                if op == Op.LOB_LOCATOR and not self.rendering.locators_have_text:
                    texts.append(None)
                    continue
                images, short = (unpack(before), unpack(after)), self.rendering.locators_have_text
                position, bare = sql.removeprefix(BARE), short or sql.startswith(BARE)
                texts.append(table.redo(op, *images, row_id, rollback=rollback, position=position, bare=bare))
            elif op == Op.DDL:
                texts.append(sql.rstrip().removesuffix(";") + delimiter)
            else:
                bare = _BARE_TEXTS.get(op)
                texts.append(None if bare is None else bare + delimiter)
        return texts

    @cached_property
    def _undo_texts(self) -> list[str | None]:
        packed = zip(*map(self.values, ("rollback", "before", "after", "row_id", "sql")), strict=True)
        rows = zip(self.ops, self.tables, packed, self.beyond_definition, strict=True)
        return [
            None
            if table is None or op == Op.UNSUPPORTED
            else sql
            if sql == NOT_SHOWN
            else VERSION_MISMATCH
            if beyond
            else table.undo(op, unpack(before), unpack(after), row_id, rollback=rollback)
            for op, table, (rollback, before, after, row_id, sql), beyond in rows
        ]

    def _cut(self, redo: list[str | None], undo: list[str | None] | None) -> _Pieces | None:
        """Return the rows of all records, None if every record is one row."""
        undos = undo if undo is not None else [None] * len(redo)
        long = [n for n, texts in enumerate(zip(redo, undos, strict=True)) if any(t and len(t) > 1000 for t in texts)]
        if not long:
            return None
        pieces = _Pieces()
        for number, (a, b) in enumerate(zip(redo, undos, strict=True)):
            pieces.add(number, [*cut(a)] if a else [None], [*cut(b)] if b else [None])
        return pieces

    def take(self, column: pa.Array) -> pa.Array:
        return column if self._pieces is None else column.take(pa.array(self._pieces.records, pa.int64()))

    def column(self, name: str) -> pa.Array:
        return self.take(self.batch.column(name))

    def mapped(self, kind: pa.DataType, values: list[Any]) -> pa.Array:
        return self.take(pa.array(values, kind))

    def of_table(self, read: Callable[[TableText], Any], kind: pa.DataType, other: list[Any]) -> pa.Array:
        """Return a value of each row's table, or the value from `other` for rows without a table."""
        values = [default if table is None else read(table) for table, default in zip(self.tables, other, strict=True)]
        return self.mapped(kind, values)

    @property
    def redo(self) -> pa.Array:
        return text_array(self._redo_texts if self._pieces is None else self._pieces.redo)

    @property
    def undo(self) -> pa.Array:
        return text_array(self._undo_texts if self._pieces is None else self._pieces.undo)

    @property
    def csf(self) -> pa.Array:
        return pa.array([0] * self.batch.num_rows if self._pieces is None else self._pieces.csf, pa.int64())

    @property
    def num_rows(self) -> int:
        return self.batch.num_rows if self._pieces is None else len(self._pieces.records)

    @cached_property
    def start_was_read(self) -> list[bool]:
        """Whether the START of each row's transaction was read; otherwise its user and START_SCN are unknown."""
        started, known = self.rendering.started, []
        xids = zip(self.values("con_id"), self.values("usn"), self.values("slt"), self.values("sqn"), strict=True)
        for op, key in zip(self.values("op"), xids, strict=True):
            if op == Op.START:
                started.add(key)
            known.append(key in started)
        return known

    @cached_property
    def sequence_unknown(self) -> pa.Array:
        """Whether LogMiner knows a row's transaction by undo segment and slot only."""
        undone = pc.or_(self.batch.column("rollback"), pc.equal(self.batch.column("op"), int(Op.ROLLBACK)))
        return pc.and_not(undone, pa.array(self.start_was_read, pa.bool_()))


_TABLE_OPS = frozenset({Op.INSERT, Op.DELETE, Op.UPDATE, Op.SELECT_FOR_UPDATE, Op.UNSUPPORTED}) | LOB_OPS | XML_OPS


@dataclass(slots=True)
class _Pieces:
    records: list[int] = field(default_factory=list)
    redo: list[str | None] = field(default_factory=list)
    undo: list[str | None] = field(default_factory=list)
    csf: list[int] = field(default_factory=list)

    def add(self, record: int, redo: list[str | None], undo: list[str | None]) -> None:
        count = max(len(redo), len(undo))
        self.records += [record] * count
        self.redo += redo + [None] * (count - len(redo))
        self.undo += undo + [None] * (count - len(undo))
        self.csf += [1] * (count - 1) + [0]
