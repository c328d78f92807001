"""SELECT: one relation by the own evaluator, everything else over DuckDB; chosen at compile time.

A table is read at one SCN; its visible rows are gathered when the query starts, the expressions run as batches are fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from standin.engine.access import conjuncts
from standin.engine.aggregates import AGGREGATES, Aggregate, aggregate_of
from standin.engine.analytic import AnalyticQuery
from standin.engine.datatypes import arrow_column
from standin.engine.dml import Target, target_of
from standin.engine.expressions import Compiler
from standin.engine.frame import Compiled, Fn, Frame, NotCompilable
from standin.engine.parse import identifier, parse_as_written
from standin.engine.privileges import require_on
from standin.engine.relations import Relation, relation_of, snapshot_scn
from standin.engine.rowids import rowid_text
from standin.engine.session import EngineSession
from standin.engine.storage import TableStore
from standin.interface import ColumnInfo, OraError

BATCH_ROWS = 10_000
Tuples = Iterator[tuple[Any, ...]]


class QueryPlan(Protocol):
    columns: tuple[ColumnInfo, ...]

    def open(self, session: EngineSession, frame: Frame) -> Iterator[pa.RecordBatch]: ...


def compile_query(session: EngineSession, text: str) -> QueryPlan:
    tree = parse_as_written(text)
    try:
        if isinstance(tree, exp.Select):
            return compile_select(session, tree, text)
    except NotCompilable:
        pass  # not lost: DuckDB has the rest of SQL, and refuses with its own error what it lacks
    return AnalyticQuery(session, text)


def subquery_compiler(session: EngineSession) -> Callable[[exp.Query], Any]:
    """Uncorrelated subqueries for expressions and INSERT .. SELECT: their columns, and a function to their rows."""

    def compiled(node: exp.Query) -> tuple[tuple[ColumnInfo, ...], Callable[[Frame], list[tuple[Any, ...]]]]:
        query = node.this if isinstance(node, exp.Subquery) else node
        if not isinstance(query, exp.Select):
            raise NotCompilable("set operation")
        try:
            plan = compile_select(session, query, "")
        except OraError as error:
            if error.code == 904:  # maybe a column of the outer query
                raise NotCompilable("correlated subquery") from None
            raise
        return plan.columns, lambda frame: list(plan.tuples(frame.session, _inner(frame)))

    return compiled


def _inner(frame: Frame) -> Frame:
    return Frame(frame.session, frame.binds, frame.now)


_BEYOND = ("joins", "group", "having", "windows", "with_", "connect", "laterals", "pivots", "match", "qualify", "sample")


def compile_select(session: EngineSession, tree: exp.Select, text: str) -> SelectPlan:
    if any(tree.args.get(part) for part in _BEYOND):
        raise NotCompilable("more than one relation")
    source = tree.args.get("from_")
    if source is None:
        raise OraError(923, "FROM keyword not found where expected")
    if not isinstance(source.this, exp.Table):
        raise NotCompilable("subquery")
    relation = relation_of(session, source.this)
    compiler = Compiler(relation.scope, subquery_compiler(session))
    names, values, aggregates = _projections(tree, relation, compiler)
    where, limits = _without_rownum(tree.args.get("where"), compiler)
    distinct = tree.args.get("distinct") is not None
    order = _order(tree, names, values, compiler) if not aggregates else ()
    locks = tree.args.get("locks") or []
    if locks and (aggregates or distinct or relation.store is None):
        raise OraError(2014, "cannot select FOR UPDATE from view with DISTINCT, GROUP BY, etc.")
    if locks:
        assert relation.store is not None
        require_on(session.account, "UPDATE", relation.store.definition)
    target = None
    if relation.store is not None:
        condition = exp.Where(this=where) if where is not None else None
        target = target_of(relation.store, relation.alias, condition, subquery_compiler(session))
    condition_run = compiler.compile(where).run if where is not None else None
    return SelectPlan(
        text, relation, tuple(names), tuple(values), tuple(aggregates), condition_run, tuple(limits), _fetch(tree, compiler),
        order, distinct, target, _wait_of(locks), compiler.row_address or bool(target and target.row_address),
        _referenced(tree, relation),
    )  # fmt: skip


def _column_names(tree: exp.Expression) -> set[str]:
    return {identifier(c.this) for c in tree.find_all(exp.Column)}


def _referenced(tree: exp.Select, relation: Relation) -> frozenset[str]:
    if any(isinstance(p, exp.Star) or (isinstance(p, exp.Column) and isinstance(p.this, exp.Star)) for p in tree.expressions):
        return frozenset(relation.scope.columns)
    return frozenset(_column_names(tree) & relation.scope.columns.keys())


def _projections(
    tree: exp.Select, relation: Relation, compiler: Compiler
) -> tuple[list[ColumnInfo], list[Compiled], list[Aggregate]]:
    infos: list[ColumnInfo] = []
    values: list[Compiled] = []
    aggregates: list[Aggregate] = []
    for node in tree.expressions:
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            for at, info in relation.shown:
                infos.append(info)
                values.append(_plain(at, info))
            continue
        inner = node.this if isinstance(node, exp.Alias) else node
        name = column_name(node)
        if isinstance(inner, exp.Anonymous) and str(inner.this).upper() in AGGREGATES:
            aggregates.append(aggregate_of(inner, compiler))
            infos.append(replace(aggregates[-1].info, name=name))
            continue
        compiled = compiler.compile(inner)
        infos.append(replace(compiled.info, name=name))
        values.append(compiled)
    if aggregates and values:
        raise NotCompilable("aggregate beside a value")
    return infos, values, aggregates


def _plain(at: int, info: ColumnInfo) -> Compiled:
    return Compiled(lambda row, f: row[at], info)


def column_name(node: exp.Expression) -> str:
    """The alias, the column, or the expression's text without blanks."""
    if isinstance(node, exp.Alias):
        return identifier(node.args["alias"])
    if isinstance(node, exp.Column):
        return identifier(node.this)
    return str(node.sql(dialect="oracle")).upper().replace(" ", "")


