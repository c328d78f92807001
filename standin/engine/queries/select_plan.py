"""The compiled form of a query over one relation.

A table is read at one SCN. Its visible rows are collected when the query opens; expressions run as batches are fetched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import pyarrow as pa

from standin.engine.expressions.frame import Compiled, Fn, Frame, NotCompilable
from standin.engine.queries.aggregates import Aggregate, Running
from standin.engine.queries.analytic import AnalyticQuery
from standin.engine.queries.policies import as_seen
from standin.engine.queries.relations import Relation, chosen_rows, snapshot_scn, unarchived
from standin.engine.queries.target import Target
from standin.engine.sessions.session import EngineSession
from standin.engine.storage.storage import TableStore
from standin.engine.types.datatypes import arrow_column, info_of_value
from standin.engine.types.values import to_number
from standin.interface import ColumnInfo

BATCH_ROWS = 10_000
Tuples = Iterator[tuple[Any, ...]]


@dataclass(slots=True)
class SelectPlan:
    text: str
    relation: Relation
    columns: tuple[ColumnInfo, ...]
    values: tuple[Compiled, ...]
    aggregates: tuple[Aggregate, ...]
    where: Fn | None
    rownum_limits: tuple[tuple[Fn, int], ...]
    fetch: tuple[Fn | None, Fn | None]
    order: tuple[tuple[Fn, bool, bool], ...]
    distinct: bool
    target: Target | None
    lock_wait: float | bool | None
    row_address: bool
    referenced: frozenset[str]
    has_subquery: bool
    levels: tuple[Fn, int] | None = None  # of CONNECT BY LEVEL: how many rows DUAL has

    def stands(self, session: EngineSession) -> bool:
        return not self.has_subquery and self.relation.stands(session)

    def columns_for(self, frame: Frame) -> tuple[ColumnInfo, ...]:
        """Return the columns of one execution: a bind alone has the type of its value."""
        if all(value.bind is None for value in self.values):
            return self.columns
        each = zip(self.columns, self.values, strict=True)
        return tuple(c if v.bind is None else replace(info_of_value(frame.binds[v.bind]), name=c.name) for c, v in each)

    def open(self, session: EngineSession, frame: Frame) -> Iterator[pa.RecordBatch]:
        view = self.relation.view
        if view is not None:
            rows = view.rows(session, self.referenced)
            if not isinstance(rows, Sequence):
                return AnalyticQuery(session, self.text).open_stream(session, frame, rows)
            return self._batches(session, frame, self._result(frame, self._from_view(rows, frame)))
        return self._batches(session, frame, self.tuples(session, frame))

    def tuples(self, session: EngineSession, frame: Frame) -> Tuples:
        """Return the result row by row. Its input is fixed before this returns."""
        view = self.relation.view
        if view is not None:
            rows = view.rows(session, self.referenced)
            if not isinstance(rows, Sequence):
                raise NotCompilable("stream in a subquery")
            return self._result(frame, self._from_view(rows, frame))
        if self.relation.store is None:
            return self._result(frame, self._from_dual(frame))
        store, target = self.relation.store, self.target
        assert target is not None
        if self.lock_wait is not False:
            found = target.rows(session, frame, self.lock_wait)
            limit = self._limit(frame)
            tx = session.database.transactions.of(session) if found else None
            for row, _ in found[:limit]:
                assert tx is not None
                session.database.rows.lock(tx, store, row)
            return self._result(frame, iter(found))
        scn = snapshot_scn(session, self.relation, frame)
        own = session.transaction if self.relation.version is None else None
        seen = unarchived(session, store, chosen_rows(self.relation, store.fixed(scn, own, target.candidates(frame))))
        seen = as_seen(session, store, seen, frame)
        return self._result(frame, self._filtered(store, seen, frame))

    def _from_dual(self, frame: Frame) -> Iterator[tuple[int | None, tuple[Any, ...]]]:
        if self.levels is None:
            rows: Iterator[tuple[Any, ...]] = iter([("X",)])
        else:
            count, step = self.levels
            rows = (("X", level) for level in range(1, max(1, int(to_number(count((), frame) or 0)) + step) + 1))
        where = self.where
        return ((None, row) for row in rows if where is None or where(row, frame))

    def _from_view(self, rows: Sequence[tuple[Any, ...]], frame: Frame) -> Iterator[tuple[int | None, tuple[Any, ...]]]:
        where = self.where
        return ((None, row) for row in rows if where is None or where(row, frame))

    def _filtered(self, store: TableStore, seen: Iterable[tuple[int, Any]], frame: Frame) -> Iterator[tuple[int | None, Any]]:
        where = self.where
        if where is None and not self.row_address:
            yield from seen
            return
        for row, values in seen:
            if self.row_address:
                frame.row_id, frame.row_scn = store.rowid(row), store.last_scn(row)
            if where is None or where(values, frame):
                yield row, values

    def _limit(self, frame: Frame) -> int | None:
        limits = [int(run((), frame) or 0) + step for run, step in self.rownum_limits]
        return max(0, min(limits)) if limits else None

    def _result(self, frame: Frame, found: Iterator[tuple[int | None, Any]]) -> Tuples:
        limit = self._limit(frame)
        if limit is not None:
            found = islice(found, limit)
        if self.aggregates:
            folded = self._folded(found, frame)
            return iter([tuple([v.run(folded, frame) for v in self.values])])
        if self.order:
            found = iter(self._sorted(list(found), frame))
        result: Tuples = self._projected(found, frame)
        if self.distinct:
            result = iter(dict.fromkeys(result))
        count, offset = self.fetch
        if count is not None or offset is not None:
            first = int(offset((), frame)) if offset else 0
            result = islice(result, first, None if count is None else first + int(count((), frame)))
        return result

    def _folded(self, found: Iterator[tuple[int | None, Any]], frame: Frame) -> tuple[Any, ...]:
        running = [Running(aggregate) for aggregate in self.aggregates]
        for number, row in found:
            self._address(number, frame)
            for one in running:
                one.add(row, frame)
        return tuple(one.result() for one in running)

    def _sorted(self, found: list[tuple[int | None, Any]], frame: Frame) -> list[tuple[int | None, Any]]:
        for run, descending, nulls_first in reversed(self.order):

            def key(item: tuple[int | None, Any], run: Fn = run) -> Any:
                self._address(item[0], frame)
                return run(item[1], frame)

            keyed = [(key(item), item) for item in found]
            nulls = [item for value, item in keyed if value is None]
            others = [pair for pair in keyed if pair[0] is not None]
            others.sort(key=lambda pair: pair[0], reverse=descending)
            found = nulls + [item for _, item in others] if nulls_first else [item for _, item in others] + nulls
        return found

    def _address(self, row: int | None, frame: Frame) -> None:
        if self.row_address and row is not None and self.relation.store is not None:
            store = self.relation.store
            frame.row_id, frame.row_scn = store.rowid(row), store.last_scn(row)

    def _projected(self, found: Iterator[tuple[int | None, Any]], frame: Frame) -> Tuples:
        runs = [v.run for v in self.values]
        for number, (row, values) in enumerate(found, 1):
            if self.row_address:
                self._address(row, frame)
            frame.rownum = number
            yield tuple([run(values, frame) for run in runs])

    def _batches(self, session: EngineSession, frame: Frame, rows: Tuples) -> Iterator[pa.RecordBatch]:
        columns = self.columns_for(frame)
        names = [c.name for c in columns]
        while chunk := list(islice(rows, BATCH_ROWS)):
            session.check_cancelled()
            arrays = [arrow_column(info, column) for info, column in zip(columns, zip(*chunk, strict=True), strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=names)