def _without_rownum(where: exp.Where | None, compiler: Compiler) -> tuple[exp.Expression | None, list[tuple[Fn, int]]]:
    """`ROWNUM <= n` taken out of the condition, as (n, 0) for `<=` and (n, -1) for `<`."""
    rest: list[exp.Expression] = []
    limits: list[tuple[Fn, int]] = []
    for part in conjuncts(where):
        if (
            isinstance(part, exp.LT | exp.LTE | exp.EQ)
            and identifier(part.this) == "ROWNUM"
            and isinstance(part.this, exp.Column)
        ):
            limits.append((compiler.compile(part.expression).run, -1 if isinstance(part, exp.LT) else 0))
        elif "ROWNUM" in _column_names(part):
            raise NotCompilable("ROWNUM inside a condition")
        else:
            rest.append(part)
    return (exp.and_(*rest, copy=False) if rest else None), limits


def _fetch(tree: exp.Select, compiler: Compiler) -> tuple[Fn | None, Fn | None]:
    limit, offset = tree.args.get("limit"), tree.args.get("offset")
    count = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression if limit is not None else None
    if isinstance(limit, exp.Fetch) and (options := limit.args.get("limit_options")) is not None:
        if options.args.get("percent") or options.args.get("with_ties"):
            raise NotCompilable("FETCH with PERCENT or TIES")
        count = count or exp.Literal.number(1)
    return (
        compiler.compile(count).run if count is not None else None,
        compiler.compile(offset.expression).run if offset is not None else None,
    )


def _order(
    tree: exp.Select, infos: Sequence[ColumnInfo], values: Sequence[Compiled], compiler: Compiler
) -> tuple[tuple[Fn, bool, bool], ...]:
    """(key, descending, nulls first) per item; a position or an alias means the selected value."""
    node = tree.args.get("order")
    if node is None:
        return ()
    aliases = {identifier(p.args["alias"]): i for i, p in enumerate(tree.expressions) if isinstance(p, exp.Alias)}
    items = []
    for item in node.expressions:
        key, descending = item.this, bool(item.args.get("desc"))
        if isinstance(key, exp.Literal) and not key.is_string:
            position = int(key.name) - 1
            if not 0 <= position < len(values):
                raise OraError(1785, "ORDER BY item must be the number of a SELECT-list expression")
            run = values[position].run
        elif isinstance(key, exp.Column) and identifier(key.this) in aliases and not key.args.get("table"):
            if any(isinstance(p, exp.Star) for p in tree.expressions):
                raise NotCompilable("alias beside *")
            run = values[aliases[identifier(key.this)]].run
        else:
            run = compiler.compile(key).run
        first = item.args.get("nulls_first")
        items.append((run, descending, bool(first) if first is not None else descending))
    return tuple(items)


def _wait_of(locks: Sequence[exp.Expression]) -> float | bool | None:
    """False without FOR UPDATE; None waits for ever, 0 is NOWAIT."""
    if not locks:
        return False
    wait = locks[0].args.get("wait")
    if wait is False:
        raise OraError(3001, "unimplemented feature: SKIP LOCKED")
    if wait is None or wait is True:  # sqlglot's True is NOWAIT
        return 0.0 if wait else None
    return float(wait.name)


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

    def open(self, session: EngineSession, frame: Frame) -> Iterator[pa.RecordBatch]:
        view = self.relation.view
        if view is not None:
            rows = view.rows(session, self.referenced)
            if not isinstance(rows, Sequence):
                return AnalyticQuery(session, self.text).open_stream(session, frame, view, rows)
            return self._batches(session, self._answers(frame, self._of_view(rows, frame)))
        return self._batches(session, self.tuples(session, frame))

    def tuples(self, session: EngineSession, frame: Frame) -> Tuples:
        """The answer row by row. What it reads is fixed before this returns."""
        view = self.relation.view
        if view is not None:
            rows = view.rows(session, self.referenced)
            if not isinstance(rows, Sequence):
                raise NotCompilable("stream in a subquery")
            return self._answers(frame, self._of_view(rows, frame))
        if self.relation.store is None:
            dual = self.where is None or self.where((), frame)
            return self._answers(frame, iter([(None, ("X",))] if dual else []))
        store, target = self.relation.store, self.target
        assert target is not None
        if self.lock_wait is not False:
            found = target.rows(session, frame, self.lock_wait)
            limit = self._limit(frame)
            tx = session.database.transactions.of(session) if found else None
            for row, _ in found[:limit]:
                assert tx is not None
                session.database.rows.lock(tx, store, row)
            return self._answers(frame, iter(found))
        scn = snapshot_scn(session, self.relation, frame)
        own = session.transaction if self.relation.version is None else None
        seen = list(store.visible(scn, own, target.candidates(frame)))
        return self._answers(frame, self._filtered(store, seen, frame))

    def _of_view(self, rows: Sequence[tuple[Any, ...]], frame: Frame) -> Iterator[tuple[int | None, tuple[Any, ...]]]:
        where = self.where
        return ((None, row) for row in rows if where is None or where(row, frame))

    def _filtered(self, store: TableStore, seen: list[tuple[int, Any]], frame: Frame) -> Iterator[tuple[int | None, Any]]:
        where, table = self.where, store.definition
        if where is None and not self.row_address:
            yield from seen
            return
        for row, values in seen:
            if self.row_address:
                frame.row_id, frame.row_scn = rowid_text(table.data_object_id, row), store.last_scn(row)
            if where is None or where(values, frame):
                yield row, values

    def _limit(self, frame: Frame) -> int | None:
        limits = [int(run((), frame) or 0) + step for run, step in self.rownum_limits]
        return max(0, min(limits)) if limits else None

    def _answers(self, frame: Frame, found: Iterator[tuple[int | None, Any]]) -> Tuples:
        limit = self._limit(frame)
        if limit is not None:
            found = islice(found, limit)
        if self.aggregates:
            rows = list(found)
            return iter([tuple(a.of(rows, frame, self._address) for a in self.aggregates)])
        if self.order:
            found = iter(self._sorted(list(found), frame))
        answers: Tuples = self._projected(found, frame)
        if self.distinct:
            answers = iter(dict.fromkeys(answers))
        count, offset = self.fetch
        if count is not None or offset is not None:
            first = int(offset((), frame)) if offset else 0
            answers = islice(answers, first, None if count is None else first + int(count((), frame)))
        return answers

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
            frame.row_id, frame.row_scn = rowid_text(store.definition.data_object_id, row), store.last_scn(row)

    def _projected(self, found: Iterator[tuple[int | None, Any]], frame: Frame) -> Tuples:
        runs = [v.run for v in self.values]
        for number, (row, values) in enumerate(found, 1):
            if self.row_address:
                self._address(row, frame)
            frame.rownum = number
            yield tuple([run(values, frame) for run in runs])

    def _batches(self, session: EngineSession, answers: Tuples) -> Iterator[pa.RecordBatch]:
        names = [c.name for c in self.columns]
        while chunk := list(islice(answers, BATCH_ROWS)):
            session.check_cancelled()
            arrays = [arrow_column(info, column) for info, column in zip(self.columns, zip(*chunk, strict=True), strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=names)
